/* SPDX-License-Identifier: MIT */
/*
 * See live.h: the life of a running QEMU as a source, what its link and its events tell, and what becomes of its
 * answers. core.h says where the rest is.
 */
#include "vmm/live/core.h"

#include "objmodel/error.h"

void live_started(LiveSource *live, const GError *error)
{
    g_mutex_lock(&live->start_lock);
    if (!live->has_started) {
        live->has_started = TRUE;
        live->start_error = error != NULL ? g_error_copy(error) : NULL;
        g_cond_broadcast(&live->started);
    }
    g_mutex_unlock(&live->start_lock);
}

/* ---- what the target answers ---- */

static void answered_about_object(LiveSource *live, const LiveWant *want, JsonSlice value, const GError *error)
{
    LiveObject *object = live_tree_find(&live->tree, want->key);
    gint64 now = g_get_monotonic_time();

    if (object == NULL) {
        return;
    }
    if (error != NULL && want->kind != LIVE_PROPERTY) {
        live_tree_remove(&live->tree, object); /* it is there no longer */
        return;
    }
    switch (want->kind) {
    case LIVE_NAMES:
        live_tree_take_names(&live->tree, object, value, now);
        break;
    case LIVE_OBJECT:
        live_tree_take_object(&live->tree, object, value, now);
        break;
    default:
        live_tree_take_value(&live->tree, object, want->name, value, error != NULL ? error->message : NULL, now);
        break;
    }
}

static void answered(const LiveWant *want, JsonSlice value, const GError *error, void *opaque)
{
    LiveSource *live = opaque;

    if (error != NULL && error->domain != QMP_ERROR) {
        return; /* it was no answer */
    }
    if (want->kind != LIVE_COMMAND) {
        answered_about_object(live, want, value, error);
    } else if (!want->alone) {
        live_answers_take(live->answers, want->name, value, error != NULL ? error->message : NULL,
                          g_get_monotonic_time());
    }
}

/* ---- the link ---- */

static void learnt_commands(const GError *error, void *opaque)
{
    LiveSource *live = opaque;

    if (error != NULL) {
        live_fetch_deferred(live, error);
        live_started(live, error);
        return;
    }
    g_atomic_int_set(&live->bulk, live_answers_has_command(live->answers, "qom-list-get"));
    live->learnt = TRUE;
    live_show_connected(live, TRUE);
    live_fetch_deferred(live, NULL);
    live_sweep(live);
}

/* What the target can: the first thing to know of a process. */
static void learn(LiveSource *live)
{
    LiveWant want = {.kind = LIVE_COMMAND, .name = "query-commands", .cost = 1, .urgent = TRUE};

    live->learnt = FALSE;
    live_tree_outdate(&live->tree);
    live_answers_outdate_all(live->answers);
    live_scheduler_want(live->scheduler, &want, learnt_commands, live);
}

static void link_changed(LiveLink *link, LiveLinkState state, gboolean new_process, const GError *error, void *opaque)
{
    LiveSource *live = opaque;

    (void)link;
    switch (state) {
    case LIVE_LINK_UP:
        if (new_process || !live->learnt) {
            learn(live);
        } else {
            live_show_connected(live, TRUE);
            live_sweep_soon(live);
        }
        break;
    case LIVE_LINK_AWAY:
        live_show_connected(live, FALSE);
        live_fetch_deferred(live, error);
        live_started(live, error);
        break;
    default:
        break;
    }
}

/* What stands at its path from now on is another object, however alike. */
static void device_deleted(LiveSource *live, JsonSlice message)
{
    JsonSlice data = json_member(message, "data");
    g_autofree char *path =
        data.length > 0 && json_kind(data) == JSON_OBJECT ? json_string_dup(json_member(data, "path"), NULL) : NULL;

    if (path != NULL) {
        live_tree_goes(&live->tree, path);
        live->swept_at = 0;
        live_sweep_soon(live);
    }
}

/* Events are hints; looking again is the truth. */
static void link_event(LiveLink *link, const char *name, JsonSlice message, void *opaque)
{
    static const char *const status[] = {"STOP", "RESUME", "SHUTDOWN", "SUSPEND", "WAKEUP", "BLOCK_IO_ERROR"};
    LiveSource *live = opaque;

    (void)link;
    if (g_str_equal(name, "DEVICE_DELETED")) {
        device_deleted(live, message);
    }
    for (guint i = 0; i < G_N_ELEMENTS(status); i++) {
        if (g_str_equal(name, status[i])) {
            live_answers_outdate(live->answers, "query-status");
            break;
        }
    }
    if (live->event != NULL) {
        live->event(name, message, live->event_opaque);
    }
}

static void target_stuck(gboolean stuck, void *opaque)
{
    LiveSource *live = opaque;

    live->stuck = stuck;
    live_show_connected(live, !stuck);
    if (!stuck) {
        live_sweep_soon(live);
    } else {
        g_autoptr(GError) error =
            g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_TIMED_OUT, "QEMU does not answer at '%s'", live->target);

        live_started(live, error);
    }
}

/* ---- the thread ---- */

static void live_begin(LiveSource *live)
{
    static const LiveLinkEvents events = {.changed = link_changed, .event = link_event};
    const LiveLinkOptions link = {.target = live->target, .release_us = live->options.release_us};

    live_sweep_init(live);
    live->link = live_link_new(&link, &events, live);
    live_scheduler_set_link(live->scheduler, live->link);
}

static gpointer live_thread(gpointer opaque)
{
    LiveSource *live = opaque;
    g_autoptr(GError) ending = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the mount is ending");

    g_main_context_push_thread_default(live->context);
    live_begin(live);
    g_main_loop_run(live->loop);
    live_fetch_deferred(live, ending);
    /* First who waits: to the end it is shown what the link says. */
    live_scheduler_free(live->scheduler);
    live_link_free(live->link);
    live_sweep_clear(live);
    g_main_context_pop_thread_default(live->context);
    return NULL;
}

static gboolean loop_quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void live_free(Source *source)
{
    LiveSource *live = live_of(source);
    g_autoptr(GSource) end = g_idle_source_new();

    /* From the loop itself: one that does not run yet would miss it. */
    g_source_set_callback(end, loop_quit, live->loop, NULL);
    g_source_attach(end, live->context);
    g_thread_join(live->thread);
    live_answers_free(live->answers);
    live_tree_clear(&live->tree);
    node_unref(live->root);
    snapshots_free(live->base.snapshots);
    g_main_loop_unref(live->loop);
    g_main_context_unref(live->context);
    g_clear_error(&live->start_error);
    g_mutex_clear(&live->start_lock);
    g_cond_clear(&live->started);
    g_free(live->target);
    g_free(live->stale_since);
    g_free(live->fetched);
    g_free(live);
}

static const SourceOps live_ops = {
    .fetch = live_fetch,
    .wants_fetch = live_fetch_wants,
    .progress = live_fetch_progress,
    .used = live_sweep_used,
    .free = live_free,
};

static const SourceOps live_writable_ops = {
    .fetch = live_fetch,
    .wants_fetch = live_fetch_wants,
    .progress = live_fetch_progress,
    .used = live_sweep_used,
    .set = live_set,
    .free = live_free,
};

Source *live_source_new(const LiveOptions *options, GError **error)
{
    LiveSource *live = g_new0(LiveSource, 1);
    LiveSchedulerOptions scheduler = {.duty = options->duty,
                                      .timeout_us = options->timeout_us,
                                      .merge = options->ttl_us > 0,
                                      .answered = answered,
                                      .stuck = target_stuck,
                                      .opaque = live};
    gboolean failed;

    live->base.ops = options->read_write ? &live_writable_ops : &live_ops;
    live->base.snapshots = snapshots_new();
    live->base.property_mode = 0600;
    live->base.read_only_mode = 0400;
    live->base.names_valid = MAX((double)options->ttl_us / G_USEC_PER_SEC, 0.1);
    live->options = *options;
    live->target = g_strdup(options->target);
    live->tree.secrets = options->secrets;
    live->tree.writable = options->read_write;
    live_tree_init(&live->tree);
    live->answers = live_answers_new(&live->tree.lock, options->all_queries);
    g_mutex_init(&live->start_lock);
    g_cond_init(&live->started);
    g_queue_init(&live->deferred);
    live->used_at = g_get_monotonic_time();
    live->context = g_main_context_new();
    live->loop = g_main_loop_new(live->context, FALSE);
    g_main_context_push_thread_default(live->context);
    live->scheduler = live_scheduler_new(&scheduler);
    g_main_context_pop_thread_default(live->context);
    live->thread = g_thread_new("live", live_thread, live);

    g_mutex_lock(&live->start_lock);
    while (!live->has_started) {
        g_cond_wait(&live->started, &live->start_lock);
    }
    failed = live->start_error != NULL;
    if (failed) {
        g_propagate_error(error, g_error_copy(live->start_error));
    }
    g_mutex_unlock(&live->start_lock);
    if (failed) {
        live_free(&live->base);
        return NULL;
    }
    return &live->base;
}

gboolean source_is_live(const Source *source)
{
    return source->ops == &live_ops || source->ops == &live_writable_ops;
}

void live_source_set_event_listener(Source *source, LiveEventFunc func, void *opaque)
{
    live_of(source)->event = func;
    live_of(source)->event_opaque = opaque;
}

GMainContext *live_source_context(Source *source)
{
    return live_of(source)->context;
}

LiveLink *live_source_link(Source *source)
{
    return live_of(source)->link;
}

void live_source_version(Source *source, QmpVersion *ret)
{
    *ret = *live_link_version(live_of(source)->link);
}
