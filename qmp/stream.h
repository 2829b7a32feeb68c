/* SPDX-License-Identifier: MIT */
/*
 * A connected socket that is never waited for: bytes and descriptors in and out, as a GSource of the thread's default
 * GMainContext. All on that thread. A callback may free the stream.
 */
#pragma once

#include <gio/gio.h>

typedef struct QmpStream QmpStream;

typedef struct QmpStreamEvents {
    /* fds: descriptors (int) that came with the bytes, the callee's; or NULL. */
    void (*received)(QmpStream *stream, const char *bytes, gsize n, GArray *fds, void *opaque);
    /* All that was to be sent is; may be NULL. */
    void (*drained)(QmpStream *stream, void *opaque);
    /* Nothing more comes, but it may be written to still. NULL: it counts as closed. */
    void (*ended)(QmpStream *stream, void *opaque);
    /* The connection is gone. */
    void (*closed)(QmpStream *stream, const GError *error, void *opaque);
} QmpStreamEvents;

/* Takes over the socket. */
QmpStream *qmp_stream_new(int fd, const QmpStreamEvents *events, void *opaque);
/* Closes it; what was not sent is not. */
void qmp_stream_free(QmpStream *stream);

int qmp_stream_fd(const QmpStream *stream);
/* What does not fit waits. fds: duplicated, and handed over with the first byte. A connection that is gone is told of
 * later. */
void qmp_stream_send(QmpStream *stream, const char *bytes, gsize n, const int *fds, guint n_fds);
gsize qmp_stream_unsent(const QmpStream *stream);
/* FALSE: what comes stays where it is, for now. */
void qmp_stream_set_reading(QmpStream *stream, gboolean reading);

/* Waits until something happens, for at most so long, and handles that as the source does. For the end alone. */
void qmp_stream_wait(QmpStream *stream, guint timeout_ms);

/* Descriptors as an array of int: closes them and frees it; NULL is none. */
void qmp_fds_free(GArray *fds);
/* Duplicates; NULL for none. */
GArray *qmp_fds_copy(const int *fds, guint n);
/* One recvmsg(2), with the descriptors that came; *ret_fds is NULL where none did. As recv(2) otherwise. */
gssize qmp_fds_receive(int fd, char *buffer, gsize size, GArray **ret_fds);
