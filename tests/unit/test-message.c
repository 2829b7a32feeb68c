/* SPDX-License-Identifier: MIT */
/* qmp/message.c: requests in, replies, errors and events out. */
#include <string.h>

#include "objmodel/error.h"
#include "qmp/message.h"

static JsonSlice slice(const char *text)
{
    return (JsonSlice){text, strlen(text)};
}

static void assert_slice(JsonSlice got, const char *expected)
{
    g_autofree char *text = g_strndup(got.text != NULL ? got.text : "", got.length);

    g_assert_cmpstr(text, ==, expected);
}

static void test_request(void)
{
    g_autoptr(GError) error = NULL;
    QmpRequest request;

    g_assert_true(qmp_request_parse(
        &request, slice("{ 'id' : [1, 'x'], \"arguments\": {\"a\": 1.50}, 'execute':'qom-\\u006cist'}"), &error));
    g_assert_no_error(error);
    g_assert_cmpstr(request.command, ==, "qom-list");
    g_assert_false(request.oob);
    assert_slice(request.arguments, "{\"a\":1.50}");
    assert_slice(request.id, "[1,\"x\"]");
    qmp_request_clear(&request);

    g_assert_true(qmp_request_parse(&request, slice("{\"exec-oob\":\"x\"}"), &error));
    g_assert_true(request.oob);
    g_assert_cmpuint(request.id.length, ==, 0);
    g_assert_cmpuint(request.arguments.length, ==, 0);
    qmp_request_clear(&request);
}

static void test_bad_requests(void)
{
    static const struct {
        const char *text, *id, *message;
    } cases[] = {
        {"nope", "", "not JSON: 1:1: a value expected, not 'n'"},
        {"{\"id\":1,\"execute\":nope}", "", "not JSON: 1:19: a value expected, not 'n'"},
        {"[{\"id\":1}]", "", "a request must be an object, not an array"},
        {"{\"id\":[1,2]}", "[1,2]", "a request needs a member 'execute'"},
        {"{\"execute\":1,\"id\":\"x\"}", "\"x\"", "'execute' must be a string, not a number"},
        {"{\"execute\":\"a\\u0000b\",\"id\":0}", "0", "'execute' must not contain \\u0000"},
        {"{\"execute\":\"a\",\"exec-oob\":\"a\",\"id\":null}", "null", "'execute' and 'exec-oob' exclude each other"},
        {"{\"execute\":\"a\",\"arguments\":[],\"id\":1}", "1", "'arguments' must be an object, not an array"},
        {"{\"execute\":\"a\",\"foo\":2,\"id\":1}", "1", "unexpected member 'foo'"},
        {"{\"\\u00e9\\\"\":2}", "", "unexpected member '\xC3\xA9\"'"},
        {"{\"execute\":\"a\",\"execute\":\"b\"}", "", "not JSON: 1:16: the member \"execute\" is repeated"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        QmpRequest request;

        g_assert_false(qmp_request_parse(&request, slice(cases[i].text), &error));
        g_assert_error(error, QMP_ERROR, QMP_ERROR_GENERIC);
        g_assert_cmpstr(error->message, ==, cases[i].message);
        assert_slice(request.id, cases[i].id);
        qmp_request_clear(&request);
    }
}

/* What is cut is cut between characters, so that the reply is good JSON. */
static void test_shown(void)
{
    g_autofree char *sixty_three = g_strnfill(63, 'a');

    for (guint i = 0; i < 4; i++) {
        static const char *const more[] = {"", "b", "\xC3\xA9", "b\xF0\x9F\x98\x80"};
        static const char *const expected[] = {"", "b", "...", "b..."};
        g_autofree char *text = g_strconcat(sixty_three, more[i], NULL);
        g_autofree char *wanted = g_strconcat(sixty_three, expected[i], NULL), *got = qmp_shown(text);

        g_assert_cmpstr(got, ==, wanted);
    }
}

static void test_replies(void)
{
    static const QmpVersion version = {11, 1, 3, "Debian \"x\""};
    g_autoptr(GString) out = g_string_new(NULL);

    qmp_append_greeting(out, &version, TRUE);
    g_assert_cmpstr(
        out->str, ==,
        "{\"QMP\":{\"version\":{\"qemu\":{\"micro\":3,\"minor\":1,\"major\":11},\"package\":\"Debian \\\"x\\\"\"},"
        "\"capabilities\":[\"oob\"]}}\r\n");
    g_string_truncate(out, 0);
    qmp_append_return(out);
    g_string_append(out, "[]");
    qmp_append_return_end(out, (JsonSlice){NULL, 0});
    qmp_append_return(out);
    g_string_append(out, "{}");
    qmp_append_return_end(out, slice("18446744073709551615"));
    g_assert_cmpstr(out->str, ==, "{\"return\":[]}\r\n{\"return\":{},\"id\":18446744073709551615}\r\n");
}

/* Each error code, and the class that it has on the wire. */
static void test_error_classes(void)
{
    static const struct {
        int code;
        const char *name;
    } cases[] = {
        {OBJMODEL_ERROR_FAILED, "GenericError"},      {OBJMODEL_ERROR_NOT_FOUND, "DeviceNotFound"},
        {OBJMODEL_ERROR_AMBIGUOUS, "GenericError"},   {OBJMODEL_ERROR_NO_PROPERTY, "GenericError"},
        {OBJMODEL_ERROR_READ_ONLY, "GenericError"},   {OBJMODEL_ERROR_BAD_VALUE, "GenericError"},
        {OBJMODEL_ERROR_UNREADABLE, "GenericError"},  {OBJMODEL_ERROR_SECRET, "GenericError"},
        {OBJMODEL_ERROR_GONE, "DeviceNotFound"},      {OBJMODEL_ERROR_TIMED_OUT, "GenericError"},
        {OBJMODEL_ERROR_UNAVAILABLE, "GenericError"}, {OBJMODEL_ERROR_EXISTS, "GenericError"},
        {OBJMODEL_ERROR_IN_USE, "GenericError"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = g_error_new_literal(OBJMODEL_ERROR, cases[i].code, "why\n");
        g_autofree char *expected =
            g_strdup_printf("{\"error\":{\"class\":\"%s\",\"desc\":\"why\\n\"},\"id\":7}\r\n", cases[i].name);
        g_autoptr(GString) out = g_string_new(NULL);

        qmp_append_error(out, error, slice("7"));
        g_assert_cmpstr(out->str, ==, expected);
    }
}

/* What a server says comes back to a client as the same error. */
static void test_error_round_trip(void)
{
    static const int codes[] = {QMP_ERROR_GENERIC, QMP_ERROR_COMMAND_NOT_FOUND, QMP_ERROR_DEVICE_NOT_ACTIVE,
                                QMP_ERROR_DEVICE_NOT_FOUND};

    for (guint i = 0; i < G_N_ELEMENTS(codes); i++) {
        g_autoptr(GError) error = g_error_new_literal(QMP_ERROR, codes[i], "no \"such\"");
        g_autoptr(GError) back = NULL;
        g_autoptr(GString) out = g_string_new(NULL);

        qmp_append_error(out, error, (JsonSlice){NULL, 0});
        qmp_error_from(&back, json_member((JsonSlice){out->str, out->len - 2}, "error"));
        g_assert_error(back, QMP_ERROR, codes[i]);
        g_assert_cmpstr(back->message, ==, "no \"such\"");
    }
}

static void test_event(void)
{
    g_autoptr(GString) out = g_string_new(NULL);

    qmp_append_event(out, "STOP", (JsonSlice){NULL, 0}, 1234567890000042);
    qmp_append_event(out, "X", slice("{\"a\":1}"), 5);
    g_assert_cmpstr(out->str, ==,
                    "{\"timestamp\":{\"seconds\":1234567890,\"microseconds\":42},\"event\":\"STOP\"}\r\n"
                    "{\"timestamp\":{\"seconds\":0,\"microseconds\":5},\"event\":\"X\",\"data\":{\"a\":1}}\r\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/message/request", test_request);
    g_test_add_func("/message/bad-requests", test_bad_requests);
    g_test_add_func("/message/shown", test_shown);
    g_test_add_func("/message/replies", test_replies);
    g_test_add_func("/message/error-classes", test_error_classes);
    g_test_add_func("/message/error-round-trip", test_error_round_trip);
    g_test_add_func("/message/event", test_event);
    return g_test_run();
}
