/* SPDX-License-Identifier: MIT */
/*
 * See poller.h. A reply is read up to the end of its line and dropped: what a client does with it is no part of
 * what the server's disks lose.
 */
#include "tests/bench/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/bench/series.h"

#define BUFFER_SIZE ((gsize)256 << 10)

struct Poller {
    PollerTarget target;
    int fd; /* of a QMP connection */
    char *request;
    char *buffer;
    guint64 interval_ns, begin_ns;
    GThread *thread;
    GMutex lock;
    GCond stopped;
    gboolean stop; /* under the lock */
    GArray *latencies;
    int error; /* errno of the first poll that failed */
};

/* Reads up to the end of a line that is no event. */
static int receive_reply(Poller *poller)
{
    gboolean is_event = TRUE;

    while (is_event) {
        gboolean begins = TRUE;
        ssize_t got;

        do {
            got = recv(poller->fd, poller->buffer, BUFFER_SIZE, 0);
            if (got <= 0) {
                return got == 0 ? ECONNRESET : errno;
            }
            if (begins) {
                is_event = g_strstr_len(poller->buffer, MIN(got, 64), "\"timestamp\"") != NULL;
                begins = FALSE;
            }
        } while (poller->buffer[got - 1] != '\n');
    }
    return 0;
}

static int send_request(Poller *poller, const char *text)
{
    gsize length = strlen(text);

    return send(poller->fd, text, length, MSG_NOSIGNAL) == (ssize_t)length ? receive_reply(poller) : errno;
}

static int read_file(Poller *poller)
{
    int fd = open(poller->target.where, O_RDONLY | O_CLOEXEC), code = 0;
    ssize_t got;

    if (fd < 0) {
        return errno;
    }
    do {
        got = read(fd, poller->buffer, BUFFER_SIZE);
        code = got < 0 ? errno : 0;
    } while (got > 0);
    close(fd);
    return code;
}

static int poll_once(Poller *poller)
{
    switch (poller->target.work) {
    case POLLER_QMP:
        return send_request(poller, poller->request);
    case POLLER_FILE:
        return read_file(poller);
    case POLLER_IDLE:
        break;
    }
    return 0;
}

/* FALSE where it is to stop. */
static gboolean sleep_until(Poller *poller, guint64 ns)
{
    gboolean go_on;

    g_mutex_lock(&poller->lock);
    while (!poller->stop && g_cond_wait_until(&poller->stopped, &poller->lock, (gint64)(ns / 1000))) {
    }
    go_on = !poller->stop;
    g_mutex_unlock(&poller->lock);
    return go_on;
}

static gpointer poller_thread(gpointer data)
{
    Poller *poller = data;
    guint64 due = poller->begin_ns;

    if (poller->target.cpu >= 0) {
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET((gsize)poller->target.cpu, &cpus);
        poller->error = pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    }
    while (poller->error == 0 && sleep_until(poller, due)) {
        guint64 start = clock_ns(), took;

        poller->error = poll_once(poller);
        took = clock_ns() - start;
        g_array_append_val(poller->latencies, took);
        due = MAX(due + poller->interval_ns, start + took);
    }
    return NULL;
}

static gboolean poller_connect(Poller *poller, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int code;

    g_strlcpy(address.sun_path, poller->target.where, sizeof address.sun_path);
    poller->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    code = poller->fd < 0 || connect(poller->fd, (const struct sockaddr *)&address, sizeof address) != 0
               ? errno
               : receive_reply(poller); /* the greeting */
    if (code == 0) {
        code = send_request(poller, "{\"execute\":\"qmp_capabilities\"}\n");
    }
    if (code != 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(code), "cannot talk to '%s': %s", poller->target.where,
                    g_strerror(code));
    }
    return code == 0;
}

Poller *poller_new(const PollerTarget *target, GError **error)
{
    Poller *poller = g_new0(Poller, 1);

    poller->target = *target;
    g_mutex_init(&poller->lock);
    g_cond_init(&poller->stopped);
    poller->fd = -1;
    poller->buffer = g_malloc(BUFFER_SIZE);
    memset(poller->buffer, 1, BUFFER_SIZE);
    poller->latencies = g_array_new(FALSE, FALSE, sizeof(guint64));
    poller->request = g_strdup_printf("{\"execute\":\"%s\"}\n", target->command);
    if (target->work == POLLER_QMP && !poller_connect(poller, error)) {
        poller_free(poller);
        return NULL;
    }
    return poller;
}

void poller_free(Poller *poller)
{
    if (poller->fd >= 0) {
        close(poller->fd);
    }
    g_mutex_clear(&poller->lock);
    g_cond_clear(&poller->stopped);
    g_free(poller->request);
    g_free(poller->buffer);
    g_array_unref(poller->latencies);
    g_free(poller);
}

void poller_start(Poller *poller, guint64 interval_ns, guint64 phase_ns)
{
    poller->stop = FALSE;
    poller->interval_ns = interval_ns;
    poller->begin_ns = clock_ns() + phase_ns;
    poller->thread = g_thread_new("poller", poller_thread, poller);
}

gboolean poller_stop(Poller *poller, GArray *latencies, GError **error)
{
    g_mutex_lock(&poller->lock);
    poller->stop = TRUE;
    g_cond_signal(&poller->stopped);
    g_mutex_unlock(&poller->lock);
    g_thread_join(poller->thread);
    g_array_append_vals(latencies, poller->latencies->data, poller->latencies->len);
    g_array_set_size(poller->latencies, 0);
    if (poller->error != 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(poller->error), "cannot poll '%s': %s",
                    poller->target.where, g_strerror(poller->error));
    }
    return poller->error == 0;
}
