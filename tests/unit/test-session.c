/* SPDX-License-Identifier: MIT */
/* qmp/session.c, with call.c, registry.c, builtin.c and schema.c: what one client sees. */
#include <string.h>

#include "qmp/session.h"

/* ---- a server's worth of commands ---- */

static QmpCall *held; /* the call of `hold` that waits for its reply */

static void echo(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    if (qmp_call_arguments(call).length > 0) {
        json_append_slice(qmp_call_result(call), qmp_call_arguments(call));
    }
    qmp_call_return(call);
}

static void hold(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    g_assert_null(held);
    held = call;
}

static void fail(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    g_string_append(qmp_call_result(call), "[half a res");
    qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_DEVICE_NOT_FOUND, "no '%s'", (const char *)qmp_call_context(call));
}

static const QmpType colour = {.meta = QMP_ENUM, .values = (const char *const[]){"red", "green", NULL}};
static const QmpType tree = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"colour", &colour, FALSE}, {"height", &qmp_int, TRUE}, {0}},
    .tag = "colour",
    .variants =
        (const QmpVariant[]){
            {"green", &(const QmpType){.meta = QMP_OBJECT,
                                       .members = (const QmpMember[]){{"leaves", &qmp_str_list, FALSE}, {0}}}},
            {0}},
};

typedef struct PlantArgs {
    char *where;
    gboolean deep;
} PlantArgs;

static const QmpArg plant_args[] = {
    QMP_ARG(PlantArgs, where, "where", qmp_str),
    QMP_ARG(PlantArgs, deep, "deep", qmp_bool, .optional = TRUE),
    {0},
};

static void plant(QmpCall *call, const void *data)
{
    const PlantArgs *args = data;

    json_append_string(qmp_call_result(call), args->where, -1);
    qmp_call_return(call);
}

static const QmpCommand commands[] = {
    {.name = "echo", .handler = echo, .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "hold", .handler = hold},
    {.name = "fail", .handler = fail},
    {.name = "plant", .handler = plant, .args = plant_args, .args_size = sizeof(PlantArgs), .ret = &tree},
    {.name = "urgent", .handler = echo, .flags = QMP_COMMAND_OOB | QMP_COMMAND_OPEN_ARGS},
    {0},
};

static const QmpEvent events[] = {{.name = "GROWN", .data = &tree}, {.name = "STOP"}, {0}};

/* ---- one session ---- */

typedef struct Fixture {
    QmpMailbox *mailbox;
    QmpSession *session;
    gint woken;
} Fixture;

static void wake(void *opaque)
{
    g_atomic_int_inc((gint *)opaque);
}

static void fixture_set_up(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    static const QmpVersion version = {11, 1, 0, ""};
    g_autoptr(QmpRegistry) registry = qmp_registry_new(&version);

    held = NULL;
    qmp_registry_add(registry, commands, (void *)(guintptr) "oak");
    qmp_registry_add_events(registry, events);
    f->mailbox = qmp_mailbox_new(wake, &f->woken);
    f->session = qmp_session_new(registry, f->mailbox, NULL, NULL, f);
}

static void fixture_tear_down(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    qmp_session_free(f->session);
    qmp_mailbox_close(f->mailbox);
    qmp_mailbox_unref(f->mailbox);
}

/* Takes all output, seven bytes at a time. */
static char *take(Fixture *f)
{
    GString *out = g_string_new(NULL);
    struct iovec pieces[4];

    while (qmp_session_unsent(f->session) > 0) {
        gsize n = 0;

        for (guint i = 0, count = qmp_session_output(f->session, pieces, 4); i < count && n < 7; i++) {
            gsize part = MIN(pieces[i].iov_len, 7 - n);

            g_string_append_len(out, pieces[i].iov_base, (gssize)part);
            n += part;
        }
        qmp_session_sent(f->session, n);
    }
    return g_string_free(out, FALSE);
}

static void say(Fixture *f, const char *text)
{
    framer_add(qmp_session_framer(f->session), text, strlen(text));
    while (qmp_session_run(f->session, 3)) {
    }
}

static void expect(Fixture *f, const char *expected)
{
    g_autofree char *got = take(f);

    g_assert_cmpstr(got, ==, expected);
}

static void negotiate(Fixture *f, const char *arguments)
{
    g_autofree char *greeting = take(f);
    g_autofree char *request = g_strdup_printf("{\"execute\":\"qmp_capabilities\"%s}", arguments);

    g_assert_true(g_str_has_prefix(greeting, "{\"QMP\":"));
    say(f, request);
    expect(f, "{\"return\":{}}\r\n");
}

/* ---- the tests ---- */

static void test_negotiation(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_free(take(f));
    say(f, "{\"execute\":\"query-version\"}");
    expect(f, "{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"there is no command 'query-version': capabilities "
              "must be "
              "negotiated first, by 'qmp_capabilities'\"}}\r\n");
    g_assert_false(qmp_session_is_negotiated(f->session));
    say(f, "{\"execute\":\"qmp_capabilities\",\"arguments\":{\"enable\":[\"oob\",\"nope\"]}}");
    expect(f, "{\"error\":{\"class\":\"GenericError\",\"desc\":\"there is no capability 'nope'\"}}\r\n");
    g_assert_false(qmp_session_is_negotiated(f->session));
    say(f, "{\"execute\":\"qmp_capabilities\",\"arguments\":{\"x\":1},\"id\":1}");
    expect(f, "{\"error\":{\"class\":\"GenericError\",\"desc\":\"unexpected argument 'x'\"},\"id\":1}\r\n");
    say(f, "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"query-version\"}");
    expect(f, "{\"return\":{}}\r\n{\"return\":{\"qemu\":{\"micro\":0,\"minor\":1,\"major\":11},\"package\":\"\"}}\r\n");
    g_assert_true(qmp_session_is_negotiated(f->session));
    say(f, "{\"execute\":\"qmp_capabilities\"}");
    expect(f, "{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"capabilities have been negotiated already\"}}\r\n");
}

static void test_commands(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    negotiate(f, "");
    say(f, "{\"execute\":\"echo\",\"id\":{\"a\":[null]}} {\"execute\":\"echo\",\"arguments\":{\"b\":'c'}}");
    expect(f, "{\"return\":{},\"id\":{\"a\":[null]}}\r\n{\"return\":{\"b\":\"c\"}}\r\n");
    say(f, "{\"execute\":\"fail\",\"id\":-0}");
    expect(f, "{\"error\":{\"class\":\"DeviceNotFound\",\"desc\":\"no 'oak'\"},\"id\":-0}\r\n");
    say(f, "{\"execute\":\"plant\",\"arguments\":{\"where\":\"here\"}}{\"execute\":\"plant\",\"id\":1}");
    expect(f, "{\"return\":\"here\"}\r\n{\"error\":{\"class\":\"GenericError\",\"desc\":\"argument 'where' is "
              "missing\"},\"id\":1}\r\n");
    say(f, "{\"execute\":\"plant\",\"arguments\":{\"where\":\"here\",\"x\":2}}");
    expect(f, "{\"error\":{\"class\":\"GenericError\",\"desc\":\"unexpected argument 'x'\"}}\r\n");
    say(f, "{\"exec-oob\":\"urgent\",\"id\":1}");
    expect(f, "{\"error\":{\"class\":\"GenericError\",\"desc\":\"out-of-band execution was not enabled, by "
              "'qmp_capabilities'\"},\"id\":1}\r\n");
}

static void deliver(Fixture *f)
{
    g_autoptr(GPtrArray) calls = qmp_mailbox_take(f->mailbox);

    for (guint i = 0; calls != NULL && i < calls->len; i++) {
        QmpSession *session = qmp_call_deliver(g_ptr_array_index(calls, i));

        g_assert_true(session == f->session);
        while (session != NULL && qmp_session_run(session, 3)) {
        }
    }
}

static gpointer reply_thread(gpointer data)
{
    g_string_append(qmp_call_result(data), "\"late\"");
    qmp_call_return(data);
    return NULL;
}

static void test_replies_in_order(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    negotiate(f, "");
    say(f, "{\"execute\":\"hold\",\"id\":1}{\"execute\":\"echo\",\"id\":2}{]{\"execute\":\"echo\",\"id\":3}");
    expect(f, "");
    g_assert_false(qmp_session_is_idle(f->session));
    g_thread_join(g_thread_new("reply", reply_thread, g_steal_pointer(&held)));
    g_assert_cmpint(f->woken, ==, 1);
    expect(f, "");
    deliver(f);
    expect(f, "{\"return\":\"late\",\"id\":1}\r\n{\"return\":{},\"id\":2}\r\n"
              "{\"error\":{\"class\":\"GenericError\",\"desc\":\"a bracket closes that is not "
              "open\"}}\r\n{\"return\":{},\"id\":3}\r\n");
    g_assert_true(qmp_session_is_idle(f->session));
}

static void test_out_of_band(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    negotiate(f, ",\"arguments\":{\"enable\":[\"oob\"]}");
    say(f, "{\"exec-oob\":\"echo\",\"id\":0}");
    expect(f,
           "{\"error\":{\"class\":\"GenericError\",\"desc\":\"'echo' cannot be executed out of band\"},\"id\":0}\r\n");
    say(f, "{\"execute\":\"hold\",\"id\":1}{\"execute\":\"echo\",\"id\":2}{\"exec-oob\":\"urgent\",\"id\":3}");
    expect(f, "{\"return\":{},\"id\":3}\r\n");
    /* Eight wait; behind them nothing is looked at, so that a client cannot fill our memory. */
    say(f, "{}{}{}{}{}{}{}{\"exec-oob\":\"urgent\",\"id\":4}");
    expect(f, "");
    qmp_call_return(g_steal_pointer(&held));
    deliver(f);
    {
        g_autofree char *got = take(f);

        g_assert_true(g_str_has_prefix(got, "{\"return\":{},\"id\":1}\r\n{\"return\":{},\"id\":"));
        g_assert_nonnull(strstr(got, "{\"return\":{},\"id\":2}"));
        g_assert_nonnull(strstr(got, "{\"return\":{},\"id\":4}"));
    }
}

/* The client has left when the reply comes, and then the whole server. */
static void test_orphans(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    QmpCall *late;

    negotiate(f, "");
    say(f, "{\"execute\":\"hold\"}");
    qmp_session_free(g_steal_pointer(&f->session));
    g_thread_join(g_thread_new("reply", reply_thread, g_steal_pointer(&held)));
    deliver(f);
    fixture_tear_down(f, NULL);

    fixture_set_up(f, NULL);
    negotiate(f, "");
    say(f, "{\"execute\":\"hold\"}");
    late = g_steal_pointer(&held);
    fixture_tear_down(f, NULL);
    g_thread_join(g_thread_new("reply", reply_thread, late));
    fixture_set_up(f, NULL);
}

static void test_pause(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *big = g_strnfill(QMP_OUTPUT_PAUSE, 'x');
    g_autofree char *request = g_strdup_printf("{\"execute\":\"echo\",\"arguments\":{\"x\":\"%s\"}}", big);

    negotiate(f, "");
    say(f, request);
    say(f, "{\"execute\":\"echo\",\"id\":2}");
    g_assert_cmpuint(qmp_session_backlog(f->session), ==, 0);
    g_assert_cmpuint(qmp_session_unsent(f->session), ==, strlen("{\"return\":{\"x\":\"\"}}\r\n") + QMP_OUTPUT_PAUSE);
    qmp_session_sent(f->session, qmp_session_unsent(f->session));
    g_assert_false(qmp_session_run(f->session, 3));
    expect(f, "{\"return\":{},\"id\":2}\r\n");
    qmp_session_send(f->session, g_bytes_new_static("abc", 3));
    qmp_session_send(f->session, g_bytes_new_static("defgh", 5));
    qmp_session_sent(f->session, 1);
    g_assert_cmpuint(qmp_session_backlog(f->session), ==, 5);
    g_assert_cmpuint(qmp_session_unsent(f->session), ==, 7);
    expect(f, "bcdefgh");
}

/* ---- query-commands and the schema ---- */

/* The entry with this name, which must stand once. */
static JsonSlice entry(JsonSlice list, const char *name)
{
    JsonWalk walk = json_walk(list);
    JsonSlice element, found = {NULL, 0};

    while (json_walk_element(&walk, &element)) {
        if (json_string_is(json_member(element, "name"), name)) {
            g_assert_null(found.text);
            found = element;
        }
    }
    g_assert_nonnull(found.text);
    return found;
}

/* The entry that a member of another one refers to. */
static JsonSlice follow(JsonSlice list, JsonSlice from, const char *member)
{
    g_autofree char *name = json_string_dup(json_member(from, member), NULL);

    return entry(list, name);
}

static void assert_text(JsonSlice slice, const char *expected)
{
    g_autofree char *text = g_strndup(slice.text, slice.length);

    g_assert_cmpstr(text, ==, expected);
}

static JsonSlice first(JsonSlice array, guint n)
{
    JsonWalk walk = json_walk(array);
    JsonSlice element = {NULL, 0};

    while (n-- > 0 && json_walk_element(&walk, &element)) {
    }
    return element;
}

static void test_schema(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *reply = NULL;
    JsonSlice schema, command, ret, leaves, self;

    negotiate(f, "");
    say(f, "{\"execute\":\"query-qmp-schema\"}");
    reply = take(f);
    schema = json_member((JsonSlice){reply, strlen(reply) - 2}, "return");
    command = entry(schema, "plant");
    assert_text(json_member(command, "meta-type"), "\"command\"");
    g_assert_null(json_member(command, "allow-oob").text);
    assert_text(json_member(entry(schema, "urgent"), "allow-oob"), "true");
    assert_text(json_member(follow(schema, command, "arg-type"), "members"),
                "[{\"name\":\"where\",\"type\":\"str\"},{\"name\":\"deep\",\"default\":null,\"type\":\"bool\"}]");
    ret = follow(schema, command, "ret-type");
    assert_text(json_member(ret, "tag"), "\"colour\"");
    assert_text(json_member(follow(schema, first(json_member(ret, "members"), 1), "type"), "values"),
                "[\"red\",\"green\"]");
    assert_text(json_member(first(json_member(ret, "variants"), 1), "case"), "\"red\"");
    assert_text(json_member(follow(schema, first(json_member(ret, "variants"), 1), "type"), "members"), "[]");
    leaves = follow(schema, first(json_member(ret, "variants"), 2), "type");
    assert_text(json_member(leaves, "members"), "[{\"name\":\"leaves\",\"type\":\"[str]\"}]");
    assert_text(json_member(entry(schema, "[str]"), "element-type"), "\"str\"");
    assert_text(json_member(entry(schema, "str"), "json-type"), "\"string\"");
    g_assert_true(json_equal_bytes(follow(schema, entry(schema, "GROWN"), "arg-type"), ret));
    assert_text(json_member(follow(schema, entry(schema, "STOP"), "arg-type"), "members"), "[]");

    /* It describes itself: each of its entries is of the type that it says. */
    self = follow(schema, entry(schema, "query-qmp-schema"), "ret-type");
    assert_text(json_member(self, "meta-type"), "\"array\"");
    assert_text(json_member(follow(schema, self, "element-type"), "tag"), "\"meta-type\"");
}

static void test_query_commands(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    negotiate(f, "");
    say(f, "{\"execute\":\"query-commands\"}");
    expect(f, "{\"return\":[{\"name\":\"qmp_capabilities\"},{\"name\":\"query-version\"},{\"name\":\"query-commands\"},"
              "{\"name\":\"query-qmp-schema\"},{\"name\":\"echo\"},{\"name\":\"hold\"},{\"name\":\"fail\"},{\"name\":"
              "\"plant\"},"
              "{\"name\":\"urgent\"}]}\r\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function) g_test_add("/session/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)
    ADD("negotiation", test_negotiation);
    ADD("commands", test_commands);
    ADD("replies-in-order", test_replies_in_order);
    ADD("out-of-band", test_out_of_band);
    ADD("orphans", test_orphans);
    ADD("pause", test_pause);
    ADD("schema", test_schema);
    ADD("query-commands", test_query_commands);
    return g_test_run();
}
