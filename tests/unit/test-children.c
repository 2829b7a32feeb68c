/* SPDX-License-Identifier: MIT */
/* objmodel/children.c: lists against a plain array, comparisons in both directions, readers that come at once. */
#include "nodes.h"
#include "objmodel/children.h"

typedef struct Pair {
    Children *list;
    GPtrArray *nodes; /* the same as a plain array */
} Pair;

static ShapePool *shapes;

static Node *item_new(const char *name, const char *value, const Node *previous)
{
    static guint64 stamp = 1;
    const Prop props[] = {{"value", "string", value, 0, NULL}, {0}};

    return object_node(shapes, name, props, NULL, NULL, previous, stamp++);
}

static Node *numbered_new(guint number)
{
    g_autofree char *name = g_strdup_printf("n%u", number);

    return item_new(name, "\"x\"", NULL);
}

static Pair pair_new(guint n)
{
    Pair pair = {.nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_unref)};

    for (guint i = 0; i < n; i++)
        g_ptr_array_add(pair.nodes, numbered_new(i));
    pair.list = children_new((Node *const *)pair.nodes->pdata, n);
    return pair;
}

static gpointer copy_node(gconstpointer node, gpointer opaque G_GNUC_UNUSED)
{
    return node_ref(node);
}

static Pair pair_copy(const Pair *pair)
{
    return (Pair){children_ref(pair->list), g_ptr_array_copy(pair->nodes, copy_node, NULL)};
}

static void pair_clear(Pair *pair)
{
    children_unref(pair->list);
    g_ptr_array_unref(pair->nodes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Pair, pair_clear)

/* Does the same to both. ordinal: of the old node, or -1; takes new_node over. */
static void pair_change(Pair *pair, int ordinal, Node *new_node)
{
    const Node *old_node = ordinal < 0 ? NULL : g_ptr_array_index(pair->nodes, ordinal);
    Children *changed = children_with(pair->list, old_node, new_node);

    children_unref(pair->list);
    pair->list = changed;
    if (ordinal < 0) {
        g_ptr_array_add(pair->nodes, new_node);
    } else if (new_node) {
        node_unref(pair->nodes->pdata[ordinal]);
        pair->nodes->pdata[ordinal] = new_node;
    } else {
        g_ptr_array_remove_index(pair->nodes, (guint)ordinal);
    }
}

static void check_pair(const Pair *pair)
{
    guint n = pair->nodes->len;
    ChildrenIter iter = children_iter(pair->list, 0);
    gsize size = n ? n - 1 : 0;

    g_assert_cmpuint(children_count(pair->list), ==, n);
    for (guint i = 0; i < n; i++) {
        const Node *node = g_ptr_array_index(pair->nodes, i);
        g_assert_true(children_next(&iter) == node);
        g_assert_true(children_find(pair->list, node->name) == node);
        size += node_tree_size(node);
    }
    g_assert_null(children_next(&iter));
    g_assert_null(children_next(&iter));
    g_assert_null(children_find(pair->list, "nobody"));
    g_assert_cmpuint(children_tree_size(pair->list), ==, size);
    for (guint from = 0; from <= n + 1; from += 1 + n / 10) {
        iter = children_iter(pair->list, from);
        for (guint i = from; i < n; i++)
            g_assert_true(children_next(&iter) == g_ptr_array_index(pair->nodes, i));
        g_assert_null(children_next(&iter));
    }
}

/* ---- comparing ---- */

typedef struct Found {
    GHashTable *olds, *news; /* by name */
} Found;

static void found_child(const Node *old_child, const Node *new_child, void *opaque)
{
    Found *found = opaque;

    g_assert_true(old_child != new_child);
    if (old_child && new_child)
        g_assert_cmpstr(old_child->name, ==, new_child->name);
    if (old_child)
        g_assert_true(g_hash_table_insert(found->olds, old_child->name, (gpointer)old_child));
    if (new_child)
        g_assert_true(g_hash_table_insert(found->news, new_child->name, (gpointer)new_child));
}

/* Those of `list` that are not, as the very same nodes, in `other`. */
static GHashTable *only_in(const Pair *list, const Pair *other)
{
    GHashTable *nodes = g_hash_table_new(NULL, NULL), *only = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < other->nodes->len; i++)
        g_hash_table_add(nodes, other->nodes->pdata[i]);
    for (guint i = 0; i < list->nodes->len; i++) {
        Node *node = list->nodes->pdata[i];
        if (!g_hash_table_contains(nodes, node))
            g_hash_table_insert(only, node->name, node);
    }
    g_hash_table_unref(nodes);
    return only;
}

static void check_same_nodes(GHashTable *a, GHashTable *b)
{
    GHashTableIter iter;
    gpointer name, node;

    g_assert_cmpuint(g_hash_table_size(a), ==, g_hash_table_size(b));
    g_hash_table_iter_init(&iter, a);
    while (g_hash_table_iter_next(&iter, &name, &node))
        g_assert_true(g_hash_table_lookup(b, name) == node);
}

static void check_diff_one_way(const Pair *before, const Pair *after)
{
    g_autoptr(GHashTable) olds = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) news = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) went = only_in(before, after), came = only_in(after, before);
    Found found = {olds, news};

    children_diff(before->list, after->list, found_child, &found);
    check_same_nodes(olds, went);
    check_same_nodes(news, came);
}

static void check_diff(const Pair *before, const Pair *after)
{
    check_diff_one_way(before, after);
    check_diff_one_way(after, before);
}

/* ---- the tests ---- */

static void test_empty(void)
{
    g_auto(Pair) none = pair_new(0), one = pair_new(1);

    check_pair(&none);
    g_assert_null(children_find(none.list, ""));
    check_diff(&none, &none);
    check_diff(&none, &one);
    pair_change(&one, 0, NULL);
    check_pair(&one);
    check_diff(&none, &one);
    pair_change(&one, -1, numbered_new(5));
    check_pair(&one);
    children_unref(NULL);
}

static void test_lengths(void)
{
    static const guint lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000};

    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_auto(Pair) pair = pair_new(lengths[i]);
        check_pair(&pair);
    }
}

/* One by one from nothing to many, and back to nothing from each side and from the middle. */
static void test_grow_and_shrink(void)
{
    enum { MANY = 400 };

    for (guint side = 0; side < 3; side++) {
        g_auto(Pair) pair = pair_new(0);
        for (guint i = 0; i < MANY; i++)
            pair_change(&pair, -1, numbered_new(i));
        check_pair(&pair);
        while (pair.nodes->len > 0) {
            guint last = pair.nodes->len - 1;
            pair_change(&pair, side == 0 ? 0 : side == 1 ? (int)last : (int)last / 2, NULL);
            if (pair.nodes->len % 16 < 2)
                check_pair(&pair);
        }
    }
}

/* An object that takes the place of another one, under its name and under a new one. */
static void test_replace(void)
{
    g_auto(Pair) pair = pair_new(200);
    g_auto(Pair) before = pair_copy(&pair);
    const guint64 id = ((Node *)pair.nodes->pdata[100])->id;

    pair_change(&pair, 100, item_new("n100", "\"y\"", pair.nodes->pdata[100])); /* the same, changed */
    g_assert_cmpuint(children_find(pair.list, "n100")->id, ==, id);
    g_assert_true(children_same_names(pair.list, before.list));
    check_pair(&pair);
    check_diff(&before, &pair);
    pair_change(&pair, 3, item_new("n3", "\"x\"", NULL)); /* another one of this name */
    g_assert_true(children_same_names(pair.list, before.list));
    check_pair(&pair);
    check_diff(&before, &pair);
    pair_change(&pair, 150, item_new("new", "\"x\"", NULL));
    g_assert_false(children_same_names(pair.list, before.list));
    g_assert_null(children_find(pair.list, "n150"));
    check_pair(&pair);
    check_diff(&before, &pair);
    pair_change(&pair, 3, item_new("n3", "\"z\"", pair.nodes->pdata[3])); /* ids do not ascend any more */
    pair_change(&pair, 199, NULL);
    pair_change(&pair, 3, NULL);
    check_pair(&pair);
    check_diff(&before, &pair);
    check_pair(&before);
}

static void test_same_names(void)
{
    g_auto(Pair) pair = pair_new(70), again = pair_new(70), shorter = pair_new(69);
    g_auto(Pair) turned = pair_copy(&again);

    g_assert_true(children_same_names(pair.list, pair.list));
    g_assert_true(children_same_names(pair.list, again.list));
    g_assert_false(children_same_names(pair.list, shorter.list));
    g_assert_false(children_same_names(shorter.list, pair.list));
    gpointer first = turned.nodes->pdata[0];
    turned.nodes->pdata[0] = turned.nodes->pdata[1];
    turned.nodes->pdata[1] = first;
    children_unref(turned.list);
    turned.list = children_new((Node *const *)turned.nodes->pdata, turned.nodes->len);
    g_assert_false(children_same_names(turned.list, again.list));
    check_pair(&turned);
    check_diff(&turned, &again); /* nobody came or went */
    check_diff(&pair, &again);   /* everybody is another one */
}

/* Chunks that joined, and have other bounds than those of the list compared with. */
static void test_diff_other_bounds(void)
{
    g_auto(Pair) all = pair_new(300);
    g_auto(Pair) fewer = pair_copy(&all);

    for (guint i = 0; i < 60; i++)
        pair_change(&fewer, 70, NULL);
    check_pair(&fewer);
    check_diff(&all, &fewer);
    children_unref(fewer.list);
    fewer.list = children_new((Node *const *)fewer.nodes->pdata, fewer.nodes->len);
    check_diff(&all, &fewer);
}

static void test_random(void)
{
    g_auto(Pair) pair = pair_new(150);
    g_auto(Pair) long_ago = pair_copy(&pair);
    guint number = 1000;

    for (guint round = 0; round < 3000; round++) {
        g_auto(Pair) before = pair_copy(&pair);
        guint changes = (guint)g_test_rand_int_range(1, 4);
        for (guint i = 0; i < changes; i++) {
            int n = (int)pair.nodes->len;
            int ordinal = n ? g_test_rand_int_range(0, n) : -1;
            /* It shrinks for a while, then grows, so that there are full chunks and crumbs. */
            int what = g_test_rand_int_range(0, round / 500 % 2 ? 8 : 6);
            const Node *old_node = n ? pair.nodes->pdata[ordinal] : NULL;
            g_autofree char *value = g_strdup_printf("\"%u\"", number++);
            if (what == 0 && n)
                pair_change(&pair, ordinal, item_new(old_node->name, value, old_node));
            else if (what == 1 && n)
                pair_change(&pair, ordinal, item_new(old_node->name, value, NULL));
            else if (what == 2 && n)
                pair_change(&pair, ordinal, numbered_new(number));
            else if (what <= 4 && n)
                pair_change(&pair, ordinal, NULL);
            else
                pair_change(&pair, -1, numbered_new(number));
        }
        check_diff(&before, &pair);
        if (round % 10 == 0) {
            check_pair(&pair);
            check_pair(&before);
        }
        if (round % 100 == 0) {
            check_diff(&long_ago, &pair);
            pair_clear(&long_ago);
            long_ago = pair_copy(&pair);
        }
    }
}

static void test_moving(void)
{
    g_auto(Pair) pair = pair_new(100);
    Node *child = numbered_new(200);

    g_assert_false(children_moving(pair.list));
    child->tree_moving = TRUE; /* as node_new() does for one with a sampler; nobody else has it yet */
    pair_change(&pair, -1, child);
    g_assert_true(children_moving(pair.list));
    pair_change(&pair, 0, NULL);
    g_assert_true(children_moving(pair.list));
    pair_change(&pair, (int)pair.nodes->len - 1, NULL);
    g_assert_false(children_moving(pair.list));
}

/* ---- threads: all look for names in lists whose index nobody has made yet ---- */

enum { THREADS = 4 };

static gpointer find_all(gpointer opaque)
{
    const Pair *pairs = opaque;

    for (guint p = 0; p < 2; p++)
        for (guint i = 0; i < pairs[p].nodes->len; i++) {
            const Node *node = pairs[p].nodes->pdata[i];
            g_assert_true(children_find(pairs[p].list, node->name) == node);
        }
    return NULL;
}

static void test_threads(void)
{
    for (guint round = 0; round < 20; round++) {
        g_auto(Pair) pair = pair_new(300);
        g_auto(Pair) next = pair_copy(&pair);
        GThread *threads[THREADS];

        pair_change(&next, 7, item_new("n7", "\"y\"", next.nodes->pdata[7]));
        const Pair pairs[] = {pair, next};
        for (guint i = 0; i < THREADS; i++)
            threads[i] = g_thread_new("reader", find_all, (gpointer)pairs);
        for (guint i = 0; i < THREADS; i++)
            g_thread_join(threads[i]);
    }
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    shapes = shape_pool_new();
    g_test_add_func("/children/empty", test_empty);
    g_test_add_func("/children/lengths", test_lengths);
    g_test_add_func("/children/grow-and-shrink", test_grow_and_shrink);
    g_test_add_func("/children/replace", test_replace);
    g_test_add_func("/children/same-names", test_same_names);
    g_test_add_func("/children/diff-other-bounds", test_diff_other_bounds);
    g_test_add_func("/children/random", test_random);
    g_test_add_func("/children/moving", test_moving);
    g_test_add_func("/children/threads", test_threads);
    status = g_test_run();
    shape_pool_free(shapes);
    return status;
}
