/* SPDX-License-Identifier: MIT */
/*
 * Who reads statistics again and again, at a rate, without looking at what comes: each poller is a thread of its own.
 * poller_start() and poller_stop() belong to one thread.
 */
#pragma once

#include <glib.h>

typedef enum PollerWork {
    POLLER_IDLE, /* wakes up as often, and asks nothing: what the others are compared with */
    POLLER_QMP,
    POLLER_FILE,
} PollerWork;

typedef struct PollerTarget {
    PollerWork work;
    const char *where;   /* the path of a socket, or of a file */
    const char *command; /* QMP */
    int cpu;             /* that its thread runs on; -1: any */
} PollerTarget;

typedef struct Poller Poller;

/* Connects, where it must. NULL with the error. */
Poller *poller_new(const PollerTarget *target, GError **error);
void poller_free(Poller *poller);

/* Polls every interval_ns, the first time after phase_ns; one that comes late does not catch up. */
void poller_start(Poller *poller, guint64 interval_ns, guint64 phase_ns);
/* Waits for what is under way. Adds how long each poll took to latencies (guint64 nanoseconds). FALSE with the error
 * where one failed. */
gboolean poller_stop(Poller *poller, GArray *latencies, GError **error);
