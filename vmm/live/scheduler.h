/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: every request to a running QEMU goes through here, and here alone is decided when it is sent
 * and how much it asks for. It keeps one request's stretch of the target's main loop short, all of them together
 * below a share of its time, merges what is wanted twice, lets what somebody waits for go first, and ends what
 * gets no answer. The live thread only.
 */
#pragma once

#include "vmm/live/link.h"
#include "vmm/live/want.h"

typedef struct LiveScheduler LiveScheduler;

typedef struct LiveSchedulerOptions {
    double duty;       /* the share of the main loop's time, 0 to 1 */
    gint64 timeout_us; /* without any sign of life */
    gboolean merge;    /* also with what is under way already */
    /* Hears each answer first, once however many wanted it. value absent: error tells (QMP_ERROR: the target). */
    void (*answered)(const LiveWant *want, JsonSlice value, const GError *error, void *opaque);
    /* The target does not answer any more, or does again. */
    void (*stuck)(gboolean stuck, void *opaque);
    void *opaque;
} LiveSchedulerOptions;

LiveScheduler *live_scheduler_new(const LiveSchedulerOptions *options);
/* Wants that are left end with OBJMODEL_ERROR_UNAVAILABLE. */
void live_scheduler_free(LiveScheduler *scheduler);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LiveScheduler, live_scheduler_free)
/* Nothing is sent before. */
void live_scheduler_set_link(LiveScheduler *scheduler, LiveLink *link);

/* Never calls `wanted` from within. All of want is copied. */
void live_scheduler_want(LiveScheduler *scheduler, const LiveWant *want, LiveWanted wanted, void *opaque);

/* When the target last gave a sign of life, on the monotonic clock. Any thread. */
gint64 live_scheduler_progress(LiveScheduler *scheduler);
