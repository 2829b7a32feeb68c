/* SPDX-License-Identifier: MIT */
/*
 * Threads for answers that take long, so that the monitor thread goes on with its other clients. A worker runs a
 * command's handler as the monitor would, and its reply goes back through the call's mailbox.
 */
#pragma once

#include "qmp/command.h"

typedef struct QmpWorkers QmpWorkers;

QmpWorkers *qmp_workers_new(void);
/* Once no more calls come: fails those that wait, and lets those that run end. */
void qmp_workers_free(QmpWorkers *workers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpWorkers, qmp_workers_free)

/* From a handler, on the monitor thread; the call is the worker's from now on. */
void qmp_workers_run(QmpWorkers *workers, QmpCall *call, const void *args,
                     void (*handler)(QmpCall *call, const void *args));
