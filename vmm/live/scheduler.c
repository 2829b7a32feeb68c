/* SPDX-License-Identifier: MIT */
/*
 * See scheduler.h. What waits, and in what order, is queue.c's; what requests cost, and so when the next may be sent
 * and how much it may ask for, is pace.c's. Here requests are made of it and sent, and what comes back is handed on.
 */
#include "vmm/live/scheduler.h"

#include <string.h>

#include "objmodel/error.h"
#include "vmm/live/pace.h"
#include "vmm/live/queue.h"

/* Requests under way at once, where they are small: QEMU reads one while it executes another. */
#define WINDOW 8
#define SMALL_COST 10

typedef struct Request {
    LiveScheduler *scheduler;
    GPtrArray *entries; /* of LiveEntry; none: it took too long, and was given up */
    LiveSpent spent;
} Request;

struct LiveScheduler {
    LiveSchedulerOptions options;
    LiveLink *link;
    LiveQueue queue;
    LivePace pace;
    GQueue requests;    /* under way, in order */
    GSource *timer;     /* sends what had to wait, looks after the deadline */
    gint64 last_answer; /* that one came, or was begun to wait for */
    gint64 progress;    /* atomic */
    guint64 received;   /* bytes, when last looked at */
    gboolean stuck;
};

static void scheduler_run(LiveScheduler *scheduler);
static void scheduler_plan(LiveScheduler *scheduler, gint64 delay_us);

/* ---- what is wanted ---- */

/* The target answered: it has said this, or that it cannot. */
static void entry_answer(LiveScheduler *scheduler, LiveEntry *entry, JsonSlice value, const GError *error)
{
    gboolean tells = error != NULL && (entry->want.alone || error->domain != QMP_ERROR);

    scheduler->options.answered(&entry->want, value, error, scheduler->options.opaque);
    live_queue_end(&scheduler->queue, entry, tells ? error : NULL);
}

void live_scheduler_want(LiveScheduler *scheduler, const LiveWant *want, LiveWanted wanted, void *opaque)
{
    live_queue_add(&scheduler->queue, want, wanted, opaque);
    scheduler_plan(scheduler, 0);
}

/* ---- requests ---- */

static void request_free(Request *request)
{
    g_ptr_array_unref(request->entries);
    g_free(request);
}

/* What takes long goes alone, so that one stretch is not followed by the next. */
static gboolean may_send(const LiveScheduler *scheduler, guint cost)
{
    const Request *last = g_queue_peek_tail((GQueue *)&scheduler->requests);

    return last == NULL ||
           (cost <= SMALL_COST && last->spent.cost <= SMALL_COST && scheduler->requests.length < WINDOW);
}

/* The next one to be sent, and with it others that go into the same request; NULL: there is none. */
static Request *request_take(LiveScheduler *scheduler)
{
    LiveEntry *entry = live_queue_first(&scheduler->queue, live_pace_has_idle(&scheduler->pace));
    guint limit = live_pace_batch(&scheduler->pace);
    gboolean joins;
    Request *request;

    if (entry == NULL || !may_send(scheduler, entry->want.cost)) {
        return NULL;
    }
    live_queue_turn(&scheduler->queue);
    request = g_new0(Request, 1);
    request->scheduler = scheduler;
    request->spent.urgent = entry->want.urgent;
    request->entries = g_ptr_array_new();
    do {
        LiveEntry *next = live_queue_take(&scheduler->queue, entry);

        g_ptr_array_add(request->entries, entry);
        request->spent.cost += entry->want.cost;
        if (!scheduler->options.merge) {
            live_queue_part(&scheduler->queue, entry);
        }
        joins = next != NULL && next->want.kind == LIVE_OBJECT && entry->want.kind == LIVE_OBJECT &&
                request->spent.cost + next->want.cost <= limit;
        entry = next;
    } while (joins);
    return request;
}

static const char *request_write(const Request *request, GString *arguments)
{
    const LiveEntry *first = g_ptr_array_index(request->entries, 0);

    switch (first->want.kind) {
    case LIVE_OBJECT:
        g_string_append(arguments, "{\"paths\":[");
        for (guint i = 0; i < request->entries->len; i++) {
            if (i > 0) {
                g_string_append_c(arguments, ',');
            }
            json_append_string(arguments, ((LiveEntry *)g_ptr_array_index(request->entries, i))->want.path, -1);
        }
        g_string_append(arguments, "]}");
        return "qom-list-get";
    case LIVE_NAMES:
    case LIVE_PROPERTY:
        g_string_append(arguments, "{\"path\":");
        json_append_string(arguments, first->want.path, -1);
        if (first->want.kind == LIVE_PROPERTY) {
            g_string_append(arguments, ",\"property\":");
            json_append_string(arguments, first->want.name, -1);
        }
        g_string_append_c(arguments, '}');
        return first->want.kind == LIVE_NAMES ? "qom-list" : "qom-get";
    case LIVE_COMMAND:
        break;
    }
    g_string_append_len(arguments, first->want.arguments.text, (gssize)first->want.arguments.length);
    return first->want.name;
}

/* One of several objects is gone, and spoiled it for all: each by itself. */
static void request_split(LiveScheduler *scheduler, Request *request)
{
    for (guint i = request->entries->len; i > 0; i--) {
        LiveEntry *entry = g_ptr_array_index(request->entries, i - 1);

        entry->want.cost = MAX(entry->want.cost, LIVE_BATCH_MAX);
        live_queue_put_back(&scheduler->queue, entry);
    }
}

static void request_answer(LiveScheduler *scheduler, Request *request, JsonSlice value, const GError *error)
{
    const LiveEntry *first = g_ptr_array_index(request->entries, 0);
    JsonWalk walk;

    if (first->want.kind != LIVE_OBJECT || error != NULL) {
        if (error != NULL && error->domain == QMP_ERROR && request->entries->len > 1) {
            request_split(scheduler, request);
            return;
        }
        for (guint i = 0; i < request->entries->len; i++) {
            entry_answer(scheduler, g_ptr_array_index(request->entries, i), value, error);
        }
        return;
    }
    walk = json_walk(json_kind(value) == JSON_ARRAY ? value : (JsonSlice){"[]", 2});
    for (guint i = 0; i < request->entries->len; i++) {
        g_autoptr(GError) missing = NULL;
        JsonSlice element = {0}, properties = {0};

        if (json_walk_element(&walk, &element) && json_kind(element) == JSON_OBJECT) {
            properties = json_member(element, "properties");
        }
        if (properties.length == 0 || json_kind(properties) != JSON_ARRAY) {
            properties = (JsonSlice){0};
            g_set_error(&missing, QMP_ERROR, QMP_ERROR_GENERIC, "its reply is no list of properties");
        }
        entry_answer(scheduler, g_ptr_array_index(request->entries, i), properties, missing);
    }
}

static void scheduler_alive(LiveScheduler *scheduler, gint64 now)
{
    __atomic_store_n(&scheduler->progress, now, __ATOMIC_RELAXED);
    scheduler->last_answer = now;
    if (scheduler->stuck) {
        scheduler->stuck = FALSE;
        scheduler->options.stuck(FALSE, scheduler->options.opaque);
    }
}

static void request_replied(JsonSlice value, const GError *error, void *opaque)
{
    Request *request = opaque;
    LiveScheduler *scheduler = request->scheduler;
    gboolean is_word = error == NULL || error->domain == QMP_ERROR;
    gint64 now = g_get_monotonic_time();

    g_queue_remove(&scheduler->requests, request);
    if (is_word && request->entries->len > 0) {
        request->spent.began_at = MAX(request->spent.sent_at, scheduler->last_answer);
        live_pace_answered(&scheduler->pace, &request->spent, live_link_main_ns(scheduler->link), now);
    }
    if (is_word) { /* one that was given up is a sign of life, no more */
        scheduler_alive(scheduler, now);
    }
    if (request->entries->len > 0) {
        request_answer(scheduler, request, value, error);
    }
    request_free(request);
    scheduler_plan(scheduler, 0);
}

static void request_send(LiveScheduler *scheduler, Request *request)
{
    g_autoptr(GString) arguments = g_string_new(NULL);
    const char *command = request_write(request, arguments);
    gint64 now = g_get_monotonic_time();

    request->spent.bytes = arguments->len + strlen(command) + strlen("{\"execute\":\"\",\"arguments\":,\"id\":1}");
    request->spent.sent_at = now;
    request->spent.measured = live_link_state(scheduler->link) == LIVE_LINK_UP;
    if (g_queue_is_empty(&scheduler->requests)) {
        scheduler->last_answer = now;
        scheduler->received = live_link_received(scheduler->link);
        live_pace_begin(&scheduler->pace, live_link_main_ns(scheduler->link), now);
    }
    g_queue_push_tail(&scheduler->requests, request);
    live_link_send(scheduler->link, command, (JsonSlice){arguments->len > 0 ? arguments->str : NULL, arguments->len},
                   request_replied, request);
}

/* ---- deadlines ---- */

/* What is wanted anew meanwhile stays. */
static void fail_lane(LiveScheduler *scheduler, GQueue *lane, const GError *error)
{
    for (guint n = lane->length; n > 0 && lane->length > 0; n--) {
        LiveEntry *entry = lane->head->data;

        live_queue_take(&scheduler->queue, entry);
        entry_answer(scheduler, entry, (JsonSlice){0}, error);
    }
}

/* Ends all wants. Replies that come yet are thrown away. */
static void scheduler_fail(LiveScheduler *scheduler, const GError *error)
{
    for (GList *item = scheduler->requests.head; item != NULL; item = item->next) {
        Request *request = item->data;

        while (request->entries->len > 0) {
            LiveEntry *entry = g_ptr_array_steal_index(request->entries, request->entries->len - 1);

            entry_answer(scheduler, entry, (JsonSlice){0}, error);
        }
    }
    for (guint lane = 0; lane < N_LIVE_LANES; lane++) {
        fail_lane(scheduler, &scheduler->queue.lanes[lane], error);
    }
}

static void scheduler_fail_stuck(LiveScheduler *scheduler)
{
    g_autoptr(GError) error = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_TIMED_OUT, "QEMU did not answer within %g s",
                                          (double)scheduler->options.timeout_us / G_USEC_PER_SEC);

    scheduler_fail(scheduler, error);
}

/* How long until nothing but silence counts; G_MAXINT64: nothing is waited for. */
static gint64 deadline_delay(LiveScheduler *scheduler, gint64 now)
{
    if (g_queue_is_empty(&scheduler->requests)) {
        return G_MAXINT64;
    }
    /* A long reply is a sign of life for as long as it comes. */
    if (live_link_received(scheduler->link) != scheduler->received) {
        scheduler->received = live_link_received(scheduler->link);
        scheduler_alive(scheduler, now);
    }
    return MAX(scheduler->last_answer + scheduler->options.timeout_us - now, 0);
}

/* ---- its turn ---- */

static gboolean timer_fired(gpointer opaque)
{
    LiveScheduler *scheduler = opaque;

    g_source_set_ready_time(scheduler->timer, -1);
    scheduler_run(scheduler);
    return G_SOURCE_CONTINUE;
}

/* Runs it by then, or sooner. */
static void scheduler_plan(LiveScheduler *scheduler, gint64 delay_us)
{
    gint64 then = g_get_monotonic_time() + delay_us, planned = g_source_get_ready_time(scheduler->timer);

    if (planned < 0 || then < planned) {
        g_source_set_ready_time(scheduler->timer, then);
    }
}

static void scheduler_run(LiveScheduler *scheduler)
{
    gint64 now = g_get_monotonic_time(), delay, deadline, due = live_pace_due(&scheduler->pace);

    if (scheduler->link == NULL) {
        return;
    }
    if (due > 0 && now >= due) {
        live_pace_settle(&scheduler->pace, live_link_main_ns(scheduler->link), now);
    } else if (due > 0) {
        scheduler_plan(scheduler, due - now);
    }
    deadline = deadline_delay(scheduler, now);
    if (deadline == 0) {
        if (!scheduler->stuck) {
            scheduler->stuck = TRUE;
            scheduler->options.stuck(TRUE, scheduler->options.opaque);
        }
        deadline = scheduler->options.timeout_us;
    }
    /* Where the connection went meanwhile nothing is under way, and the next request will tell. */
    if (scheduler->stuck && !g_queue_is_empty(&scheduler->requests)) {
        scheduler_fail_stuck(scheduler);
        scheduler_plan(scheduler, deadline);
        return;
    }
    while (!live_queue_is_empty(&scheduler->queue)) {
        Request *request;

        delay = live_pace_delay(&scheduler->pace, live_queue_is_urgent(&scheduler->queue), now);
        if (delay > 0) {
            scheduler_plan(scheduler, delay);
            break;
        }
        request = request_take(scheduler);
        if (request == NULL) {
            break;
        }
        request_send(scheduler, request);
        deadline = MIN(deadline, scheduler->options.timeout_us);
    }
    if (deadline != G_MAXINT64) {
        scheduler_plan(scheduler, deadline);
    }
}

/* ---- beginning and end ---- */

static gboolean timer_dispatch(GSource *source, GSourceFunc callback, gpointer opaque)
{
    (void)source;
    return callback(opaque);
}

static GSourceFuncs timer_funcs = {.dispatch = timer_dispatch};

LiveScheduler *live_scheduler_new(const LiveSchedulerOptions *options)
{
    LiveScheduler *scheduler = g_new0(LiveScheduler, 1);

    scheduler->options = *options;
    live_queue_init(&scheduler->queue);
    g_queue_init(&scheduler->requests);
    scheduler->progress = g_get_monotonic_time();
    live_pace_init(&scheduler->pace, options->duty, options->timeout_us, scheduler->progress);
    scheduler->timer = g_source_new(&timer_funcs, sizeof(GSource));
    g_source_set_callback(scheduler->timer, timer_fired, scheduler, NULL);
    g_source_attach(scheduler->timer, g_main_context_get_thread_default());
    return scheduler;
}

void live_scheduler_set_link(LiveScheduler *scheduler, LiveLink *link)
{
    scheduler->link = link;
    scheduler_plan(scheduler, 0);
}

void live_scheduler_free(LiveScheduler *scheduler)
{
    g_autoptr(GError) error = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the mount is ending");
    Request *request;

    scheduler_fail(scheduler, error);
    while ((request = g_queue_pop_head(&scheduler->requests)) != NULL) {
        request_free(request);
    }
    g_source_destroy(scheduler->timer);
    g_source_unref(scheduler->timer);
    live_queue_clear(&scheduler->queue);
    g_free(scheduler);
}

gint64 live_scheduler_progress(LiveScheduler *scheduler)
{
    return __atomic_load_n(&scheduler->progress, __ATOMIC_RELAXED);
}
