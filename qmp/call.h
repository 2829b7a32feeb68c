/* SPDX-License-Identifier: MIT */
/*
 * Calls, as the session sees them. A call is made by a session on its thread (the monitor's)
 * and replied to on any: a reply that does not come while the handler runs goes through the
 * mailbox of that thread, and to the session if it is still there.
 */
#pragma once

#include "qmp/command.h"
#include "qmp/fault.h"
#include "qmp/worker.h"

typedef struct QmpSession QmpSession;

/* ---- the mailbox: replies from other threads ---- */

typedef struct QmpMailbox QmpMailbox;

/* wake is called (on any thread) when there is something to take. */
QmpMailbox *qmp_mailbox_new(void (*wake)(void *opaque), void *opaque);
QmpMailbox *qmp_mailbox_ref(QmpMailbox *mailbox);
void qmp_mailbox_unref(QmpMailbox *mailbox);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpMailbox, qmp_mailbox_unref)
/* From now on what is posted is thrown away, and wake is not called any more. */
void qmp_mailbox_close(QmpMailbox *mailbox);
/* The calls (QmpCall) that were replied to since the last time, in that order; NULL: none. */
GPtrArray *qmp_mailbox_take(QmpMailbox *mailbox);

/* ---- calls ---- */

/* A request that is longer is read by a worker. At 400 MB a second the reading of this much takes less than a turn. */
#define QMP_LARGE_REQUEST ((gsize)128 << 10)

/* workers: may be NULL; then everything is done where it is asked for. faults: asked what is to go wrong with it; or
 * NULL. oob: whether the client may ask for execution out of band. */
QmpCall *qmp_call_new(QmpSession *session, QmpMailbox *mailbox, QmpWorkers *workers, const QmpFaultHooks *faults,
                      gboolean oob);
/* Takes the request over, finds its command and lets it reply (or fail, where that is its fault); the call may be gone
 * afterwards. */
void qmp_call_execute(QmpCall *call, const QmpRegistry *commands, QmpRequest *request);
/* The same for one that was not read yet, on a worker; `memory`, in which it stands, is taken over. The registry
 * must live until the workers are gone. */
void qmp_call_execute_large(QmpCall *call, const QmpRegistry *commands, char *memory, JsonSlice message);
/* The session that made it, for a handler that runs on its thread; else NULL. */
QmpSession *qmp_call_session(QmpCall *call);
/* Hands a call from the mailbox to its session, which is returned (NULL: it is gone), and frees it; or goes on with
 * it, see qmp_call_resume(). */
QmpSession *qmp_call_deliver(QmpCall *call);
/* Nobody will see the reply: a worker does not make it any more. Not where the call changes something: what is handed
 * over to workers only answers. */
void qmp_call_set_unheard(QmpCall *call);
/* The session goes away: the reply, when it comes, is thrown away. */
void qmp_call_orphan(QmpCall *call);
