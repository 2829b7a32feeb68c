/* SPDX-License-Identifier: MIT */
/*
 * See stream.h. A turn of the source writes what fits and reads once. Callbacks may free the stream, so that it is kept
 * until the turn is over.
 */
#include "qmp/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE ((gsize)64 << 10)
/* What is sent is gathered into pieces of about so much. */
#define PIECE_SIZE ((gsize)16 << 10)
/* As many descriptors as the kernel takes at once (SCM_MAX_FD). */
#define FDS_MAX 253

typedef union FdSpace {
    struct cmsghdr header;
    char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
} FdSpace;

/* Bytes to be sent, with the descriptors that go with the first of them. */
typedef struct Piece {
    GString *text;
    gsize sent;
    GArray *fds; /* or NULL */
} Piece;

typedef struct StreamSource {
    GSource source;
    QmpStream *stream;
} StreamSource;

struct QmpStream {
    guint refs; /* the owner's, and that of a turn under way */
    QmpStreamEvents events;
    void *opaque;
    int fd; /* -1: freed */
    StreamSource *source;
    void *tag; /* of the descriptor within the source */
    GIOCondition watched;
    gboolean reading;
    gboolean ended; /* nothing more comes */
    char *buffer;
    GQueue pieces; /* Piece */
    gsize unsent;
};

/* ---- descriptors ---- */

void qmp_fds_free(GArray *fds)
{
    for (guint i = 0; fds != NULL && i < fds->len; i++) {
        close(g_array_index(fds, int, i));
    }
    if (fds != NULL) {
        g_array_unref(fds);
    }
}

/* Appends those of one control message. */
static void take_fds(const struct cmsghdr *header, GArray **fds)
{
    gsize n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS && n > 0) {
        if (*fds == NULL) {
            *fds = g_array_new(FALSE, FALSE, sizeof(int));
        }
        g_array_append_vals(*fds, CMSG_DATA(header), (guint)n);
    }
}

gssize qmp_fds_receive(int fd, char *buffer, gsize size, GArray **ret_fds)
{
    FdSpace control;
    struct iovec bytes = {buffer, size};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    gssize n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *ret_fds = NULL;
    for (struct cmsghdr *header = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL; header != NULL;
         header = CMSG_NXTHDR(&message, header)) {
        take_fds(header, ret_fds);
    }
    return n;
}

GArray *qmp_fds_copy(const int *fds, guint n)
{
    GArray *copies = n > 0 ? g_array_new(FALSE, FALSE, sizeof(int)) : NULL;

    for (guint i = 0; i < n; i++) {
        int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

        if (copy >= 0) {
            g_array_append_val(copies, copy);
        }
    }
    return copies;
}

/* ---- life ---- */

static void piece_free(gpointer data)
{
    Piece *piece = data;

    g_string_free(piece->text, TRUE);
    qmp_fds_free(piece->fds);
    g_free(piece);
}

static void stream_unref(QmpStream *stream)
{
    if (--stream->refs == 0) {
        g_free(stream->buffer);
        g_free(stream);
    }
}

void qmp_stream_free(QmpStream *stream)
{
    if (stream == NULL) {
        return;
    }
    g_source_destroy(&stream->source->source);
    g_source_unref(&stream->source->source);
    close(stream->fd);
    stream->fd = -1;
    g_queue_clear_full(&stream->pieces, piece_free);
    stream_unref(stream);
}

/* ---- writing ---- */

/* The number of bytes sent, or -1 with errno. */
static gssize piece_send(const Piece *piece, int fd)
{
    FdSpace control;
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
static gboolean stream_write(QmpStream *stream)
{
    Piece *piece;

    while ((piece = g_queue_peek_head(&stream->pieces)) != NULL) {
        gssize n = piece_send(piece, stream->fd);

        if (n < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
        piece->sent += (gsize)MAX(n, 0);
        stream->unsent -= (gsize)MAX(n, 0);
        if (piece->sent == piece->text->len) {
            piece_free(g_queue_pop_head(&stream->pieces));
        }
    }
    return TRUE;
}

static void stream_update_watch(QmpStream *stream)
{
    GIOCondition wanted =
        (stream->reading && !stream->ended ? G_IO_IN : 0) | (g_queue_is_empty(&stream->pieces) ? 0 : G_IO_OUT);

    if (stream->fd >= 0 && wanted != stream->watched) {
        g_source_modify_unix_fd(&stream->source->source, stream->tag, wanted);
        stream->watched = wanted;
    }
}

void qmp_stream_send(QmpStream *stream, const char *bytes, gsize n, const int *fds, guint n_fds)
{
    Piece *last = g_queue_peek_tail(&stream->pieces);

    if (n == 0) {
        return;
    }
    if (n_fds > 0 || last == NULL || last->text->len >= PIECE_SIZE) {
        last = g_new0(Piece, 1);
        last->text = g_string_new(NULL);
        last->fds = qmp_fds_copy(fds, MIN(n_fds, FDS_MAX));
        g_queue_push_tail(&stream->pieces, last);
    }
    g_string_append_len(last->text, bytes, (gssize)n);
    stream->unsent += n;
    /* Whether the connection is gone, the source finds out. */
    stream_write(stream);
    stream_update_watch(stream);
}

gsize qmp_stream_unsent(const QmpStream *stream)
{
    return stream->unsent;
}

/* ---- reading ---- */

void qmp_stream_set_reading(QmpStream *stream, gboolean reading)
{
    stream->reading = reading;
    stream_update_watch(stream);
}

static void stream_gone(QmpStream *stream, const char *what, int code)
{
    g_autoptr(GError) error =
        g_error_new(G_IO_ERROR, (int)g_io_error_from_errno(code), "%s: %s", what, g_strerror(code));

    stream->events.closed(stream, error, stream->opaque);
}

static void stream_end(QmpStream *stream)
{
    g_autoptr(GError) error =
        g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED, "the connection was closed");

    stream->ended = TRUE;
    if (stream->events.ended != NULL) {
        stream->events.ended(stream, stream->opaque);
    } else {
        stream->events.closed(stream, error, stream->opaque);
    }
}

static void stream_read(QmpStream *stream)
{
    GArray *fds;
    gssize n = qmp_fds_receive(stream->fd, stream->buffer, READ_SIZE, &fds);

    if (n > 0) {
        stream->events.received(stream, stream->buffer, (gsize)n, fds, stream->opaque);
    } else if (n == 0) {
        stream_end(stream);
    } else if (errno != EAGAIN && errno != EINTR) {
        stream_gone(stream, "cannot read", errno);
    }
}

/* ---- the source ---- */

static void stream_turn(QmpStream *stream, GIOCondition ready)
{
    gboolean had_output = stream->unsent > 0;

    stream->refs++;
    if (!stream_write(stream)) {
        stream_gone(stream, "cannot write", errno);
    } else if ((ready & (G_IO_HUP | G_IO_ERR)) && stream->ended) {
        stream_gone(stream, "cannot write", EPIPE);
    } else if (ready & (G_IO_IN | G_IO_HUP | G_IO_ERR)) {
        stream_read(stream); /* also where reading is paused: whoever has hung up is not waited for */
    }
    if (stream->fd >= 0 && had_output && stream->unsent == 0 && stream->events.drained != NULL) {
        stream->events.drained(stream, stream->opaque);
    }
    stream_update_watch(stream);
    stream_unref(stream);
}

static gboolean stream_dispatch(GSource *source, GSourceFunc callback G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
    QmpStream *stream = ((StreamSource *)source)->stream;

    stream_turn(stream, g_source_query_unix_fd(source, stream->tag));
    return G_SOURCE_CONTINUE;
}

void qmp_stream_wait(QmpStream *stream, guint timeout_ms)
{
    GPollFD poll_fd = {stream->fd, (gushort)stream->watched, 0};

    if (g_poll(&poll_fd, 1, (gint)timeout_ms) > 0) {
        stream_turn(stream, (GIOCondition)poll_fd.revents);
    }
}

static GSourceFuncs stream_funcs = {.dispatch = stream_dispatch};

QmpStream *qmp_stream_new(int fd, const QmpStreamEvents *events, void *opaque)
{
    QmpStream *stream = g_new0(QmpStream, 1);

    stream->refs = 1;
    stream->events = *events;
    stream->opaque = opaque;
    stream->fd = fd;
    stream->reading = TRUE;
    stream->buffer = g_malloc(READ_SIZE);
    g_queue_init(&stream->pieces);
    stream->source = (StreamSource *)g_source_new(&stream_funcs, sizeof(StreamSource));
    stream->source->stream = stream;
    stream->watched = G_IO_IN;
    stream->tag = g_source_add_unix_fd(&stream->source->source, fd, stream->watched);
    g_source_attach(&stream->source->source, g_main_context_get_thread_default());
    return stream;
}

int qmp_stream_fd(const QmpStream *stream)
{
    return stream->fd;
}
