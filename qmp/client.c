/* SPDX-License-Identifier: MIT */
/*
 * See client.h. The socket is non-blocking: while requests are sent, replies are read, so
 * that neither side can wait for the other for ever.
 */
#include "qmp/client.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "qmp/incoming.h"

#define READ_SIZE ((gsize)256 << 10)
/* A server that serves one client at a time says nothing to a second one. */
#define GREETING_TIMEOUT_MS 2000
/* A snapshot of a large tree has no limit in our own server; memory has. */
#define REPLY_BYTES_MAX ((gsize)1 << 30)

struct QmpClient {
    char *target;
    int fd;
    guint timeout_ms;
    QmpIncoming *incoming;
    char *read_buffer;
    QmpVersion version;

    GString *unsent;
    guint64 sent;             /* requests so far; the id of the last one */
    guint64 received;         /* replies so far */
    QmpServerMessage message; /* the last one */

    void (*event)(JsonSlice message, void *opaque);
    void *event_opaque;
};

static gboolean G_GNUC_PRINTF(4, 5)
    client_fail(const QmpClient *client, GError **error, GIOErrorEnum code, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, G_IO_ERROR, code, "'%s': %s", client->target, message);
    return FALSE;
}

static gboolean client_fail_errno(const QmpClient *client, GError **error, const char *what)
{
    int code = errno;

    return client_fail(client, error, g_io_error_from_errno(code), "%s: %s", what, g_strerror(code));
}

/* ---- connecting ---- */

static gboolean connect_unix(QmpClient *client, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(client->target) >= sizeof address.sun_path) {
        return client_fail(client, error, G_IO_ERROR_FILENAME_TOO_LONG, "the path of a socket has at most %zu bytes",
                           sizeof address.sun_path - 1);
    }
    g_strlcpy(address.sun_path, client->target, sizeof address.sun_path);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof address) < 0) {
        return client_fail_errno(client, error, "cannot connect");
    }
    return TRUE;
}

static gboolean connect_tcp(QmpClient *client, GError **error)
{
    g_autoptr(GSocketClient) connector = g_socket_client_new();
    g_autoptr(GSocketConnection) connection = NULL;

    g_socket_client_set_timeout(connector, (client->timeout_ms + 999) / 1000);
    connection = g_socket_client_connect_to_host(connector, client->target, 0, NULL, error);
    if (connection == NULL) {
        g_prefix_error(error, "cannot connect to '%s': ", client->target);
        return FALSE;
    }
    /* A descriptor of our own: GIO's closes with the connection. */
    client->fd = fcntl(g_socket_get_fd(g_socket_connection_get_socket(connection)), F_DUPFD_CLOEXEC, 0);
    return client->fd >= 0 || client_fail_errno(client, error, "cannot connect");
}

static gboolean client_connect(QmpClient *client, GError **error)
{
    struct stat status;
    gboolean is_file = stat(client->target, &status) == 0 || strchr(client->target, ':') == NULL;

    if (!(is_file ? connect_unix(client, error) : connect_tcp(client, error))) {
        return FALSE;
    }
    return fcntl(client->fd, F_SETFL, fcntl(client->fd, F_GETFL) | O_NONBLOCK) == 0 ||
           client_fail_errno(client, error, "cannot set up the connection");
}

/* ---- bytes ---- */

static gboolean client_read_some(QmpClient *client, GError **error)
{
    gssize n = recv(client->fd, client->read_buffer, READ_SIZE, 0);

    if (n > 0) {
        qmp_incoming_add(client->incoming, client->read_buffer, (gsize)n);
        return TRUE;
    }
    if (n == 0) {
        return client_fail(client, error, G_IO_ERROR_CONNECTION_CLOSED, "the connection was closed");
    }
    return errno == EAGAIN || errno == EINTR || client_fail_errno(client, error, "cannot read");
}

static gboolean client_write_some(QmpClient *client, GError **error)
{
    gssize n = send(client->fd, client->unsent->str, client->unsent->len, MSG_NOSIGNAL);

    if (n >= 0) {
        g_string_erase(client->unsent, 0, n);
        return TRUE;
    }
    return errno == EAGAIN || errno == EINTR || client_fail_errno(client, error, "cannot write");
}

/* Waits until something can be read or written, and does it. *ret_timed_out: nothing could. */
static gboolean client_exchange(QmpClient *client, guint timeout_ms, gboolean *ret_timed_out, GError **error)
{
    struct pollfd poll_fd = {client->fd, (short)(POLLIN | (client->unsent->len > 0 ? POLLOUT : 0)), 0};
    int n = poll(&poll_fd, 1, (int)MIN(timeout_ms, G_MAXINT));

    *ret_timed_out = n == 0;
    if (n < 0) {
        return errno == EINTR || client_fail_errno(client, error, "cannot wait");
    }
    if ((poll_fd.revents & POLLOUT) && !client_write_some(client, error)) {
        return FALSE;
    }
    return !(poll_fd.revents & (POLLIN | POLLHUP | POLLERR)) || client_read_some(client, error);
}

/* ---- messages ---- */

static void client_take_event(QmpClient *client)
{
    JsonSlice raw = client->message.raw, event;
    g_autofree char *text = NULL;

    if (client->event != NULL) {
        text = json_compact(raw.text, raw.length, JSON_READER_STRICT, &event.length, NULL);
        event.text = text;
        client->event(event, client->event_opaque);
    }
}

/* The next whole message that is no event. *ret_got FALSE: there is none yet. */
static gboolean client_next_message(QmpClient *client, gboolean *ret_got, GError **error)
{
    for (;;) {
        if (!qmp_incoming_next(client->incoming, &client->message, ret_got, error)) {
            g_prefix_error(error, "'%s': ", client->target);
            return FALSE;
        }
        if (!*ret_got || client->message.event.length == 0) {
            return TRUE;
        }
        client_take_event(client);
    }
}

/* Waits for one. */
static gboolean client_wait_message(QmpClient *client, guint timeout_ms, GError **error)
{
    gboolean got, timed_out;

    for (;;) {
        if (!client_next_message(client, &got, error)) {
            return FALSE;
        }
        if (got) {
            return TRUE;
        }
        if (!client_exchange(client, timeout_ms, &timed_out, error)) {
            return FALSE;
        }
        if (timed_out) {
            return client_fail(client, error, G_IO_ERROR_TIMED_OUT, "no answer within %u ms", timeout_ms);
        }
    }
}

/* ---- the greeting ---- */

static gboolean client_greet(QmpClient *client, GError **error)
{
    guint timeout_ms = MIN(client->timeout_ms, GREETING_TIMEOUT_MS);
    JsonSlice value, none = {NULL, 0};

    do {
        if (!client_wait_message(client, timeout_ms, error)) {
            if (error != NULL && g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT)) {
                g_clear_error(error);
                client_fail(client, error, G_IO_ERROR_TIMED_OUT,
                            "no greeting within %u ms: another client holds this socket, or it is not QMP", timeout_ms);
            }
            return FALSE;
        }
    } while (client->message.greeting.length == 0);
    qmp_greeting_read(client->message.greeting, &client->version, NULL);
    return qmp_client_call(client, "qmp_capabilities", none, &value, error);
}

QmpClient *qmp_client_new(const char *target, guint timeout_ms, GError **error)
{
    g_autoptr(QmpClient) client = g_new0(QmpClient, 1);

    client->fd = -1;
    client->target = g_strdup(target);
    client->timeout_ms = timeout_ms;
    client->incoming = qmp_incoming_new(REPLY_BYTES_MAX);
    client->read_buffer = g_malloc(READ_SIZE);
    client->unsent = g_string_new(NULL);
    if (!client_connect(client, error) || !client_greet(client, error)) {
        return NULL;
    }
    return g_steal_pointer(&client);
}

void qmp_client_free(QmpClient *client)
{
    if (client == NULL) {
        return;
    }
    if (client->fd >= 0) {
        close(client->fd);
    }
    qmp_incoming_free(client->incoming);
    g_free(client->read_buffer);
    g_string_free(client->unsent, TRUE);
    g_free(client->target);
    g_free(client);
}

void qmp_client_version(const QmpClient *client, guint *ret_major, guint *ret_minor, guint *ret_micro)
{
    *ret_major = client->version.major;
    *ret_minor = client->version.minor;
    *ret_micro = client->version.micro;
}

void qmp_client_on_event(QmpClient *client, void (*event)(JsonSlice message, void *opaque), void *opaque)
{
    client->event = event;
    client->event_opaque = opaque;
}

/* ---- requests ---- */

gboolean qmp_client_send(QmpClient *client, const char *command, JsonSlice arguments, GError **error)
{
    g_string_append(client->unsent, "{\"execute\":");
    json_append_string(client->unsent, command, -1);
    if (arguments.length > 0) {
        g_string_append(client->unsent, ",\"arguments\":");
        json_append_slice(client->unsent, arguments);
    }
    g_string_append(client->unsent, ",\"id\":");
    json_append_uint(client->unsent, ++client->sent);
    g_string_append(client->unsent, "}\n");
    /* What does not fit now goes out while replies are waited for. */
    return client_write_some(client, error);
}

/* Whether the last message answers this request. One without id is about what could not be
 * read, and so about the oldest. */
static gboolean reply_is_for(const QmpClient *client, guint64 number)
{
    guint64 value;

    return client->message.id.length == 0 || (json_to_uint64(client->message.id, &value) && value == number);
}

gboolean qmp_client_receive(QmpClient *client, JsonSlice *ret_value, GError **error)
{
    g_assert(client->received < client->sent);
    do {
        if (!client_wait_message(client, client->timeout_ms, error)) {
            return FALSE;
        }
    } while (!reply_is_for(client, client->received + 1));
    client->received++;
    if (client->message.value.length > 0) {
        *ret_value = client->message.value;
        return TRUE;
    }
    qmp_error_from(error, client->message.problem);
    return FALSE;
}

gboolean qmp_client_call(QmpClient *client, const char *command, JsonSlice arguments, JsonSlice *ret_value,
                         GError **error)
{
    return qmp_client_send(client, command, arguments, error) && qmp_client_receive(client, ret_value, error);
}

gboolean qmp_client_wait(QmpClient *client, guint timeout_ms, GError **error)
{
    gint64 end = g_get_monotonic_time() + (gint64)timeout_ms * 1000, now;
    gboolean got, timed_out;

    do {
        now = g_get_monotonic_time();
        if (!client_next_message(client, &got, error) ||
            !client_exchange(client, now < end ? (guint)((end - now + 999) / 1000) : 0, &timed_out, error)) {
            return FALSE;
        }
    } while (!timed_out);
    return TRUE;
}
