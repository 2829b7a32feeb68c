/* SPDX-License-Identifier: MIT */
/*
 * See peer.h. Callbacks may free the peer: it is kept until they are done, and `freed` is looked at after each of
 * them.
 */
#include "qmp/peer.h"

#include <gio/gio.h>

#include "qmp/framing.h"
#include "qmp/incoming.h"
#include "qmp/stream.h"

/* What is kept of what came before a greeting: enough to tell what speaks. */
#define FIRST_TEXT_MAX ((gsize)512)
typedef struct Pending {
    guint64 id;
    QmpPeerReply reply;
    void *opaque;
} Pending;

/* A request that waits until it is ready. */
typedef struct Early {
    GString *text;
    GArray *fds; /* duplicates; or NULL */
} Early;

struct QmpPeer {
    guint refs;       /* the owner's, and that of a callback under way */
    gboolean freed;   /* the owner's is gone: nothing is called any more */
    gboolean failing; /* the connection is gone, and everybody is being told */
    QmpPeerEvents events;
    void *opaque;

    QmpStream *stream; /* NULL: closed */
    QmpIncoming *incoming;
    guint64 received;
    GString *first_text;

    gboolean greeted;
    gboolean ready;
    QmpVersion version;
    char *package;

    guint64 last_id;
    GQueue early;   /* Early */
    GQueue pending; /* Pending, in the order of their ids */
};

/* ---- life ---- */

static void early_free(gpointer data)
{
    Early *early = data;

    g_string_free(early->text, TRUE);
    qmp_fds_free(early->fds);
    g_free(early);
}

static void peer_unref(QmpPeer *peer)
{
    if (--peer->refs > 0) {
        return;
    }
    qmp_incoming_free(peer->incoming);
    g_string_free(peer->first_text, TRUE);
    g_free(peer->package);
    g_free(peer);
}

/* Nothing comes and nothing goes any more. */
static void peer_close(QmpPeer *peer)
{
    g_clear_pointer(&peer->stream, qmp_stream_free);
    g_queue_clear_full(&peer->early, early_free);
}

void qmp_peer_free(QmpPeer *peer)
{
    if (peer == NULL) {
        return;
    }
    peer->freed = TRUE;
    peer_close(peer);
    g_queue_clear_full(&peer->pending, g_free);
    peer_unref(peer);
}

/* ---- the end of a connection ---- */

/* Tells everybody who waits, then the owner. */
static void peer_fail(QmpPeer *peer, const GError *error)
{
    Pending *pending;

    peer_close(peer);
    peer->failing = TRUE;
    while (!peer->freed && (pending = g_queue_pop_head(&peer->pending)) != NULL) {
        pending->reply((JsonSlice){NULL, 0}, error, pending->opaque);
        g_free(pending);
    }
    peer->failing = FALSE;
    if (!peer->freed) {
        peer->events.closed(peer, error, peer->opaque);
    }
}

/* ---- requests ---- */

/* Notes that a reply is waited for; returns the id that it will have. */
static guint64 peer_expect(QmpPeer *peer, QmpPeerReply reply, void *opaque)
{
    Pending *pending = g_new(Pending, 1);

    *pending = (Pending){++peer->last_id, reply, opaque};
    g_queue_push_tail(&peer->pending, pending);
    return pending->id;
}

static void peer_request(QmpPeer *peer, gboolean now, const char *command, JsonSlice arguments, const int *fds,
                         guint n_fds, QmpPeerReply reply, void *opaque)
{
    GString *text = g_string_new("{\"execute\":");
    Early *early;

    json_append_string(text, command, -1);
    if (arguments.length > 2) {
        g_string_append(text, ",\"arguments\":");
        json_append_slice(text, arguments);
    }
    g_string_append(text, ",\"id\":");
    json_append_uint(text, peer_expect(peer, reply, opaque));
    g_string_append(text, "}\n");
    if (now) {
        qmp_stream_send(peer->stream, text->str, text->len, fds, n_fds);
        g_string_free(text, TRUE);
        return;
    }
    early = g_new(Early, 1);
    *early = (Early){text, qmp_fds_copy(fds, n_fds)};
    g_queue_push_tail(&peer->early, early);
}

static void peer_send_early(QmpPeer *peer)
{
    Early *early;

    while ((early = g_queue_pop_head(&peer->early)) != NULL) {
        const int *fds = early->fds != NULL ? (const int *)(const void *)early->fds->data : NULL;

        qmp_stream_send(peer->stream, early->text->str, early->text->len, fds,
                        early->fds != NULL ? early->fds->len : 0);
        early_free(early);
    }
}

/* ---- what comes ---- */

/* The request that a reply is for: that of its id; without one, it is about what could not be read, and so
 * about the oldest. NULL: it is nobody's. */
static Pending *peer_take_pending(QmpPeer *peer, JsonSlice id)
{
    guint64 number;

    if (id.length == 0) {
        return g_queue_pop_head(&peer->pending);
    }
    if (!json_to_uint64(id, &number)) {
        return NULL;
    }
    for (GList *link = peer->pending.head; link != NULL; link = link->next) {
        Pending *pending = link->data;

        if (pending->id == number) {
            g_queue_delete_link(&peer->pending, link);
            return pending;
        }
    }
    return NULL;
}

static void peer_take_reply(QmpPeer *peer, const QmpServerMessage *message)
{
    Pending *pending = peer_take_pending(peer, message->id);
    g_autoptr(GError) error = NULL;

    if (pending == NULL) {
        return;
    }
    if (message->value.length == 0) {
        qmp_error_from(&error, message->problem);
    }
    pending->reply(message->value, error, pending->opaque);
    g_free(pending);
}

static void peer_take_event(QmpPeer *peer, const QmpServerMessage *message)
{
    g_autofree char *name = json_string_dup(message->event, NULL), *text = NULL;
    JsonSlice whole;

    if (name != NULL) {
        text = json_compact(message->raw.text, message->raw.length, JSON_READER_STRICT, &whole.length, NULL);
        whole.text = text;
        peer->events.event(peer, name, whole, peer->opaque);
    }
}

static void capabilities_negotiated(JsonSlice value, const GError *error, void *opaque)
{
    QmpPeer *peer = opaque;
    g_autoptr(GError) refused = NULL;

    (void)value;
    if (peer->failing) {
        return;
    }
    if (error != NULL) {
        refused = g_error_new(G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "it refuses to negotiate: %s", error->message);
        peer_fail(peer, refused);
        return;
    }
    peer->ready = TRUE;
    peer_send_early(peer);
    peer->events.ready(peer, peer->opaque);
}

static void peer_take_greeting(QmpPeer *peer, JsonSlice greeting)
{
    if (!peer->greeted) {
        peer->greeted = TRUE;
        qmp_greeting_read(greeting, &peer->version, &peer->package);
        /* Nothing is enabled, so nothing need be offered: out-of-band execution makes QEMU lose descriptors. */
        peer_request(peer, TRUE, "qmp_capabilities", (JsonSlice){NULL, 0}, NULL, 0, capabilities_negotiated, peer);
    }
}

static void peer_take(QmpPeer *peer, const QmpServerMessage *message)
{
    if (message->event.length > 0) {
        peer_take_event(peer, message);
    } else if (message->greeting.length > 0) {
        peer_take_greeting(peer, message->greeting);
    } else {
        peer_take_reply(peer, message);
    }
}

/* Handles the messages that are whole. */
static void peer_handle(QmpPeer *peer)
{
    g_autoptr(GError) error = NULL;
    QmpServerMessage message;
    gboolean got = TRUE;

    while (got && peer->stream != NULL) {
        if (!qmp_incoming_next(peer->incoming, &message, &got, &error)) {
            peer_fail(peer, error);
            return;
        }
        if (got) {
            peer_take(peer, &message);
        }
    }
}

static void peer_received(QmpStream *stream, const char *bytes, gsize n, GArray *fds, void *opaque)
{
    QmpPeer *peer = opaque;

    (void)stream;
    qmp_fds_free(fds);
    peer->received += n;
    if (!peer->greeted && peer->first_text->len < FIRST_TEXT_MAX) {
        g_string_append_len(peer->first_text, bytes, (gssize)MIN(n, FIRST_TEXT_MAX - peer->first_text->len));
    }
    peer->refs++;
    qmp_incoming_add(peer->incoming, bytes, n);
    peer_handle(peer);
    peer_unref(peer);
}

static void peer_closed(QmpStream *stream, const GError *error, void *opaque)
{
    QmpPeer *peer = opaque;

    (void)stream;
    peer->refs++;
    peer_fail(peer, error);
    peer_unref(peer);
}

QmpPeer *qmp_peer_new(int fd, const QmpPeerEvents *events, void *opaque)
{
    static const QmpStreamEvents stream_events = {.received = peer_received, .closed = peer_closed};
    QmpPeer *peer = g_new0(QmpPeer, 1);

    peer->refs = 1;
    peer->events = *events;
    peer->opaque = opaque;
    peer->incoming = qmp_incoming_new(QMP_MESSAGE_BYTES_MAX);
    peer->first_text = g_string_new(NULL);
    peer->version.package = "";
    g_queue_init(&peer->early);
    g_queue_init(&peer->pending);
    peer->stream = qmp_stream_new(fd, &stream_events, peer);
    return peer;
}

/* ---- the owner's ---- */

static void drop_reply(JsonSlice value, const GError *error, void *opaque)
{
    (void)value;
    (void)error;
    (void)opaque;
}

static void drop_event(QmpPeer *peer, const char *name, JsonSlice message, void *opaque)
{
    (void)peer;
    (void)name;
    (void)message;
    (void)opaque;
}

static void drop_ready(QmpPeer *peer, void *opaque)
{
    (void)peer;
    (void)opaque;
}

static void drop_closed(QmpPeer *peer, const GError *error, void *opaque)
{
    (void)peer;
    (void)error;
    (void)opaque;
}

void qmp_peer_settle(QmpPeer *peer, guint timeout_ms)
{
    gint64 end = g_get_monotonic_time() + (gint64)timeout_ms * 1000, now;

    peer->events = (QmpPeerEvents){drop_ready, drop_event, drop_closed};
    for (GList *link = peer->pending.head; link != NULL; link = link->next) {
        ((Pending *)link->data)->reply = drop_reply;
    }
    while (peer->stream != NULL && !g_queue_is_empty(&peer->pending) && (now = g_get_monotonic_time()) < end) {
        qmp_stream_wait(peer->stream, (guint)((end - now + 999) / 1000));
    }
}

int qmp_peer_fd(const QmpPeer *peer)
{
    return peer->stream != NULL ? qmp_stream_fd(peer->stream) : -1;
}

gboolean qmp_peer_is_greeted(const QmpPeer *peer)
{
    return peer->greeted;
}

const QmpVersion *qmp_peer_version(const QmpPeer *peer)
{
    return &peer->version;
}

guint64 qmp_peer_received(const QmpPeer *peer)
{
    return peer->received;
}

const char *qmp_peer_first_text(const QmpPeer *peer)
{
    return peer->greeted ? "" : peer->first_text->str;
}

void qmp_peer_send(QmpPeer *peer, const char *command, JsonSlice arguments, const int *fds, guint n_fds,
                   QmpPeerReply reply, void *opaque)
{
    if (peer->failing) {
        peer_expect(peer, reply, opaque); /* fails as those before it do */
    } else if (peer->stream != NULL) {
        peer_request(peer, peer->ready, command, arguments, fds, n_fds, reply, opaque);
    }
}
