/* SPDX-License-Identifier: MIT */
/* fs/link.c: relative targets, names in them that are escaped, and links that are too long to be one. */
#include <limits.h>

#include "fs/link.h"
#include "nodes.h"

static ShapePool *shapes;

static Node *with_link(const char *value)
{
    const Prop props[] = {{.name = "l", .type = "link<x>", .value = value}, {0}};

    return object_node(shapes, "o", props, NULL, NULL, NULL, 1);
}

static void test_targets(void)
{
    static const struct {
        const char *value;
        guint depth;
        const char *target;
    } rows[] = {
        {"\"/\"", 0, "."},
        {"\"/\"", 1, ".."},
        {"\"/\"", 3, "../../.."},
        {"\"/machine\"", 0, "machine"},
        {"\"/machine/peripheral/disk0\"", 0, "machine/peripheral/disk0"},
        {"\"/machine/peripheral/disk0\"", 1, "../machine/peripheral/disk0"},
        {"\"/machine/unattached/device[27]\"", 3, "../../../machine/unattached/device[27]"},
        {"\"//a///b/\"", 1, "../a/b"},
        {"\"/a b/c\\td\"", 0, "a b/c\td"},
        {"\"/\\u00e4\"", 0, "\xC3\xA4"},
        /* Names that cannot be file names are shown as their directories are. */
        {"\"/a/../b\"", 2, "../../a/%2E%2E/b"},
        {"\"/./x\"", 0, "%2E/x"},
        {"\"/a%2Fb/100%\"", 1, "../a%252Fb/100%"},
        {"\"/a\\u0000b\"", 0, "a%00b"},
        {"\"/.tree.json\"", 0, "%2Etree.json"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Node) node = with_link(rows[i].value);
        g_autofree char *target = link_target(node, 0, rows[i].depth);
        g_assert_cmpstr(target, ==, rows[i].target);
        g_assert_true(link_is_symlink(node, 0, rows[i].depth));
    }
}

static void test_no_links(void)
{
    static const char *const values[] = {"\"\"", "\"relative\"", "null", "7", NULL};
    const Prop string[] = {{.name = "s", .value = "\"/machine\""}, {0}};
    g_autoptr(Node) node = object_node(shapes, "o", string, NULL, NULL, NULL, 1);

    g_assert_false(link_is_symlink(node, 0, 0));
    for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autoptr(Node) unset = with_link(values[i]);
        g_assert_false(link_is_symlink(unset, 0, 0));
    }
}

/* A path of `parts` components of `length` bytes each. */
static Node *long_link(guint parts, guint length)
{
    g_autoptr(GString) value = g_string_new("\"");

    for (guint i = 0; i < parts; i++) {
        g_string_append_c(value, '/');
        for (guint j = 0; j < length; j++)
            g_string_append_c(value, 'x');
    }
    g_string_append_c(value, '"');
    return with_link(value->str);
}

/* A symlink's text may have PATH_MAX - 1 bytes; what is longer is shown as a file. */
static void test_too_long(void)
{
    g_autoptr(Node) longest = long_link(16, 255); /* 16 * 256 - 1 bytes as a target */

    g_assert_true(link_is_symlink(longest, 0, 0));
    g_autofree char *target = link_target(longest, 0, 0);
    g_assert_cmpuint(strlen(target), ==, PATH_MAX - 1);
    g_assert_false(link_is_symlink(longest, 0, 1));
    g_autoptr(Node) longer = long_link(17, 255);
    g_assert_false(link_is_symlink(longer, 0, 0));
    /* A component that is too long is shortened as its directory's name is. */
    g_autoptr(Node) one = long_link(1, 5000);
    g_autofree char *name = NULL, *shortened = link_target(one, 0, 0);
    g_autofree char *part = g_strnfill(5000, 'x');
    name = file_name_encode(part, 5000);
    g_assert_cmpstr(shortened, ==, name);
    g_assert_cmpuint(strlen(shortened), <=, 255);
    g_assert_true(link_is_symlink(one, 0, 0));
    /* Far down: 3 bytes for each level. */
    g_autoptr(Node) near = with_link("\"/\"");
    g_assert_true(link_is_symlink(near, 0, 1365)); /* 1365 * 3 - 1 = 4094 */
    g_assert_false(link_is_symlink(near, 0, 1366));
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    shapes = shape_pool_new();
    g_test_add_func("/link/targets", test_targets);
    g_test_add_func("/link/no-links", test_no_links);
    g_test_add_func("/link/too-long", test_too_long);
    status = g_test_run();
    shape_pool_free(shapes);
    return status;
}
