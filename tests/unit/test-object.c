/* SPDX-License-Identifier: MIT */
/* objmodel/object.c, object-props.c, object-path.c: the live tree, its links, and what clients may set. */
#include <string.h>

#include "objmodel/object.h"

typedef struct Thing {
    Object base;
    int64_t number;
    int64_t fixed;
    char *secret;
    Object *friend;
    Object *shown;
    guint changes;
} Thing;

static guint things_alive;
static GString *unparented; /* names in the order in which they left */

static void thing_init(Object *object G_GNUC_UNUSED)
{
    things_alive++;
}

static void thing_finalize(Object *object G_GNUC_UNUSED)
{
    things_alive--;
}

static void thing_unparent(Object *object)
{
    if (unparented)
        g_string_append_printf(unparented, "%s ", object->name);
}

static void thing_changed(Object *object)
{
    ((Thing *)object)->changes++;
}

static gboolean thing_get_double(Object *object, const Property *prop G_GNUC_UNUSED, GString *out,
                                 GError **error G_GNUC_UNUSED)
{
    json_append_int(out, 2 * ((Thing *)object)->number);
    return TRUE;
}

static gboolean thing_set_double(Object *object, const Property *prop G_GNUC_UNUSED, JsonSlice value, GError **error)
{
    gint64 number;
    if (!json_to_int64(value, &number) || number % 2) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "odd");
        return FALSE;
    }
    ((Thing *)object)->number = number / 2;
    return TRUE;
}

static gboolean thing_get_broken(Object *object G_GNUC_UNUSED, const Property *prop G_GNUC_UNUSED,
                                 GString *out G_GNUC_UNUSED, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_UNREADABLE, "No crash occurred");
    return FALSE;
}

static const Property thing_props[] = {
    PROP_FIELD(Thing, number, "number", .flags = PROP_WRITABLE, .changed = thing_changed),
    PROP_FIELD(Thing, fixed, "fixed", .flags = PROP_INITIAL),
    PROP_FIELD(Thing, secret, "secret", .flags = PROP_SECRET | PROP_INITIAL),
    PROP_LINK(Thing, friend, "friend", "thing", .flags = PROP_WRITABLE),
    PROP_ALIAS(Thing, shown, "shown-number", "int", .alias_of = "number", .flags = PROP_WRITABLE),
    PROP_CALC("double", "int", thing_get_double, .set = thing_set_double, .flags = PROP_WRITABLE),
    PROP_CALC("broken", "info", thing_get_broken),
    {0},
};

static const ObjectType thing_type = {
    .name = "thing",
    .instance_size = sizeof(Thing),
    .props = thing_props,
    .init = thing_init,
    .finalize = thing_finalize,
    .unparent = thing_unparent,
};

static const ObjectType box_type = {.name = "box"};

typedef struct Tree {
    Types *types;
    Class *thing, *box;
    Object *root;
} Tree;

static Tree tree_new(void)
{
    Tree tree = {.types = types_new()};
    tree.thing = types_add(tree.types, &thing_type);
    tree.box = types_add(tree.types, &box_type);
    tree.root = object_new(tree.box);
    return tree;
}

static void tree_clear(Tree *tree)
{
    object_unref(tree->root);
    types_free(tree->types);
    g_assert_cmpuint(things_alive, ==, 0);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tree, tree_clear)

static void check_get(Object *object, const char *name, const char *expected)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(object_get(object, name, out, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(out->str, ==, expected);
}

static void check_set(Object *object, const char *name, const char *json, int code, const char *message)
{
    g_autoptr(GError) error = NULL;
    gboolean ok = object_set(object, name, (JsonSlice){json, strlen(json)}, &error);
    g_assert_cmpint(ok, ==, message == NULL);
    if (message) {
        g_assert_error(error, OBJMODEL_ERROR, code);
        g_assert_cmpstr(error->message, ==, message);
    }
}

/* ---- the tree ---- */

static void test_names(void)
{
    g_auto(Tree) tree = tree_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(Object) late = object_new(tree.thing);

    object_new_child(tree.root, "device[*]", tree.thing);
    object_new_child(tree.root, "device[*]", tree.thing);
    object_new_child(tree.root, "device[*]", tree.thing);
    object_unparent(object_child(tree.root, "device[1]"));
    g_assert_null(object_child(tree.root, "device[1]"));
    object_new_child(tree.root, "device[*]", tree.thing);
    g_assert_nonnull(object_child(tree.root, "device[1]"));
    object_new_child(tree.root, "device[*]", tree.thing);
    g_assert_nonnull(object_child(tree.root, "device[3]"));

    g_assert_false(object_add_child(tree.root, "device[0]", late, &error));
    g_assert_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_EXISTS);
    g_assert_cmpstr(error->message, ==, "attempt to add duplicate property 'device[0]' to object (type 'box')");
    g_clear_error(&error);
    g_assert_false(object_add_child(tree.root, "type", late, &error));
    g_assert_null(late->parent);
}

static void test_many_children(void)
{
    g_auto(Tree) tree = tree_new();
    guint n = 0;

    for (guint i = 0; i < 5000; i++)
        object_new_child(tree.root, "x[*]", tree.box);
    g_assert_nonnull(object_child(tree.root, "x[4999]"));
    for (guint i = 0; i < 5000; i += 2) {
        g_autofree char *name = g_strdup_printf("x[%u]", i);
        object_unparent(object_child(tree.root, name));
    }
    g_assert_cmpuint(tree.root->n_children, ==, 2500);
    for (Object *child = tree.root->first_child; child; child = child->next) {
        g_assert_true(object_child(tree.root, child->name) == child);
        g_assert_true(!child->next || child->next->previous == child);
        n++;
    }
    g_assert_cmpuint(n, ==, 2500);
    object_new_child(tree.root, "x[*]", tree.box);
    g_assert_nonnull(object_child(tree.root, "x[0]"));
    g_assert_true(tree.root->last_child == object_child(tree.root, "x[0]"));
}

static void test_unparent(void)
{
    g_auto(Tree) tree = tree_new();
    Object *a = object_new_child(tree.root, "a", tree.thing);
    Object *b = object_new_child(a, "b", tree.thing);
    g_autoptr(Object) kept = object_ref(object_new_child(b, "c", tree.thing));
    Object *observer = object_new_child(tree.root, "observer", tree.thing);
    g_autofree char *path = object_path(kept);

    g_assert_cmpstr(path, ==, "/a/b/c");
    object_assign_link(observer, "friend", kept);
    object_set_alias_target(observer, &((Thing *)observer)->shown, kept);
    check_get(observer, "friend", "\"/a/b/c\"");
    check_get(a, "b", "\"/a/b\"");
    unparented = g_string_new(NULL);
    object_unparent(a);
    g_assert_cmpstr(unparented->str, ==, "c b a ");
    g_string_free(g_steal_pointer(&unparented), TRUE);
    g_assert_cmpuint(things_alive, ==, 2);
    g_assert_null(kept->parent);
    check_get(observer, "friend", "\"\"");
    {
        g_autoptr(GString) out = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        g_assert_false(object_get(observer, "shown-number", out, &error));
        g_assert_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_UNREADABLE);
    }
    object_unparent(kept); /* has none: nothing happens */
}

static void test_links_both_die(void)
{
    g_auto(Tree) tree = tree_new();
    Object *a = object_new_child(tree.root, "a", tree.thing);
    Object *b = object_new_child(tree.root, "b", tree.thing);

    object_assign_link(a, "friend", b);
    object_assign_link(b, "friend", a);
    object_assign_link(a, "friend", a); /* itself */
    object_add_link(b, "own", "thing", a);
    object_set_alias_target(a, &((Thing *)a)->shown, b);
    object_unparent(a);
    check_get(b, "friend", "\"\"");
    check_get(b, "own", "\"\"");
}

/* ---- properties ---- */

static void test_set(void)
{
    g_auto(Tree) tree = tree_new();
    Object *a = object_new_child(tree.root, "a", tree.thing);
    Object *b = object_new_child(tree.root, "b", tree.thing);
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) out = g_string_new(NULL);

    check_set(a, "number", "5", 0, NULL);
    g_assert_cmpuint(((Thing *)a)->changes, ==, 1);
    check_get(a, "double", "10");
    check_set(a, "double", "7", OBJMODEL_ERROR_BAD_VALUE, "odd");
    check_set(a, "double", "8", 0, NULL);
    check_get(a, "number", "4");
    check_set(a, "number", "true", OBJMODEL_ERROR_BAD_VALUE, "Invalid parameter type for 'number', expected: integer");
    check_get(a, "number", "4");
    check_set(a, "type", "\"x\"", OBJMODEL_ERROR_READ_ONLY, "Property 'thing.type' is not writable");
    check_set(a, "nope", "1", OBJMODEL_ERROR_NO_PROPERTY, "Property 'thing.nope' not found");
    check_set(tree.root, "a", "1", OBJMODEL_ERROR_READ_ONLY, "Property 'box.a' is not writable");
    check_set(a, "broken", "1", OBJMODEL_ERROR_READ_ONLY, "Property 'thing.broken' is not writable");

    check_set(a, "fixed", "1", 0, NULL);
    check_set(a, "secret", "\"x\"", 0, NULL);
    g_assert_true(object_complete(a, &error));
    check_set(a, "fixed", "2", OBJMODEL_ERROR_READ_ONLY, "Property 'thing.fixed' cannot be changed any more");
    check_get(a, "fixed", "1");
    g_assert_false(object_get(a, "secret", out, &error));
    g_assert_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_SECRET);
    g_assert_cmpstr(out->str, ==, "");

    check_set(a, "friend", "\"/b\"", 0, NULL);
    g_assert_true(((Thing *)a)->friend == b);
    check_set(a, "friend", "\"/nope\"", OBJMODEL_ERROR_NOT_FOUND, "Device '/nope' not found");
    check_set(a, "friend", "\"/\"", OBJMODEL_ERROR_BAD_VALUE, "Invalid parameter type for 'friend', expected: thing");
    check_set(a, "friend", "3", OBJMODEL_ERROR_BAD_VALUE, "Invalid parameter type for 'friend', expected: string");
    check_get(a, "friend", "\"/b\"");
    check_set(a, "friend", "\"\"", 0, NULL);
    check_get(a, "friend", "\"\"");

    object_set_alias_target(a, &((Thing *)a)->shown, b);
    check_set(a, "shown-number", "12", 0, NULL);
    check_get(b, "number", "12");
    check_get(a, "shown-number", "12");
}

static void test_own_properties(void)
{
    g_auto(Tree) tree = tree_new();
    Object *a = object_new_child(tree.root, "a", tree.thing);
    Object *b = object_new_child(tree.root, "b", tree.thing);

    object_add_link(a, "child[0]", "thing", b);
    object_add_value(a, "extra", "uint8", "3");
    object_add_link(a, "child[1]", "thing", a);
    check_get(a, "child[0]", "\"/b\"");
    check_get(a, "child[1]", "\"/a\"");
    g_assert_true(object_remove_property(a, "child[0]"));
    g_assert_false(object_remove_property(a, "child[0]"));
    g_assert_false(object_remove_property(a, "number"));
    check_get(a, "extra", "3");
    check_get(a, "child[1]", "\"/a\"");
    object_assign_link(a, "child[1]", b);
    check_get(a, "child[1]", "\"/b\"");
    object_unparent(b);
    check_get(a, "child[1]", "\"\"");
}

/* ---- paths ---- */

static void check_path(Object *root, const char *path, const Object *expected, int code)
{
    g_autoptr(GError) error = NULL;
    Object *found = object_resolve(root, path, &error);
    g_assert_true(found == expected);
    if (!expected)
        g_assert_error(error, OBJMODEL_ERROR, code);
}

static void test_paths(void)
{
    g_auto(Tree) tree = tree_new();
    Object *a = object_new_child(tree.root, "a", tree.thing);
    Object *b = object_new_child(a, "b", tree.thing);
    Object *c = object_new_child(tree.root, "c", tree.thing);
    Object *same = object_new_child(c, "same", tree.thing);

    object_new_child(b, "same", tree.thing);
    object_assign_link(b, "friend", c);
    check_path(tree.root, "/", tree.root, 0);
    check_path(tree.root, "//a///b/", b, 0);
    check_path(tree.root, "/a/b/friend/same", same, 0);
    check_path(tree.root, "/a/nope", NULL, OBJMODEL_ERROR_NOT_FOUND);
    check_path(tree.root, "/a/..", NULL, OBJMODEL_ERROR_NOT_FOUND);
    check_path(tree.root, "", NULL, OBJMODEL_ERROR_NOT_FOUND);
    check_path(tree.root, "b", b, 0);
    check_path(tree.root, "a/b", b, 0);
    check_path(tree.root, "same", NULL, OBJMODEL_ERROR_AMBIGUOUS);
    check_path(tree.root, "c/same", same, 0);
    check_path(tree.root, "nope", NULL, OBJMODEL_ERROR_NOT_FOUND);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/object/names", test_names);
    g_test_add_func("/object/many-children", test_many_children);
    g_test_add_func("/object/unparent", test_unparent);
    g_test_add_func("/object/links-both-die", test_links_both_die);
    g_test_add_func("/object/set", test_set);
    g_test_add_func("/object/own-properties", test_own_properties);
    g_test_add_func("/object/paths", test_paths);
    return g_test_run();
}
