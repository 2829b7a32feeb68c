/* SPDX-License-Identifier: MIT */
/* objmodel/name-index.c: short lists and long ones, repeated names, another list with the same names. */
#include <string.h>

#include "objmodel/name-index.h"

static const char *name_at(guint place, const void *list)
{
    return ((const char *const *)list)[place];
}

static void test_empty(void)
{
    NameIndex *index = name_index_new(0, name_at, NULL);

    g_assert_cmpint(name_index_find(index, "", name_at, NULL), ==, -1);
    g_assert_cmpint(name_index_find(index, "a", name_at, NULL), ==, -1);
    name_index_free(index);
    name_index_free(NULL);
}

/* Every length, as some are searched in another way than others. */
static void test_every_place(void)
{
    for (guint n = 1; n < 70; n++) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        NameIndex *index;

        for (guint i = 0; i < n; i++)
            g_ptr_array_add(names, g_strdup_printf("name%u", i));
        index = name_index_new(n, name_at, names->pdata);
        for (guint i = 0; i < n; i++) {
            g_autofree char *copy = g_strdup(names->pdata[i]);
            g_assert_cmpint(name_index_find(index, copy, name_at, names->pdata), ==, (int)i);
        }
        g_assert_cmpint(name_index_find(index, "name", name_at, names->pdata), ==, -1);
        g_assert_cmpint(name_index_find(index, "", name_at, names->pdata), ==, -1);
        g_assert_cmpint(name_index_find(index, "name70", name_at, names->pdata), ==, -1);
        name_index_free(index);
    }
}

static void test_first_place_counts(void)
{
    static const char *const few[] = {"a", "b", "a", "b"};
    static const char *const many[] = {"x", "a", "b", "c", "d", "e", "f", "g", "h", "a", "h", "i", "x"};
    NameIndex *index = name_index_new(G_N_ELEMENTS(few), name_at, few);

    g_assert_cmpint(name_index_find(index, "a", name_at, few), ==, 0);
    g_assert_cmpint(name_index_find(index, "b", name_at, few), ==, 1);
    name_index_free(index);
    index = name_index_new(G_N_ELEMENTS(many), name_at, many);
    g_assert_cmpint(name_index_find(index, "x", name_at, many), ==, 0);
    g_assert_cmpint(name_index_find(index, "a", name_at, many), ==, 1);
    g_assert_cmpint(name_index_find(index, "h", name_at, many), ==, 8);
    g_assert_cmpint(name_index_find(index, "i", name_at, many), ==, 11);
    name_index_free(index);
}

/* The list that it was built from may be gone. */
static void test_other_list(void)
{
    char first[20][4], second[20][4];
    const char *before[20], *after[20];
    NameIndex *index;

    for (guint i = 0; i < 20; i++) {
        g_snprintf(first[i], sizeof first[i], "n%u", i);
        memcpy(second[i], first[i], sizeof first[i]);
        before[i] = first[i];
        after[i] = second[i];
    }
    index = name_index_new(20, name_at, before);
    memset(first, '?', sizeof first);
    for (guint i = 0; i < 20; i++)
        before[i] = NULL;
    for (guint i = 0; i < 20; i++)
        g_assert_cmpint(name_index_find(index, second[i], name_at, after), ==, (int)i);
    g_assert_cmpint(name_index_find(index, "n20", name_at, after), ==, -1);
    name_index_free(index);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/name-index/empty", test_empty);
    g_test_add_func("/name-index/every-place", test_every_place);
    g_test_add_func("/name-index/first-place-counts", test_first_place_counts);
    g_test_add_func("/name-index/other-list", test_other_list);
    return g_test_run();
}
