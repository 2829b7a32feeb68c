/* SPDX-License-Identifier: MIT */
/*
 * qmp/server.c, with listener.c, events.c and client.c: real sockets, many clients, bad
 * ones among them. What one session says is test-session.c's.
 */
#include <errno.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qmp/call.h"
#include "tests/unit/serving.h"

/* ---- the listener ---- */

static void test_modes(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *inner = g_path_get_dirname(f->path);
    struct stat status;

    g_assert_cmpint(lstat(f->path, &status), ==, 0);
    g_assert_true(S_ISSOCK(status.st_mode));
    g_assert_cmpint(status.st_mode & 07777, ==, 0600);
    g_assert_cmpint(lstat(inner, &status), ==, 0);
    g_assert_cmpint(status.st_mode & 07777, ==, 0700);
}

static void assert_refused(const char *path, const char *why)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(new_server(path, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, why));
}

static void test_in_use(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);

    assert_refused(f->path, "another server listens there");
    assert_served(client);
}

static void test_stale(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *path = g_build_filename(f->folder, "stale", NULL);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_autoptr(QmpServer) server = NULL;
    g_autoptr(GError) error = NULL;

    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    close(fd);
    server = new_server(path, &error);
    g_assert_no_error(error);
    /* If somebody put another file there, it is not ours to remove. */
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_true(g_file_set_contents(path, "x", 1, NULL));
    g_clear_pointer(&server, qmp_server_free);
    g_assert_cmpint(g_access(path, F_OK), ==, 0);
    assert_refused(path, "a file that is no socket is there");
    g_assert_cmpint(g_unlink(path), ==, 0);
}

static void test_bad_places(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *open_folder = g_build_filename(f->folder, "open", NULL);
    g_autofree char *in_open = g_build_filename(open_folder, "sock", NULL);
    g_autofree char *missing = g_build_filename(f->folder, "no", "such", "sock", NULL);
    g_autofree char *name = g_strnfill(200, 'n');
    g_autofree char *long_path = g_build_filename(f->folder, name, NULL);

    g_assert_cmpint(g_mkdir(open_folder, 0700), ==, 0);
    g_assert_cmpint(g_chmod(open_folder, 0777), ==, 0);
    assert_refused(in_open, "others can replace files in it");
    assert_refused(missing, "No such file or directory");
    assert_refused(long_path, "at most 107 bytes");
    g_assert_cmpint(g_rmdir(open_folder), ==, 0);
}

/* ---- serving ---- */

/* 10,000 commands in one write, none read before all are written. */
static void test_pipelined(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(GString) requests = g_string_new("{\"execute\":\"qmp_capabilities\"}");
    g_autoptr(GString) expected = g_string_new("{\"return\":{}}\r\n");
    g_autofree char *got = NULL;
    int fd = connect_raw(f);

    for (guint i = 0; i < 10000; i++) {
        g_string_append_printf(requests, "{\"execute\":\"echo\",\"id\":%u}", i);
        g_string_append_printf(expected, "{\"return\":{},\"id\":%u}\r\n", i);
    }
    send_raw(fd, requests->str);
    shutdown(fd, SHUT_WR);
    got = read_raw(fd);
    close(fd);
    g_assert_true(g_str_has_prefix(got, "{\"QMP\":"));
    g_assert_cmpstr(strchr(got, '\n') + 1, ==, expected->str);
}

static void test_many_clients(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(GPtrArray) clients = g_ptr_array_new_with_free_func((GDestroyNotify)qmp_client_free);
    guint n = 1000;
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * n + 100) {
        g_test_skip("too few descriptors are allowed");
        return;
    }
    for (guint i = 0; i < n; i++) {
        g_ptr_array_add(clients, connect_client(f));
    }
    for (guint i = 0; i < n; i++) {
        assert_served(g_ptr_array_index(clients, i));
    }
}

#define LEAVING_TRIES 5

/* How long a new client waits, from its connecting on, when 200 have just asked for much and left. */
static gint64 wait_after_leaving(const Fixture *f)
{
    g_autoptr(QmpClient) client = NULL;
    gint64 start;

    for (guint i = 0; i < 200; i++) {
        int fd = connect_raw(f);

        send_raw(fd, "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"big\",\"arguments\":{\"size\":100000}}{\"execu");
        close(fd);
    }
    start = g_get_monotonic_time();
    client = connect_client(f);
    assert_served(client);
    return g_get_monotonic_time() - start;
}

static void test_leaving_at_once(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    gint64 best = G_MAXINT64;

    for (guint i = 0; i < LEAVING_TRIES && best >= ANSWER_US; i++) {
        best = MIN(best, wait_after_leaving(f));
    }
    g_assert_cmpint(best, <, ANSWER_US);
}

/* Somebody who asks and never reads is paused, then dropped when events pile up. */
static void test_never_reads(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autofree char *padding = g_strnfill(64 << 10, 'p');
    g_autofree char *tick = g_strdup_printf("{\"x\":\"%s\"}", padding);
    int fd = connect_raw(f);
    char buffer[4096];
    gsize got = 0;
    gssize n;

    send_raw(fd, "{\"execute\":\"qmp_capabilities\"}");
    for (guint i = 0; i < 100; i++) {
        send_raw(fd, "{\"execute\":\"big\",\"arguments\":{\"size\":4000000}}");
    }
    for (guint i = 0; i < (QMP_BACKLOG_MAX >> 16) * 5 / 4; i++) {
        qmp_server_emit(f->server, "TICK", slice(tick), 1);
        if (i % 10 == 0) {
            gint64 time = assert_served(client);

            g_array_append_val(times, time);
        }
    }
    assert_served(client);
    g_assert_cmpint(percentile_95(times), <, ANSWER_US);
    /* It was dropped: what the kernel still holds comes, then the end, and by far not all. */
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0) {
        got += (gsize)n;
    }
    g_assert_cmpuint(got, <, 5000000);
    close(fd);
}

/* Others are served while somebody sends a message byte by byte, and garbage. */
static void test_slow_and_bad_writers(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    static const char request[] = "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"echo\",\"id\":7}";
    g_autoptr(QmpClient) client = connect_client(f);
    g_autofree char *got = NULL, *noise = NULL;
    int slow = connect_raw(f), bad = connect_raw(f);

    for (gsize i = 0; i < strlen(request); i++) {
        char byte[2] = {request[i], '\0'}, garbage[65];

        send_raw(slow, byte);
        for (guint j = 0; j < 64; j++) {
            garbage[j] = (char)g_test_rand_int_range(1, 255);
        }
        garbage[64] = '\0';
        send_raw(bad, garbage);
        assert_served(client);
    }
    send_raw(bad, "\xFF\n{\"execute\":\"qmp_capabilities\",\"id\":\"still there\"}");
    shutdown(slow, SHUT_WR);
    shutdown(bad, SHUT_WR);
    got = read_raw(slow);
    noise = read_raw(bad);
    g_assert_true(g_str_has_suffix(got, "{\"return\":{}}\r\n{\"return\":{},\"id\":7}\r\n"));
    g_assert_true(g_str_has_suffix(noise, "{\"return\":{},\"id\":\"still there\"}\r\n"));
    close(slow);
    close(bad);
}

/* A command that is answered by another thread, its client being there or not. */
static void test_late_replies(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);
    g_autoptr(QmpClient) other = connect_client(f);
    g_autoptr(QmpClient) leaves = connect_client(f);
    g_autoptr(GError) error = NULL;
    JsonSlice none = {NULL, 0}, value = none;

    g_assert_true(qmp_client_send(client, "hold", none, &error));
    g_assert_true(qmp_client_send(client, "echo", none, &error));
    g_assert_true(qmp_client_send(leaves, "hold", none, &error));
    while (n_held() < 2) {
        g_usleep(1000);
    }
    g_clear_pointer(&leaves, qmp_client_free);
    assert_served(other);
    reply_held();
    g_assert_true(qmp_client_receive(client, &value, &error));
    g_assert_true(qmp_client_receive(client, &value, &error));
    g_assert_no_error(error);
    assert_served(other);
    /* tear_down() replies to one whose server has gone. */
    g_assert_true(qmp_client_send(client, "hold", none, &error));
    while (n_held() < 1) {
        g_usleep(1000);
    }
}

/* What clients have asked workers for, and did not wait for, holds up nobody: it is not made. */
static void test_unheard_answers(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) one = connect_client(f), two = connect_client(f), last = connect_client(f);
    g_autoptr(GError) error = NULL;
    JsonSlice none = {NULL, 0}, value = none;

    g_atomic_int_set(&n_answers, 0);
    g_mutex_lock(&gate);
    g_assert_true(qmp_client_send(one, "answer", none, &error));
    g_assert_true(qmp_client_send(two, "answer", none, &error));
    while (g_atomic_int_get(&n_answers) < 2) {
        g_usleep(1000);
    }
    for (guint i = 0; i < 20; i++) {
        int fd = connect_raw(f);

        send_raw(fd, "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"answer\"}{\"execute\":\"answer\"}");
        close(fd);
    }
    for (guint i = 0; i < 3; i++) {
        assert_served(last); /* then it was seen that they are gone */
    }
    g_mutex_unlock(&gate);
    g_assert_true(qmp_client_call(last, "answer", none, &value, &error));
    g_assert_no_error(error);
    g_assert_cmpint(g_atomic_int_get(&n_answers), ==, 3);
}

static gpointer reply_all(gpointer data)
{
    GPtrArray *calls = data;

    for (guint i = 0; i < calls->len; i++) {
        qmp_call_return(g_ptr_array_index(calls, i));
    }
    return NULL;
}

/* Replies from another thread all the while that the server ends: none is given to a session that is gone, nor lost
 * with one that knows of it. */
static void test_replies_while_ending(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    enum { N_CLIENTS = 300 };
    int fds[N_CLIENTS];
    GThread *thread;

    for (guint i = 0; i < N_CLIENTS; i++) {
        fds[i] = connect_raw(f);
        send_raw(fds[i], "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"hold\"}");
    }
    while (n_held() < N_CLIENTS) {
        g_usleep(1000);
    }
    thread = g_thread_new("replies", reply_all, held);
    g_clear_pointer(&f->server, qmp_server_free);
    g_thread_join(thread);
    g_ptr_array_set_size(held, 0);
    for (guint i = 0; i < N_CLIENTS; i++) {
        close(fds[i]);
    }
}

/* ---- events ---- */

static void add_event(JsonSlice message, void *opaque)
{
    g_autofree char *name = json_string_dup(json_member(message, "event"), NULL);
    JsonSlice event_data = json_member(message, "data");

    g_string_append_printf(opaque, "%s %.*s|", name, (int)event_data.length, event_data.text);
}

static void wait_events(QmpClient *client, const GString *got, gsize length)
{
    for (guint i = 0; i < 200 && got->len < length; i++) {
        g_assert_true(qmp_client_wait(client, 50, NULL));
    }
}

static void test_events(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);
    g_autoptr(GString) got = g_string_new(NULL);
    g_autofree char *text = NULL;
    int fd = connect_raw(f);

    qmp_client_on_event(client, add_event, got);
    qmp_server_emit(f->server, "TICK", slice("{\"n\":1}"), 1);
    wait_events(client, got, 1);
    qmp_server_emit(f->server, "TICK", slice(NULL), 1);
    wait_events(client, got, strlen("TICK {\"n\":1}|TICK |"));
    g_assert_cmpstr(got->str, ==, "TICK {\"n\":1}|TICK |");
    /* None to those that have not negotiated. */
    send_raw(fd, "{\"execute\":\"qmp_capabilities\"}");
    shutdown(fd, SHUT_WR);
    text = read_raw(fd);
    close(fd);
    g_assert_null(strstr(text, "TICK"));
}

/* The first at once, then the last of each interval; each object by itself. */
static void test_held_back_events(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);
    g_autoptr(GString) got = g_string_new(NULL);

    qmp_client_on_event(client, add_event, got);
    assert_served(client);
    for (guint i = 0; i < 5; i++) {
        char n[32];

        g_snprintf(n, sizeof n, "{\"n\":%u,\"of\":1}", i);
        qmp_server_emit(f->server, "SLOW", slice(n), 1);
    }
    qmp_server_emit(f->server, "SLOW", slice("{\"of\":2,\"n\":9}"), 1);
    wait_events(client, got, strlen("SLOW {\"n\":0,\"of\":1}|SLOW {\"of\":2,\"n\":9}|"));
    g_assert_cmpstr(got->str, ==, "SLOW {\"n\":0,\"of\":1}|SLOW {\"of\":2,\"n\":9}|");
    wait_events(client, got, strlen("SLOW {\"n\":0,\"of\":1}|SLOW {\"of\":2,\"n\":9}|SLOW {\"n\":4,\"of\":1}|"));
    g_assert_cmpstr(got->str, ==, "SLOW {\"n\":0,\"of\":1}|SLOW {\"of\":2,\"n\":9}|SLOW {\"n\":4,\"of\":1}|");
    g_usleep(500 * 1000);
    qmp_server_emit(f->server, "SLOW", slice("{\"n\":5,\"of\":1}"), 1);
    wait_events(client, got, got->len + 1);
    g_assert_true(g_str_has_suffix(got->str, "{\"n\":4,\"of\":1}|SLOW {\"n\":5,\"of\":1}|"));
}

/* ---- the client against servers that are none ---- */

static void test_no_greeting(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *path = g_build_filename(f->folder, "silent", NULL);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_autoptr(GError) error = NULL;

    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    g_assert_null(qmp_client_new(path, 100, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT);
    g_assert_nonnull(strstr(error->message, "no greeting within 100 ms"));
    close(fd);
    g_clear_error(&error);
    g_assert_null(qmp_client_new(path, 100, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

static void test_client_errors(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(QmpClient) client = connect_client(f);
    g_autoptr(GError) error = NULL;
    JsonSlice none = {NULL, 0}, value = none;
    guint major, minor, micro;

    qmp_client_version(client, &major, &minor, &micro);
    g_assert_cmpuint(major, ==, 11);
    g_assert_cmpuint(minor, ==, 1);
    g_assert_cmpuint(micro, ==, 0);
    g_assert_false(qmp_client_call(client, "nope", none, &value, &error));
    g_assert_error(error, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND);
    assert_served(client);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function) g_test_add("/server/" name, Fixture, NULL, set_up, function, tear_down)
    ADD("modes", test_modes);
    ADD("in-use", test_in_use);
    ADD("stale", test_stale);
    ADD("bad-places", test_bad_places);
    ADD("pipelined", test_pipelined);
    ADD("many-clients", test_many_clients);
    ADD("leaving-at-once", test_leaving_at_once);
    ADD("never-reads", test_never_reads);
    ADD("slow-and-bad-writers", test_slow_and_bad_writers);
    ADD("late-replies", test_late_replies);
    ADD("unheard-answers", test_unheard_answers);
    ADD("replies-while-ending", test_replies_while_ending);
    ADD("events", test_events);
    ADD("held-back-events", test_held_back_events);
    ADD("no-greeting", test_no_greeting);
    ADD("client-errors", test_client_errors);
    return g_test_run();
}
