/* SPDX-License-Identifier: MIT */
/*
 * qmp/server.c among clients that are slow, stopped or ask too much: the others are answered within 100 ms. On a busy
 * machine a single answer may be late for reasons that are not the server's: it is the 95th of 100 that counts, or,
 * where one thing is to be waited for, the best of some tries.
 */
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include "qmp/call.h"
#include "qmp/framing.h"
#include "tests/unit/serving.h"

static gsize resident_memory(void)
{
    g_autofree char *text = NULL;
    const char *line;

    g_assert_true(g_file_get_contents("/proc/self/status", &text, NULL, NULL));
    line = strstr(text, "VmRSS:");
    g_assert_nonnull(line);
    return (gsize)g_ascii_strtoull(line + strlen("VmRSS:"), NULL, 10) << 10;
}

/* ---- a stopped client among a million events ---- */

/* With a sanitizer fewer, of as many bytes in all: more than are kept for a client. */
#define EVENTS (SANITIZED ? 100000 : 1000000)
#define EVENT_PADDING (SANITIZED ? 1000 : 0)
#define EVENTS_AT_ONCE 1000

/* A process that reads all it is sent. Its status says whether it came to an end. It has no threads: only calls that
 * are safe after a fork. */
static pid_t start_reader(int fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        static char buffer[65536];

        /* The server's end of the connection must not stay open here. */
        close_range(STDERR_FILENO + 1, (unsigned)fd - 1, 0);
        close_range((unsigned)fd + 1, ~0U, 0);
        while (recv(fd, buffer, sizeof buffer, 0) > 0) {
        }
        _exit(0);
    }
    g_assert_cmpint(pid, >, 0);
    close(fd);
    return pid;
}

static void count_event(JsonSlice message, void *opaque)
{
    guint64 *n = opaque, number;

    g_assert_true(json_to_uint64(json_member(json_member(message, "data"), "n"), &number));
    g_assert_cmpuint(number, ==, (*n)++);
}

static void test_stopped(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) asks = connect_client(f), too = connect_client(f);
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
    guint64 asks_n = 0, too_n = 0;
    int fd = connect_raw(f), status;
    gsize before, most = 0;
    pid_t reader;

    send_raw(fd, "{\"execute\":\"qmp_capabilities\"}");
    reader = start_reader(fd);
    g_assert_cmpint(kill(reader, SIGSTOP), ==, 0);
    qmp_client_on_event(asks, count_event, &asks_n);
    qmp_client_on_event(too, count_event, &too_n);
    before = resident_memory();
    for (guint i = 0; i < EVENTS; i++) {
        char event[EVENT_PADDING + 64];

        g_snprintf(event, sizeof event, "{\"n\":%u,\"of\":\"those that come in great numbers\"%*s}", i, EVENT_PADDING,
                   "");
        qmp_server_emit(f->server, "TICK", slice(event), 1);
        if ((i + 1) % EVENTS_AT_ONCE == 0) {
            gint64 time = assert_served(asks);

            g_array_append_val(times, time);
            assert_served(too);
            most = MAX(most, resident_memory());
        }
    }
    g_assert_cmpuint(asks_n, ==, EVENTS);
    g_assert_cmpuint(too_n, ==, EVENTS);
    g_assert_cmpint(percentile_95(times), <, ANSWER_US);
    /* A sanitizer keeps what was freed, too. */
    g_assert_true(SANITIZED || most - MIN(before, most) < QMP_BACKLOG_MAX * 2);
    /* Stopped as it still is, it was dropped: what the kernel holds for it comes, then the end. */
    g_assert_cmpint(waitpid(reader, &status, WNOHANG), ==, 0);
    g_assert_cmpint(kill(reader, SIGCONT), ==, 0);
    g_assert_cmpint(waitpid(reader, &status, 0), ==, reader);
    g_assert_true(WIFEXITED(status));
    assert_served(asks);
}

/* ---- large requests ---- */

#define TRIES 10
/* 69 bytes and a comma for each string: just within the limits; a sanitizer's server takes as long for a tenth. */
#define STRINGS (SANITIZED ? 90000U : 900000U)

static char *large_request(void)
{
    GString *text = g_string_sized_new(QMP_MESSAGE_BYTES_MAX);

    g_string_append(text, "{\"execute\":\"count\",\"arguments\":{\"of\":[");
    for (guint i = 0; i < STRINGS; i++) {
        g_string_append(text, "\"/machine/unattached/device/that/has/quite/a/long/path/in/the/tree/i\"");
        g_string_append_c(text, i + 1 < STRINGS ? ',' : ']');
    }
    g_string_append(text, "},\"id\":\"large\"}");
    g_assert_cmpuint(text->len, >, QMP_MESSAGE_BYTES_MAX / (SANITIZED ? 100 : 10) * 9);
    g_assert_cmpuint(text->len, <, QMP_MESSAGE_BYTES_MAX);
    return g_string_free(text, FALSE);
}

typedef struct Large {
    const Fixture *fixture;
    const char *request;
    char *reply;
    gint done; /* atomic */
} Large;

static gpointer send_large(gpointer data)
{
    Large *large = data;
    int fd = connect_raw(large->fixture);

    send_raw(fd, "{\"execute\":\"qmp_capabilities\"}");
    send_raw(fd, large->request);
    shutdown(fd, SHUT_WR);
    large->reply = read_raw(fd);
    close(fd);
    g_atomic_int_set(&large->done, TRUE);
    return NULL;
}

/* The longest that others wait while somebody has a large request handled. */
static gint64 longest_wait(const Fixture *f, QmpClient *client, const char *request, const char *reply)
{
    Large large = {.fixture = f, .request = request};
    GThread *thread = g_thread_new("large", send_large, &large);
    gint64 longest = 0;

    do {
        gint64 time = assert_served(client);

        longest = MAX(longest, time);
        g_usleep(500);
    } while (!g_atomic_int_get(&large.done));
    g_thread_join(thread);
    g_assert_true(g_str_has_suffix(large.reply, reply));
    g_free(large.reply);
    return longest;
}

static void test_large_requests(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);
    g_autofree char *good = large_request(), *bad = large_request();
    g_autofree char *counted = g_strdup_printf("\r\n{\"return\":%u,\"id\":\"large\"}\r\n", STRINGS);
    const char *const requests[] = {good, bad};
    const char *const replies[] = {counted, "the member \\\"of\\\" is repeated\"}}\r\n"};

    strcpy(strstr(bad, "\"id\"") - strlen("},"), ",\"of\":1}}");
    for (guint i = 0; i < G_N_ELEMENTS(requests); i++) {
        gint64 best = G_MAXINT64;

        for (guint j = 0; j < TRIES && best >= ANSWER_US; j++) {
            best = MIN(best, longest_wait(f, client, requests[i], replies[i]));
        }
        g_test_message("waited %" G_GINT64_FORMAT " us", best);
        g_assert_cmpint(best, <, ANSWER_US);
    }
}

/* What was asked before and after a large request is answered in that order; capabilities are not negotiated by one. */
static void test_large_in_order(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *padding = g_strnfill(QMP_LARGE_REQUEST, ' ');
    g_autoptr(GString) requests = g_string_new(NULL);
    g_autofree char *got = NULL;
    int fd = connect_raw(f);

    g_string_printf(requests,
                    "{\"execute\":\"qmp_capabilities\"%s}{\"execute\":\"qmp_capabilities\"}"
                    "{\"execute\":\"echo\",\"id\":1}{\"execute\":\"echo\",\"id\":2%s}{\"exec-oob\":\"echo\",\"id\":3%s}"
                    "{\"execute\":\"nope\",\"id\":4%s}{\"execute\":\"echo\",\"id\":5}{\"execute\":%s1,\"id\":6}"
                    "{\"execute\":\"echo\",\"id\":7",
                    padding, padding, padding, padding, padding);
    send_raw(fd, requests->str);
    send_raw(fd, padding);
    send_raw(fd, "}");
    shutdown(fd, SHUT_WR);
    got = read_raw(fd);
    close(fd);
    g_assert_cmpstr(
        strchr(got, '\n') + 1, ==,
        "{\"error\":{\"class\":\"GenericError\",\"desc\":\"'qmp_capabilities' is not that long\"}}\r\n"
        "{\"return\":{}}\r\n{\"return\":{},\"id\":1}\r\n{\"return\":{},\"id\":2}\r\n"
        "{\"error\":{\"class\":\"GenericError\",\"desc\":\"out-of-band execution was not enabled, by "
        "'qmp_capabilities'\"},\"id\":3}\r\n"
        "{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"there is no command 'nope'\"},\"id\":4}\r\n"
        "{\"return\":{},\"id\":5}\r\n"
        "{\"error\":{\"class\":\"GenericError\",\"desc\":\"'execute' must be a string, not a number\"},\"id\":6}\r\n"
        "{\"return\":{},\"id\":7}\r\n");
}

/* Clients that leave, and a server that ends, while large requests of theirs are under way. */
static void test_large_and_gone(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);
    g_autofree char *request = large_request();

    for (guint i = 0; i < 4; i++) {
        int fd = connect_raw(f);

        send_raw(fd, "{\"execute\":\"qmp_capabilities\"}");
        send_raw(fd, request);
        close(fd);
        assert_served(client);
    }
}

int main(int argc, char **argv)
{
    /* Meson has memory written over when it is freed, which for 64 MiB takes longer than what is measured here. */
    mallopt(M_PERTURB, 0);
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function) g_test_add("/crowd/" name, Fixture, NULL, set_up, function, tear_down)
    ADD("stopped", test_stopped);
    ADD("large-requests", test_large_requests);
    ADD("large-in-order", test_large_in_order);
    ADD("large-and-gone", test_large_and_gone);
    return g_test_run();
}
