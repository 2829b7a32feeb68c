/* SPDX-License-Identifier: MIT */
/*
 * Threads for what takes long, so that the monitor thread goes on with its other clients: reading large requests,
 * writing large replies, and giving back the memory of both.
 */
#pragma once

#include <glib.h>

typedef struct QmpWorkers QmpWorkers;

QmpWorkers *qmp_workers_new(void);
/* Once no more work comes: tells what waits that it is too late, and lets what runs end. */
void qmp_workers_free(QmpWorkers *workers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpWorkers, qmp_workers_free)

/* ending: it is too late, and only what opaque holds is to be put in order. */
typedef void (*QmpWork)(void *opaque, gboolean ending);

/* On the monitor thread. What was given first is begun first; where no thread can be made it runs at once. */
void qmp_workers_run(QmpWorkers *workers, QmpWork run, void *opaque);
