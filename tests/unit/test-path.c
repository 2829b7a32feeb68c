/* SPDX-License-Identifier: MIT */
/* objmodel/path.c: absolute and partial paths, links in them and their ends. */
#include "nodes.h"
#include "objmodel/error.h"
#include "objmodel/path.h"

static ShapePool *shapes;

/* Takes children over; they may be NULL. */
static Node *object(const char *name, const Prop *props, Children *children)
{
    g_autoptr(Children) list = children;

    return object_node(shapes, name, props, list, NULL, NULL, 1);
}

static Node *tree_new(void)
{
    static const Prop machine_props[] = {
        {.name = "type", .value = "\"machine\""},
        {.name = "disk", .type = "link<disk>", .value = "\"/machine/peripheral/disk0\""},
        {.name = "drive", .type = "link<blk>", .value = "\"/machine/disk/drive\""}, /* through a link */
        {.name = "top", .type = "link<object>", .value = "\"/\""},
        {.name = "unset", .type = "link<disk>", .value = "\"\""},
        {.name = "dangling", .type = "link<disk>", .value = "\"/machine/nobody\""},
        {.name = "self", .type = "link<disk>", .value = "\"/machine/self\""},
        {.name = "ping", .type = "link<disk>", .value = "\"/machine/pong\""},
        {.name = "pong", .type = "link<disk>", .value = "\"/machine/ping/x\""},
        {.name = "string", .value = "\"/machine/peripheral\""},
        {0}};
    static const Prop disk_props[] = {{.name = "drive", .type = "link<blk>", .value = "\"/objects/blk\""}, {0}};

    return object(
        "/", NULL,
        children_of(
            object("machine", machine_props,
                   children_of(object("peripheral", NULL,
                                      children_of(object("disk0", disk_props, NULL), object("nic0", NULL, NULL), NULL)),
                               object("unattached", NULL, children_of(object("device[0]", NULL, NULL), NULL)), NULL)),
            object("objects", NULL,
                   children_of(object("blk", NULL, NULL), object("nic0", NULL, NULL), object("..", NULL, NULL),
                               object("%41", NULL, NULL), object("a/b", NULL, NULL), NULL)),
            NULL));
}

/* The object at a path of file names. */
static const Node *at(const Node *root, const char *file_path)
{
    g_auto(GStrv) parts = g_strsplit(file_path, "/", 0);

    for (char **part = parts; *part; part++) {
        root = children_find(root->children, *part);
        g_assert_nonnull(root);
    }
    return root;
}

static void check_found(const Node *root, const char *path, const Node *expected)
{
    g_autoptr(GError) error = NULL;
    const Node *found = path_resolve(root, path, &error);

    g_assert_no_error(error);
    g_assert_true(found == expected);
}

static void check_error(const Node *root, const char *path, ObjmodelError code)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(path_resolve(root, path, &error));
    g_assert_error(error, OBJMODEL_ERROR, (gint)code);
    g_assert_nonnull(strstr(error->message, path));
    g_assert_null(path_resolve(root, path, NULL));
}

static void test_absolute(void)
{
    g_autoptr(Node) root = tree_new();

    check_found(root, "/", root);
    check_found(root, "/machine", at(root, "machine"));
    check_found(root, "/machine/peripheral/disk0", at(root, "machine/peripheral/disk0"));
    check_found(root, "/machine/unattached/device[0]", at(root, "machine/unattached/device[0]"));
    check_error(root, "/disk0", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/peripheral/disk", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/type", OBJMODEL_ERROR_NOT_FOUND); /* a property, no object */
    check_error(root, "/machine/type/x", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/Machine", OBJMODEL_ERROR_NOT_FOUND);
}

static void test_empty_components(void)
{
    g_autoptr(Node) root = tree_new();

    check_found(root, "//", root);
    check_found(root, "///machine///peripheral//", at(root, "machine/peripheral"));
    check_found(root, "unattached/", at(root, "machine/unattached"));
    check_found(root, "peripheral//disk0", at(root, "machine/peripheral/disk0"));
}

/* Names are names of objects: nothing leads upward, and file names mean nothing. */
static void test_odd_names(void)
{
    g_autoptr(Node) root = tree_new();

    check_error(root, "/machine/..", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/../objects", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/.", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/./machine", OBJMODEL_ERROR_NOT_FOUND);
    check_found(root, "/objects/..", at(root, "objects/%2E%2E"));
    check_found(root, "/objects/%41", at(root, "objects/%2541"));
    check_error(root, "/objects/A", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/objects/a/b", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/objects/a%2Fb", OBJMODEL_ERROR_NOT_FOUND);
}

static void test_partial(void)
{
    g_autoptr(Node) root = tree_new();

    check_found(root, "machine", at(root, "machine"));
    check_found(root, "disk0", at(root, "machine/peripheral/disk0"));
    check_found(root, "peripheral/disk0", at(root, "machine/peripheral/disk0"));
    check_found(root, "device[0]", at(root, "machine/unattached/device[0]"));
    check_error(root, "nic0", OBJMODEL_ERROR_AMBIGUOUS);
    check_found(root, "objects/nic0", at(root, "objects/nic0"));
    check_found(root, "peripheral/nic0", at(root, "machine/peripheral/nic0"));
    check_error(root, "nobody", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "disk0/nobody", OBJMODEL_ERROR_NOT_FOUND);
    /* Every object of the tree is one that nothing leads to. */
    check_error(root, "", OBJMODEL_ERROR_AMBIGUOUS);
    g_autoptr(Node) alone = object("/", NULL, NULL);
    check_found(alone, "", alone);
}

static void test_links(void)
{
    g_autoptr(Node) root = tree_new();

    check_found(root, "/machine/disk", at(root, "machine/peripheral/disk0"));
    check_found(root, "/machine/disk/drive", at(root, "objects/blk"));
    check_found(root, "/machine/drive", at(root, "objects/blk"));
    check_found(root, "/machine/top", root);
    check_found(root, "/machine/top/machine/top/objects", at(root, "objects"));
    check_error(root, "/machine/unset", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/unset/machine", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/dangling", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/string", OBJMODEL_ERROR_NOT_FOUND);
    check_found(root, "disk", at(root, "machine/peripheral/disk0"));
    check_error(root, "drive", OBJMODEL_ERROR_AMBIGUOUS); /* two objects have such a link, though to the same */
    check_found(root, "disk/drive", at(root, "objects/blk"));
}

static void test_loops_end(void)
{
    g_autoptr(Node) root = tree_new();

    check_error(root, "/machine/self", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/self/self", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/ping", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/machine/pong", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "self", OBJMODEL_ERROR_NOT_FOUND);
}

/* A root with links l0 -> "/", and each lN to lN-1, `times` one behind the other. */
static Node *ladder_new(guint n, guint times)
{
    g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
    g_autofree Prop *props = g_new0(Prop, n + 1);

    for (guint i = 0; i < n; i++) {
        GString *value = g_string_new(i ? "\"" : "\"/");
        for (guint time = 0; i && time < times; time++)
            g_string_append_printf(value, "/l%u", i - 1);
        g_string_append_c(value, '"');
        g_ptr_array_add(strings, g_strdup_printf("l%u", i));
        g_ptr_array_add(strings, g_string_free(value, FALSE));
        props[i] = (Prop){.name = strings->pdata[2 * i], .type = "link<x>", .value = strings->pdata[2 * i + 1]};
    }
    return object("/", props, NULL);
}

/* Links of which each goes twice through the one before: 2^50 steps, if somebody took them. */
static void test_links_multiply(void)
{
    g_autoptr(Node) root = ladder_new(50, 2), chain = ladder_new(60, 1);

    check_found(root, "/l0", root);
    check_found(root, "/l4", root);
    check_error(root, "/l49", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "/l49/l49/l49", OBJMODEL_ERROR_NOT_FOUND);
    check_error(root, "l49", OBJMODEL_ERROR_NOT_FOUND);
    check_found(chain, "/l59", chain);
}

static guint taken_out;

static char *take_out(const char *text, gsize length)
{
    taken_out++;
    return g_strndup(text, length);
}

/* Of a path that is tried from every object, each component is taken out once, and none that is never come to. */
static void test_parts(void)
{
    g_auto(PathParts) parts, none;

    path_parts_init(&parts, "//a/bb///c/", take_out);
    taken_out = 0;
    for (guint i = 0; i < 3; i++) {
        g_assert_cmpstr(path_parts_get(&parts, 0), ==, "a");
        g_assert_cmpstr(path_parts_get(&parts, 1), ==, "bb");
    }
    g_assert_cmpuint(taken_out, ==, 2);
    g_assert_cmpstr(path_parts_get(&parts, 2), ==, "c");
    g_assert_null(path_parts_get(&parts, 3));
    g_assert_null(path_parts_get(&parts, 4));
    g_assert_cmpuint(taken_out, ==, 3);
    path_parts_init(&none, "///", take_out);
    g_assert_null(path_parts_get(&none, 0));
}

static void test_long(void)
{
    g_autoptr(Node) root = tree_new();
    g_autofree char *name = g_strnfill(1 << 20, 'a'), *slashes = g_strnfill(1 << 20, '/');
    g_autofree char *below = g_strconcat(slashes, "objects", slashes, "blk", slashes, NULL);
    g_autoptr(GString) around = g_string_new("/machine");

    check_error(root, name, OBJMODEL_ERROR_NOT_FOUND);
    check_found(root, slashes, root);
    check_found(root, below, at(root, "objects/blk"));
    for (guint i = 0; i < 60; i++)
        g_string_append(around, "/top/machine");
    check_found(root, around->str, at(root, "machine"));
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    shapes = shape_pool_new();
    g_test_add_func("/path/absolute", test_absolute);
    g_test_add_func("/path/empty-components", test_empty_components);
    g_test_add_func("/path/odd-names", test_odd_names);
    g_test_add_func("/path/partial", test_partial);
    g_test_add_func("/path/links", test_links);
    g_test_add_func("/path/loops-end", test_loops_end);
    g_test_add_func("/path/links-multiply", test_links_multiply);
    g_test_add_func("/path/parts", test_parts);
    g_test_add_func("/path/long", test_long);
    status = g_test_run();
    shape_pool_free(shapes);
    return status;
}
