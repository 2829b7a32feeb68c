/* SPDX-License-Identifier: MIT */
/*
 * See client.h. Replies come in the order of their requests, so that an error of ours waits until all requests
 * before it are answered; what the client sends meanwhile waits too.
 *
 * A monitor that is closed while it executes a command is never deleted by QEMU 11.1 ("Cannot delete the current QMP
 * monitor"). So when a client goes its monitor stays until all is answered, and nobody hears it.
 */
#include "vmm/share/client.h"

#include <string.h>

#include "qmp/framing.h"
#include "qmp/incoming.h"
#include "qmp/server.h"
#include "qmp/session.h"
#include "qmp/stream.h"

/* As much is given to a monitor that is slow to read. */
#define MONITOR_UNSENT_MAX ((gsize)64 << 10)
/* So many times descriptors wait for a command that takes them. */
#define FDS_WAITING_MAX 16
/* How long replies under way are waited for at the end. */
#define SETTLE_US ((gint64)500 * 1000)

struct ShareClient {
    guint refs;    /* the owner's, and that of a callback under way */
    gboolean over; /* it has ended */
    const Permits *permits;
    void (*ended)(ShareClient *client, void *opaque);
    void *opaque;

    QmpStream *client;     /* NULL: gone */
    QmpStream *monitor;    /* NULL: gone */
    gboolean client_ended; /* it sends nothing more */
    Framer *requests;
    QmpIncoming *replies;
    GQueue fds;          /* GArray of int, in the order in which they came */
    guint outstanding;   /* requests without a reply */
    GString *own_answer; /* to be sent once there are none; or NULL */
};

/* ---- life ---- */

static void client_close(ShareClient *client)
{
    client->over = TRUE;
    g_clear_pointer(&client->client, qmp_stream_free);
    g_clear_pointer(&client->monitor, qmp_stream_free);
}

static void client_unref(ShareClient *client)
{
    if (--client->refs > 0) {
        return;
    }
    framer_free(client->requests);
    qmp_incoming_free(client->replies);
    g_queue_clear_full(&client->fds, (GDestroyNotify)qmp_fds_free);
    if (client->own_answer != NULL) {
        g_string_free(client->own_answer, TRUE);
    }
    g_free(client);
}

static void client_end(ShareClient *client)
{
    if (!client->over) {
        client_close(client);
        client->ended(client, client->opaque);
        client_unref(client);
    }
}

/* Nobody is there any more who asks or reads. */
static void client_drop(ShareClient *client)
{
    g_clear_pointer(&client->client, qmp_stream_free);
}

/* ---- from the client ---- */

static void client_set_answer(ShareClient *client, const GError *error, JsonSlice id)
{
    client->own_answer = g_string_new(NULL);
    qmp_append_error(client->own_answer, error, id);
}

static void client_forward(ShareClient *client, const QmpRequest *request)
{
    g_autoptr(GString) text = g_string_new(request->oob ? "{\"exec-oob\":" : "{\"execute\":");
    GArray *fds = command_takes_fds(request->command) ? g_queue_pop_head(&client->fds) : NULL;

    json_append_string(text, request->command, -1);
    if (request->arguments.length > 0) {
        g_string_append(text, ",\"arguments\":");
        json_append_slice(text, request->arguments);
    }
    if (request->id.length > 0) {
        g_string_append(text, ",\"id\":");
        json_append_slice(text, request->id);
    }
    g_string_append(text, "}\n");
    client->outstanding++;
    qmp_stream_send(client->monitor, text->str, text->len, fds != NULL ? (const int *)(const void *)fds->data : NULL,
                    fds != NULL ? fds->len : 0);
    qmp_fds_free(fds);
}

static void client_request(ShareClient *client, JsonSlice message)
{
    g_autoptr(GError) error = NULL;
    QmpRequest request;

    if (qmp_request_parse(&request, message, &error) &&
        (permits_has(client->permits, request.command) || permits_refuse(request.command, &error))) {
        client_forward(client, &request);
    } else {
        client_set_answer(client, error, request.id);
    }
    qmp_request_clear(&request);
}

/* Reads the next message. FALSE where there is none yet. */
static gboolean client_step(ShareClient *client)
{
    g_autoptr(GError) error = NULL;
    const char *problem;
    JsonSlice message;

    switch (framer_next(client->requests, &message, &problem)) {
    case FRAMER_MESSAGE:
        client_request(client, message);
        return TRUE;
    case FRAMER_ERROR:
        error = g_error_new_literal(QMP_ERROR, QMP_ERROR_GENERIC, problem);
        client_set_answer(client, error, (JsonSlice){NULL, 0});
        return TRUE;
    case FRAMER_MORE:
    default:
        return FALSE;
    }
}

/* Whether nothing more is to be read of it for now. */
static gboolean client_is_blocked(ShareClient *client)
{
    if (client->own_answer != NULL && client->outstanding == 0) {
        qmp_stream_send(client->client, client->own_answer->str, client->own_answer->len, NULL, 0);
        g_string_free(g_steal_pointer(&client->own_answer), TRUE);
    }
    return client->own_answer != NULL || qmp_stream_unsent(client->monitor) > MONITOR_UNSENT_MAX ||
           qmp_stream_unsent(client->client) > QMP_OUTPUT_PAUSE;
}

/* Whenever something has changed: goes on with what it has sent, or ends it. */
static void client_run(ShareClient *client)
{
    gboolean blocked = FALSE;

    if (client->over) {
        return;
    }
    if (client->client == NULL || client->monitor == NULL) {
        /* What the monitor said last still goes out; and it is waited for, see above. */
        if (client->client != NULL ? qmp_stream_unsent(client->client) == 0
                                   : client->monitor == NULL || client->outstanding == 0) {
            client_end(client);
        }
        return;
    }
    while (!(blocked = client_is_blocked(client)) && client_step(client)) {
    }
    qmp_stream_set_reading(client->client, !blocked);
    if (client->client_ended && !blocked && client->outstanding == 0 && qmp_stream_unsent(client->client) == 0) {
        client_end(client);
    }
}

static void client_received(QmpStream *stream, const char *bytes, gsize n, GArray *fds, void *opaque)
{
    ShareClient *client = opaque;

    (void)stream;
    client->refs++;
    framer_add(client->requests, bytes, n);
    if (fds != NULL) {
        g_queue_push_tail(&client->fds, fds);
    }
    if (g_queue_get_length(&client->fds) > FDS_WAITING_MAX) {
        qmp_fds_free(g_queue_pop_head(&client->fds));
    }
    client_run(client);
    client_unref(client);
}

static void client_drained(QmpStream *stream, void *opaque)
{
    ShareClient *client = opaque;

    (void)stream;
    client->refs++;
    client_run(client);
    client_unref(client);
}

/* What it has asked for is still answered, as long as somebody is there to read. */
static void client_half_closed(QmpStream *stream, void *opaque)
{
    ShareClient *client = opaque;

    (void)stream;
    client->refs++;
    client->client_ended = TRUE;
    framer_end(client->requests);
    client_run(client);
    client_unref(client);
}

static void client_closed(QmpStream *stream, const GError *error, void *opaque)
{
    ShareClient *client = opaque;

    (void)stream;
    (void)error;
    client->refs++;
    client_drop(client);
    client_run(client);
    client_unref(client);
}

/* ---- from the monitor ---- */

static void client_pass(ShareClient *client, const QmpServerMessage *message)
{
    if (message->event.length == 0 && message->greeting.length == 0 && client->outstanding > 0) {
        client->outstanding--;
    }
    if (client->client != NULL && qmp_stream_unsent(client->client) > QMP_BACKLOG_MAX) {
        client_drop(client); /* it does not read */
    }
    if (client->client != NULL) {
        qmp_stream_send(client->client, message->raw.text, message->raw.length, NULL, 0);
        qmp_stream_send(client->client, "\r\n", 2, NULL, 0);
    }
}

static void monitor_received(QmpStream *stream, const char *bytes, gsize n, GArray *fds, void *opaque)
{
    ShareClient *client = opaque;
    QmpServerMessage message;
    gboolean got = TRUE;

    (void)stream;
    client->refs++;
    qmp_fds_free(fds);
    qmp_incoming_add(client->replies, bytes, n);
    while (got && !client->over) {
        if (!qmp_incoming_next(client->replies, &message, &got, NULL)) {
            client_end(client);
        } else if (got) {
            client_pass(client, &message);
        }
    }
    client_run(client);
    client_unref(client);
}

static void monitor_closed(QmpStream *stream, const GError *error, void *opaque)
{
    ShareClient *client = opaque;

    (void)stream;
    (void)error;
    client->refs++;
    g_clear_pointer(&client->monitor, qmp_stream_free);
    client_run(client);
    client_unref(client);
}

static void ignore_end(ShareClient *client, void *opaque)
{
    (void)client;
    (void)opaque;
}

void share_client_free(ShareClient *client)
{
    gint64 end = g_get_monotonic_time() + SETTLE_US, now;

    client->ended = ignore_end;
    client->refs++;
    client_drop(client);
    client_run(client);
    while (!client->over && (now = g_get_monotonic_time()) < end) {
        qmp_stream_wait(client->monitor, (guint)((end - now + 999) / 1000));
    }
    client_end(client);
    client_unref(client);
}

ShareClient *share_client_new(int client_fd, int monitor_fd, const Permits *permits,
                              void (*ended)(ShareClient *client, void *opaque), void *opaque)
{
    static const QmpStreamEvents client_events = {client_received, client_drained, client_half_closed, client_closed};
    static const QmpStreamEvents monitor_events = {monitor_received, client_drained, NULL, monitor_closed};
    ShareClient *client = g_new0(ShareClient, 1);

    client->refs = 1;
    client->permits = permits;
    client->ended = ended;
    client->opaque = opaque;
    client->requests = framer_new(QMP_MESSAGE_BYTES_MAX);
    client->replies = qmp_incoming_new(QMP_MESSAGE_BYTES_MAX);
    g_queue_init(&client->fds);
    client->client = qmp_stream_new(client_fd, &client_events, client);
    client->monitor = qmp_stream_new(monitor_fd, &monitor_events, client);
    return client;
}
