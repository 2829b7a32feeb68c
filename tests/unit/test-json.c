/* SPDX-License-Identifier: MIT */
/* objmodel/json.c: slices of good JSON, and the writer. */
#include <string.h>

#include "objmodel/json.h"

static JsonSlice slice(const char *text)
{
    return (JsonSlice){text, strlen(text)};
}

/* ---- slices ---- */

static void test_kinds(void)
{
    g_assert_cmpint(json_kind(slice("null")), ==, JSON_NULL);
    g_assert_cmpint(json_kind(slice("true")), ==, JSON_BOOL);
    g_assert_cmpint(json_kind(slice("false")), ==, JSON_BOOL);
    g_assert_cmpint(json_kind(slice("-1")), ==, JSON_NUMBER);
    g_assert_cmpint(json_kind(slice("\"\"")), ==, JSON_STRING);
    g_assert_cmpint(json_kind(slice("[]")), ==, JSON_ARRAY);
    g_assert_cmpint(json_kind(slice("{}")), ==, JSON_OBJECT);
    g_assert_cmpstr(json_kind_name(JSON_BOOL), ==, "a boolean");
}

static void test_bool(void)
{
    gboolean value = 42;

    g_assert_false(json_to_bool(slice("1"), &value));
    g_assert_false(json_to_bool(slice("\"true\""), &value));
    g_assert_cmpint(value, ==, 42);
    g_assert_true(json_to_bool(slice("true"), &value));
    g_assert_true(value);
    g_assert_true(json_to_bool(slice("false"), &value));
    g_assert_false(value);
}

static void test_int64(void)
{
    gint64 value = 42;
    static const char *const bad[] = {
        "9223372036854775808", "-9223372036854775809", "1.0", "1e3", "\"1\"", "true", "null"};

    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(json_to_int64(slice(bad[i]), &value));
    }
    g_assert_cmpint(value, ==, 42);
    g_assert_true(json_to_int64(slice("9223372036854775807"), &value));
    g_assert_cmpint(value, ==, G_MAXINT64);
    g_assert_true(json_to_int64(slice("-9223372036854775808"), &value));
    g_assert_cmpint(value, ==, G_MININT64);
    g_assert_true(json_to_int64(slice("-0"), &value));
    g_assert_cmpint(value, ==, 0);
}

static void test_uint64(void)
{
    guint64 value = 42;
    static const char *const bad[] = {"18446744073709551616", "184467440737095516150", "-1", "0.5", "[]"};

    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(json_to_uint64(slice(bad[i]), &value));
    }
    g_assert_cmpuint(value, ==, 42);
    g_assert_true(json_to_uint64(slice("18446744073709551615"), &value));
    g_assert_cmpuint(value, ==, G_MAXUINT64);
    g_assert_true(json_to_uint64(slice("-0"), &value));
    g_assert_cmpuint(value, ==, 0);
}

static void check_string(const char *json, const char *bytes, gsize length)
{
    gsize got_length = 0;
    g_autofree char *got = json_string_dup(slice(json), &got_length);

    g_assert_cmpmem(got, got_length, bytes, length);
    g_assert_cmpuint(json_string_length(slice(json)), ==, length);
    if (memchr(bytes, '\0', length) == NULL) {
        g_assert_true(json_string_is(slice(json), bytes));
    }
}

static void test_strings(void)
{
    check_string("\"\"", "", 0);
    check_string("\"disk0\"", "disk0", 5);
    check_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    check_string("\"a\\u00e9b\\u20AC\"",
                 "a\xC3\xA9"
                 "b\xE2\x82\xAC",
                 7);
    check_string("\"\\uD83D\\uDE00\"", "\xF0\x9F\x98\x80", 4);
    check_string("\"x\\u0000y\"", "x\0y", 3);
    g_assert_null(json_string_dup(slice("12"), NULL));
    g_assert_false(json_string_is(slice("\"disk0\""), "disk"));
    g_assert_false(json_string_is(slice("\"disk\""), "disk0"));
    g_assert_false(json_string_is(slice("\"a\\u0000\""), "a"));
    g_assert_false(json_string_is(slice("1"), "1"));
}

static void test_walk(void)
{
    JsonWalk walk = json_walk(slice("{\"a\":[1,{\"x\":\"}]\"}],\"b\\\\\":\"\\\"\\\\\",\"c\":-1.5e3,\"d\":{}}"));
    static const char *const expected[][2] = {
        {"\"a\"", "[1,{\"x\":\"}]\"}]"},
        {"\"b\\\\\"", "\"\\\"\\\\\""},
        {"\"c\"", "-1.5e3"},
        {"\"d\"", "{}"},
    };
    JsonSlice name, value;

    for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_true(json_walk_member(&walk, &name, &value));
        g_assert_cmpmem(name.text, name.length, expected[i][0], strlen(expected[i][0]));
        g_assert_cmpmem(value.text, value.length, expected[i][1], strlen(expected[i][1]));
    }
    g_assert_false(json_walk_member(&walk, &name, &value));

    walk = json_walk(slice("[]"));
    g_assert_false(json_walk_element(&walk, &value));
    walk = json_walk(slice("{}"));
    g_assert_false(json_walk_member(&walk, &name, &value));

    walk = json_walk(slice("[true,\"x\"]"));
    g_assert_true(json_walk_element(&walk, &value));
    g_assert_true(json_equal_bytes(value, slice("true")));
    g_assert_true(json_walk_element(&walk, &value));
    g_assert_true(json_equal_bytes(value, slice("\"x\"")));
    g_assert_false(json_walk_element(&walk, &value));
}

static void test_member(void)
{
    JsonSlice object = slice("{\"a\":1,\"\\u0062\":2}");

    g_assert_true(json_equal_bytes(json_member(object, "b"), slice("2")));
    g_assert_null(json_member(object, "c").text);
    g_assert_cmpuint(json_member(object, "c").length, ==, 0);
}

/* ---- the writer ---- */

static void check_written(const char *bytes, gssize length, const char *expected)
{
    g_autoptr(GString) out = g_string_new("x");

    json_append_string(out, bytes, length);
    g_assert_cmpstr(out->str + 1, ==, expected);
}

static void test_write_string(void)
{
    check_written("", -1, "\"\"");
    check_written("a/b", -1, "\"a/b\"");
    check_written("\"\\\b\f\n\r\t", -1, "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
    check_written("\x01\x1F\x7F", -1, "\"\\u0001\\u001F\\u007F\"");
    check_written("a\0b", 3, "\"a\\u0000b\"");
    check_written("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", -1, "\"\\u00E9\\u20AC\\uD83D\\uDE00\"");
    check_written("<\xFF>", -1, "\"<\\uFFFD>\"");
    check_written("\xC3", -1, "\"\\uFFFD\"");
    check_written("\xC3\xA9", 1, "\"\\uFFFD\"");
}

static void test_write_numbers(void)
{
    g_autoptr(GString) out = g_string_new(NULL);

    json_append_int(out, G_MININT64);
    g_string_append_c(out, ' ');
    json_append_int(out, G_MAXINT64);
    g_string_append_c(out, ' ');
    json_append_int(out, 0);
    g_string_append_c(out, ' ');
    json_append_int(out, -7);
    g_string_append_c(out, ' ');
    json_append_uint(out, G_MAXUINT64);
    g_string_append_c(out, ' ');
    json_append_uint(out, 1234567890123460);
    g_string_append_c(out, ' ');
    json_append_double(out, 0.1);
    g_string_append_c(out, ' ');
    json_append_double(out, -2);
    g_string_append_c(out, ' ');
    json_append_bool(out, TRUE);
    json_append_bool(out, FALSE);
    json_append_slice(out, slice("[]"));
    g_assert_cmpstr(out->str, ==,
                    "-9223372036854775808 9223372036854775807 0 -7 18446744073709551615 1234567890123460 "
                    "0.10000000000000001 -2 truefalse[]");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json/kinds", test_kinds);
    g_test_add_func("/json/bool", test_bool);
    g_test_add_func("/json/int64", test_int64);
    g_test_add_func("/json/uint64", test_uint64);
    g_test_add_func("/json/strings", test_strings);
    g_test_add_func("/json/walk", test_walk);
    g_test_add_func("/json/member", test_member);
    g_test_add_func("/json/write-string", test_write_string);
    g_test_add_func("/json/write-numbers", test_write_numbers);
    return g_test_run();
}
