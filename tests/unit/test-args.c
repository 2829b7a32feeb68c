/* SPDX-License-Identifier: MIT */
/* qmp/args.c: argument tables. */
#include <string.h>

#include "qmp/args.h"
#include "qmp/message.h"

static const QmpType colour = {.meta = QMP_ENUM, .values = (const char *const[]){"red", "green", NULL}};
static QMP_LIST_OF(ints, qmp_int);
static QMP_LIST_OF(strings, qmp_str);

typedef struct Args {
    char *path;
    gboolean flag;
    gint64 number;
    int colour;
    char **names;
    JsonSlice any, numbers, object;
} Args;

static const QmpArg table[] = {
    QMP_ARG(Args, path, "path", qmp_str),
    QMP_ARG(Args, flag, "flag", qmp_bool, .optional = TRUE, .otherwise = TRUE),
    QMP_ARG(Args, number, "number", qmp_int, .optional = TRUE, .otherwise = -1, .min = 0, .max = 9),
    QMP_ARG(Args, colour, "colour", colour, .optional = TRUE, .otherwise = 1),
    QMP_ARG(Args, names, "names", strings, .optional = TRUE),
    QMP_ARG(Args, any, "any", qmp_any, .optional = TRUE),
    QMP_ARG(Args, numbers, "numbers", ints, .optional = TRUE),
    QMP_ARG(Args, object, "object", qmp_empty, .optional = TRUE),
    {0},
};

static JsonSlice slice(const char *text)
{
    return (JsonSlice){text, text != NULL ? strlen(text) : 0};
}

static void test_all(void)
{
    g_autoptr(GError) error = NULL;
    Args args = {0};

    g_assert_true(qmp_args_fill(
        table,
        slice("{\"names\":[\"a\",\"\\u00e9\"],\"path\":\"/x\",\"flag\":false,\"number\":9,\"colour\":\"red\","
              "\"any\":null,\"numbers\":[1],\"object\":{\"y\":2}}"),
        FALSE, &args, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(args.path, ==, "/x");
    g_assert_false(args.flag);
    g_assert_cmpint(args.number, ==, 9);
    g_assert_cmpint(args.colour, ==, 0);
    g_assert_cmpuint(g_strv_length(args.names), ==, 2);
    g_assert_cmpstr(args.names[1], ==, "\xC3\xA9");
    g_assert_true(json_equal_bytes(args.any, slice("null")));
    g_assert_true(json_equal_bytes(args.numbers, slice("[1]")));
    g_assert_true(json_equal_bytes(args.object, slice("{\"y\":2}")));
    qmp_args_clear(table, &args);
    g_assert_null(args.path);
    g_assert_null(args.names);
}

static void test_absent(void)
{
    Args args = {0};

    g_assert_true(qmp_args_fill(table, slice("{\"path\":\"\"}"), FALSE, &args, NULL));
    g_assert_cmpstr(args.path, ==, "");
    g_assert_true(args.flag);
    g_assert_cmpint(args.number, ==, -1);
    g_assert_cmpint(args.colour, ==, 1);
    g_assert_null(args.names);
    g_assert_cmpuint(args.any.length, ==, 0);
    qmp_args_clear(table, &args);
}

/* Of 63 bytes. */
#define LONG "a-value-of-sixty-three-bytes-after-which-a-letter-of-two-is-cut"

static void test_wrong(void)
{
    static const struct {
        const char *object, *message;
    } cases[] = {
        {NULL, "argument 'path' is missing"},
        {"{}", "argument 'path' is missing"},
        {"{\"path\":1}", "argument 'path' must be a string, not a number"},
        {"{\"path\":null}", "argument 'path' must be a string, not null"},
        {"{\"path\":\"a\\u0000\"}", "argument 'path' must not contain \\u0000"},
        {"{\"path\":\"\",\"flag\":\"true\"}", "argument 'flag' must be a boolean, not a string"},
        {"{\"path\":\"\",\"number\":\"1\"}", "argument 'number' must be an integer, not a string"},
        {"{\"path\":\"\",\"number\":1.0}", "argument 'number' must be an integer of 64 bits, not 1.0"},
        {"{\"path\":\"\",\"number\":18446744073709551615}",
         "argument 'number' must be an integer of 64 bits, not 18446744073709551615"},
        {"{\"path\":\"\",\"number\":10}", "argument 'number' must be 0 to 9, not 10"},
        {"{\"path\":\"\",\"colour\":\"blue\"}", "argument 'colour' has no value 'blue'"},
        {"{\"path\":\"\",\"colour\":0}", "argument 'colour' must be a string, not a number"},
        {"{\"path\":\"\",\"names\":\"x\"}", "argument 'names' must be an array of strings, not a string"},
        {"{\"path\":\"\",\"names\":[\"x\",1]}", "argument 'names[1]' must be a string, not a number"},
        {"{\"path\":\"\",\"numbers\":{}}", "argument 'numbers' must be an array, not an object"},
        {"{\"path\":\"\",\"object\":[]}", "argument 'object' must be an object, not an array"},
        {"{\"path\":\"\",\"x\":1}", "unexpected argument 'x'"},
        {"{\"path\":\"\",\"Path\":1}", "unexpected argument 'Path'"},
        {"{\"path\":\"\",\"names\":[\"\\u0000\"]}", "argument 'names[0]' must not contain \\u0000"},
        {"{\"path\":\"\",\"\\u00e9\":1}", "unexpected argument '\xC3\xA9'"},
        {"{\"path\":\"\",\"colour\":\"" LONG "\\u00e9\"}", "argument 'colour' has no value '" LONG "...'"},
        {"{\"path\":\"\",\"" LONG "\\u00e9\":1}", "unexpected argument '" LONG "...'"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        Args args = {0};

        g_assert_false(qmp_args_fill(table, slice(cases[i].object), FALSE, &args, &error));
        g_assert_error(error, QMP_ERROR, QMP_ERROR_GENERIC);
        g_assert_cmpstr(error->message, ==, cases[i].message);
        g_assert_null(args.path);
        g_assert_null(args.names);
    }
}

static void test_open(void)
{
    Args args = {0};

    g_assert_true(qmp_args_fill(table, slice("{\"path\":\"\",\"x\":1}"), TRUE, &args, NULL));
    qmp_args_clear(table, &args);
    g_assert_true(qmp_args_fill(NULL, slice(NULL), FALSE, NULL, NULL));
    g_assert_true(qmp_args_fill(NULL, slice("{}"), FALSE, NULL, NULL));
    g_assert_false(qmp_args_fill(NULL, slice("{\"x\":1}"), FALSE, NULL, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/args/all", test_all);
    g_test_add_func("/args/absent", test_absent);
    g_test_add_func("/args/wrong", test_wrong);
    g_test_add_func("/args/open", test_open);
    return g_test_run();
}
