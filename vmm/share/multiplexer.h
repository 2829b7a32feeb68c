/* SPDX-License-Identifier: MIT */
/*
 * Many clients over one connection: each has its own session (qmp/session.c: negotiation, ids, order), and what it
 * asks for goes to the target under an id of ours. Names of descriptors belong to the client that has given them.
 * Constant answers come from here. All on the live thread, but for what says otherwise.
 */
#pragma once

#include "qmp/command.h"
#include "vmm/live/link.h"

typedef struct Multiplexer Multiplexer;

Multiplexer *multiplexer_new(void);
/* Once the link is gone: calls under way fail. */
void multiplexer_free(Multiplexer *multiplexer);

/* The monitor thread: whether the answer is here already; then the call has got it. */
gboolean multiplexer_answer(Multiplexer *multiplexer, QmpCall *call);

/* Hands it to the target. fds: those that came with it, taken over; or NULL. */
void multiplexer_send(Multiplexer *multiplexer, LiveLink *link, QmpCall *call, GArray *fds);
void multiplexer_join(Multiplexer *multiplexer, guint64 client);
/* What it has left at the target is cleaned up. */
void multiplexer_leave(Multiplexer *multiplexer, LiveLink *link, guint64 client);
/* The target is another process: nothing that was known counts. */
void multiplexer_forget(Multiplexer *multiplexer);
