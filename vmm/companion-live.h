/* SPDX-License-Identifier: MIT */
/* What the companion socket of a running QEMU is: which commands it has, whose events it tells. For companion.c alone.
 */
#pragma once

#include "vmm/query.h"
#include "vmm/share/share.h"

typedef struct CompanionLive CompanionLive;

/* Without share, what the mount shows, and qom-set where it can be written; with it, all of the target's QMP, and those
 * of our own commands that the target lacks. */
CompanionLive *companion_live_new(QmpContext *context, Share *share);
/* Once the server is gone. */
void companion_live_free(CompanionLive *live);

/* What a client that connects now is offered: it is another registry when the target is another QEMU, or more of it is
 * known. On the monitor thread, or before that runs. Borrowed. */
QmpRegistry *companion_live_offer(void *companion_live);

/* Before the server starts: it is told of the target's events, and share of its clients. */
void companion_live_connect(CompanionLive *live, QmpServer *server);
/* Before the server is freed: afterwards nobody tells it of events. */
void companion_live_leave(CompanionLive *live);
