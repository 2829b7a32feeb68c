/* SPDX-License-Identifier: MIT */
/* objmodel/record.c: members that are files, directories, or stand beside the others; versions; values that move. */
#include "nodes.h"
#include "objmodel/record.h"

static const char *const nested[] = {"parent", "backing", NULL};
static const RecordLayout plain = {0};
static const RecordLayout disk = {.flatten = "stats", .nested = nested};
static const RecordLayout moving_disk = {.flatten = "stats", .nested = nested, .moving = TRUE};

static Node *record(const char *text, const RecordLayout *layout, Sampler *sampler, const Node *previous, guint64 stamp)
{
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    JsonSlice slice = {g_bytes_get_data(bytes, NULL), strlen(text)};

    return record_new("disk0", bytes, slice, layout, sampler, previous, stamp);
}

static void check_value(const Node *node, const char *name, const char *expected)
{
    check_slice(node_slot_value(node, slot_of(node, name)), expected);
}

static void test_members(void)
{
    static const char text[] = "{\"n\":18446744073709551615,\"a/b\":\"x\",\"o\":{\"n\":1},\"l\":[],\"\":null}";
    g_autoptr(Node) node = record(text, &plain, NULL, NULL, 5);

    g_assert_cmpint(node->kind, ==, NODE_RECORD);
    g_assert_cmpstr(node->name, ==, "disk0");
    g_assert_cmpuint(node_slot_count(node), ==, 5);
    g_assert_cmpuint(children_count(node->children), ==, 0);
    check_value(node, "n", "18446744073709551615");
    check_value(node, "a%2Fb", "\"x\"");
    check_value(node, "o", "{\"n\":1}");
    check_value(node, "l", "[]");
    check_value(node, "%", "null");
    g_assert_null(node_slot_info(node, 0)->type);
    g_assert_cmpint(node_find_slot(node, "a%2Fb"), ==, 1);
    check_tree(node, text);
    g_assert_cmpuint(node_tree_size(node), ==, strlen(text));
    g_autoptr(Node) empty = record("{}", &disk, NULL, NULL, 5);
    g_assert_cmpuint(node_slot_count(empty), ==, 0);
    check_tree(empty, "{}");
}

static void test_layout(void)
{
    static const char text[] = "{\"device\":\"d\",\"stats\":{\"rd\":1,\"parent\":{\"x\":0},\"wr\":2},"
                               "\"parent\":{\"stats\":{\"rd\":3},\"parent\":{\"deep\":true}},\"backing\":null}";
    g_autoptr(Node) node = record(text, &disk, NULL, NULL, 5);

    g_assert_cmpuint(node_slot_count(node), ==, 5);
    check_value(node, "device", "\"d\"");
    check_value(node, "rd", "1");
    check_value(node, "wr", "2");
    check_value(node, "backing", "null"); /* no object, no directory */
    g_assert_cmpint(node_find_slot(node, "stats"), ==, -1);
    g_assert_cmpuint(children_count(node->children), ==, 1);
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint slot = 0; slot < node_slot_count(node); slot++)
        g_string_append_printf(names, "%s ", node_slot_info(node, slot)->name);
    g_assert_true(strstr(names->str, "parent")); /* the one in stats is a file */

    ChildrenIter iter = children_iter(node->children, 0);
    const Node *parent = children_next(&iter);
    check_tree(parent, "{\"stats\":{\"rd\":3},\"parent\":{\"deep\":true}}");
    check_value(parent, "rd", "3");
    check_tree(children_find(parent->children, "parent"), "{\"deep\":true}");
    check_tree(node, text);

    g_autoptr(Node) odd = record("{\"stats\":[1],\"parent\":[2]}", &disk, NULL, NULL, 5);
    check_value(odd, "stats", "[1]");
    check_value(odd, "parent", "[2]");
}

/* Two members of one name: the later one is shown as NAME.2. */
static void test_repeated_names(void)
{
    g_autoptr(Node) node =
        record("{\"id\":0,\"id.2\":1,\"stats\":{\"id\":2,\"x\":3,\"id.2\":4}}", &disk, NULL, NULL, 5);

    g_assert_cmpuint(node_slot_count(node), ==, 5);
    check_value(node, "id", "0");
    check_value(node, "id.2", "1");
    check_value(node, "id.3", "2");
    check_value(node, "x", "3");
    check_value(node, "id.2.2", "4");
    g_autoptr(Node) before = record("{\"stats\":{\"id\":1},\"id\":2}", &disk, NULL, NULL, 5);
    check_value(before, "id", "1");
    check_value(before, "id.2", "2");
}

static void test_index(void)
{
    static const char text[] = "{\"a\":1,\"stats\":{\"b\":22},\"parent\":{},\"c\":[]}";
    JsonSlice slice = {text, strlen(text)};
    NodeSlot slots[4] = {0};

    g_assert_cmpuint(record_index(slice, &disk, slots, 4), ==, 3);
    check_slice((JsonSlice){text + slots[0].value, slots[0].length}, "1");
    check_slice((JsonSlice){text + slots[1].value, slots[1].length}, "22");
    check_slice((JsonSlice){text + slots[2].value, slots[2].length}, "[]");
    g_assert_true(g_str_has_prefix(text + slots[1].entry, "\"b\":22"));
    /* There are more than there is room for: counted, not written. */
    memset(slots, 0, sizeof slots);
    g_assert_cmpuint(record_index(slice, &disk, slots, 1), ==, 3);
    g_assert_cmpuint(slots[0].length, ==, 1);
    g_assert_cmpuint(slots[1].length, ==, 0);
}

static void test_versions(void)
{
    static const char text[] = "{\"a\":1,\"b\":2,\"parent\":{\"c\":3}}";
    g_autoptr(Node) first = record(text, &disk, NULL, NULL, 10), same = record(text, &disk, NULL, first, 20);
    g_autoptr(Node) second = record("{\"a\":1,\"b\":22,\"parent\":{\"c\":3}}", &disk, NULL, first, 30);
    g_autoptr(Node) third = record("{\"a\":1,\"b\":22,\"parent\":{\"c\":4}}", &disk, NULL, second, 40);
    g_autoptr(Node) fourth = record("{\"b\":22,\"d\":1,\"parent\":{\"c\":4}}", &disk, NULL, third, 50);
    const Node *parent = children_find(first->children, "parent");

    g_assert_true(same == first);
    g_assert_true(second->shape == first->shape);
    g_assert_cmpuint(second->id, ==, first->id);
    g_assert_cmpuint(node_slot_stamp(second, 0), ==, 10);
    g_assert_cmpuint(node_slot_stamp(second, 1), ==, 30);
    g_assert_cmpuint(second->names_stamp, ==, 10);
    g_assert_true(children_find(second->children, "parent") == parent);
    const Node *other = children_find(third->children, "parent");
    g_assert_true(other != parent);
    g_assert_cmpuint(other->id, ==, parent->id);
    g_assert_cmpuint(node_slot_stamp(other, 0), ==, 40);
    g_assert_cmpuint(third->names_stamp, ==, 10);
    g_assert_cmpuint(third->tree_stamp, ==, 40);
    g_assert_cmpuint(fourth->names_stamp, ==, 50);
    g_assert_cmpuint(node_slot_ino(fourth, 0), ==, node_slot_ino(first, 1));
    g_assert_cmpuint(node_slot_stamp(fourth, 0), ==, 30);
    g_assert_cmpuint(node_slot_ino(fourth, 1), !=, node_slot_ino(first, 0));
}

/* ---- values that move ---- */

typedef struct Counter {
    Sampler base;
    guint value;
} Counter;

static gint counters; /* that are not freed yet */

static void counter_fill(Sampler *sampler, GString *out)
{
    guint value = ((Counter *)sampler)->value;

    g_string_append_printf(out, "{\"n\":%u,\"parent\":{\"n\":%u,\"parent\":{\"n\":%u}},\"stats\":{\"m\":%u}}", value,
                           value + 1, value + 2, value + 3);
}

static void counter_free(Sampler *sampler)
{
    counters--;
    g_free(sampler);
}

static Node *counting_record(Counter **ret)
{
    Counter *counter = g_new0(Counter, 1);
    g_autoptr(GString) text = g_string_new(NULL);

    counters++;
    g_atomic_ref_count_init(&counter->base.refs);
    counter->base.fill = counter_fill;
    counter->base.free = counter_free;
    counter_fill(&counter->base, text);
    *ret = counter;
    return record(text->str, &moving_disk, &counter->base, NULL, 10);
}

static void test_moving(void)
{
    Counter *counter;
    g_autoptr(Node) node = counting_record(&counter);

    g_assert_true(node->tree_moving);
    g_assert_true(node_slot_info(node, 0)->flags & SLOT_MOVING);
    counter->value = 1000;
    g_autoptr(Node) now = node_sample(node);
    check_value(now, "n", "1000");
    check_value(now, "m", "1003");
    check_value(node, "n", "0");
    counter->value = 2000;
    check_tree(now, "{\"n\":1000,\"parent\":{\"n\":1001,\"parent\":{\"n\":1002}},\"stats\":{\"m\":1003}}");
    check_tree(node, "{\"n\":2000,\"parent\":{\"n\":2001,\"parent\":{\"n\":2002}},\"stats\":{\"m\":2003}}");

    const Node *parent = children_find(node->children, "parent");
    const Node *grandparent = children_find(parent->children, "parent");
    g_autoptr(Node) parent_now = node_sample(parent), grandparent_now = node_sample(grandparent);
    check_value(parent_now, "n", "2001");
    check_value(grandparent_now, "n", "2002");
    check_tree(parent, "{\"n\":2001,\"parent\":{\"n\":2002}}");
    check_tree(grandparent, "{\"n\":2002}");

    sampler_unref(&counter->base);
    g_assert_cmpint(counters, ==, 1);
    g_clear_pointer(&parent_now, node_unref);
    g_clear_pointer(&grandparent_now, node_unref);
    g_clear_pointer(&node, node_unref);
    g_assert_cmpint(counters, ==, 1); /* the sample's children still move */
    g_clear_pointer(&now, node_unref);
    g_assert_cmpint(counters, ==, 0);
}

/* A layout that moves, without a sampler: plain values. */
static void test_without_sampler(void)
{
    g_autoptr(Node) node = record("{\"n\":1}", &moving_disk, NULL, NULL, 10);

    g_assert_false(node->tree_moving);
    g_assert_cmpuint(node_slot_info(node, 0)->flags, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/record/members", test_members);
    g_test_add_func("/record/layout", test_layout);
    g_test_add_func("/record/repeated-names", test_repeated_names);
    g_test_add_func("/record/index", test_index);
    g_test_add_func("/record/versions", test_versions);
    g_test_add_func("/record/moving", test_moving);
    g_test_add_func("/record/without-sampler", test_without_sampler);
    return g_test_run();
}
