/* SPDX-License-Identifier: MIT */
/*
 * qmp/peer.c, with stream.c and incoming.c: a scripted server at the other end of a socketpair, which says what it is
 * told to, in whatever pieces, and is looked at.
 */
#include "qmp/peer.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qmp/framing.h"
#include "qmp/stream.h"

#define GREETING                                                                                                       \
    "{\"QMP\": {\"version\": {\"qemu\": {\"micro\": 22, \"minor\": 2, \"major\": 7}, \"package\": \"P\"}, "            \
    "\"capabilities\": [\"oob\"]}}\r\n"
#define EVENT(name) "{\"timestamp\": {\"seconds\": 1, \"microseconds\": 2}, \"event\": \"" name "\"}\r\n"

typedef struct Fixture {
    int server;
    QmpPeer *peer;
    GString *told;       /* what the peer told: "ready,", "event NAME,", "closed,", "=VALUE," "!ERROR," */
    gboolean free_first; /* the next callback frees the peer */
} Fixture;

static void note(Fixture *f, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void note(Fixture *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(f->told, format, args);
    va_end(args);
    if (f->free_first) {
        f->free_first = FALSE;
        g_clear_pointer(&f->peer, qmp_peer_free);
    }
}

static void ready(QmpPeer *peer, void *opaque)
{
    (void)peer;
    note(opaque, "ready,");
}

static void event(QmpPeer *peer, const char *name, JsonSlice message, void *opaque)
{
    (void)peer;
    g_assert_true(json_string_is(json_member(message, "event"), name));
    note(opaque, "event %s,", name);
}

static void closed(QmpPeer *peer, const GError *error, void *opaque)
{
    (void)peer;
    g_assert_cmpuint(error->domain, ==, G_IO_ERROR);
    note(opaque, "closed,");
}

static void replied(JsonSlice value, const GError *error, void *opaque)
{
    if (error != NULL) {
        note(opaque, "!%s,", error->domain == QMP_ERROR ? error->message : "gone");
    } else {
        note(opaque, "=%.*s,", (int)value.length, value.text);
    }
}

static void set_up(Fixture *f, gconstpointer data)
{
    static const QmpPeerEvents events = {ready, event, closed};
    int ends[2];

    (void)data;
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), ==, 0);
    f->server = ends[0];
    f->told = g_string_new(NULL);
    f->peer = qmp_peer_new(ends[1], &events, f);
}

static void tear_down(Fixture *f, gconstpointer data)
{
    (void)data;
    qmp_peer_free(f->peer);
    if (f->server >= 0) {
        close(f->server);
    }
    g_string_free(f->told, TRUE);
}

static void run(void)
{
    for (guint i = 0; i < 20; i++) {
        g_main_context_iteration(NULL, FALSE);
    }
}

static void say(Fixture *f, const char *text)
{
    g_assert_cmpint(send(f->server, text, strlen(text), MSG_NOSIGNAL), ==, (gssize)strlen(text));
    run();
}

/* What the peer has sent, without the newlines. */
static void assert_sent(Fixture *f, const char *wanted)
{
    char buffer[4096];
    gssize n;

    run();
    n = recv(f->server, buffer, sizeof buffer - 1, MSG_DONTWAIT);
    buffer[MAX(n, 0)] = '\0';
    g_assert_cmpstr(g_strdelimit(buffer, "\n", ' '), ==, wanted);
}

static void ask(Fixture *f, const char *command, const char *arguments)
{
    qmp_peer_send(f->peer, command, (JsonSlice){arguments, arguments != NULL ? strlen(arguments) : 0}, NULL, 0, replied,
                  f);
}

static void greet(Fixture *f)
{
    say(f, GREETING);
    assert_sent(f, "{\"execute\":\"qmp_capabilities\",\"id\":1} ");
    say(f, "{\"return\": {}, \"id\": 1}\r\n");
    g_assert_cmpstr(f->told->str, ==, "ready,");
    g_string_truncate(f->told, 0);
}

/* ---- the tests ---- */

/* Nothing goes out before it is greeted; nothing is enabled; events come at any time. */
static void test_greeting(Fixture *f, gconstpointer data)
{
    (void)data;
    ask(f, "early", NULL);
    assert_sent(f, "");
    say(f, EVENT("A") "{\"QMP\": {\"ver");
    say(f, "sion\": {\"qemu\": {\"micro\": 22, \"minor\": 2, \"major\": 7}, \"package\": \"P\"}, \"capabilities\": "
           "[]}}\r\n");
    assert_sent(f, "{\"execute\":\"qmp_capabilities\",\"id\":2} ");
    say(f, EVENT("B") "{\"return\": {}, \"id\": 2}" EVENT("C"));
    g_assert_cmpstr(f->told->str, ==, "event A,event B,ready,event C,");
    assert_sent(f, "{\"execute\":\"early\",\"id\":1} ");
    g_assert_cmpuint(qmp_peer_version(f->peer)->major, ==, 7);
    g_assert_cmpuint(qmp_peer_version(f->peer)->micro, ==, 22);
    g_assert_cmpstr(qmp_peer_version(f->peer)->package, ==, "P");
}

/* Replies go by their ids, in any order and any pieces; who has no id is about the oldest; strangers are passed over.
 */
static void test_replies(Fixture *f, gconstpointer data)
{
    static const char text[] =
        EVENT("E") "{\"id\": 4, \"return\": [1,  \"x\"]}\r\n{\"return\": 18446744073709551615, \"id\": 3}";

    (void)data;
    greet(f);
    ask(f, "a", NULL);
    ask(f, "b", "{}");
    ask(f, "c", "{\"x\":1}");
    ask(f, "d", NULL);
    assert_sent(f, "{\"execute\":\"a\",\"id\":2} {\"execute\":\"b\",\"id\":3} "
                   "{\"execute\":\"c\",\"arguments\":{\"x\":1},\"id\":4} "
                   "{\"execute\":\"d\",\"id\":5} ");
    for (gsize i = 0; i < strlen(text); i++) {
        say(f, (char[]){text[i], '\0'});
    }
    g_assert_cmpstr(f->told->str, ==, "event E,=[1,\"x\"],=18446744073709551615,");
    say(f, "{\"return\": 1, \"id\": 77}\r\n{\"return\": 1, \"id\": \"x\"}\r\n{\"error\": {\"class\": \"GenericError\", "
           "\"desc\": \"no\"}}\r\n");
    g_assert_cmpstr(f->told->str, ==, "event E,=[1,\"x\"],=18446744073709551615,!no,");
    g_string_truncate(f->told, 0);
    say(f, "{\"return\": {\n  \"pretty\": true\n}, \"id\": 5\n}\n");
    g_assert_cmpstr(f->told->str, ==, "={\"pretty\":true},");
}

/* What ends a connection: all who wait hear of it first, and then it is told, once. */
static void test_end(Fixture *f, gconstpointer data)
{
    const char *last = data;

    greet(f);
    ask(f, "a", NULL);
    ask(f, "b", NULL);
    say(f, last);
    close(f->server);
    f->server = -1;
    run();
    g_assert_cmpstr(f->told->str, ==, "!gone,!gone,closed,");
    g_assert_cmpint(qmp_peer_fd(f->peer), ==, -1);
}

/* It may be freed in whatever callback; nothing is called after that. */
static void test_free(Fixture *f, gconstpointer data)
{
    const char *text = data;

    greet(f);
    ask(f, "a", NULL);
    ask(f, "b", NULL);
    f->free_first = TRUE;
    say(f, text);
    close(f->server);
    f->server = -1;
    run();
    g_assert_null(f->peer);
    g_assert_cmpuint(f->told->len, >, 0);
    g_assert_null(strchr(f->told->str, ',')[1] == '\0' ? NULL : f->told->str);
}

/* A reply beyond the limits ends it, in bounded memory; what is short of them does not. */
static void test_limits(Fixture *f, gconstpointer data)
{
    g_autoptr(GString) tokens = g_string_new("{\"id\": 2, \"return\": [");
    /* Looked at as it comes, so that the limit is not exact. */
    gsize n = data != NULL ? QMP_MESSAGE_TOKENS_MAX / 2 - 10 : QMP_MESSAGE_TOKENS_MAX / 2 + 200000;

    greet(f);
    ask(f, "a", NULL);
    for (gsize i = 0; i < n; i++) {
        g_string_append(tokens, i == 0 ? "1" : ",1");
    }
    g_string_append(tokens, "]}\r\n");
    for (gsize sent = 0; sent < tokens->len && qmp_peer_fd(f->peer) >= 0;) {
        gssize part = send(f->server, tokens->str + sent, tokens->len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        sent += (gsize)MAX(part, 0);
        run();
    }
    run();
    if (data != NULL) {
        g_assert_true(g_str_has_prefix(f->told->str, "=[1,1"));
    } else {
        g_assert_true(g_str_equal(f->told->str, "!gone,closed,"));
    }
}

/* Descriptors arrive with the first byte of their request. */
static void test_descriptors(Fixture *f, gconstpointer data)
{
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct stat sent, got;
    GArray *fds;
    char byte;

    (void)data;
    greet(f);
    qmp_peer_send(f->peer, "getfd", (JsonSlice){NULL, 0}, &file, 1, replied, f);
    run();
    g_assert_cmpint(qmp_fds_receive(f->server, &byte, 1, &fds), ==, 1);
    g_assert_cmpint(byte, ==, '{');
    g_assert_nonnull(fds);
    g_assert_cmpuint(fds->len, ==, 1);
    g_assert_cmpint(fstat(file, &sent), ==, 0);
    g_assert_cmpint(fstat(g_array_index(fds, int, 0), &got), ==, 0);
    g_assert_cmpuint(sent.st_rdev, ==, got.st_rdev);
    qmp_fds_free(fds);
    close(file);
}

/* A server that does not read blocks nobody; when it does, all arrives. */
static void test_deaf(Fixture *f, gconstpointer data)
{
    g_autofree char *long_argument = g_strdup_printf("{\"x\":\"%0*d\"}", 10000, 0);
    gsize total = 0, wanted = 200 * (strlen("{\"execute\":\"c\",\"arguments\":,\"id\":}\n") + strlen(long_argument)) +
                              8 + 90 * 2 + 102 * 3;
    char buffer[65536];

    (void)data;
    greet(f);
    for (guint i = 0; i < 200; i++) {
        ask(f, "c", long_argument);
    }
    for (guint i = 0; i < 1000 && total < wanted; i++) {
        gssize n = recv(f->server, buffer, sizeof buffer, MSG_DONTWAIT);

        total += (gsize)MAX(n, 0);
        run();
    }
    g_assert_cmpuint(total, ==, wanted);
}

static void test_settle(Fixture *f, gconstpointer data)
{
    gint64 start;

    (void)data;
    greet(f);
    ask(f, "a", NULL);
    start = g_get_monotonic_time();
    qmp_peer_settle(f->peer, 50);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 50000);
    g_assert_cmpint(send(f->server, "{\"return\":{},\"id\":2}\n", 21, MSG_NOSIGNAL), ==, 21);
    qmp_peer_settle(f->peer, 60000);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 30000000);
    g_assert_cmpstr(f->told->str, ==, "");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(Fixture *f, gconstpointer data);
        const char *data;
    } tests[] = {
        {"greeting", test_greeting, NULL},
        {"replies", test_replies, NULL},
        {"end/cut", test_end, "{\"return\": {\"half"},
        {"end/garbage", test_end, "\x01\xff nonsense"},
        {"end/text", test_end, "hello\n"},
        {"end/twice", test_end, "{\"return\": {\"a\": 1, \"a\": 2}, \"id\": 2}\r\n"},
        {"free/reply", test_free, "{\"return\": {}, \"id\": 3}\r\n{\"return\": {}, \"id\": 2}\r\n"},
        {"free/event", test_free, EVENT("A") EVENT("B")},
        {"free/end", test_free, "]"},
        {"limits/within", test_limits, "within"},
        {"limits/beyond", test_limits, NULL},
        {"descriptors", test_descriptors, NULL},
        {"deaf", test_deaf, NULL},
        {"settle", test_settle, NULL},
    };

    g_test_init(&argc, &argv, NULL);
    signal(SIGPIPE, SIG_IGN);
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/peer/%s", tests[i].name);

        g_test_add(path, Fixture, tests[i].data, set_up, tests[i].test, tear_down);
    }
    return g_test_run();
}
