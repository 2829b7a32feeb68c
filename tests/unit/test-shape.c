/* SPDX-License-Identifier: MIT */
/* objmodel/shape.c: what a shape keeps, and which lists are the same one to a pool. */
#include <string.h>

#include "objmodel/node.h"

static const SlotInfo slots[] = {
    {.name = "type", .type = "string"},
    {.name = "size", .type = "uint64", .description = "in bytes", .default_value = "0", .flags = SLOT_WRITABLE},
    {.name = "peer", .type = "link<device>", .flags = SLOT_LINK},
    {.name = "same", .type = "link<device>", .default_value = "\"\""},
    {.name = "bare"}, /* without a type, behind one that has one */
    {.name = "count", .type = "", .flags = SLOT_MOVING | SLOT_SECRET},
};

static void check_infos(const Shape *shape, const SlotInfo *expected, guint n)
{
    g_assert_cmpuint(shape_count(shape), ==, n);
    for (guint i = 0; i < n; i++) {
        const SlotInfo *info = shape_info(shape, i);
        g_assert_cmpstr(info->name, ==, expected[i].name);
        g_assert_cmpstr(info->type, ==, expected[i].type);
        g_assert_cmpstr(info->description, ==, expected[i].description);
        g_assert_cmpstr(info->default_value, ==, expected[i].default_value);
        g_assert_cmpuint(info->flags, ==, expected[i].flags);
        g_assert_cmpint(shape_find(shape, expected[i].name), ==, (int)i);
    }
}

/* The strings are copies. */
static void test_copies(void)
{
    char name[] = "name", type[] = "type", description[] = "description", value[] = "1";
    SlotInfo info = {name, type, description, value, SLOT_WRITABLE};
    g_autoptr(Shape) shape = shape_new(&info, 1);

    name[0] = type[0] = description[0] = value[0] = '?';
    check_infos(shape, &(SlotInfo){"name", "type", "description", "1", SLOT_WRITABLE}, 1);
}

static void test_infos(void)
{
    g_autoptr(Shape) shape = shape_new(slots, G_N_ELEMENTS(slots));

    check_infos(shape, slots, G_N_ELEMENTS(slots));
    g_assert_cmpint(shape_find(shape, "Type"), ==, -1);
    g_assert_cmpint(shape_find(shape, ""), ==, -1);
}

static void test_nothing(void)
{
    g_autoptr(Shape) empty = shape_new(NULL, 0);

    g_assert_cmpuint(shape_count(empty), ==, 0);
    g_assert_cmpint(shape_find(empty, "type"), ==, -1);
    g_assert_cmpuint(shape_count(NULL), ==, 0);
    g_assert_cmpint(shape_find(NULL, "type"), ==, -1);
    shape_unref(NULL);
}

static void test_many(void)
{
    enum { MANY = 500 };
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree SlotInfo *infos = g_new0(SlotInfo, MANY);

    for (guint i = 0; i < MANY; i++) {
        g_ptr_array_add(names, g_strdup_printf("feature-%u", i));
        infos[i] = (SlotInfo){.name = names->pdata[i], .type = i % 3 ? "bool" : "int"};
    }
    g_autoptr(Shape) shape = shape_new(infos, MANY);
    check_infos(shape, infos, MANY);
}

static void test_pool_equal(void)
{
    g_autoptr(ShapePool) pool = shape_pool_new();
    g_autoptr(Shape) first = shape_pool_get(pool, slots, G_N_ELEMENTS(slots));
    g_autofree char *name = g_strdup("type"), *type = g_strdup("string");
    SlotInfo copy[G_N_ELEMENTS(slots)];

    memcpy(copy, slots, sizeof slots);
    copy[0].name = name;
    copy[0].type = type;
    g_autoptr(Shape) second = shape_pool_get(pool, copy, G_N_ELEMENTS(slots));
    g_assert_true(first == second);
    g_autoptr(Shape) empty = shape_pool_get(pool, NULL, 0), nothing = shape_pool_get(pool, slots, 0);
    g_assert_true(empty == nothing);
    g_assert_true(empty != first);
}

/* Each difference counts, one by one. */
static void test_pool_differs(void)
{
    static const SlotInfo two[] = {{"a", "int", "help", "1", SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}};
    static const SlotInfo others[][2] = {
        {{"A", "int", "help", "1", SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}},
        {{"a", "bool", "help", "1", SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}},
        {{"a", NULL, "help", "1", SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}},
        {{"a", "int", "Help", "1", SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}},
        {{"a", "int", NULL, "1", SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}},
        {{"a", "int", "help", "2", SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}},
        {{"a", "int", "help", NULL, SLOT_WRITABLE}, {"b", "int", NULL, NULL, 0}},
        {{"a", "int", "help", "1", 0}, {"b", "int", NULL, NULL, 0}},
        {{"a", "int", "help", "1", SLOT_WRITABLE}, {"b", NULL, NULL, NULL, 0}},
        {{"a", "int", "help", "1", SLOT_WRITABLE}, {"b", "int", "", NULL, 0}},
        {{"b", "int", NULL, NULL, 0}, {"a", "int", "help", "1", SLOT_WRITABLE}}, /* the order */
    };
    g_autoptr(ShapePool) pool = shape_pool_new();
    g_autoptr(Shape) shape = shape_pool_get(pool, two, 2), first = shape_pool_get(pool, two, 1);

    g_assert_true(shape != first);
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autoptr(Shape) other = shape_pool_get(pool, others[i], 2), again = shape_pool_get(pool, others[i], 2);
        g_assert_true(other != shape);
        g_assert_true(other == again);
        check_infos(other, others[i], 2);
    }
    check_infos(shape, two, 2);
}

static void test_outlives_pool(void)
{
    ShapePool *pool = shape_pool_new();
    g_autoptr(Shape) shape = shape_pool_get(pool, slots, G_N_ELEMENTS(slots));
    Shape *more = shape_ref(shape);

    shape_pool_free(pool);
    shape_pool_free(NULL);
    shape_unref(more);
    check_infos(shape, slots, G_N_ELEMENTS(slots));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shape/copies", test_copies);
    g_test_add_func("/shape/infos", test_infos);
    g_test_add_func("/shape/nothing", test_nothing);
    g_test_add_func("/shape/many", test_many);
    g_test_add_func("/shape/pool-equal", test_pool_equal);
    g_test_add_func("/shape/pool-differs", test_pool_differs);
    g_test_add_func("/shape/outlives-pool", test_outlives_pool);
    return g_test_run();
}
