/* SPDX-License-Identifier: MIT */
/*
 * What answers opens. A fetch says what it wants of the tree and of the answers, and waits until all of that is known
 * to be current: what was found to be missing is asked for, and what the replies brought to light is looked at again,
 * until nothing is missing. So one rule, what is current (missing.h), decides both whether a fetch is needed and when
 * it is done.
 */
#include "vmm/live/core.h"

/* Where links have to be asked for one by one, they are so many ttl old at most, or so many of these times. */
#define LINK_TTLS 10
#define LINK_MIN_US (G_USEC_PER_SEC / 2)

typedef struct LiveFetch {
    LiveSource *live;
    char *path, *property;
    LiveNeed need;   /* whose strings are the above */
    SourceDone done; /* or NULL */
    void *opaque;
    guint pending;
    gboolean planning;
    GError *error;
} LiveFetch;

static void fetch_step(LiveFetch *fetch);

/* ---- what is current ---- */

/* At ttl 0 what came before it was asked for does not count. */
gint64 live_fetch_since(const LiveSource *live)
{
    gint64 young = MAX(g_get_monotonic_time() - live->options.ttl_us, 1);

    return MAX(young, __atomic_load_n(&live->valid_from, __ATOMIC_RELAXED));
}

static LiveKnown known_now(const LiveSource *live)
{
    return (LiveKnown){.tree = &live->tree,
                       .answers = live->answers,
                       .bulk = g_atomic_int_get(&live->bulk),
                       .links_us = LINK_TTLS * MAX(live->options.ttl_us, LINK_MIN_US)};
}

/* ---- a fetch ---- */

static void fetch_free(LiveFetch *fetch)
{
    g_free(fetch->path);
    g_free(fetch->property);
    g_clear_error(&fetch->error);
    g_free(fetch);
}

/* Whether it is about what a directory lists, for which nobody waits once it is known. */
static gboolean is_listing(const LiveNeed *need)
{
    return need->scope == SOURCE_NODE && need->property == NULL && !need->structure;
}

static gboolean is_listed(const LiveSource *live, const LiveNeed *need)
{
    const char *key = view_path(VIEW_QOM, need->path);
    const LiveObject *object = key != NULL ? live_tree_find(&live->tree, key) : NULL;

    return object != NULL && object->properties->len > 0;
}

static void fetch_end(LiveFetch *fetch)
{
    LiveSource *live = fetch->live;

    live_show(live);
    if (fetch->error != NULL && is_listing(&fetch->need) && is_listed(live, &fetch->need)) {
        g_clear_error(&fetch->error);
    }
    if (fetch->done != NULL) {
        fetch->done(fetch->error, fetch->opaque);
    }
    fetch_free(fetch);
}

static void fetch_wanted(const GError *error, void *opaque)
{
    LiveFetch *fetch = opaque;

    if (error != NULL && fetch->error == NULL) {
        fetch->error = g_error_copy(error);
    }
    fetch->pending--;
    if (fetch->pending == 0 && !fetch->planning) {
        fetch_step(fetch);
    }
}

static gboolean fetch_want(const LiveWant *want, void *opaque)
{
    LiveFetch *fetch = opaque;

    fetch->pending++;
    live_scheduler_want(fetch->live->scheduler, want, fetch_wanted, fetch);
    return FALSE;
}

/* Asks for what is missing; ends it where nothing is. */
static void fetch_step(LiveFetch *fetch)
{
    fetch->planning = TRUE;
    if (fetch->error == NULL) {
        const LiveKnown known = known_now(fetch->live);

        live_missing(&known, &fetch->need, fetch_want, fetch);
    }
    fetch->planning = FALSE;
    if (fetch->pending == 0) {
        fetch_end(fetch);
    }
}

static LiveFetch *fetch_new(LiveSource *live, const LiveNeed *need, SourceDone done, void *opaque)
{
    LiveFetch *fetch = g_new0(LiveFetch, 1);

    fetch->live = live;
    fetch->path = g_strdup(need->path);
    fetch->property = g_strdup(need->property);
    fetch->need = *need;
    fetch->need.path = fetch->path;
    fetch->need.property = fetch->property;
    fetch->done = done;
    fetch->opaque = opaque;
    return fetch;
}

void live_fetch_now(LiveSource *live, const LiveNeed *need, SourceDone done, void *opaque)
{
    fetch_step(fetch_new(live, need, done, opaque));
}

static void fetch_fail(LiveFetch *fetch, const GError *error)
{
    fetch->error = g_error_copy(error);
    fetch_end(fetch);
}

static gboolean fetch_begin(gpointer opaque)
{
    LiveFetch *fetch = opaque;
    LiveSource *live = fetch->live;

    if (!live->learnt) {
        g_queue_push_tail(&live->deferred, fetch);
    } else {
        fetch_step(fetch);
    }
    return G_SOURCE_REMOVE;
}

void live_fetch_deferred(LiveSource *live, const GError *error)
{
    GQueue deferred = live->deferred;

    g_queue_init(&live->deferred);
    for (LiveFetch *fetch; (fetch = g_queue_pop_head(&deferred)) != NULL;) {
        if (error != NULL) {
            fetch_fail(fetch, error);
        } else {
            fetch_step(fetch);
        }
    }
}

/* ---- as a source ---- */

static gboolean is_missing(const LiveWant *want, void *opaque)
{
    (void)want, (void)opaque;
    return TRUE;
}

gboolean live_fetch_wants(Source *source, const char *path, const char *property, SourceScope scope)
{
    LiveSource *live = live_of(source);
    LiveNeed need = {.path = path, .property = property, .scope = scope, .since = live_fetch_since(live)};
    const LiveKnown known = known_now(live);
    gboolean missing, ever = FALSE; /* whether it was known ever */

    live_sweep_used(source);
    if (g_str_equal(path, view_name(VIEW_VM)) && !g_atomic_int_get(&live->connected)) {
        return FALSE; /* just then it is to be read */
    }
    g_mutex_lock(&live->tree.lock);
    missing = live_missing(&known, &need, is_missing, NULL);
    if (missing && is_listing(&need)) {
        need.since = 1;
        ever = !live_missing(&known, &need, is_missing, NULL);
    }
    g_mutex_unlock(&live->tree.lock);
    if (ever && g_atomic_int_get(&live->connected)) { /* what is new is looked for behind its back */
        need.since = live_fetch_since(live);
        g_main_context_invoke(live->context, fetch_begin, fetch_new(live, &need, NULL, NULL));
    }
    return missing && !ever;
}

void live_fetch(Source *source, const char *path, const char *property, SourceScope scope, SourceDone done,
                void *opaque)
{
    LiveSource *live = live_of(source);
    LiveNeed need = {
        .path = path, .property = property, .scope = scope, .since = live_fetch_since(live), .urgent = TRUE};

    g_main_context_invoke(live->context, fetch_begin, fetch_new(live, &need, done, opaque));
}

gint64 live_fetch_progress(Source *source)
{
    return live_scheduler_progress(live_of(source)->scheduler);
}
