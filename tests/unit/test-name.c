/* SPDX-License-Identifier: MIT */
/* objmodel/name.c: each rule, and that what is encoded comes back. */
#include <string.h>

#include "objmodel/name.h"

static void check(const char *name, gsize length, const char *expected)
{
    g_autofree char *file_name = file_name_encode(name, length);
    g_autofree char *back = NULL;
    gsize back_length;

    g_assert_cmpstr(file_name, ==, expected);
    if (file_name_is_plain(name, length)) {
        g_assert_cmpmem(file_name, strlen(file_name), name, length);
    }
    back = file_name_decode(file_name, &back_length);
    g_assert_nonnull(back);
    g_assert_cmpmem(back, back_length, name, length);
}

static void test_rules(void)
{
    g_assert_true(file_name_is_plain("a b[0]", 6));
    check("type", 4, "type");
    check("a b[0]", 6, "a b[0]");
    check("\\x2f", 4, "\\x2f");
    check("x/y", 3, "x%2Fy");
    check("x\0y", 3, "x%00y");
    check("", 0, "%");
    check("%", 1, "%25");
    check(".", 1, "%2E");
    check("..", 2, "%2E%2E");
    check("...", 3, "...");
    check(".tree.json", 10, "%2Etree.json");
    check(".tree.jsonx", 11, ".tree.jsonx");
    check("100%", 4, "100%");
    check("50%ab", 5, "50%25ab");
    check("50%AG", 5, "50%AG");
    check("%2F", 3, "%252F");
    check("%/", 2, "%%2F");
    check("%2\0", 3, "%2%00");
    check("\xC3\xA9", 2, "\xC3\xA9");
    check("a%~0123456789abcdef", 19, "a%25~0123456789abcdef");
    check("a%~0123456789abcdef0", 20, "a%~0123456789abcdef0");
}

static void test_not_a_name(void)
{
    /* No name gives these. */
    g_assert_null(file_name_decode("%41", NULL));
    g_assert_null(file_name_decode("%2f", NULL));
    g_assert_null(file_name_decode("..", NULL));
    g_assert_null(file_name_decode("a%~0123456789abcdef", NULL));
}

static void test_long(void)
{
    g_autofree char *name = g_strnfill(FILE_NAME_MAX + 1, 'n');
    g_autofree char *just = g_strnfill(FILE_NAME_MAX, 'n');
    g_autofree char *kept = file_name_encode(just, FILE_NAME_MAX);
    g_autofree char *one = file_name_encode(name, FILE_NAME_MAX + 1);
    g_autofree char *other = NULL;

    g_assert_cmpstr(kept, ==, just);
    g_assert_cmpuint(strlen(one), ==, FILE_NAME_MAX);
    g_assert_null(file_name_decode(one, NULL));
    name[FILE_NAME_MAX] = 'm';
    other = file_name_encode(name, FILE_NAME_MAX + 1);
    g_assert_cmpstr(one, !=, other);
}

static void test_long_is_cut_between_characters(void)
{
    for (guint shift = 0; shift < 4; shift++) {
        g_autoptr(GString) name = g_string_new(NULL);
        g_autofree char *file_name = NULL;

        g_string_append_len(name, "abc", shift);
        while (name->len < 2 * FILE_NAME_MAX) {
            g_string_append(name, "\xE2\x82\xAC/");
        }
        file_name = file_name_encode(name->str, name->len);
        g_assert_true(g_utf8_validate(file_name, -1, NULL));
        g_assert_cmpuint(strlen(file_name), <=, FILE_NAME_MAX);
        g_assert_cmpuint(strlen(file_name), >, FILE_NAME_MAX - 4);
    }
}

/* Random names from an alphabet of what is special: all come back, so no two are equal. */
static void test_round_trip(void)
{
    static const char alphabet[] = {'%', '~', '/', '\0', '.', '2', 'F', 'g', 'e'};

    for (guint round = 0; round < 200000; round++) {
        char name[24];
        gsize length = (gsize)g_test_rand_int_range(0, sizeof name + 1), back_length;
        g_autofree char *file_name = NULL, *back = NULL;

        for (gsize i = 0; i < length; i++) {
            name[i] = alphabet[g_test_rand_int_range(0, sizeof alphabet)];
        }
        file_name = file_name_encode(name, length);
        g_assert_null(strchr(file_name, '/'));
        g_assert_cmpstr(file_name, !=, "");
        g_assert_cmpstr(file_name, !=, ".");
        g_assert_cmpstr(file_name, !=, "..");
        back = file_name_decode(file_name, &back_length);
        g_assert_nonnull(back);
        g_assert_cmpmem(back, back_length, name, length);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/name/rules", test_rules);
    g_test_add_func("/name/not-a-name", test_not_a_name);
    g_test_add_func("/name/long", test_long);
    g_test_add_func("/name/long-is-cut-between-characters", test_long_is_cut_between_characters);
    g_test_add_func("/name/round-trip", test_round_trip);
    return g_test_run();
}
