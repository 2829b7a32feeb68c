/* SPDX-License-Identifier: MIT */
/*
 * Events on their way from the VM to the clients. Any thread emits; the monitor thread
 * takes the text of those that are due and sends it to everybody. Kinds of events that
 * have an interval are held back as QEMU does it: the first goes out at once, of those
 * within the interval only the last.
 */
#pragma once

#include "qmp/command.h"
#include "qmp/fault.h"

typedef struct QmpEvents QmpEvents;

/* wake is called on the emitter's thread when there is something to take. */
QmpEvents *qmp_events_new(QmpRegistry *registry, void (*wake)(void *opaque), void *opaque);
void qmp_events_free(QmpEvents *events);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpEvents, qmp_events_free)

/* Before anything is emitted: who is asked what goes wrong with events. */
void qmp_events_set_faults(QmpEvents *events, const QmpFaultHooks *faults);

/* data: a compact object, or absent. time_us: when it happened, in microseconds since the epoch. */
void qmp_events_emit(QmpEvents *events, const char *name, JsonSlice data, gint64 time_us);

/* A whole message of somebody else's, which is not held back. */
void qmp_events_pass(QmpEvents *events, JsonSlice message);

/* Appends the messages that are due at `now` (monotonic, microseconds). Returns when the
 * next one may become due, or -1. */
gint64 qmp_events_take(QmpEvents *events, gint64 now, GString *out);
