/* SPDX-License-Identifier: MIT */
/*
 * A session: what one client has said and is to be told, without the socket. Bytes are
 * put into its framer, qmp_session_run() executes what they ask for, and the output is
 * taken from it. Replies come in the order of the requests, except those executed out of
 * band. All on one thread (the monitor's), but for replies of handlers (call.h).
 */
#pragma once

#include <sys/uio.h>

#include "qmp/call.h"
#include "qmp/framing.h"

/* Above so many bytes of output not yet sent, nothing more is executed for the client. */
#define QMP_OUTPUT_PAUSE ((gsize)1 << 20)

/* workers: read and execute large requests; NULL: that is done here too. faults: asked what goes wrong; or NULL. Both
 * live as long as the session, and until the workers are gone. */
QmpSession *qmp_session_new(QmpRegistry *registry, QmpMailbox *mailbox, QmpWorkers *workers,
                            const QmpFaultHooks *faults, void *opaque);
/* Calls that are under way go on; their replies are thrown away. */
void qmp_session_free(QmpSession *session);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpSession, qmp_session_free)
void *qmp_session_opaque(const QmpSession *session);
/* A number for its client, for those who keep something for it: see qmp_call_client(). 0 until it is set. */
void qmp_session_set_client(QmpSession *session, guint64 client);
guint64 qmp_session_client(const QmpSession *session);
/* Descriptors that came: the next command that wants some gets them. Taken over; of more than a few the oldest
 * are closed. Taken: NULL where there are none. */
void qmp_session_add_fds(QmpSession *session, GArray *fds);
GArray *qmp_session_take_fds(QmpSession *session);

/* ---- in ---- */

Framer *qmp_session_framer(QmpSession *session);
/* Bytes that came and are not done with: not cut into messages, or large messages under way. */
gsize qmp_session_pending(const QmpSession *session);
/* Handles up to `budget` messages. TRUE where it stopped for the budget alone. */
gboolean qmp_session_run(QmpSession *session, guint budget);
/* Whether nothing is under way or waiting (apart from output). */
gboolean qmp_session_is_idle(const QmpSession *session);

/* ---- out ---- */

/* Text to be sent in between: events, only where capabilities have been negotiated. */
void qmp_session_send(QmpSession *session, GBytes *text);
gboolean qmp_session_is_negotiated(const QmpSession *session);
/* What is to be sent next, as up to n pieces; returns their number. Then, how many bytes
 * of it were sent. */
guint qmp_session_output(const QmpSession *session, struct iovec *pieces, guint n);
void qmp_session_sent(QmpSession *session, gsize n);
/* Bytes that are still to be sent: all, and without the message under way. */
gsize qmp_session_unsent(const QmpSession *session);
gsize qmp_session_backlog(const QmpSession *session);

/* ---- faults ---- */

/* Sends what was held back until now (monotonic, microseconds). Returns when the next is due, or -1. */
gint64 qmp_session_release(QmpSession *session, gint64 now);
/* Nobody listens any more: nothing is held back for it, and no worker makes replies for it. */
void qmp_session_set_unheard(QmpSession *session);
/* Whether the connection is to be closed once the output is sent. */
gboolean qmp_session_is_closing(const QmpSession *session);

/* ---- for call.c ---- */

/* Whether the handler of this call is running now. */
gboolean qmp_session_executes(const QmpSession *session, const QmpCall *call);
/* The call has its reply, which is taken over, and sent as the fault says. */
void qmp_session_reply(QmpSession *session, const QmpCall *call, const QmpFault *fault, GBytes *text);
