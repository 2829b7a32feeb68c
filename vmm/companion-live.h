/* SPDX-License-Identifier: MIT */
/* What the companion socket of a running QEMU is: which commands it has, whose events it tells. For companion.c alone.
 */
#pragma once

#include "vmm/query.h"
#include "vmm/share/share.h"

/* Without share, what the mount shows, and qom-set where it can be written; with it, all of the target's QMP, and those
 * of our own commands that the target lacks. */
QmpRegistry *companion_live_registry(QmpContext *context, QueryCommands *queries, Share *share);
/* Before the server starts: it is told of the target's events, and share of its clients. */
void companion_live_connect(QmpServer *server, Source *source, Share *share);
/* Before it is freed: afterwards nobody tells it of events. */
void companion_live_leave(Source *source);
