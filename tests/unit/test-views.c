/* SPDX-License-Identifier: MIT */
/* vmm/views.c: names of disks, lists of records, the root. */
#include <string.h>

#include "vmm/views.h"

static JsonSlice slice(GBytes *bytes)
{
    JsonSlice value;
    value.text = g_bytes_get_data(bytes, &value.length);
    return value;
}

/* A list view of a JSON text. */
static Node *list(View view, const char *json, const Node *previous, guint64 stamp)
{
    g_autoptr(GBytes) bytes = g_bytes_new(json, strlen(json));
    return view_list_from_json(view, bytes, slice(bytes), previous, stamp);
}

static void check_names(View view, const char *json, const char *expected)
{
    g_autoptr(Node) node = list(view, json, NULL, 5);
    g_autoptr(GString) names = g_string_new(NULL);
    ChildrenIter iter = children_iter(node->children, 0);
    for (const Node *child; (child = children_next(&iter));)
        g_string_append_printf(names, "%s ", child->name);
    g_assert_cmpstr(names->str, ==, expected);
}

static void check_tree(const Node *node, const char *expected)
{
    g_autoptr(GString) out = g_string_new(NULL);
    node_append_tree(node, out);
    g_assert_cmpstr(out->str, ==, expected);
}

static void test_disk_names(void)
{
    check_names(VIEW_BLOCKSTATS, "[{\"device\":\"drive0\",\"qdev\":\"/machine/peripheral/disk0/virtio-backend\"}]",
                "disk0 ");
    check_names(VIEW_BLOCKSTATS, "[{\"device\":\"drive0\",\"qdev\":\"/machine/peripheral/a%2Fb\"}]", "a%252Fb ");
    check_names(VIEW_BLOCKSTATS, "[{\"device\":\"ide0\",\"qdev\":\"/machine/unattached/device[16]\"}]", "ide0 ");
    check_names(VIEW_BLOCKSTATS, "[{\"device\":\"d\",\"qdev\":\"nvme0\"}]", "nvme0 ");
    check_names(VIEW_BLOCKSTATS, "[{\"device\":\"d\",\"qdev\":\"/machine/peripheral/\"}]", "d ");
    check_names(VIEW_BLOCKSTATS, "[{\"device\":\"\",\"node-name\":\"#block1\"}]", "#block1 ");
    check_names(VIEW_BLOCKSTATS, "[{\"device\":\"\"},{\"node-name\":3}]", "0 1 ");
    check_names(VIEW_BLOCKSTATS, "[]", "");
}

static void test_equal_names(void)
{
    check_names(VIEW_BLOCKSTATS, "[{\"qdev\":\"a\"},{\"qdev\":\"a\"},{\"qdev\":\"a\"}]", "a a.2 a.3 ");
    /* Numbers that are taken by others. */
    check_names(VIEW_BLOCKSTATS, "[{\"qdev\":\"a.2\"},{\"qdev\":\"a\"},{\"qdev\":\"a\"},{\"qdev\":\"a.2\"}]",
                "a.2 a a.3 a.2.2 ");
    check_names(VIEW_BLOCKSTATS, "[{\"qdev\":\"1\"},{}]", "1 1.2 ");
}

static void test_many_equal_names(void)
{
    g_autoptr(GString) json = g_string_new("[{\"qdev\":\"a\"}");
    g_autoptr(Node) node = NULL;
    gint64 start = g_get_monotonic_time();

    for (int i = 1; i < 20000; i++)
        g_string_append(json, ",{\"qdev\":\"a\"}");
    g_string_append_c(json, ']');
    node = list(VIEW_BLOCKSTATS, json->str, NULL, 5);
    g_assert_nonnull(children_find(node->children, "a.20000"));
    g_assert_cmpint(g_get_monotonic_time() - start, <, 5 * G_USEC_PER_SEC); /* squared: 200 million attempts */
}

static void test_long_equal_names(void)
{
    g_autofree char *name = g_strnfill(255, 'n');
    g_autofree char *json = g_strdup_printf("[{\"qdev\":\"%s\"},{\"qdev\":\"%s\"}]", name, name);
    g_autoptr(Node) node = list(VIEW_BLOCKSTATS, json, NULL, 5);

    g_assert_cmpuint(children_count(node->children), ==, 2);
    g_assert_cmpuint(strlen(children_find(node->children, name)->name), ==, 255);
}

static void test_disk_record(void)
{
    static const char json[] = "[{\"device\":\"d\",\"parent\":{\"stats\":{\"rd_bytes\":1},\"node-name\":\"f\"},"
                               "\"stats\":{\"rd_bytes\":18446744073709551615,\"device\":2},\"x\":{\"y\":1}},3]";
    g_autoptr(Node) node = list(VIEW_BLOCKSTATS, json, NULL, 5);
    const Node *disk = children_find(node->children, "d");
    const Node *parent;
    int slot;

    g_assert_nonnull(disk);
    g_assert_cmpuint(children_count(node->children), ==, 1); /* 3 is no object */
    slot = node_find_slot(disk, "rd_bytes");
    g_assert_cmpint(slot, >=, 0);
    g_assert_cmpuint(node_slot_value(disk, (guint)slot).length, ==, 20);
    g_assert_cmpint(node_find_slot(disk, "stats"), ==, -1);
    g_assert_cmpint(node_find_slot(disk, "device.2"), >=, 0);
    g_assert_cmpint(node_find_slot(disk, "x"), >=, 0);
    parent = children_find(disk->children, "parent");
    g_assert_nonnull(parent);
    g_assert_cmpint(node_find_slot(parent, "rd_bytes"), >=, 0);
}

static void test_definitions(void)
{
    static const char json[] = "[{\"name\":\"EPYC\",\"static\":false},{\"name\":\"a/b\",\"static\":true}]";
    g_autoptr(Node) node = list(VIEW_CPU_DEFINITIONS, json, NULL, 5);
    g_autoptr(Node) same = NULL, other = NULL;

    check_names(VIEW_CPU_DEFINITIONS, json, "EPYC a%2Fb ");
    check_tree(node, json);

    same = list(VIEW_CPU_DEFINITIONS, json, node, 6);
    g_assert_true(children_find(same->children, "EPYC") == children_find(node->children, "EPYC"));
    other = list(VIEW_CPU_DEFINITIONS, "[{\"name\":\"EPYC\",\"static\":true}]", node, 7);
    g_assert_cmpuint(children_find(other->children, "EPYC")->id, ==, children_find(node->children, "EPYC")->id);
    g_assert_cmpuint(children_find(other->children, "EPYC")->stamp, ==, 7);
}

static void test_root(void)
{
    VmView vm = {.name = "a\"b", .status = "running", .version = "11.1.0", .source = "model", .generation = 1};
    Node *nodes[N_VIEWS] = {NULL};
    g_autoptr(Node) record = view_vm_new(&vm, NULL, 5);
    g_autoptr(Node) first = NULL, second = NULL, later = NULL;

    nodes[VIEW_VM] = record;
    first = views_root_new(nodes, NULL, 5);
    check_tree(first, "{\"qom\":[],\"cpu-definitions\":[],\"blockstats\":[],\"vm\":{\"name\":\"a\\\"b\",\"uuid\":\"\","
                      "\"status\":\"running\",\"version\":\"11.1.0\",\"source\":\"model\",\"generation\":1,"
                      "\"connected\":false}}");

    vm.generation = 2;
    vm.connected = TRUE;
    later = view_vm_new(&vm, record, 6);
    nodes[VIEW_VM] = later;
    second = views_root_new(nodes, first, 6);
    g_assert_cmpuint(second->id, ==, first->id);
    g_assert_true(views_get(second, VIEW_QOM) == views_get(first, VIEW_QOM));
    g_assert_true(views_get(second, VIEW_VM) == later);
    g_assert_cmpuint(later->id, ==, record->id);
    g_assert_cmpuint(node_slot_stamp(later, (guint)node_find_slot(later, "status")), ==, 5);
    g_assert_cmpuint(node_slot_stamp(later, (guint)node_find_slot(later, "generation")), ==, 6);
}

/* ---- queries ---- */

static gboolean count_is_there = TRUE;

/* How often it was asked; or nothing. */
static void count_fill(Sampler *sampler G_GNUC_UNUSED, GString *out)
{
    static int count;

    if (count_is_there)
        g_string_append_printf(out, "{\"count\":%d}", ++count);
}

static char *count_reason(Sampler *sampler G_GNUC_UNUSED)
{
    return g_strdup("nobody counts");
}

static void count_free(Sampler *sampler)
{
    g_free(sampler);
}

static void check_query(const Node *folder, const char *name, const char *value, const char *error)
{
    const Node *node = children_find(folder->children, name);
    g_autoptr(Node) now = NULL;
    JsonSlice found;

    g_assert_nonnull(node);
    g_assert_cmpint(node->kind, ==, NODE_VALUE);
    now = node_sample(node);
    g_assert_cmpint(node_find_slot(now, name), ==, 0);
    found = node_slot_value(now, 0);
    g_assert_cmpmem(found.text, found.length, value, strlen(value));
    g_assert_cmpstr(node_slot_error(now, 0), ==, error);
}

static void test_queries(void)
{
    static const char text[] = "{\"running\":true}", other[] = "[1]";
    g_autoptr(GBytes) bytes = g_bytes_new_static(text, strlen(text)), later = g_bytes_new_static(other, strlen(other));
    Sampler *count = g_new0(Sampler, 1);
    ViewQuery queries[] = {
        {.command = "query-status", .bytes = bytes, .text = slice(bytes)},
        {.command = "query-count", .sampler = count},
        {.command = "query-sev", .error = "no such thing"},
        {.command = "x-query-jit"},
    };
    g_autoptr(Node) first = NULL, same = NULL, second = NULL, third = NULL;
    const Node *before, *after;

    g_atomic_ref_count_init(&count->refs);
    count->fill = count_fill;
    count->reason = count_reason;
    count->free = count_free;
    first = view_query_new(queries, G_N_ELEMENTS(queries), NULL, 5);
    sampler_unref(count);
    check_query(first, "status.json", text, NULL);
    check_query(first, "count.json", "{\"count\":1}", NULL);
    check_query(first, "count.json", "{\"count\":2}", NULL);
    count_is_there = FALSE;
    check_query(first, "count.json", "", "nobody counts");
    count_is_there = TRUE;
    check_query(first, "sev.json", "", "no such thing");
    check_query(first, "x-query-jit.json", "", NULL); /* not known yet */
    check_tree(first, "");
    g_assert_false(first->tree_moving); /* nobody reads it as a whole */

    same = view_query_new(queries, G_N_ELEMENTS(queries), first, 6);
    g_assert_true(same == first);

    /* An answer comes; the others stay what they are. */
    second = view_query_set(first, &(ViewQuery){.command = "x-query-jit", .bytes = bytes, .text = slice(bytes)}, 7);
    check_query(second, "x-query-jit.json", text, NULL);
    before = children_find(first->children, "x-query-jit.json");
    after = children_find(second->children, "x-query-jit.json");
    g_assert_cmpuint(node_slot_ino(before, 0), ==, node_slot_ino(after, 0));
    g_assert_cmpuint(node_slot_stamp(before, 0), ==, 5);
    g_assert_cmpuint(node_slot_stamp(after, 0), ==, 7);
    g_assert_cmpuint(second->names_stamp, ==, 5);
    g_assert_true(children_find(second->children, "status.json") == children_find(first->children, "status.json"));

    /* Another answer, the same one, and an error. */
    third = view_query_set(second, &(ViewQuery){.command = "query-status", .bytes = later, .text = slice(later)}, 8);
    check_query(third, "status.json", other, NULL);
    g_clear_pointer(&second, node_unref);
    second = view_query_set(third, &(ViewQuery){.command = "query-status", .bytes = later, .text = slice(later)}, 9);
    g_assert_true(second == third);
    g_clear_pointer(&second, node_unref);
    second = view_query_set(third, &(ViewQuery){.command = "query-status", .error = "gone"}, 10);
    check_query(second, "status.json", "", "gone");
    g_assert_cmpuint(node_slot_stamp(children_find(second->children, "status.json"), 0), ==, 10);
}

/* They stand in no JSON, wherever the folder is. */
static void test_queries_in_root(void)
{
    static const char empty[] = "{\"qom\":[],\"cpu-definitions\":[],\"blockstats\":[],\"vm\":[]}";
    Sampler *count = g_new0(Sampler, 1);
    g_autoptr(Node) queries = NULL, root = NULL, none = views_root_new((Node *[N_VIEWS]){NULL}, NULL, 5);
    Node *nodes[N_VIEWS] = {NULL};

    g_atomic_ref_count_init(&count->refs);
    count->fill = count_fill;
    count->free = count_free;
    queries = view_query_new(&(ViewQuery){.command = "query-count", .sampler = count}, 1, NULL, 5);
    sampler_unref(count);
    nodes[VIEW_QUERY] = queries;
    root = views_root_new(nodes, NULL, 5);
    g_assert_true(views_get(root, VIEW_QUERY) == queries);
    g_assert_false(root->tree_moving);
    g_assert_cmpuint(node_tree_size(root), ==, strlen(empty));
    check_tree(root, empty);
    g_assert_cmpint(views_get(none, VIEW_QUERY)->kind, ==, NODE_FOLDER);
    check_tree(none, empty);
}

static void test_view_names(void)
{
    for (int view = 0; view < N_VIEWS; view++)
        g_assert_cmpint(view_find(view_name(view)), ==, view == VIEW_QUERY ? -1 : view);
    g_assert_cmpint(view_find("nope"), ==, -1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/views/disk-names", test_disk_names);
    g_test_add_func("/views/equal-names", test_equal_names);
    g_test_add_func("/views/many-equal-names", test_many_equal_names);
    g_test_add_func("/views/long-equal-names", test_long_equal_names);
    g_test_add_func("/views/disk-record", test_disk_record);
    g_test_add_func("/views/definitions", test_definitions);
    g_test_add_func("/views/root", test_root);
    g_test_add_func("/views/queries", test_queries);
    g_test_add_func("/views/queries-in-root", test_queries_in_root);
    g_test_add_func("/views/names", test_view_names);
    return g_test_run();
}
