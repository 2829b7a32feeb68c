/* SPDX-License-Identifier: MIT */
/* objmodel/pieces.c: every part of a text, however it was put together, is what it would be in one run. */
#include <string.h>

#include "objmodel/pieces.h"

/* Short and long ones, some written in place, some appended to `own`; *expected is what they are together. */
static void fill(Pieces *pieces, GString *expected, const char *lender)
{
    static const gsize lengths[] = {1, 5000, 3, 7, 1023, 1024, 1025, 0, 2, 4096, 1};

    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
        pieces_add(pieces, lender + i, lengths[i]);
        g_string_append_len(expected, lender + i, (gssize)lengths[i]);
        g_string_append_printf(pieces->own, "<%u>", i);
        pieces_settle(pieces);
        g_string_append_printf(expected, "<%u>", i);
        memset(pieces_reserve(pieces, i), 'r', i);
        for (guint n = 0; n < i; n++)
            g_string_append_c(expected, 'r');
    }
}

static char *lender_new(void)
{
    enum { LENGTH = 8192 };
    char *lender = g_malloc(LENGTH);

    for (guint i = 0; i < LENGTH; i++)
        lender[i] = (char)('a' + i * 31 % 26);
    return lender;
}

static void check_part(const Pieces *pieces, const GString *expected, gsize offset, gsize length)
{
    struct iovec parts[64];
    g_autofree char *copy = g_malloc(length + 1);
    guint n = pieces_vector(pieces, offset, length, parts, G_N_ELEMENTS(parts));
    gsize at = offset;

    g_assert_cmpuint(n, <=, G_N_ELEMENTS(parts));
    for (guint i = 0; i < n; i++) {
        g_assert_cmpuint(parts[i].iov_len, >, 0);
        g_assert_cmpmem(parts[i].iov_base, parts[i].iov_len, expected->str + at, parts[i].iov_len);
        at += parts[i].iov_len;
    }
    g_assert_cmpuint(at, ==, offset + length);
    pieces_copy(pieces, offset, length, copy);
    g_assert_cmpmem(copy, length, expected->str + offset, length);
    if (n > 1)
        g_assert_cmpuint(pieces_vector(pieces, offset, length, parts, n - 1), ==, n);
}

static void test_parts(void)
{
    g_autoptr(GString) expected = g_string_new(NULL);
    g_autofree char *lender = lender_new();
    Pieces pieces;

    pieces_init(&pieces);
    fill(&pieces, expected, lender);
    g_assert_cmpuint(pieces.length, ==, expected->len);
    check_part(&pieces, expected, 0, expected->len);
    check_part(&pieces, expected, expected->len, 0);
    for (gsize offset = 0; offset < expected->len; offset += 97)
        for (gsize length = 0; offset + length <= expected->len; length += 509)
            check_part(&pieces, expected, offset, length);
    pieces_clear(&pieces);
}

/* What is long is not copied, and what is short does not become a piece of its own. */
static void test_borrowed(void)
{
    g_autofree char *lender = lender_new();
    struct iovec parts[8];
    Pieces pieces;

    pieces_init(&pieces);
    pieces_add(&pieces, "a", 1);
    pieces_add(&pieces, "b", 1);
    pieces_add(&pieces, lender, 4096);
    pieces_add(&pieces, "c", 1);
    g_assert_cmpuint(pieces_vector(&pieces, 0, pieces.length, parts, G_N_ELEMENTS(parts)), ==, 3);
    g_assert_true(parts[1].iov_base == lender);
    g_assert_cmpuint(pieces_vector(&pieces, 12, 100, parts, G_N_ELEMENTS(parts)), ==, 1);
    g_assert_true(parts[0].iov_base == lender + 10);
    pieces_clear(&pieces);
}

/* Into a string that has something already. */
static void test_string(void)
{
    g_autoptr(GString) expected = g_string_new("before"), out = g_string_new("before");
    g_autofree char *lender = lender_new();
    Pieces pieces = pieces_in(out);

    fill(&pieces, expected, lender);
    g_assert_cmpstr(out->str, ==, expected->str);
    g_assert_cmpuint(pieces.length, ==, out->len - strlen("before"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pieces/parts", test_parts);
    g_test_add_func("/pieces/borrowed", test_borrowed);
    g_test_add_func("/pieces/string", test_string);
    return g_test_run();
}
