/* SPDX-License-Identifier: MIT */
/* objmodel/publish.c: what is shared, what is made anew, and what readers in other threads see. */
#include <string.h>

#include "objmodel/publish.h"
#include "objmodel/snapshot.h"

/* ---- a type with everything ---- */

typedef struct Counter {
    Shared base;
    gint value; /* atomic */
} Counter;

typedef struct Thing {
    Object base;
    int64_t a, b;
    Object *friend;
    Object *shown;
    char *secret;
} Thing;

static void counter_free(Shared *shared)
{
    g_free(shared);
}

static void counter_sample(const Shared *shared, const Property *prop G_GNUC_UNUSED, GString *out)
{
    json_append_int(out, g_atomic_int_get(&((const Counter *)shared)->value));
}

static gboolean get_broken(Object *object G_GNUC_UNUSED, const Property *prop G_GNUC_UNUSED, GString *out G_GNUC_UNUSED,
                           GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_UNREADABLE, "No crash occurred");
    return FALSE;
}

static const Property thing_props[] = {
    PROP_FIELD(Thing, a, "a", .flags = PROP_WRITABLE),
    PROP_FIELD(Thing, b, "b", .flags = PROP_WRITABLE),
    PROP_LINK(Thing, friend, "friend", "thing"),
    PROP_ALIAS(Thing, shown, "shown", "int", .alias_of = "a"),
    {0},
};
static const ObjectType thing_type = {.name = "thing", .instance_size = sizeof(Thing), .props = thing_props};

static const Property odd_props[] = {
    PROP_CALC("broken", "info", get_broken),
    PROP_FIELD(Thing, secret, "secret", .flags = PROP_SECRET),
    {0},
};
static const ObjectType odd_type = {.name = "odd", .instance_size = sizeof(Thing), .props = odd_props};

static const Property moving_props[] = {
    PROP_MOVING("count", "uint64", counter_sample),
    PROP_FIELD(Thing, a, "a"),
    PROP_MOVING("again", "uint64", counter_sample),
    {0},
};
static const ObjectType moving_type = {.name = "moving", .instance_size = sizeof(Thing), .props = moving_props};

static const ObjectType box_type = {.name = "box"};

typedef struct Tree {
    Types *types;
    Class *thing, *odd, *moving, *box;
    Object *root;
    Publisher *publisher;
    guint64 stamp;
} Tree;

static Tree tree_new(void)
{
    Tree tree = {.types = types_new(), .stamp = 1000};
    tree.thing = types_add(tree.types, &thing_type);
    tree.odd = types_add(tree.types, &odd_type);
    tree.moving = types_add(tree.types, &moving_type);
    tree.box = types_add(tree.types, &box_type);
    tree.root = object_new(tree.box);
    tree.publisher = publisher_new(tree.root, "qom");
    return tree;
}

static void tree_clear(Tree *tree)
{
    publisher_free(tree->publisher);
    object_unref(tree->root);
    types_free(tree->types);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tree, tree_clear)

static Node *publish(Tree *tree)
{
    Node *node = publisher_publish(tree->publisher, ++tree->stamp);
    g_assert_false(publisher_has_changes(tree->publisher));
    return node;
}

static const Node *child(const Node *node, const char *name)
{
    const Node *found = children_find(node->children, name);
    g_assert_nonnull(found);
    return found;
}

static void check_tree(const Node *node, const char *expected)
{
    g_autoptr(GString) out = g_string_new(NULL);
    node_append_tree(node, out);
    g_assert_cmpstr(out->str, ==, expected);
    g_assert_cmpuint(node_tree_size(node), ==, out->len);
}

static void check_value(const Node *node, const char *name, const char *expected)
{
    int slot = node_find_slot(node, name);
    JsonSlice value;
    g_assert_cmpint(slot, >=, 0);
    value = node_slot_value(node, (guint)slot);
    g_assert_cmpmem(value.text, value.length, expected, strlen(expected));
}

/* ---- what is rendered ---- */

static void test_text(void)
{
    g_auto(Tree) tree = tree_new();
    Object *thing = object_new_child(tree.root, "x[*]", tree.thing);
    g_autoptr(Node) node = NULL;

    object_assign_link(thing, "friend", thing);
    object_set_alias_target(thing, &((Thing *)thing)->shown, thing);
    object_add_value(thing, "own/1", "list", "[1,2]");
    object_new_child(tree.root, "a/b", tree.box);
    node = publish(&tree);
    g_assert_cmpstr(node->name, ==, "qom");
    check_tree(node, "{\"name\":\"/\",\"children\":[{\"name\":\"x[0]\",\"children\":[],\"properties\":["
                     "{\"name\":\"type\",\"type\":\"string\",\"value\":\"thing\"},"
                     "{\"name\":\"a\",\"type\":\"int\",\"value\":0},"
                     "{\"name\":\"b\",\"type\":\"int\",\"value\":0},"
                     "{\"name\":\"friend\",\"type\":\"link<thing>\",\"value\":\"/x[0]\"},"
                     "{\"name\":\"shown\",\"type\":\"int\",\"value\":0},"
                     "{\"name\":\"own/1\",\"type\":\"list\",\"value\":[1,2]}]},"
                     "{\"name\":\"a/b\",\"children\":[],\"properties\":["
                     "{\"name\":\"type\",\"type\":\"string\",\"value\":\"box\"}]}],\"properties\":["
                     "{\"name\":\"type\",\"type\":\"string\",\"value\":\"box\"}]}");
    g_assert_cmpint(node_find_slot(child(node, "x[0]"), "own%2F1"), ==, 5);
    g_assert_nonnull(child(node, "a%2Fb"));
}

static void test_no_value(void)
{
    g_auto(Tree) tree = tree_new();
    g_autoptr(Node) node = NULL;
    const Node *odd;

    object_new_child(tree.root, "odd", tree.odd);
    node = publish(&tree);
    odd = child(node, "odd");
    check_tree(odd, "{\"name\":\"odd\",\"children\":[],\"properties\":["
                    "{\"name\":\"type\",\"type\":\"string\",\"value\":\"odd\"},"
                    "{\"name\":\"broken\",\"type\":\"info\"},"
                    "{\"name\":\"secret\",\"type\":\"string\"}]}");
    g_assert_cmpuint(node_slot_value(odd, 1).length, ==, 0);
    g_assert_cmpstr(node_slot_error(odd, 1), ==, "No crash occurred");
    g_assert_true(node_slot_info(odd, 2)->flags & SLOT_SECRET);
}

/* ---- what is shared ---- */

static void test_sharing(void)
{
    g_auto(Tree) tree = tree_new();
    Object *left = object_new_child(tree.root, "left", tree.box);
    Object *right = object_new_child(tree.root, "right", tree.box);
    Object *thing = object_new_child(left, "thing", tree.thing);
    g_autoptr(Node) first = NULL, same = NULL, second = NULL, third = NULL;

    object_new_child(right, "other", tree.thing);
    first = publish(&tree);
    same = publish(&tree);
    g_assert_true(same == first);

    object_changed(thing); /* to the same value */
    g_clear_pointer(&same, node_unref);
    same = publish(&tree);
    g_assert_true(same == first);

    ((Thing *)thing)->a = 5;
    object_changed(thing);
    second = publish(&tree);
    g_assert_true(second != first);
    g_assert_cmpuint(second->id, ==, first->id);
    g_assert_true(child(second, "right") == child(first, "right"));
    g_assert_true(child(second, "left") != child(first, "left"));
    g_assert_cmpuint(child(second, "left")->stamp, ==, child(first, "left")->stamp);
    g_assert_cmpuint(child(second, "left")->tree_stamp, ==, tree.stamp);
    check_value(child(child(second, "left"), "thing"), "a", "5");
    check_value(child(child(first, "left"), "thing"), "a", "0");
    g_assert_true(child(child(second, "left"), "thing")->shape == child(child(second, "right"), "other")->shape);

    object_new_child(left, "late", tree.thing);
    object_unparent(thing);
    third = publish(&tree);
    g_assert_null(children_find(child(third, "left")->children, "thing"));
    g_assert_nonnull(child(child(third, "left"), "late"));
    g_assert_nonnull(child(child(second, "left"), "thing"));
    g_assert_true(child(third, "right") == child(first, "right"));
}

static void test_same_name_again(void)
{
    g_auto(Tree) tree = tree_new();
    g_autoptr(Node) first = NULL, second = NULL;

    object_new_child(tree.root, "x", tree.thing);
    first = publish(&tree);
    object_unparent(object_child(tree.root, "x"));
    object_new_child(tree.root, "x", tree.thing);
    second = publish(&tree);
    g_assert_cmpuint(children_count(second->children), ==, 1);
    g_assert_cmpuint(child(first, "x")->id, !=, child(second, "x")->id);

    /* Came and went unseen. */
    object_new_child(tree.root, "y", tree.thing);
    object_unparent(object_child(tree.root, "y"));
    g_clear_pointer(&first, node_unref);
    first = publish(&tree);
    g_assert_true(first == second);
}

static void test_links_follow(void)
{
    g_auto(Tree) tree = tree_new();
    Object *box = object_new_child(tree.root, "box", tree.box);
    Object *target = object_new_child(box, "target", tree.thing);
    Object *observer = object_new_child(tree.root, "observer", tree.thing);
    g_autoptr(Node) node = NULL;

    object_assign_link(observer, "friend", target);
    object_set_alias_target(observer, &((Thing *)observer)->shown, target);
    node = publish(&tree);
    check_value(child(node, "observer"), "friend", "\"/box/target\"");

    ((Thing *)target)->a = 9;
    object_changed(target);
    g_clear_pointer(&node, node_unref);
    node = publish(&tree);
    check_value(child(node, "observer"), "shown", "9");

    object_unparent(box);
    g_clear_pointer(&node, node_unref);
    node = publish(&tree);
    check_value(child(node, "observer"), "friend", "\"\"");
    check_value(child(node, "observer"), "shown", "");
}

static void test_own_properties(void)
{
    g_auto(Tree) tree = tree_new();
    Object *a = object_new_child(tree.root, "a", tree.thing);
    Object *b = object_new_child(tree.root, "b", tree.thing);
    g_autoptr(Node) first = NULL, second = NULL;

    object_add_link(a, "child[0]", "thing", b);
    object_add_link(b, "child[0]", "thing", a);
    first = publish(&tree);
    g_assert_true(child(first, "a")->shape == child(first, "b")->shape);
    object_remove_property(a, "child[0]");
    second = publish(&tree);
    g_assert_cmpint(node_find_slot(child(second, "a"), "child[0]"), ==, -1);
    check_value(child(second, "b"), "child[0]", "\"/a\"");
    g_assert_cmpuint(child(second, "a")->names_stamp, ==, tree.stamp);
}

/* ---- what moves ---- */

static void test_moving(void)
{
    g_autoptr(Node) node = NULL, sampled = NULL;
    Counter *counter = g_new0(Counter, 1);
    {
        g_auto(Tree) tree = tree_new();
        Object *moving = object_new(tree.moving);

        g_atomic_ref_count_init(&counter->base.refs);
        counter->base.free = counter_free;
        object_set_shared(moving, &counter->base);
        shared_unref(&counter->base);
        g_assert_true(object_add_child(tree.root, "m", moving, NULL));
        object_unref(moving);
        node = publish(&tree);
        check_value(child(node, "m"), "count", "0");
        g_atomic_int_set(&counter->value, 1234);
    }
    /* The objects are gone; the snapshot goes on. */
    sampled = node_sample(child(node, "m"));
    check_value(sampled, "count", "1234");
    check_value(sampled, "a", "0");
    check_value(sampled, "again", "1234");
    g_assert_cmpuint(sampled->id, ==, child(node, "m")->id);
    g_assert_true(node->tree_moving);
}

/* ---- readers in other threads ---- */

typedef struct Race {
    Snapshots *snapshots;
    gint stop;    /* atomic */
    gint reading; /* readers that have read once */
} Race;

static gpointer reader(gpointer opaque)
{
    Race *race = opaque;
    gint64 before = -1;
    guint seen = 0;

    while (!g_atomic_int_get(&race->stop)) {
        g_autoptr(Snapshot) snapshot = snapshots_current(race->snapshots);
        const Node *pair = child(snapshot->root, "pair");
        g_autoptr(GString) text = g_string_new(NULL);
        JsonSlice a = node_slot_value(pair, 1), b = node_slot_value(pair, 2);
        gint64 value = 0;

        g_assert_true(json_equal_bytes(a, b));
        g_assert_true(json_to_int64(a, &value));
        g_assert_cmpint(value, >=, before);
        before = value;
        node_append_tree(snapshot->root, text);
        g_assert_cmpuint(text->len, >, 0);
        if (seen++ == 0)
            g_atomic_int_inc(&race->reading);
    }
    return GUINT_TO_POINTER(seen);
}

static void test_readers(void)
{
    g_auto(Tree) tree = tree_new();
    Race race = {.snapshots = snapshots_new()};
    Object *pair = object_new_child(tree.root, "pair", tree.thing);
    Object *box = object_new_child(tree.root, "box", tree.box);
    GThread *threads[2];

    for (int round = 0; round < 2000; round++) {
        g_autoptr(Node) root = NULL;
        guint64 stamp = snapshots_next_stamp(race.snapshots, 0);

        ((Thing *)pair)->a = ((Thing *)pair)->b = round;
        object_changed(pair);
        object_new_child(box, "x[*]", tree.thing);
        if (round % 3)
            object_unparent(box->first_child);
        root = publisher_publish(tree.publisher, stamp);
        snapshots_publish(race.snapshots, root, stamp);
        for (int i = 0; round == 0 && i < 2; i++)
            threads[i] = g_thread_new("reader", reader, &race);
        while (g_atomic_int_get(&race.reading) < 2) /* a busy machine may take its time to begin with them */
            g_thread_yield();
    }
    g_atomic_int_set(&race.stop, 1);
    for (int i = 0; i < 2; i++)
        g_assert_cmpuint(GPOINTER_TO_UINT(g_thread_join(threads[i])), >, 0);
    snapshots_free(race.snapshots);
}

/* ---- the cost ---- */

static void test_cost(void)
{
    g_auto(Tree) tree = tree_new();
    Object *some = NULL;
    g_autoptr(Node) node = NULL;
    gint64 start;

    for (int i = 0; i < 100000; i++)
        some = object_new_child(tree.root, "x[*]", tree.thing);
    node = publish(&tree);
    start = g_get_monotonic_time();
    for (int i = 0; i < 1000; i++) {
        ((Thing *)some)->a++;
        object_changed(some);
        g_clear_pointer(&node, node_unref);
        node = publish(&tree);
    }
    /* Were it in proportion to the tree, it would be 100 million objects. */
    g_assert_cmpint(g_get_monotonic_time() - start, <, 5 * G_USEC_PER_SEC);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/publish/text", test_text);
    g_test_add_func("/publish/no-value", test_no_value);
    g_test_add_func("/publish/sharing", test_sharing);
    g_test_add_func("/publish/same-name-again", test_same_name_again);
    g_test_add_func("/publish/links-follow", test_links_follow);
    g_test_add_func("/publish/own-properties", test_own_properties);
    g_test_add_func("/publish/moving", test_moving);
    g_test_add_func("/publish/readers", test_readers);
    g_test_add_func("/publish/cost", test_cost);
    return g_test_run();
}
