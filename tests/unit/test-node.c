/* SPDX-License-Identifier: MIT */
/* objmodel/node.c: identities, what a version shares with the one before, what a subtree looks like, moving values. */
#include "nodes.h"

static ShapePool *shapes;

static Node *thing(const Prop *props, const Node *previous, guint64 stamp)
{
    return object_node(shapes, "thing", props, NULL, NULL, previous, stamp);
}

static Node *leaf(const char *name)
{
    return object_node(shapes, name, NULL, NULL, NULL, NULL, 1);
}

/* ---- identities ---- */

static void test_new(void)
{
    const Prop props[] = {{.name = "type", .value = "\"thing\""}, {.name = "a", .type = "int", .value = "1"}, {0}};
    g_autoptr(Node) node = thing(props, NULL, 7);

    g_assert_cmpint(node->kind, ==, NODE_OBJECT);
    g_assert_cmpstr(node->name, ==, "thing");
    check_slice(node->json_name, "\"thing\"");
    g_assert_nonnull(node->children);
    g_assert_cmpuint(children_count(node->children), ==, 0);
    g_assert_cmpuint(node->stamp, ==, 7);
    g_assert_cmpuint(node->names_stamp, ==, 7);
    g_assert_cmpuint(node->tree_stamp, ==, 7);
    g_assert_false(node->tree_moving);
    g_assert_cmpuint(node_slot_stamp(node, 0), ==, 7);
    g_assert_cmpuint(node_slot_stamp(node, 1), ==, 7);
}

/* No number is given twice, also not after its object is gone. */
static void test_numbers_are_not_reused(void)
{
    const Prop props[] = {{.name = "a", .value = "1"}, {.name = "b", .value = "2"}, {0}};
    guint64 after = 0;

    for (guint i = 0; i < 100; i++) {
        g_autoptr(Node) node = thing(props, NULL, 1);
        g_assert_cmpuint(node->id, >, after);
        g_assert_cmpuint(node->id, >, 1); /* the kernel's number of the mount's root */
        g_assert_cmpuint(node_slot_ino(node, 0), >=, node->id + NODE_INOS);
        g_assert_cmpuint(node_slot_ino(node, 1), !=, node_slot_ino(node, 0));
        after = MAX(node_slot_ino(node, 0), node_slot_ino(node, 1));
    }
}

static gpointer take_numbers(gpointer opaque)
{
    guint64 *numbers = opaque;

    for (guint i = 0; i < 500; i++) {
        g_autoptr(Node) node = node_new(&(NodeSpec){.kind = NODE_LIST, .name = "list", .stamp = 1});
        numbers[i] = node->id;
    }
    return NULL;
}

static void test_numbers_from_threads(void)
{
    static guint64 numbers[4][500];
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    GThread *threads[4];

    for (guint i = 0; i < 4; i++)
        threads[i] = g_thread_new("maker", take_numbers, numbers[i]);
    for (guint i = 0; i < 4; i++)
        g_thread_join(threads[i]);
    for (guint i = 0; i < 4 * 500; i++)
        g_assert_true(g_hash_table_add(seen, &numbers[i / 500][i % 500]));
}

/* ---- the next version ---- */

static void test_nothing_differs(void)
{
    const Prop props[] = {{.name = "a", .value = "1"},
                          {.name = "b", .type = "link<thing>", .value = "\"\""},
                          {.name = "c", .error = "no crash occurred"},
                          {0}};
    g_autoptr(Node) first = thing(props, NULL, 1);
    g_autoptr(Node) second = thing(props, first, 2);

    g_assert_true(first == second);
    g_autoptr(Node) same = node_with_children(first, first->children, 3);
    g_assert_true(same == first);
    g_assert_cmpuint(first->stamp, ==, 1);
    g_assert_cmpuint(first->tree_stamp, ==, 1);
}

static void test_value_changes(void)
{
    const Prop before[] = {{.name = "a", .value = "1"}, {.name = "b", .value = "2"}, {.name = "c", .value = "3"}, {0}};
    const Prop after[] = {{.name = "a", .value = "1"}, {.name = "b", .value = "20"}, {.name = "c", .value = "3"}, {0}};
    const Prop third_props[] = {
        {.name = "a", .value = "9"}, {.name = "b", .value = "20"}, {.name = "c", .value = "3"}, {0}};
    g_autoptr(Node) first = thing(before, NULL, 10);
    g_autoptr(Node) second = thing(after, first, 20);
    g_autoptr(Node) third = thing(third_props, second, 30);

    g_assert_true(second != first);
    g_assert_cmpuint(second->id, ==, first->id);
    g_assert_cmpuint(second->stamp, ==, 20);
    g_assert_cmpuint(second->tree_stamp, ==, 20);
    g_assert_cmpuint(second->names_stamp, ==, 10);
    g_assert_true(second->shape == first->shape);
    g_assert_cmpuint(node_slot_stamp(second, 0), ==, 10);
    g_assert_cmpuint(node_slot_stamp(second, 1), ==, 20);
    g_assert_cmpuint(node_slot_stamp(second, 2), ==, 10);
    g_assert_cmpuint(node_slot_stamp(third, 0), ==, 30);
    g_assert_cmpuint(node_slot_stamp(third, 1), ==, 20);
    g_assert_cmpuint(node_slot_stamp(third, 2), ==, 10);
    for (guint slot = 0; slot < 3; slot++)
        g_assert_cmpuint(node_slot_ino(third, slot), ==, node_slot_ino(first, slot));
    /* The versions before stay as they were. */
    check_slice(node_slot_value(first, 1), "2");
    check_slice(node_slot_value(second, 1), "20");
    g_assert_cmpuint(node_slot_stamp(first, 1), ==, 10);
    g_assert_cmpuint(first->tree_stamp, ==, 10);
}

/* A property comes, one goes, one that stays moves to another place. */
static void test_names_change(void)
{
    const Prop before[] = {{.name = "a", .value = "1"}, {.name = "b", .value = "2"}, {.name = "c", .value = "3"}, {0}};
    const Prop after[] = {{.name = "c", .value = "3"}, {.name = "new", .value = "4"}, {.name = "a", .value = "0"}, {0}};
    g_autoptr(Node) first = thing(before, NULL, 10);
    g_autoptr(Node) second = thing(after, first, 20);
    g_autoptr(Node) third = thing(before, second, 30); /* b is back: another file */

    g_assert_cmpuint(second->id, ==, first->id);
    g_assert_cmpuint(second->names_stamp, ==, 20);
    g_assert_cmpuint(second->stamp, ==, 20);
    g_assert_cmpuint(node_slot_ino(second, 0), ==, node_slot_ino(first, 2));
    g_assert_cmpuint(node_slot_ino(second, 2), ==, node_slot_ino(first, 0));
    g_assert_cmpuint(node_slot_stamp(second, 0), ==, 10);
    g_assert_cmpuint(node_slot_stamp(second, 1), ==, 20);
    g_assert_cmpuint(node_slot_stamp(second, 2), ==, 20);

    g_assert_cmpuint(third->names_stamp, ==, 30);
    g_assert_cmpuint(node_slot_ino(third, 0), ==, node_slot_ino(first, 0));
    g_assert_cmpuint(node_slot_ino(third, 2), ==, node_slot_ino(first, 2));
    g_assert_cmpuint(node_slot_ino(third, 1), !=, node_slot_ino(first, 1));
    g_assert_cmpuint(node_slot_ino(third, 1), !=, node_slot_ino(second, 1));
    g_assert_cmpuint(node_slot_stamp(third, 0), ==, 30);
    g_assert_cmpuint(node_slot_stamp(third, 1), ==, 30);
    g_assert_cmpuint(node_slot_stamp(third, 2), ==, 10);
    /* Numbers that came later belong to nobody else. */
    g_autoptr(Node) other = leaf("other");
    g_assert_cmpuint(other->id, >, node_slot_ino(third, 1));
}

/* The same names, of other types: no name came or went. */
static void test_types_change(void)
{
    const Prop before[] = {{.name = "a", .type = "int", .value = "1"}, {.name = "b", .value = "2"}, {0}};
    const Prop after[] = {{.name = "a", .type = "uint8", .value = "1"}, {.name = "b", .value = "2"}, {0}};
    g_autoptr(Node) first = thing(before, NULL, 10);
    g_autoptr(Node) second = thing(after, first, 20);

    g_assert_true(second != first);
    g_assert_true(second->shape != first->shape);
    g_assert_cmpuint(second->names_stamp, ==, 10);
    g_assert_cmpuint(second->stamp, ==, 20);
    g_assert_cmpuint(node_slot_ino(second, 0), ==, node_slot_ino(first, 0));
    g_assert_cmpuint(node_slot_ino(second, 1), ==, node_slot_ino(first, 1));
    g_assert_cmpuint(node_slot_stamp(second, 1), ==, 10);
    g_assert_cmpstr(node_slot_info(second, 0)->type, ==, "uint8");
}

static void test_errors(void)
{
    const Prop good[] = {{.name = "a", .value = "1"}, {.name = "b", .value = "2"}, {0}};
    const Prop bad[] = {{.name = "a", .error = "No crash occurred"}, {.name = "b", .value = "2"}, {0}};
    const Prop worse[] = {{.name = "a", .error = "it is on fire"}, {.name = "b", .value = "2"}, {0}};
    g_autoptr(Node) first = thing(good, NULL, 10), second = thing(bad, first, 20), third = thing(worse, second, 30),
                    last = thing(good, third, 40);

    g_assert_null(node_slot_error(first, 0));
    g_assert_cmpstr(node_slot_error(second, 0), ==, "No crash occurred");
    g_assert_null(node_slot_error(second, 1));
    g_assert_null(node_slot_value(second, 0).text);
    check_slice(node_slot_entry(second, 0), "{\"name\":\"a\",\"type\":\"string\"}");
    g_assert_cmpuint(node_slot_stamp(second, 0), ==, 20);
    g_assert_cmpuint(node_slot_stamp(third, 0), ==, 30);
    g_assert_cmpuint(node_slot_stamp(last, 0), ==, 40);
    g_assert_cmpuint(node_slot_stamp(last, 1), ==, 10);
    g_assert_null(node_slot_error(last, 0));
}

static void test_children_change(void)
{
    const Prop props[] = {{.name = "a", .value = "1"}, {0}};
    const Prop changed_props[] = {{.name = "x", .value = "1"}, {0}};
    g_autoptr(Children) children = children_of(leaf("one"), leaf("two"), NULL);
    g_autoptr(Node) first = object_node(shapes, "thing", props, children, NULL, NULL, 10);
    const Node *one = children_find(children, "one");

    /* A child changed: nothing of the parent's own did. */
    g_autoptr(Node) changed = object_node(shapes, "one", changed_props, NULL, NULL, one, 20);
    g_autoptr(Children) other_value = children_with(children, one, changed);
    g_autoptr(Node) second = node_with_children(first, other_value, 20);
    g_assert_cmpuint(second->id, ==, first->id);
    g_assert_cmpuint(second->stamp, ==, 10);
    g_assert_cmpuint(second->names_stamp, ==, 10);
    g_assert_cmpuint(second->tree_stamp, ==, 20);
    g_assert_cmpuint(node_slot_stamp(second, 0), ==, 10);
    g_assert_cmpuint(node_slot_ino(second, 0), ==, node_slot_ino(first, 0));
    g_assert_true(children_find(second->children, "two") == children_find(first->children, "two"));

    /* One came. */
    g_autoptr(Node) three = leaf("three");
    g_autoptr(Children) more = children_with(other_value, NULL, three);
    g_autoptr(Node) third = node_with_children(second, more, 30);
    g_assert_cmpuint(third->stamp, ==, 30);
    g_assert_cmpuint(third->names_stamp, ==, 30);
    g_assert_cmpuint(third->tree_stamp, ==, 30);
    g_assert_cmpuint(node_slot_stamp(third, 0), ==, 10);

    /* One went. */
    g_autoptr(Children) fewer = children_with(more, changed, NULL);
    g_autoptr(Node) fourth = node_with_children(third, fewer, 40);
    g_assert_cmpuint(fourth->names_stamp, ==, 40);
    check_tree(fourth, "{\"name\":\"thing\",\"children\":[{\"name\":\"two\",\"children\":[],\"properties\":[]},"
                       "{\"name\":\"three\",\"children\":[],\"properties\":[]}],"
                       "\"properties\":[{\"name\":\"a\",\"type\":\"string\",\"value\":1}]}");
    g_assert_cmpuint(children_count(first->children), ==, 2);
}

/* ---- reading ---- */

static void test_slots(void)
{
    const Prop props[] = {{.name = "type", .value = "\"thing\""},
                          {.name = "a/b", .type = "int", .value = "-1"},
                          {.name = "list", .type = "list", .value = "[1,{\"value\":2}]"},
                          {.name = "none"},
                          {0}};
    g_autoptr(Node) node = thing(props, NULL, 1), bare = leaf("bare");

    g_assert_cmpuint(node_slot_count(node), ==, 4);
    g_assert_cmpint(node_find_slot(node, "a%2Fb"), ==, 1);
    g_assert_cmpint(node_find_slot(node, "a/b"), ==, -1);
    g_assert_cmpstr(node_slot_info(node, 2)->type, ==, "list");
    check_slice(node_slot_value(node, 1), "-1");
    check_slice(node_slot_value(node, 2), "[1,{\"value\":2}]");
    g_assert_null(node_slot_value(node, 3).text);
    check_slice(node_slot_entry(node, 0), "{\"name\":\"type\",\"type\":\"string\",\"value\":\"thing\"}");
    check_slice(node_slot_entry(node, 1), "{\"name\":\"a/b\",\"type\":\"int\",\"value\":-1}");
    check_slice(node_slot_entry(node, 3), "{\"name\":\"none\",\"type\":\"string\"}");
    check_slice(node_type(node), "\"thing\"");
    g_assert_null(node_type(bare).text);
    g_assert_cmpuint(node_slot_count(bare), ==, 0);
    g_assert_cmpint(node_find_slot(bare, "type"), ==, -1);
}

static void test_links(void)
{
    const Prop props[] = {{.name = "set", .type = "link<thing>", .value = "\"/machine/x\""},
                          {.name = "root", .type = "link<thing>", .value = "\"/\""},
                          {.name = "unset", .type = "link<thing>", .value = "\"\""},
                          {.name = "unread", .type = "link<thing>"},
                          {.name = "relative", .type = "link<thing>", .value = "\"machine/x\""},
                          {.name = "null", .type = "link<thing>", .value = "null"},
                          {.name = "string", .type = "string", .value = "\"/machine/x\""},
                          {0}};
    g_autoptr(Node) node = thing(props, NULL, 1);

    for (guint slot = 0; slot < node_slot_count(node); slot++)
        g_assert_cmpint(node_slot_is_link(node, slot), ==, slot < 2);
}

static void test_files(void)
{
    static const struct {
        const char *value, *file;
        gsize size;
    } rows[] = {
        {"\"\"", "\n", 1},
        {"\"q35-machine\"", "q35-machine\n", 12},
        {"\"a\\nb\\\"\\\\\"", "a\nb\"\\\n", 6},
        {"\"\\u00e4\\ud83d\\ude00\"", "\xc3\xa4\xf0\x9f\x98\x80\n", 7},
        {"\"a\\u0000b\"", "a\0b\n", 4},
        {"18446744073709551615", "18446744073709551615\n", 21},
        {"true", "true\n", 5},
        {"null", "null\n", 5},
        {"[1,\"\\u00e4\"]", "[1,\"\\u00e4\"]\n", 13},
    };
    g_autoptr(GString) out = g_string_new(NULL);

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        JsonSlice value = {rows[i].value, strlen(rows[i].value)};
        g_assert_cmpuint(value_file_size(value), ==, rows[i].size);
        g_string_assign(out, "");
        value_append_file(value, out);
        g_assert_cmpmem(out->str, out->len, rows[i].file, rows[i].size);
    }
}

/* ---- subtrees ---- */

static Node *container(NodeKind kind, const char *name, Children *children)
{
    g_autoptr(Children) list = children;

    return node_new(&(NodeSpec){.kind = kind, .name = name, .children = list, .stamp = 1});
}

static Node *record(const char *name, const char *text, Children *children)
{
    g_autoptr(Children) list = children;
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));

    return node_new(&(NodeSpec){.kind = NODE_RECORD,
                                .name = name,
                                .bytes = bytes,
                                .text = {g_bytes_get_data(bytes, NULL), strlen(text)},
                                .children = list,
                                .stamp = 1});
}

static void test_trees(void)
{
    const Prop props[] = {{.name = "a\"b", .type = "int", .value = "1"}, {.name = "none"}, {0}};
    g_autoptr(Node) list = container(NODE_LIST, "list", NULL), map = container(NODE_MAP, "map", NULL);
    g_autoptr(Node) object = object_node(shapes, "o\"/", props, NULL, NULL, NULL, 1);

    check_tree(list, "[]");
    check_tree(map, "{}");
    check_tree(object, "{\"name\":\"o\\\"/\",\"children\":[],\"properties\":["
                       "{\"name\":\"a\\\"b\",\"type\":\"int\",\"value\":1},{\"name\":\"none\",\"type\":\"string\"}]}");
    g_assert_cmpstr(object->name, ==, "o\"%2F");

    /* The children of a record are parts of its text. */
    g_autoptr(Node) whole =
        record("disk", "{\"a\":1,\"parent\":{\"b\":2}}", children_of(record("parent", "{\"b\":2}", NULL), NULL));
    check_tree(whole, "{\"a\":1,\"parent\":{\"b\":2}}");

    g_autoptr(Node) objects = container(
        NODE_LIST, "list",
        children_of(node_ref(object), node_ref(whole), container(NODE_MAP, "m", children_of(leaf("x"), NULL)), NULL));
    check_tree(objects, "[{\"name\":\"o\\\"/\",\"children\":[],\"properties\":["
                        "{\"name\":\"a\\\"b\",\"type\":\"int\",\"value\":1},{\"name\":\"none\",\"type\":\"string\"}]},"
                        "{\"a\":1,\"parent\":{\"b\":2}},"
                        "{\"x\":{\"name\":\"x\",\"children\":[],\"properties\":[]}}]");
    g_autoptr(Node) all = container(NODE_MAP, "", children_of(node_ref(list), container(NODE_MAP, "q\"", NULL), NULL));
    check_tree(all, "{\"list\":[],\"q\\\"\":{}}");

    const Node *const nodes[] = {list, map, object, whole, objects, all};
    for (guint i = 0; i < G_N_ELEMENTS(nodes); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        node_append_tree(nodes[i], out);
        g_assert_cmpuint(node_tree_size(nodes[i]), ==, out->len);
    }
}

/* The name that JSON shows may be another one than the file's. */
static void test_root_name(void)
{
    g_autoptr(Node) root =
        node_new(&(NodeSpec){.kind = NODE_OBJECT, .name = "qom", .json_name = {"\"/\"", 3}, .stamp = 1});
    g_autoptr(Node) made = node_new(&(NodeSpec){.kind = NODE_OBJECT, .name = "x\"y", .stamp = 1});

    check_tree(root, "{\"name\":\"/\",\"children\":[],\"properties\":[]}");
    check_tree(made, "{\"name\":\"x\\\"y\",\"children\":[],\"properties\":[]}");
}

/* In pieces it is the same text. */
static void check_pieces(const Node *node, const GString *expected)
{
    g_autofree char *copy = g_malloc(expected->len);
    Pieces pieces;

    pieces_init(&pieces);
    node_tree_pieces(node, &pieces);
    g_assert_cmpuint(pieces.length, ==, expected->len);
    pieces_copy(&pieces, 0, pieces.length, copy);
    g_assert_cmpmem(copy, pieces.length, expected->str, expected->len);
    pieces_clear(&pieces);
}

/* A tree as deep as a dump may be, and a wide one. */
static void test_large_trees(void)
{
    g_autoptr(Node) node = leaf("end");
    g_autoptr(GString) out = g_string_new(NULL);
    Node *many[1000];

    for (guint i = 0; i < JSON_MAX_DEPTH; i++) {
        g_autoptr(Children) children = children_of(g_steal_pointer(&node), NULL);
        node = object_node(shapes, "n", NULL, children, NULL, NULL, 1);
    }
    node_append_tree(node, out);
    g_assert_cmpuint(out->len, ==, node_tree_size(node));
    for (guint i = 0; i < G_N_ELEMENTS(many); i++)
        many[i] = leaf("n");
    g_autoptr(Children) wide = children_new(many, G_N_ELEMENTS(many));
    g_autoptr(Node) list = container(NODE_LIST, "list", children_ref(wide));
    for (guint i = 0; i < G_N_ELEMENTS(many); i++)
        node_unref(many[i]);
    g_string_truncate(out, 0);
    node_append_tree(list, out);
    g_assert_cmpuint(out->len, ==, 1000 * strlen("{\"name\":\"n\",\"children\":[],\"properties\":[]},") + 1);
    g_assert_cmpuint(out->len, ==, node_tree_size(list));
    for (guint i = 0; i < 3; i++)
        check_pieces(list, out);
}

/* What was written is kept where it is large: written again, and in a tree around it, it is the same. */
static gpointer write_often(gpointer opaque)
{
    const Node *node = opaque;
    g_autoptr(GString) first = g_string_new(NULL);

    node_append_tree(node, first);
    for (guint i = 0; i < 20; i++) {
        g_autoptr(GString) again = g_string_new("x");
        node_append_tree(node, again);
        g_assert_cmpstr(again->str + 1, ==, first->str);
        g_assert_cmpuint(first->len, ==, node_tree_size(node));
        check_pieces(node, first);
    }
    return NULL;
}

static void test_written_again(void)
{
    static const char leaf_tree[] = "{\"name\":\"n\",\"children\":[],\"properties\":[]}";
    g_autoptr(GString) expected = g_string_new("{\"name\":\"big\",\"children\":[");
    GThread *threads[3];
    Node *leaves[300];

    for (guint i = 0; i < G_N_ELEMENTS(leaves); i++) {
        leaves[i] = leaf("n");
        g_string_append_printf(expected, "%s%s", i ? "," : "", leaf_tree);
    }
    g_string_append(expected, "],\"properties\":[]}");
    g_autoptr(Children) children = children_new(leaves, G_N_ELEMENTS(leaves));
    for (guint i = 0; i < G_N_ELEMENTS(leaves); i++)
        node_unref(leaves[i]);
    g_autoptr(Node) big = object_node(shapes, "big", NULL, children, NULL, NULL, 1);
    for (guint i = 0; i < 4; i++)
        check_tree(big, expected->str);
    g_autoptr(Node) around = container(NODE_LIST, "l", children_of(leaf("n"), node_ref(big), NULL));
    g_autofree char *all = g_strdup_printf("[%s,%s]", leaf_tree, expected->str);
    for (guint i = 0; i < 4; i++)
        check_tree(around, all);

    /* The first to write it are several at once. */
    g_autoptr(Node) fresh = object_node(shapes, "fresh", NULL, children, NULL, NULL, 1);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("writer", write_often, fresh);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
}

/* ---- samplers ---- */

typedef struct Clock {
    Sampler base;
    gint now; /* atomic */
    gint *freed;
} Clock;

static void clock_fill(Sampler *sampler, GString *out)
{
    Clock *clock = (Clock *)sampler;

    g_string_append_printf(out,
                           "{\"name\":\"fixed\",\"type\":\"int\",\"value\":5},"
                           "{\"name\":\"ti,me\",\"type\":\"string\",\"value\":%d,\"description\":\"}\"},"
                           "{\"name\":\"none\",\"type\":\"string\"}",
                           g_atomic_int_get(&clock->now));
}

static void clock_free(Sampler *sampler)
{
    Clock *clock = (Clock *)sampler;

    *clock->freed += 1;
    g_free(clock);
}

static Clock *clock_new(gint *freed)
{
    Clock *clock = g_new0(Clock, 1);

    g_atomic_ref_count_init(&clock->base.refs);
    clock->base.fill = clock_fill;
    clock->base.free = clock_free;
    clock->freed = freed;
    return clock;
}

static Node *clock_node(const char *fixed, const char *time, Clock *clock, const Node *previous, guint64 stamp)
{
    const Prop props[] = {{.name = "fixed", .type = "int", .value = fixed},
                          {.name = "ti,me", .value = time, .flags = SLOT_MOVING},
                          {.name = "none"},
                          {0}};

    return object_node(shapes, "clock", props, NULL, &clock->base, previous, stamp);
}

#define CLOCK_TREE(time)                                                                                               \
    "{\"name\":\"clock\",\"children\":[],\"properties\":[{\"name\":\"fixed\",\"type\":\"int\",\"value\":5},"           \
    "{\"name\":\"ti,me\",\"type\":\"string\",\"value\":" time ",\"description\":\"}\"},"                               \
    "{\"name\":\"none\",\"type\":\"string\"}]}"

static void test_sample(void)
{
    gint freed = 0;
    Clock *clock = clock_new(&freed);
    g_autoptr(Node) node = clock_node("5", "0", clock, NULL, 10);

    g_assert_true(node->tree_moving);
    clock->now = 17;
    {
        g_autoptr(Node) now = node_sample(node);
        clock->now = 18;
        check_slice(node_slot_value(now, 0), "5");
        check_slice(node_slot_value(now, 1), "17");
        g_assert_null(node_slot_value(now, 2).text);
        check_slice(node_slot_entry(now, 0), "{\"name\":\"fixed\",\"type\":\"int\",\"value\":5}");
        check_slice(node_slot_entry(now, 1),
                    "{\"name\":\"ti,me\",\"type\":\"string\",\"value\":17,\"description\":\"}\"}");
        check_slice(node_slot_entry(now, 2), "{\"name\":\"none\",\"type\":\"string\"}");
        g_assert_cmpuint(now->id, ==, node->id);
        g_assert_cmpuint(now->stamp, ==, 10);
        g_assert_cmpuint(now->tree_stamp, ==, 10);
        g_assert_cmpuint(node_slot_ino(now, 1), ==, node_slot_ino(node, 1));
        check_tree(now, CLOCK_TREE("17")); /* it does not move any more */
        g_assert_cmpuint(node_tree_size(now), ==, strlen(CLOCK_TREE("17")));
    }
    check_slice(node_slot_value(node, 1), "0");
    check_tree(node, CLOCK_TREE("18"));
    g_autoptr(Children) children = children_of(leaf("before"), node_ref(node), leaf("after"), NULL);
    g_autoptr(Node) above = object_node(shapes, "above", NULL, children, NULL, NULL, 1);
    g_assert_true(above->tree_moving);
    clock->now = 1234567;
    check_tree(above,
               "{\"name\":\"above\",\"children\":[{\"name\":\"before\",\"children\":[],\"properties\":[]}," CLOCK_TREE(
                   "1234567") ",{\"name\":\"after\",\"children\":[],\"properties\":[]}],"
                              "\"properties\":[]}");
    g_autoptr(Node) same = node_sample(above); /* only its own values would be sampled: it has none */
    g_assert_true(same == above);
    sampler_unref(&clock->base);
    g_assert_cmpint(freed, ==, 0);
    g_clear_pointer(&node, node_unref);
    g_clear_pointer(&same, node_unref);
    g_clear_pointer(&above, node_unref);
    g_clear_pointer(&children, children_unref);
    g_assert_cmpint(freed, ==, 1);
    sampler_unref(NULL);
}

/* What a moving value was when it was published does not make a version; another sampler does. */
static void test_sampler_versions(void)
{
    gint freed = 0;
    Clock *clock = clock_new(&freed), *other = clock_new(&freed);
    g_autoptr(Node) first = clock_node("5", "0", clock, NULL, 10), same = clock_node("5", "99", clock, first, 20);
    g_autoptr(Node) second = clock_node("6", "99", clock, first, 30);
    g_autoptr(Node) third = clock_node("6", "99", other, second, 40);

    g_assert_true(same == first);
    g_assert_cmpuint(node_slot_stamp(second, 0), ==, 30);
    g_assert_cmpuint(node_slot_stamp(second, 1), ==, 10);
    g_assert_cmpuint(second->stamp, ==, 30);
    g_assert_true(third != second);
    g_assert_cmpuint(third->id, ==, first->id);
    g_assert_cmpuint(node_slot_stamp(third, 0), ==, 30);
    sampler_unref(&clock->base);
    sampler_unref(&other->base);
}

/* Several threads sample one node while its clock moves. */
static gpointer sample_often(gpointer opaque)
{
    const Node *node = opaque;

    for (guint i = 0; i < 300; i++) {
        g_autoptr(Node) now = node_sample(node);
        g_autoptr(GString) out = g_string_new(NULL);
        check_slice(node_slot_value(now, 0), "5");
        node_append_tree(node, out);
        g_assert_true(g_str_has_suffix(out->str, "}]}"));
    }
    return NULL;
}

static void test_sample_from_threads(void)
{
    gint freed = 0;
    Clock *clock = clock_new(&freed);
    g_autoptr(Node) node = clock_node("5", "0", clock, NULL, 10);
    GThread *threads[3];

    sampler_unref(&clock->base);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("sampler", sample_often, node);
    for (guint i = 0; i < 1000; i++)
        g_atomic_int_inc(&clock->now);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    shapes = shape_pool_new();
    g_test_add_func("/node/new", test_new);
    g_test_add_func("/node/numbers-are-not-reused", test_numbers_are_not_reused);
    g_test_add_func("/node/numbers-from-threads", test_numbers_from_threads);
    g_test_add_func("/node/nothing-differs", test_nothing_differs);
    g_test_add_func("/node/value-changes", test_value_changes);
    g_test_add_func("/node/names-change", test_names_change);
    g_test_add_func("/node/types-change", test_types_change);
    g_test_add_func("/node/errors", test_errors);
    g_test_add_func("/node/children-change", test_children_change);
    g_test_add_func("/node/slots", test_slots);
    g_test_add_func("/node/links", test_links);
    g_test_add_func("/node/files", test_files);
    g_test_add_func("/node/trees", test_trees);
    g_test_add_func("/node/root-name", test_root_name);
    g_test_add_func("/node/large-trees", test_large_trees);
    g_test_add_func("/node/written-again", test_written_again);
    g_test_add_func("/node/sample", test_sample);
    g_test_add_func("/node/sampler-versions", test_sampler_versions);
    g_test_add_func("/node/sample-from-threads", test_sample_from_threads);
    status = g_test_run();
    shape_pool_free(shapes);
    return status;
}
