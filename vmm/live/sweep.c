/* SPDX-License-Identifier: MIT */
/*
 * What keeps the structure fresh. While somebody uses the mount, all the names that there are are known: where devices
 * and objects come and go is looked at again within a ttl, everything else every so often. The first look at everything
 * is what a mount waits for.
 */
#include "vmm/live/core.h"

/* After so long without a request nobody uses the mount. */
#define USE_US (10 * G_USEC_PER_SEC)
/* Structure is looked at so often in a ttl that what is new is seen within one; and not more often than this. */
#define SWEEPS_PER_TTL 1.5
#define SWEEP_MIN_US (G_USEC_PER_SEC / 2)
/* Where devices and objects come and go is looked at each time, everything else every so many times. */
#define WHOLE_SWEEP_EVERY 5

static void sweep_plan(LiveSource *live, gint64 delay_us);

static gint64 sweep_interval(const LiveSource *live)
{
    return MAX((gint64)((double)live->options.ttl_us / SWEEPS_PER_TTL), SWEEP_MIN_US);
}

/* A look at where things come and go. */
static void swept(const GError *error, void *opaque)
{
    LiveSource *live = opaque;

    (void)error;
    live->sweeping = FALSE;
    sweep_plan(live, sweep_interval(live) - (g_get_monotonic_time() - live->swept_at));
}

static void swept_all(const GError *error, void *opaque)
{
    LiveSource *live = opaque;

    live->sweeping_all = FALSE;
    if (error == NULL) {
        live_show_fetched(live, live->all_begun_at, g_get_monotonic_time());
        live_show(live);
        live_started(live, NULL);
    }
    if (!live->sweeping) {
        sweep_plan(live, sweep_interval(live) - (g_get_monotonic_time() - live->swept_at));
    }
}

/* all: at everything, which may take longer than a ttl, so that the other kind goes on meanwhile. */
static void sweep_fetch(LiveSource *live, gboolean all, SourceDone done)
{
    const LiveNeed need = {.path = view_name(VIEW_QOM),
                           .scope = SOURCE_NODE,
                           .since = live->swept_at,
                           .structure = TRUE,
                           .containers = !all,
                           .urgent = !all || !live->has_started};

    live_fetch_now(live, &need, done, live);
}

void live_sweep(LiveSource *live)
{
    if (!live->learnt) {
        return;
    }
    live->swept_at = g_get_monotonic_time();
    if (!live->sweeping && live->has_started) {
        live->sweeping = TRUE;
        sweep_fetch(live, FALSE, swept);
    }
    if (!live->sweeping_all && (!live->has_started || live->sweeps++ % WHOLE_SWEEP_EVERY == 0)) {
        live->sweeping_all = TRUE;
        live->all_begun_at = live->swept_at;
        sweep_fetch(live, TRUE, swept_all);
    }
}

/* Where others may want the socket, it is not held on to for longer than it would be for a request. */
static gboolean is_used(LiveSource *live)
{
    gint64 release_us = live->options.release_us;
    gint64 use = live_link_private_id(live->link) != NULL || release_us < 0 ? USE_US : MIN(USE_US, release_us);

    /* Who only looks at names is heard of once in a ttl. */
    use = MAX(use, 2 * live->options.ttl_us);
    return g_get_monotonic_time() - __atomic_load_n(&live->used_at, __ATOMIC_RELAXED) < use;
}

static gboolean sweeper_fired(gpointer opaque)
{
    LiveSource *live = opaque;

    g_source_set_ready_time(live->sweeper, -1);
    if (is_used(live) && !live->stuck) {
        live_sweep(live);
    } else if (is_used(live)) {
        sweep_plan(live, SWEEP_MIN_US);
    } else {
        g_atomic_int_set(&live->idle, TRUE);
    }
    return G_SOURCE_CONTINUE;
}

static void sweep_plan(LiveSource *live, gint64 delay_us)
{
    g_source_set_ready_time(live->sweeper, g_get_monotonic_time() + MAX(delay_us, 0));
}

static gboolean wake(gpointer opaque)
{
    LiveSource *live = opaque;

    if (!live->sweeping) {
        sweep_plan(live, 0);
    }
    return G_SOURCE_REMOVE;
}

void live_sweep_used(Source *source)
{
    LiveSource *live = live_of(source);

    __atomic_store_n(&live->used_at, g_get_monotonic_time(), __ATOMIC_RELAXED);
    if (g_atomic_int_compare_and_exchange(&live->idle, TRUE, FALSE)) {
        g_main_context_invoke(live->context, wake, live);
    }
}

void live_sweep_soon(LiveSource *live)
{
    wake(live);
}

/* ---- life ---- */

static gboolean sweeper_dispatch(GSource *source, GSourceFunc callback, gpointer opaque)
{
    (void)source;
    return callback(opaque);
}

static GSourceFuncs sweeper_funcs = {.dispatch = sweeper_dispatch};

void live_sweep_init(LiveSource *live)
{
    live->sweeper = g_source_new(&sweeper_funcs, sizeof(GSource));
    g_source_set_callback(live->sweeper, sweeper_fired, live, NULL);
    g_source_attach(live->sweeper, live->context);
}

void live_sweep_clear(LiveSource *live)
{
    g_source_destroy(live->sweeper);
    g_source_unref(live->sweeper);
}
