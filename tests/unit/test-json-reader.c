/* SPDX-License-Identifier: MIT */
/* objmodel/json-reader.c: what is accepted, how it is written, what is refused and where. */
#include <string.h>

#include "objmodel/json.h"

/* ---- what is accepted ---- */

static void check_compact(const char *text, JsonReaderFlags flags, const char *expected)
{
    /* A copy of just that size, so that a sanitizer sees a read beyond. */
    g_autofree char *exact = g_memdup2(text, strlen(text));
    g_autoptr(GError) error = NULL;
    gsize length = 0;
    g_autofree char *got = json_compact(exact, strlen(text), flags, &length, &error);

    g_assert_no_error(error);
    g_assert_cmpstr(got, ==, expected);
    g_assert_cmpuint(length, ==, strlen(expected));
}

static void test_compact(void)
{
    static const char *const same[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "1.50",
        "-1e5",
        "1E+05",
        "2.0e-7",
        "18446744073709551616",
        "\"\"",
        "\"a b\"",
        "\"\\u00e9\\/\\\"\"",
        "\"\\uD83D\\uDE00\"",
        "[]",
        "{}",
        "[[],{}]",
        "{\"a\":{\"a\":1},\"b\":[1,\"x\",null]}",
        "\"\x7F\"",
    };

    for (guint i = 0; i < G_N_ELEMENTS(same); i++) {
        check_compact(same[i], JSON_READER_STRICT, same[i]);
        check_compact(same[i], JSON_READER_QMP, same[i]);
    }
    check_compact(" [ 1 ,\t2\r\n, { \"a\" : \"b c\" , \"d\":[ ] } ] \n", JSON_READER_STRICT,
                  "[1,2,{\"a\":\"b c\",\"d\":[]}]");
    check_compact("[\"\xC3\xA9\", \"a\xE2\x82\xAC\xF0\x9F\x98\x80z\"]", JSON_READER_STRICT,
                  "[\"\\u00E9\",\"a\\u20AC\\uD83D\\uDE00z\"]");
}

static void test_single_quotes(void)
{
    g_autoptr(GError) error = NULL;

    check_compact("{'a': 'b\"c', \"d\": \"e'f\"}", JSON_READER_QMP, "{\"a\":\"b\\\"c\",\"d\":\"e'f\"}");
    check_compact("['it\\'s', \"it\\'s\", '\xC3\xA9', '', 'eight bytes and\\n more']", JSON_READER_QMP,
                  "[\"it's\",\"it's\",\"\\u00E9\",\"\",\"eight bytes and\\n more\"]");
    g_assert_null(json_compact("'a'", 3, JSON_READER_STRICT, NULL, &error));
    g_assert_error(error, JSON_ERROR, JSON_ERROR_SYNTAX);
}

/* ---- what is refused ---- */

static void check_error(const char *text, gsize length, JsonReaderFlags flags, const char *message)
{
    g_autofree char *exact = g_memdup2(text, length);
    g_autoptr(GError) error = NULL;

    g_assert_null(json_compact(exact, length, flags, NULL, &error));
    g_assert_error(error, JSON_ERROR, JSON_ERROR_SYNTAX);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_errors(void)
{
    static const char *const cases[][2] = {
        {"", "1:1: a value expected, but the text ends"},
        {" \n ", "2:2: a value expected, but the text ends"},
        {"{", "1:2: a member's name in quotes expected, but the text ends"},
        {"[1,]", "1:4: a value expected, not ']'"},
        {"[1 2]", "1:4: ',' or ']' expected, not '2'"},
        {"{\"a\" 1}", "1:6: ':' expected, not '1'"},
        {"{\"a\":1,}", "1:8: a member's name in quotes expected, not '}'"},
        {"{\"a\":1]", "1:7: ',' or '}' expected, not ']'"},
        {"[\n\xC3\xA9", "2:1: a value expected, not the byte 0xC3"},
        {"[\"\xC3\xA9\",\n\"\xC3\xA9\" x", "2:5: ',' or ']' expected, not 'x'"},
        {"1 2", "1:3: the end of the text expected, not '2'"},
        {"01", "1:2: a number with a leading zero"},
        {"-", "1:2: a digit expected, but the text ends"},
        {"1.", "1:3: a digit expected, but the text ends"},
        {"1.x", "1:3: a digit expected, not 'x'"},
        {"1e+", "1:4: a digit expected, but the text ends"},
        {"+1", "1:1: a value expected, not '+'"},
        {"tru", "1:1: a value expected, not 't'"},
        {"nulx", "1:1: a value expected, not 'n'"},
        {"True", "1:1: a value expected, not 'T'"},
        {"\"abc", "1:1: a string that does not end"},
        {"\"abcdefghijklmno", "1:1: a string that does not end"},
        {"\"a\\", "1:4: the text ends within a string"},
        {"\"a\\x\"", "1:3: a backslash that begins no escape"},
        {"\"a\\'\"", "1:3: a backslash that begins no escape"},
        {"\"\\u12g4\"", "1:2: \\u takes four hex digits"},
        {"\"\\u12", "1:2: \\u takes four hex digits"},
        {"\"\\uD83D\"", "1:2: \\uD83D is half of a surrogate pair"},
        {"\"\\uD83D\\u0041\"", "1:2: \\uD83D is half of a surrogate pair"},
        {"\"\\uDE00\\uD83D\"", "1:2: \\uDE00 is half of a surrogate pair"},
        {"\"a\tb\"", "1:3: the control character 0x09 in a string"},
        {"\"a\nb\"", "1:3: the control character 0x0A in a string"},
        {"\"\xFF\"", "1:2: the byte 0xFF begins no UTF-8 character"},
        {"\"\xC0\x80\"", "1:2: the byte 0xC0 begins no UTF-8 character"},
        {"\"\xED\xA0\x80\"", "1:2: the byte 0xED begins no UTF-8 character"},
        {"\"\xF4\x90\x80\x80\"", "1:2: the byte 0xF4 begins no UTF-8 character"},
        {"\"\xE2\x82", "1:2: the byte 0xE2 begins no UTF-8 character"},
        {"\xEF\xBB\xBF{}", "1:1: a value expected, not the byte 0xEF"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "1:14: the member \"a\" is repeated"},
        {"{\"a\":1,\"\\u0061\":2}", "1:8: the member \"a\" is repeated"},
        {"{\"\\u00e9\":1,\"\xC3\xA9\":2}", "1:13: the member \"\\u00E9\" is repeated"},
        {"[1}", "1:3: ',' or ']' expected, not '}'"},
        {"]", "1:1: a value expected, not ']'"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        check_error(cases[i][0], strlen(cases[i][0]), JSON_READER_STRICT, cases[i][1]);
    }
    check_error("[1\0]", 4, JSON_READER_STRICT, "1:3: ',' or ']' expected, not the byte 0x00");
    check_error("\0", 1, JSON_READER_STRICT, "1:1: a value expected, not the byte 0x00");
    check_error("{'a':1,\"a\":2}", 13, JSON_READER_QMP, "1:8: the member \"a\" is repeated");
    check_error("{'it\\'s':1,\"it's\":2}", 20, JSON_READER_QMP, "1:12: the member \"it's\" is repeated");
}

static void test_depth(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *good = NULL, *bad = NULL;
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < JSON_MAX_DEPTH; i++) {
        g_string_append_c(text, '[');
    }
    for (guint i = 0; i < JSON_MAX_DEPTH; i++) {
        g_string_append_c(text, ']');
    }
    good = json_compact(text->str, text->len, JSON_READER_STRICT, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(good, ==, text->str);
    g_string_prepend_c(text, '[');
    g_string_append_c(text, ']');
    bad = json_compact(text->str, text->len, JSON_READER_STRICT, NULL, &error);
    g_assert_null(bad);
    g_assert_cmpstr(error->message, ==, "1:1025: nested deeper than 1024");
}

/* An object of many members, each of which has members of the same names. The last name
 * repeats number `repeat`, or none where that is -1. */
static char *many_members(int n, int repeat, gboolean escaped)
{
    GString *text = g_string_new("{");

    for (int i = 0; i <= n; i++) {
        int number = i < n ? i : repeat >= 0 ? repeat : n;

        g_string_append_printf(text, "%s\"%smember-%d\":{\"a\":0,\"b\":[{}]}", i > 0 ? "," : "",
                               escaped && i % 2 ? "\\u0078" : "x", number);
    }
    g_string_append_c(text, '}');
    return g_string_free(text, FALSE);
}

static void test_repeated_among_many(void)
{
    for (int n = 1; n < 3000; n += 1 + n / 3) {
        for (int repeat = -1; repeat < n; repeat += 1 + n / 7) {
            g_autofree char *text = many_members(n, repeat, repeat % 2 == 0);
            g_autoptr(GError) error = NULL;
            g_autofree char *compact = json_compact(text, strlen(text), JSON_READER_STRICT, NULL, &error);

            if (repeat < 0) {
                g_assert_no_error(error);
                g_assert_cmpstr(compact, ==, text);
            } else {
                g_assert_error(error, JSON_ERROR, JSON_ERROR_SYNTAX);
                g_assert_null(compact);
            }
        }
    }
}

/* ---- pulling ---- */

static void test_pull(void)
{
    static const char text[] = "{ \"a\": [1, [2 , 3], \"x\"], 'b\xC3\xA9' : {\"skip\": [null]}, \"c\": { } }";
    g_autoptr(GString) copy = g_string_new("before");
    g_autoptr(JsonReader) reader = json_reader_new(text, strlen(text), JSON_READER_QMP, copy);
    JsonSlice name;
    JsonKind kind;
    gsize offset;

    g_assert_true(json_reader_peek(reader, &kind));
    g_assert_cmpint(kind, ==, JSON_OBJECT);
    g_assert_true(json_reader_enter(reader, JSON_OBJECT, "it"));
    g_assert_true(json_reader_next_member(reader, &name));
    g_assert_cmpmem(name.text, name.length, "\"a\"", 3);
    g_assert_true(json_reader_enter(reader, JSON_ARRAY, "it"));
    g_assert_true(json_reader_next_element(reader));
    g_assert_true(json_reader_value(reader, &offset));
    g_assert_cmpstr(copy->str + offset, ==, "1");
    g_assert_true(json_reader_next_element(reader));
    g_assert_true(json_reader_value(reader, &offset));
    g_assert_cmpstr(copy->str + offset, ==, "[2,3]");
    g_assert_true(json_reader_next_element(reader));
    g_assert_true(json_reader_peek(reader, &kind));
    g_assert_cmpint(kind, ==, JSON_STRING);
    g_assert_true(json_reader_value(reader, &offset));
    g_assert_false(json_reader_next_element(reader));
    g_assert_false(json_reader_failed(reader));
    g_assert_true(json_reader_next_member(reader, &name));
    g_assert_cmpmem(name.text, name.length, "\"b\\u00E9\"", 9);
    g_assert_true(json_reader_skip(reader));
    g_assert_true(json_reader_next_member(reader, &name));
    g_assert_true(json_reader_value(reader, &offset));
    g_assert_cmpstr(copy->str + offset, ==, "{}");
    g_assert_false(json_reader_next_member(reader, &name));
    g_assert_false(json_reader_failed(reader));
    g_assert_true(json_reader_end(reader));
    g_assert_cmpuint(json_reader_position(reader), ==, strlen(text));
    g_assert_cmpstr(copy->str, ==, "before1[2,3]\"x\"{}");
}

static void test_wrong_shape(void)
{
    static const char text[] = "[\n  12]";
    g_autoptr(JsonReader) reader = json_reader_new(text, strlen(text), JSON_READER_STRICT, NULL);
    g_autoptr(GError) error = NULL;
    JsonSlice name;
    JsonKind kind;
    gsize offset;

    g_assert_true(json_reader_enter(reader, JSON_ARRAY, "the dump"));
    g_assert_true(json_reader_next_element(reader));
    g_assert_false(json_reader_enter(reader, JSON_OBJECT, "an entry"));
    g_assert_true(json_reader_failed(reader));
    /* It sticks, and a later one does not replace it. */
    json_reader_fail_at(reader, 0, "another");
    g_assert_false(json_reader_peek(reader, &kind));
    g_assert_false(json_reader_value(reader, &offset));
    g_assert_false(json_reader_skip(reader));
    g_assert_false(json_reader_next_element(reader));
    g_assert_false(json_reader_next_member(reader, &name));
    g_assert_false(json_reader_end(reader));
    g_assert_false(json_reader_propagate(reader, &error));
    g_assert_error(error, JSON_ERROR, JSON_ERROR_SHAPE);
    g_assert_cmpstr(error->message, ==, "2:3: an entry must be an object, not a number");
}

/* All beginnings of a text fail but the whole, and none reads beyond its end. */
static void test_truncated(void)
{
    static const char text[] = "{\"a\":[1.5e3,\"x\\u0041\\n\xE2\x82\xAC\",true],\"b\\\"\":{\"c\":null}}";

    for (gsize length = 0; length < strlen(text); length++) {
        g_autofree char *exact = g_memdup2(text, length);

        g_assert_null(json_compact(exact, length, JSON_READER_STRICT, NULL, NULL));
    }
    check_compact(text, JSON_READER_STRICT, "{\"a\":[1.5e3,\"x\\u0041\\n\\u20AC\",true],\"b\\\"\":{\"c\":null}}");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json-reader/compact", test_compact);
    g_test_add_func("/json-reader/single-quotes", test_single_quotes);
    g_test_add_func("/json-reader/errors", test_errors);
    g_test_add_func("/json-reader/depth", test_depth);
    g_test_add_func("/json-reader/repeated-among-many", test_repeated_among_many);
    g_test_add_func("/json-reader/pull", test_pull);
    g_test_add_func("/json-reader/wrong-shape", test_wrong_shape);
    g_test_add_func("/json-reader/truncated", test_truncated);
    return g_test_run();
}
