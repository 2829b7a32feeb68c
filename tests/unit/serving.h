/* SPDX-License-Identifier: MIT */
/* A QMP server with a few commands for tests, and clients of it. For test-server.c and test-crowd.c. */
#pragma once

#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "qmp/client.h"
#include "qmp/server.h"

#define TIMEOUT_MS 20000

/* ---- patience ---- */

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLOWER 20
#elif __has_feature(address_sanitizer)
#define SLOWER 10
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SLOWER 20
#elif defined(__SANITIZE_ADDRESS__)
#define SLOWER 10
#endif
#ifdef SLOWER
#define SANITIZED TRUE
#else
#define SLOWER 1
#define SANITIZED FALSE
#endif

/* Within which whoever behaves is answered. */
#define ANSWER_US (100000 * SLOWER)

static G_GNUC_UNUSED int compare_times(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

    return (x > y) - (x < y);
}

/* Single answers are late where the machine is busy: 95 of 100 count. */
static G_GNUC_UNUSED gint64 percentile_95(GArray *times)
{
    g_array_sort(times, compare_times);
    return g_array_index(times, gint64, times->len * 95 / 100);
}

/* ---- what is served ---- */

static GMutex held_lock, gate;
static GPtrArray *held; /* QmpCall: those of `hold` */

static void echo(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    if (qmp_call_arguments(call).length > 0) {
        json_append_slice(qmp_call_result(call), qmp_call_arguments(call));
    }
    qmp_call_return(call);
}

typedef struct BigArgs {
    gint64 size;
} BigArgs;

static const QmpArg big_args[] = {QMP_ARG(BigArgs, size, "size", qmp_int), {0}};

static void big(QmpCall *call, const void *data)
{
    const BigArgs *args = data;
    g_autofree char *text = g_strnfill((gsize)args->size, 'b');

    json_append_string(qmp_call_result(call), text, -1);
    qmp_call_return(call);
}

static void hold(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    g_mutex_lock(&held_lock);
    g_ptr_array_add(held, call);
    g_mutex_unlock(&held_lock);
}

static G_GNUC_UNUSED void reply_held(void)
{
    g_mutex_lock(&held_lock);
    for (guint i = 0; i < held->len; i++) {
        qmp_call_return(g_ptr_array_index(held, i));
    }
    g_ptr_array_set_size(held, 0);
    g_mutex_unlock(&held_lock);
}

static G_GNUC_UNUSED guint n_held(void)
{
    guint n;

    g_mutex_lock(&held_lock);
    n = held->len;
    g_mutex_unlock(&held_lock);
    return n;
}

typedef struct CountArgs {
    char **of;
} CountArgs;

static const QmpArg count_args[] = {QMP_ARG(CountArgs, of, "of", qmp_str_list), {0}};

/* How many strings there are. */
static void count(QmpCall *call, const void *data)
{
    const CountArgs *args = data;

    json_append_uint(qmp_call_result(call), g_strv_length(args->of));
    qmp_call_return(call);
}

static gint n_answers; /* atomic: how often an answer was made */

static void make_answer(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    g_atomic_int_inc(&n_answers);
    g_mutex_lock(&gate);
    g_mutex_unlock(&gate);
    qmp_call_return(call);
}

/* What a worker answers, once the gate is open. */
static void answer(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    qmp_call_hand_over(call, make_answer);
}

static const QmpCommand commands[] = {
    {.name = "answer", .handler = answer},
    {.name = "count", .handler = count, .args = count_args, .args_size = sizeof(CountArgs)},
    {.name = "echo", .handler = echo, .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "big", .handler = big, .args = big_args, .args_size = sizeof(BigArgs)},
    {.name = "hold", .handler = hold},
    {0},
};

static const QmpEvent events[] = {{.name = "TICK"}, {.name = "SLOW", .interval_ms = 200, .about = "of"}, {0}};

typedef struct Fixture {
    char *folder, *path;
    QmpServer *server;
} Fixture;

static QmpServer *new_server(const char *path, GError **error)
{
    static const QmpVersion version = {11, 1, 0, ""};
    g_autoptr(QmpRegistry) registry = qmp_registry_new(&version);

    qmp_registry_add(registry, commands, NULL);
    qmp_registry_add_events(registry, events);
    return qmp_server_new(path, registry, error);
}

static void set_up(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(GError) error = NULL;

    held = g_ptr_array_new();
    f->folder = g_dir_make_tmp("qmp-XXXXXX", NULL);
    f->path = g_build_filename(f->folder, "new", "sock", NULL);
    f->server = new_server(f->path, &error);
    g_assert_no_error(error);
    qmp_server_start(f->server);
}

static void tear_down(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autofree char *inner = g_path_get_dirname(f->path);

    qmp_server_free(f->server);
    reply_held();
    g_ptr_array_unref(held);
    g_assert_cmpint(g_access(f->path, F_OK), ==, -1);
    g_assert_cmpint(g_rmdir(inner), ==, 0);
    g_assert_cmpint(g_rmdir(f->folder), ==, 0);
    g_free(f->folder);
    g_free(f->path);
}

static G_GNUC_UNUSED JsonSlice slice(const char *text)
{
    return (JsonSlice){text, text != NULL ? strlen(text) : 0};
}

static G_GNUC_UNUSED QmpClient *connect_client(const Fixture *f)
{
    g_autoptr(GError) error = NULL;
    QmpClient *client = qmp_client_new(f->path, TIMEOUT_MS, &error);

    g_assert_no_error(error);
    return client;
}

/* A bare socket, for what a QmpClient would not do. */
static G_GNUC_UNUSED int connect_raw(const Fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(address.sun_path, f->path, sizeof address.sun_path);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    return fd;
}

static G_GNUC_UNUSED void send_raw(int fd, const char *text)
{
    g_assert_cmpint(send(fd, text, strlen(text), MSG_NOSIGNAL), ==, (gssize)strlen(text));
}

/* All until the server closes. */
static G_GNUC_UNUSED char *read_raw(int fd)
{
    GString *out = g_string_new(NULL);
    char buffer[65536];
    gssize n;

    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0) {
        g_string_append_len(out, buffer, n);
    }
    g_assert_cmpint(n, ==, 0);
    return g_string_free(out, FALSE);
}

/* A client that must be answered, however the others behave. Returns how long it took. */
static G_GNUC_UNUSED gint64 assert_served(QmpClient *client)
{
    gint64 start = g_get_monotonic_time();
    g_autoptr(GError) error = NULL;
    JsonSlice value = {NULL, 0};

    qmp_client_call(client, "echo", slice("{\"a\":1}"), &value, &error);
    g_assert_no_error(error);
    g_assert_true(json_equal_bytes(value, slice("{\"a\":1}")));
    return g_get_monotonic_time() - start;
}
