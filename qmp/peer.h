/* SPDX-License-Identifier: MIT */
/*
 * A peer: the other end of a QMP connection, without waiting. It negotiates, sends requests as short
 * as they can be (QEMU reads them byte by byte), matches replies to them by id, and tells of events.
 * All of it, its callbacks too, on one thread: that of the GMainContext that was the thread's default when
 * it was made. What blocks is in client.h.
 */
#pragma once

#include "qmp/message.h"

typedef struct QmpPeer QmpPeer;

/* How a request ended: value is the return value (compact, strictly read), or absent where error tells what
 * it was: QMP_ERROR as the peer says, G_IO_ERROR where the connection went. Called once, never from within
 * qmp_peer_send(). Both live until it returns. */
typedef void (*QmpPeerReply)(JsonSlice value, const GError *error, void *opaque);

typedef struct QmpPeerEvents {
    /* The greeting came and the capabilities are negotiated. */
    void (*ready)(QmpPeer *peer, void *opaque);
    /* message: the whole event, compact; name: its name, without quotes. */
    void (*event)(QmpPeer *peer, const char *name, JsonSlice message, void *opaque);
    /* The connection is gone, and so are all requests (their replies were called before): error tells why.
     * The peer may be freed from within. */
    void (*closed)(QmpPeer *peer, const GError *error, void *opaque);
} QmpPeerEvents;

/* Takes over the connected socket. */
QmpPeer *qmp_peer_new(int fd, const QmpPeerEvents *events, void *opaque);
/* Waits until no request is without its reply, which is dropped, for at most so long. Before qmp_peer_free(), where the
 * other side must have come to rest. */
void qmp_peer_settle(QmpPeer *peer, guint timeout_ms);
/* Closes it; replies that are missing are never called. May be called from within any callback. */
void qmp_peer_free(QmpPeer *peer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpPeer, qmp_peer_free)

/* Its socket; -1 once the connection is gone. */
int qmp_peer_fd(const QmpPeer *peer);
gboolean qmp_peer_is_greeted(const QmpPeer *peer);
/* What its greeting said; zero before. */
const QmpVersion *qmp_peer_version(const QmpPeer *peer);
/* Bytes that came so far: whoever waits for a long reply sees it grow. */
guint64 qmp_peer_received(const QmpPeer *peer);
/* What came before any greeting, for whoever has to say what speaks there; "" where nothing did. */
const char *qmp_peer_first_text(const QmpPeer *peer);

/* arguments: a compact object, or absent. fds: duplicated, handed over with the request's first byte. Before it is
 * ready requests wait. Not after `closed`. */
void qmp_peer_send(QmpPeer *peer, const char *command, JsonSlice arguments, const int *fds, guint n_fds,
                   QmpPeerReply reply, void *opaque);
