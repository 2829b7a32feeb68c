/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the live source share: live.c (its life, and what the link tells), fetch.c (what answers opens),
 * sweep.c (what keeps the structure fresh), set.c (what sets a property), show.c (what is published). All of it
 * belongs to the live thread, but for what is said to be atomic, and the tree and the answers under their lock.
 */
#pragma once

#include "vmm/live/live.h"
#include "vmm/live/missing.h"
#include "vmm/live/scheduler.h"

typedef struct LiveSource {
    Source base;
    LiveOptions options;
    char *target;
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;

    LiveTree tree;
    LiveAnswers *answers; /* their lock is the tree's */
    LiveScheduler *scheduler;
    LiveLink *link;
    LiveEventFunc event;
    void *event_opaque;
    gboolean learnt; /* what commands the target has */
    gint bulk;       /* atomic: one of them is qom-list-get */
    gint connected;  /* atomic for others */
    gboolean stuck;

    /* fetch.c */
    GQueue deferred;   /* of LiveFetch, that wait until it is learnt */
    gint64 valid_from; /* atomic: what was read before a property was set does not count, however young it is */

    /* show.c */
    char *stale_since, *fetched;
    Node *root;

    /* sweep.c */
    GSource *sweeper;
    gboolean sweeping, sweeping_all; /* a look at where things come and go, and at everything, is under way */
    gint64 swept_at, all_begun_at;
    guint sweeps;
    gint64 used_at; /* atomic */
    gint idle;      /* atomic: nobody used it, so nothing is kept current */

    /* live.c: the beginning */
    GMutex start_lock;
    GCond started;
    gboolean has_started;
    GError *start_error;
} LiveSource;

static inline LiveSource *live_of(Source *source)
{
    return (LiveSource *)source;
}

/* live_source_new() waits for the first call of this; error: why it fails. */
void live_started(LiveSource *live, const GError *error);

/* ---- fetch.c ---- */

void live_fetch(Source *source, const char *path, const char *property, SourceScope scope, SourceDone done,
                void *opaque);
gboolean live_fetch_wants(Source *source, const char *path, const char *property, SourceScope scope);
gint64 live_fetch_progress(Source *source);
/* Of what was asked for then or later the answer is current now. */
gint64 live_fetch_since(const LiveSource *live);
/* On the live thread, where it is learnt what the target can. The need is copied. */
void live_fetch_now(LiveSource *live, const LiveNeed *need, SourceDone done, void *opaque);
/* What waited goes on, or fails. */
void live_fetch_deferred(LiveSource *live, const GError *error);

/* ---- sweep.c ---- */

void live_sweep_init(LiveSource *live);
void live_sweep_clear(LiveSource *live);
/* Looks at everything, or at what is due. */
void live_sweep(LiveSource *live);
/* Looks soon, if somebody uses the mount. */
void live_sweep_soon(LiveSource *live);
/* Somebody does. Any thread. */
void live_sweep_used(Source *source);

/* ---- set.c ---- */

void live_set(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done, void *opaque);

/* ---- show.c ---- */

/* Publishes what is known, where it differs from what was published. */
void live_show(LiveSource *live);
void live_show_connected(LiveSource *live, gboolean connected);
/* The structure was looked at between then and then (monotonic). */
void live_show_fetched(LiveSource *live, gint64 from, gint64 to);
