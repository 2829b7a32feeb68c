/* SPDX-License-Identifier: MIT */
/*
 * See live.h. A fetch says what it wants of the tree and of the answers, and waits until all of that is known to be
 * current: what was found to be missing is asked for, and what the replies brought to light is looked at again, until
 * nothing is missing. So one rule, what is current, decides both whether a fetch is needed and when it is done.
 */
#include "vmm/live/live.h"

#include <string.h>

#include "objmodel/error.h"
#include "objmodel/name.h"
#include "vmm/live/missing.h"

/* After so long without a request nobody uses the mount. */
#define USE_US (10 * G_USEC_PER_SEC)
/* Structure is looked at so often in a ttl that what is new is seen within one; and not more often than this. */
#define SWEEPS_PER_TTL 1.5
#define SWEEP_MIN_US (G_USEC_PER_SEC / 2)
/* Where devices and objects come and go is looked at each time, everything else every so many times. */
#define WHOLE_SWEEP_EVERY 5
/* Where links have to be asked for one by one, they are so many ttl old at most. */
#define LINK_TTLS 10

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
    gint bulk; /* atomic: the target has qom-list-get */
    LiveEventFunc event;
    void *event_opaque;

    /* The live thread's own. */
    gboolean learnt; /* what commands the target has */
    GQueue deferred; /* of Fetch, that wait for that */
    gint connected;  /* atomic for others */
    gboolean stuck;
    char *stale_since, *fetched;
    Node *root;
    GSource *sweeper;
    gboolean sweeping, sweeping_all; /* a look at where things come and go, and at everything, is under way */
    gint64 swept_at, all_begun_at;
    guint sweeps;

    gint64 used_at;    /* atomic */
    gint64 valid_from; /* atomic: what was read before a property was set does not count, however young it is */
    gint idle;         /* atomic: nobody used it, so nothing is kept current */

    /* The beginning. */
    GMutex start_lock;
    GCond started;
    gboolean has_started;
    GError *start_error;
} LiveSource;

typedef struct Fetch {
    LiveSource *live;
    char *path, *property;
    LiveNeed need;   /* whose strings are the above */
    SourceDone done; /* or NULL */
    void *opaque;
    guint pending;
    gboolean planning;
    GError *error;
} Fetch;

static void live_publish(LiveSource *live);
static void sweep_plan(LiveSource *live, gint64 delay_us);
static void fetch_step(Fetch *fetch);

static LiveSource *live_of(Source *source)
{
    return (LiveSource *)source;
}

/* ---- what is current ---- */

/* What was asked for then or later is current now. At ttl 0 what came before it was asked for does not count. */
static gint64 live_since(const LiveSource *live)
{
    gint64 young = MAX(g_get_monotonic_time() - live->options.ttl_us, 1);

    return MAX(young, __atomic_load_n(&live->valid_from, __ATOMIC_RELAXED));
}

static LiveKnown live_known(const LiveSource *live)
{
    return (LiveKnown){.tree = &live->tree,
                       .answers = live->answers,
                       .bulk = g_atomic_int_get(&live->bulk),
                       .links_us = LINK_TTLS * MAX(live->options.ttl_us, SWEEP_MIN_US)};
}

/* ---- fetching ---- */

static void fetch_free(Fetch *fetch)
{
    g_free(fetch->path);
    g_free(fetch->property);
    g_clear_error(&fetch->error);
    g_free(fetch);
}

static char *iso_time(gint64 monotonic)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autoptr(GDateTime) then = g_date_time_add(now, monotonic - g_get_monotonic_time());

    g_autofree char *seconds = g_date_time_format(then, "%Y-%m-%dT%H:%M:%S");

    return g_strdup_printf("%s.%03dZ", seconds, g_date_time_get_microsecond(then) / 1000);
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

static void fetch_end(Fetch *fetch)
{
    LiveSource *live = fetch->live;

    live_publish(live);
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
    Fetch *fetch = opaque;

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
    Fetch *fetch = opaque;

    fetch->pending++;
    live_scheduler_want(fetch->live->scheduler, want, fetch_wanted, fetch);
    return FALSE;
}

/* Asks for what is missing; ends it where nothing is. */
static void fetch_step(Fetch *fetch)
{
    fetch->planning = TRUE;
    if (fetch->error == NULL) {
        const LiveKnown known = live_known(fetch->live);

        live_missing(&known, &fetch->need, fetch_want, fetch);
    }
    fetch->planning = FALSE;
    if (fetch->pending == 0) {
        fetch_end(fetch);
    }
}

static Fetch *fetch_new(LiveSource *live, const char *path, const char *property, SourceScope scope)
{
    Fetch *fetch = g_new0(Fetch, 1);

    fetch->live = live;
    fetch->path = g_strdup(path);
    fetch->property = g_strdup(property);
    fetch->need =
        (LiveNeed){.path = fetch->path, .property = fetch->property, .scope = scope, .since = live_since(live)};
    return fetch;
}

static void fetch_fail(Fetch *fetch, const GError *error)
{
    fetch->error = g_error_copy(error);
    fetch_end(fetch);
}

static gboolean fetch_begin(gpointer opaque)
{
    Fetch *fetch = opaque;
    LiveSource *live = fetch->live;

    if (!live->learnt) {
        g_queue_push_tail(&live->deferred, fetch);
    } else {
        fetch_step(fetch);
    }
    return G_SOURCE_REMOVE;
}

static void deferred_end(LiveSource *live, const GError *error)
{
    GQueue deferred = live->deferred;

    g_queue_init(&live->deferred);
    for (Fetch *fetch; (fetch = g_queue_pop_head(&deferred)) != NULL;) {
        if (error != NULL) {
            fetch_fail(fetch, error);
        } else {
            fetch_step(fetch);
        }
    }
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

/* ---- publishing ---- */

/* The time that what is shown was asked for, as it is now. */
static void update_fetched(LiveSource *live, gint64 from, gint64 to)
{
    g_autofree char *first = iso_time(from), *last = iso_time(to);

    g_free(live->fetched);
    live->fetched = g_strdup_printf("%s/%s", first, last);
}

static Node *vm_node(LiveSource *live, guint64 generation, guint64 stamp)
{
    const QmpVersion *version = live_link_version(live->link);
    g_autofree char *name = live_answers_string(live->answers, "query-name", "name");
    g_autofree char *uuid = live_answers_string(live->answers, "query-uuid", "UUID");
    g_autofree char *status = live_answers_string(live->answers, "query-status", "status");
    g_autofree char *number = g_strdup_printf("%u.%u.%u", version->major, version->minor, version->micro);
    VmView vm = {.name = name,
                 .uuid = uuid,
                 .status = status,
                 .version = number,
                 .source = "live",
                 .generation = generation,
                 .connected = live->connected,
                 .stale_since = live->stale_since != NULL ? live->stale_since : "",
                 .fetched = live->fetched != NULL ? live->fetched : ""};

    return view_vm_new(&vm, live->root != NULL ? views_get(live->root, VIEW_VM) : NULL, stamp);
}

static void live_publish(LiveSource *live)
{
    const Node *before = live->root != NULL ? views_get(live->root, VIEW_VM) : NULL;
    guint64 stamp = snapshots_next_stamp(live->base.snapshots, 0);
    guint64 generation = snapshots_next_generation(live->base.snapshots);
    Node *nodes[N_VIEWS] = {NULL};
    g_autoptr(Node) vm = NULL;
    gboolean changed = live->root == NULL;

    for (View view = 0; view < N_VIEWS; view++) {
        if (view == VIEW_VM) {
            continue;
        }
        nodes[view] = (Node *)(view == VIEW_QOM ? live_tree_node(&live->tree, stamp)
                                                : live_answers_node(live->answers, view, stamp));
        changed = changed || (nodes[view] != NULL && nodes[view] != views_get(live->root, view));
    }
    if (!changed) {
        vm = vm_node(live, generation - 1, stamp);
        changed = vm != before;
        g_clear_pointer(&vm, node_unref);
    }
    if (!changed || nodes[VIEW_QOM] == NULL) {
        return;
    }
    nodes[VIEW_VM] = vm = vm_node(live, generation, stamp);
    Node *root = views_root_new(nodes, live->root, stamp);
    node_unref(live->root);
    live->root = root;
    snapshots_publish(live->base.snapshots, root, stamp);
}

/* ---- keeping it current ---- */

static void start_end(LiveSource *live, const GError *error)
{
    g_mutex_lock(&live->start_lock);
    if (!live->has_started) {
        live->has_started = TRUE;
        live->start_error = error != NULL ? g_error_copy(error) : NULL;
        g_cond_broadcast(&live->started);
    }
    g_mutex_unlock(&live->start_lock);
}

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
        update_fetched(live, live->all_begun_at, g_get_monotonic_time());
        live_publish(live);
        start_end(live, NULL);
    }
    if (!live->sweeping) {
        sweep_plan(live, sweep_interval(live) - (g_get_monotonic_time() - live->swept_at));
    }
}

/* all: at everything, which may take longer than a ttl, so that the other kind goes on meanwhile. */
static void sweep_fetch(LiveSource *live, gboolean all, SourceDone done)
{
    Fetch *fetch = fetch_new(live, view_name(VIEW_QOM), NULL, SOURCE_NODE);

    fetch->need.structure = TRUE;
    fetch->need.since = live->swept_at;
    fetch->need.containers = !all;
    fetch->need.urgent = !all || !live->has_started;
    fetch->done = done;
    fetch->opaque = live;
    fetch_step(fetch);
}

static void sweep_begin(LiveSource *live)
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
        sweep_begin(live);
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

/* ---- the link ---- */

static void set_connected(LiveSource *live, gboolean connected)
{
    if (live->connected == connected) {
        return;
    }
    g_atomic_int_set(&live->connected, connected);
    g_clear_pointer(&live->stale_since, g_free);
    if (!connected) {
        live->stale_since = iso_time(g_get_monotonic_time());
    }
    live_publish(live);
}

static void learnt_commands(const GError *error, void *opaque)
{
    LiveSource *live = opaque;

    if (error != NULL) {
        deferred_end(live, error);
        start_end(live, error);
        return;
    }
    g_atomic_int_set(&live->bulk, live_answers_has_command(live->answers, "qom-list-get"));
    live->learnt = TRUE;
    set_connected(live, TRUE);
    deferred_end(live, NULL);
    sweep_begin(live);
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
            set_connected(live, TRUE);
            wake(live);
        }
        break;
    case LIVE_LINK_AWAY:
        set_connected(live, FALSE);
        deferred_end(live, error);
        start_end(live, error);
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
        wake(live);
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
    set_connected(live, !stuck);
    if (!stuck) {
        wake(live);
    } else {
        g_autoptr(GError) error =
            g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_TIMED_OUT, "QEMU does not answer at '%s'", live->target);

        start_end(live, error);
    }
}

/* ---- as a source ---- */

static void live_used(Source *source)
{
    LiveSource *live = live_of(source);

    __atomic_store_n(&live->used_at, g_get_monotonic_time(), __ATOMIC_RELAXED);
    if (g_atomic_int_compare_and_exchange(&live->idle, TRUE, FALSE)) {
        g_main_context_invoke(live->context, wake, live);
    }
}

static gboolean is_missing(const LiveWant *want, void *opaque)
{
    (void)want, (void)opaque;
    return TRUE;
}

static gboolean live_wants_fetch(Source *source, const char *path, const char *property, SourceScope scope)
{
    LiveSource *live = live_of(source);
    LiveNeed need = {.path = path, .property = property, .scope = scope, .since = live_since(live)};
    const LiveKnown known = live_known(live);
    gboolean missing, ever = FALSE; /* whether it was known ever */

    live_used(source);
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
        g_main_context_invoke(live->context, fetch_begin, fetch_new(live, path, NULL, scope));
    }
    return missing && !ever;
}

static void live_fetch(Source *source, const char *path, const char *property, SourceScope scope, SourceDone done,
                       void *opaque)
{
    LiveSource *live = live_of(source);
    Fetch *fetch = fetch_new(live, path, property, scope);

    fetch->need.urgent = TRUE;
    fetch->done = done;
    fetch->opaque = opaque;
    g_main_context_invoke(live->context, fetch_begin, fetch);
}

static gint64 live_progress(Source *source)
{
    return live_scheduler_progress(live_of(source)->scheduler);
}

/* ---- setting ---- */

typedef struct Setting {
    LiveSource *live;
    char *path, *property; /* as the mount has them */
    GString *arguments;
    SourceDone done;
    void *opaque;
} Setting;

static void setting_end(Setting *setting, const GError *error)
{
    setting->done(error, setting->opaque);
    g_free(setting->path);
    g_free(setting->property);
    g_string_free(setting->arguments, TRUE);
    g_free(setting);
}

static void setting_seen(const GError *error, void *opaque)
{
    (void)error; /* it is set, whether it can be read again or not */
    setting_end(opaque, NULL);
}

/* The property may be an alias of others', of which nothing tells: so what was read before counts no more. */
static void setting_look_again(Setting *setting)
{
    LiveSource *live = setting->live;
    Fetch *fetch;

    __atomic_store_n(&live->valid_from, g_get_monotonic_time(), __ATOMIC_RELAXED);
    fetch = fetch_new(live, setting->path, setting->property, SOURCE_PROPERTY);
    fetch->need.urgent = TRUE;
    fetch->done = setting_seen;
    fetch->opaque = setting;
    fetch_step(fetch);
}

static void setting_wanted(const GError *error, void *opaque)
{
    Setting *setting = opaque;

    if (error != NULL && error->domain == QMP_ERROR) {
        ObjmodelError code =
            error->code == QMP_ERROR_DEVICE_NOT_FOUND ? OBJMODEL_ERROR_NOT_FOUND : OBJMODEL_ERROR_BAD_VALUE;
        g_autoptr(GError) refused = g_error_new_literal(OBJMODEL_ERROR, code, error->message);

        setting_end(setting, refused);
    } else if (error != NULL) {
        setting_end(setting, error);
    } else {
        setting_look_again(setting);
    }
}

static gboolean setting_begin(gpointer opaque)
{
    Setting *setting = opaque;
    LiveSource *live = setting->live;
    const char *key = view_path(VIEW_QOM, setting->path);
    LiveObject *object = key != NULL ? live_tree_find(&live->tree, key) : NULL;
    LiveProperty *property = object != NULL ? live_object_property(object, setting->property) : NULL;
    g_autoptr(GString) arguments = g_string_new("{\"path\":");
    LiveWant want = {.kind = LIVE_COMMAND, .name = "qom-set", .cost = 1, .urgent = TRUE, .alone = TRUE};

    if (property == NULL) {
        g_autoptr(GError) error =
            g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY, "it is no property of an object");

        setting_end(setting, error);
        return G_SOURCE_REMOVE;
    }
    json_append_string(arguments, object->path, -1);
    g_string_append(arguments, ",\"property\":");
    json_append_string(arguments, property->name, -1);
    g_string_append_printf(arguments, ",\"value\":%s}", setting->arguments->str);
    g_string_assign(setting->arguments, arguments->str);
    want.arguments = (JsonSlice){setting->arguments->str, setting->arguments->len};
    live_scheduler_want(live->scheduler, &want, setting_wanted, setting);
    return G_SOURCE_REMOVE;
}

static void live_set(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done,
                     void *opaque)
{
    Setting *setting = g_new0(Setting, 1);

    setting->live = live_of(source);
    setting->path = g_strdup(path);
    setting->property = g_strdup(property);
    setting->arguments = g_string_new_len(value.text, (gssize)value.length);
    setting->done = done;
    setting->opaque = opaque;
    live_used(source);
    g_main_context_invoke(setting->live->context, setting_begin, setting);
}

/* ---- the thread ---- */

static gboolean sweeper_dispatch(GSource *source, GSourceFunc callback, gpointer opaque)
{
    (void)source;
    return callback(opaque);
}

static GSourceFuncs sweeper_funcs = {.dispatch = sweeper_dispatch};

static void live_begin(LiveSource *live)
{
    static const LiveLinkEvents events = {.changed = link_changed, .event = link_event};
    const LiveLinkOptions link = {.target = live->target, .release_us = live->options.release_us};

    live->sweeper = g_source_new(&sweeper_funcs, sizeof(GSource));
    g_source_set_callback(live->sweeper, sweeper_fired, live, NULL);
    g_source_attach(live->sweeper, live->context);
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
    deferred_end(live, ending);
    /* First who waits: to the end it is shown what the link says. */
    live_scheduler_free(live->scheduler);
    live_link_free(live->link);
    g_source_destroy(live->sweeper);
    g_source_unref(live->sweeper);
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
    .wants_fetch = live_wants_fetch,
    .progress = live_progress,
    .used = live_used,
    .free = live_free,
};

static const SourceOps live_writable_ops = {
    .fetch = live_fetch,
    .wants_fetch = live_wants_fetch,
    .progress = live_progress,
    .used = live_used,
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
