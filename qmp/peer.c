/* SPDX-License-Identifier: MIT */
/*
 * See peer.h. The peer is one GSource, which watches the socket; each of its turns writes what fits, reads once, and
 * handles all messages that are whole by then. Callbacks may free the peer: it is kept until the turn is over, and
 * `freed` is looked at after each of them.
 */
#include "qmp/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "qmp/framing.h"
#include "qmp/incoming.h"

#define READ_SIZE ((gsize)256 << 10)
/* Requests are gathered into pieces of about so much. */
#define PIECE_SIZE ((gsize)16 << 10)
/* What is kept of what came before a greeting: enough to tell what speaks. */
#define FIRST_TEXT_MAX ((gsize)512)
/* As many as the kernel takes at once (SCM_MAX_FD). */
#define FDS_MAX 253

/* Bytes to be sent, with the descriptors that go with the first of them. */
typedef struct Piece {
    GString *text;
    gsize sent;
    GArray *fds; /* int; or NULL */
} Piece;

typedef struct Pending {
    guint64 id;
    QmpPeerReply reply;
    void *opaque;
} Pending;

typedef struct PeerSource {
    GSource source;
    QmpPeer *peer;
} PeerSource;

struct QmpPeer {
    gatomicrefcount refs; /* the owner's, and those of turns under way */
    gboolean freed;       /* the owner's is gone: nothing is called any more */
    gboolean failing;     /* the connection is gone, and everybody is being told */
    QmpPeerEvents events;
    void *opaque;

    int fd;
    PeerSource *source;
    void *tag; /* of the descriptor within the source */
    GIOCondition watched;
    QmpIncoming *incoming;
    char *read_buffer;
    guint64 received;
    GString *first_text;

    gboolean greeted;
    gboolean ready;
    QmpVersion version;
    char *package;

    guint64 last_id;
    GQueue pieces;  /* Piece: to be sent now */
    GQueue early;   /* Piece: to be sent once it is ready */
    GQueue pending; /* Pending, in the order of their ids */
};

/* ---- life ---- */

static void piece_free(gpointer data)
{
    Piece *piece = data;

    g_string_free(piece->text, TRUE);
    for (guint i = 0; piece->fds != NULL && i < piece->fds->len; i++) {
        close(g_array_index(piece->fds, int, i));
    }
    if (piece->fds != NULL) {
        g_array_unref(piece->fds);
    }
    g_free(piece);
}

static void peer_unref(QmpPeer *peer)
{
    if (!g_atomic_ref_count_dec(&peer->refs)) {
        return;
    }
    qmp_incoming_free(peer->incoming);
    g_string_free(peer->first_text, TRUE);
    g_free(peer->read_buffer);
    g_free(peer->package);
    g_free(peer);
}

/* Nothing comes and nothing goes any more. */
static void peer_close(QmpPeer *peer)
{
    if (peer->fd < 0) {
        return;
    }
    g_source_destroy(&peer->source->source);
    g_source_unref(&peer->source->source);
    peer->source = NULL;
    close(peer->fd);
    peer->fd = -1;
    g_queue_clear_full(&peer->pieces, piece_free);
    g_queue_clear_full(&peer->early, piece_free);
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

static void peer_fail_errno(QmpPeer *peer, const char *what, int code)
{
    g_autoptr(GError) error =
        g_error_new(G_IO_ERROR, (int)g_io_error_from_errno(code), "%s: %s", what, g_strerror(code));

    peer_fail(peer, error);
}

/* ---- writing ---- */

/* The number of bytes sent, or -1 with errno. */
static gssize piece_send(const Piece *piece, int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec bytes = {piece->text->str + piece->sent, piece->text->len - piece->sent};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

    if (piece->fds != NULL && piece->fds->len > 0 && piece->sent == 0) {
        gsize size = piece->fds->len * sizeof(int);

        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(size);
        control.header =
            (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(size)};
        memcpy(CMSG_DATA(&control.header), piece->fds->data, size);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Sends what the socket takes. FALSE, with errno, where the connection is gone. */
static gboolean peer_write(QmpPeer *peer)
{
    Piece *piece;

    while ((piece = g_queue_peek_head(&peer->pieces)) != NULL) {
        gssize n = piece_send(piece, peer->fd);

        if (n < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
        piece->sent += (gsize)MAX(n, 0);
        if (piece->sent == piece->text->len) {
            piece_free(g_queue_pop_head(&peer->pieces));
        }
    }
    return TRUE;
}

static void peer_update_watch(QmpPeer *peer)
{
    GIOCondition wanted = G_IO_IN | (g_queue_is_empty(&peer->pieces) ? 0 : G_IO_OUT);

    if (peer->source != NULL && wanted != peer->watched) {
        g_source_modify_unix_fd(&peer->source->source, peer->tag, wanted);
        peer->watched = wanted;
    }
}

/* The piece that a request is to be appended to. */
static Piece *queue_piece(GQueue *queue, const int *fds, guint n_fds)
{
    Piece *last = g_queue_peek_tail(queue);

    if (n_fds == 0 && last != NULL && last->text->len < PIECE_SIZE) {
        return last;
    }
    last = g_new0(Piece, 1);
    last->text = g_string_new(NULL);
    if (n_fds > 0) {
        last->fds = g_array_new(FALSE, FALSE, sizeof(int));
    }
    for (guint i = 0; i < n_fds; i++) {
        int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

        if (copy >= 0) {
            g_array_append_val(last->fds, copy);
        }
    }
    g_queue_push_tail(queue, last);
    return last;
}

/* Notes that a reply is waited for; returns the id that it will have. */
static guint64 peer_expect(QmpPeer *peer, QmpPeerReply reply, void *opaque)
{
    Pending *pending = g_new(Pending, 1);

    *pending = (Pending){++peer->last_id, reply, opaque};
    g_queue_push_tail(&peer->pending, pending);
    return pending->id;
}

static void peer_request(QmpPeer *peer, GQueue *queue, const char *command, JsonSlice arguments, const int *fds,
                         guint n_fds, QmpPeerReply reply, void *opaque)
{
    GString *text = queue_piece(queue, fds, n_fds)->text;

    g_string_append(text, "{\"execute\":");
    json_append_string(text, command, -1);
    if (arguments.length > 2) {
        g_string_append(text, ",\"arguments\":");
        json_append_slice(text, arguments);
    }
    g_string_append(text, ",\"id\":");
    json_append_uint(text, peer_expect(peer, reply, opaque));
    g_string_append(text, "}\n");
    if (queue == &peer->pieces) {
        /* A connection that is gone is noticed by the source. */
        peer_write(peer);
        peer_update_watch(peer);
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
    Piece *piece;

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
    while ((piece = g_queue_pop_head(&peer->early)) != NULL) {
        g_queue_push_tail(&peer->pieces, piece);
    }
    peer_write(peer);
    peer_update_watch(peer);
    peer->events.ready(peer, peer->opaque);
}

static void peer_take_greeting(QmpPeer *peer, JsonSlice greeting)
{
    if (!peer->greeted) {
        peer->greeted = TRUE;
        qmp_greeting_read(greeting, &peer->version, &peer->package);
        /* Nothing is enabled, so nothing need be offered: out-of-band execution makes QEMU lose descriptors. */
        peer_request(peer, &peer->pieces, "qmp_capabilities", (JsonSlice){NULL, 0}, NULL, 0, capabilities_negotiated,
                     peer);
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

    while (got && peer->fd >= 0) {
        if (!qmp_incoming_next(peer->incoming, &message, &got, &error)) {
            peer_fail(peer, error);
            return;
        }
        if (got) {
            peer_take(peer, &message);
        }
    }
}

static void peer_read(QmpPeer *peer)
{
    gssize n = recv(peer->fd, peer->read_buffer, READ_SIZE, MSG_DONTWAIT);

    if (n > 0) {
        peer->received += (guint64)n;
        if (!peer->greeted && peer->first_text->len < FIRST_TEXT_MAX) {
            g_string_append_len(peer->first_text, peer->read_buffer,
                                (gssize)MIN((gsize)n, FIRST_TEXT_MAX - peer->first_text->len));
        }
        qmp_incoming_add(peer->incoming, peer->read_buffer, (gsize)n);
        peer_handle(peer);
    } else if (n == 0) {
        g_autoptr(GError) error =
            g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED, "the connection was closed");

        peer_fail(peer, error);
    } else if (errno != EAGAIN && errno != EINTR) {
        peer_fail_errno(peer, "cannot read", errno);
    }
}

/* ---- the source ---- */

static gboolean peer_dispatch(GSource *source, GSourceFunc callback G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
    QmpPeer *peer = ((PeerSource *)source)->peer;
    GIOCondition ready = g_source_query_unix_fd(source, peer->tag);

    g_atomic_ref_count_inc(&peer->refs);
    if ((ready & G_IO_OUT) && !peer_write(peer)) {
        peer_fail_errno(peer, "cannot write", errno);
    } else if (ready & (G_IO_IN | G_IO_HUP | G_IO_ERR)) {
        peer_read(peer);
    }
    if (peer->fd >= 0) {
        peer_update_watch(peer);
    }
    peer_unref(peer);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs peer_source_funcs = {.dispatch = peer_dispatch};

QmpPeer *qmp_peer_new(int fd, const QmpPeerEvents *events, void *opaque)
{
    QmpPeer *peer = g_new0(QmpPeer, 1);

    g_atomic_ref_count_init(&peer->refs);
    peer->events = *events;
    peer->opaque = opaque;
    peer->fd = fd;
    peer->incoming = qmp_incoming_new(QMP_MESSAGE_BYTES_MAX);
    peer->read_buffer = g_malloc(READ_SIZE);
    peer->first_text = g_string_new(NULL);
    peer->version.package = "";
    g_queue_init(&peer->pieces);
    g_queue_init(&peer->early);
    g_queue_init(&peer->pending);
    peer->source = (PeerSource *)g_source_new(&peer_source_funcs, sizeof(PeerSource));
    peer->source->peer = peer;
    peer->watched = G_IO_IN;
    peer->tag = g_source_add_unix_fd(&peer->source->source, fd, peer->watched);
    g_source_attach(&peer->source->source, g_main_context_get_thread_default());
    return peer;
}

/* ---- the owner's ---- */

int qmp_peer_fd(const QmpPeer *peer)
{
    return peer->fd;
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
    g_return_if_fail(n_fds <= FDS_MAX);
    if (peer->failing) {
        peer_expect(peer, reply, opaque); /* fails as those before it do */
    } else if (peer->fd >= 0) {
        peer_request(peer, peer->ready ? &peer->pieces : &peer->early, command, arguments, fds, n_fds, reply, opaque);
    }
}
