/* SPDX-License-Identifier: MIT */
/*
 * See scheduler.h. What a request takes of the target's main loop is what the kernel says that its thread used; where
 * that cannot be seen, what passed until the reply, less what QEMU needs to read the request byte by byte in another
 * thread. What was used is paid for out of a credit that
 * grows with the share allowed; a little of it may be saved up, so that single requests never wait.
 */
#include "vmm/live/scheduler.h"

#include <string.h>

#include "objmodel/error.h"

/* What QEMU needs to read one byte of a request. */
#define READ_US_PER_BYTE 7.4
/* The longest stretch of main loop that one request is to take, with room for a bad guess. */
#define STRETCH_US 3500.0
/* A request asks for no more properties than these, or one object. */
#define BATCH_PROPERTIES 400
/* What a property costs, until it was measured; and a request itself. */
#define FIRST_US_PER_PROPERTY 8.0
#define REQUEST_US 80.0
/* When all of a request's work is over, and the kernel has counted it. */
#define SETTLE_US 5000
/* So much main-loop time may be saved up. */
#define CREDIT_US 20000.0
/* Of the share, what may be used for what nobody waits for. */
#define IDLE_SHARE 0.4
/* Requests under way at once, where they are small: QEMU reads one while it executes another. */
#define WINDOW 8
#define SMALL_COST 10

typedef struct Waiter {
    LiveWanted wanted;
    void *opaque;
} Waiter;

/* In the order of their hurry. */
enum { LANE_URGENT, LANE_MANY, LANE_IDLE, N_LANES };

/* Whose turn it is, where several lanes have something: who wants a file does not wait for the whole tree of another,
 * which goes on nevertheless; and what nobody waits for does not stand still for ever. */
static const guint8 turns[] = {LANE_URGENT, LANE_MANY, LANE_URGENT, LANE_MANY, LANE_URGENT, LANE_MANY, LANE_IDLE};

typedef struct Entry {
    GList link;    /* in its lane */
    GQueue *lane;  /* NULL: it is under way */
    LiveWant want; /* owns its strings */
    char *id;      /* what equal ones have in common */
    GArray *waiters;
} Entry;

typedef struct Request {
    LiveScheduler *scheduler; /* NULL: nobody waits for the reply any more */
    GPtrArray *entries;
    gsize bytes;
    guint cost;
    gint64 sent_at;
    gboolean measured; /* the link was up */
    gboolean urgent;
} Request;

/* What requests took of a main loop whose thread can be seen, until that is known for sure. */
typedef struct Bill {
    guint requests, cost; /* cost: of the last one */
    gboolean urgent;
    double used, paid; /* microseconds that are known, and those that are paid for */
    gint64 began, due; /* due: when to settle it */
} Bill;

struct LiveScheduler {
    LiveSchedulerOptions options;
    LiveLink *link;
    GQueue lanes[N_LANES]; /* of Entry: to be sent */
    guint turn;            /* of turns[] */
    GHashTable *entries;   /* by id: queued, or sent where merging goes so far */
    GQueue requests;       /* under way, in order */
    GSource *timer;        /* sends what had to wait, looks after the deadline */
    double credit_us;      /* may be negative */
    double idle_credit_us; /* the same for what nobody waits for */
    gint64 credited_at;
    gint64 main_ns; /* of the target's main loop, when last looked at */
    Bill bill;
    double us_per_property;
    gint64 last_answer; /* that one came, or was begun to wait for */
    gint64 progress;    /* atomic */
    guint64 received;   /* bytes, when last looked at */
    gboolean stuck;
};

static void scheduler_run(LiveScheduler *scheduler);
static void scheduler_plan(LiveScheduler *scheduler, gint64 delay_us);

/* ---- entries ---- */

static void entry_free(gpointer data)
{
    Entry *entry = data;

    g_free((char *)entry->want.key);
    g_free((char *)entry->want.path);
    g_free((char *)entry->want.name);
    g_free((char *)entry->want.arguments.text);
    g_free(entry->id);
    g_array_unref(entry->waiters);
    g_free(entry);
}

static char *want_id(const LiveWant *want)
{
    return g_strdup_printf("%d%s\n%s\n%.*s", want->kind, want->key ? want->key : "", want->name ? want->name : "",
                           (int)want->arguments.length, want->arguments.text ? want->arguments.text : "");
}

static Entry *entry_new(const LiveWant *want, char *id)
{
    Entry *entry = g_new0(Entry, 1);

    entry->link.data = entry;
    entry->want = *want;
    entry->want.key = g_strdup(want->key);
    entry->want.path = g_strdup(want->path);
    entry->want.name = g_strdup(want->name);
    entry->want.arguments.text = g_strndup(want->arguments.text ? want->arguments.text : "", want->arguments.length);
    entry->id = id;
    entry->waiters = g_array_new(FALSE, FALSE, sizeof(Waiter));
    return entry;
}

static guint want_lane(const LiveWant *want)
{
    return !want->urgent ? LANE_IDLE : want->many ? LANE_MANY : LANE_URGENT;
}

static void entry_push(LiveScheduler *scheduler, Entry *entry, gboolean first)
{
    entry->lane = &scheduler->lanes[want_lane(&entry->want)];
    if (first) {
        g_queue_push_head_link(entry->lane, &entry->link);
    } else {
        g_queue_push_tail_link(entry->lane, &entry->link);
    }
}

static Entry *entry_pop(GQueue *lane)
{
    GList *link = g_queue_pop_head_link(lane);
    Entry *entry = link != NULL ? link->data : NULL;

    if (entry != NULL) {
        entry->lane = NULL;
    }
    return entry;
}

/* Somebody waits for what nobody was in such a hurry for. */
static void entry_hurry(LiveScheduler *scheduler, Entry *entry, const LiveWant *want)
{
    if (entry->lane == NULL || want_lane(want) >= want_lane(&entry->want)) {
        return;
    }
    g_queue_unlink(entry->lane, &entry->link);
    entry->want.urgent = want->urgent;
    entry->want.many = want->many;
    entry_push(scheduler, entry, FALSE);
}

/* Tells the waiters, and frees it. */
static void entry_end(LiveScheduler *scheduler, Entry *entry, const GError *error)
{
    if (g_hash_table_lookup(scheduler->entries, entry->id) == entry) {
        g_hash_table_remove(scheduler->entries, entry->id);
    }
    for (guint i = 0; i < entry->waiters->len; i++) {
        const Waiter *waiter = &g_array_index(entry->waiters, Waiter, i);

        waiter->wanted(error, waiter->opaque);
    }
    entry_free(entry);
}

/* The target answered: it has said this, or that it cannot. */
static void entry_answer(LiveScheduler *scheduler, Entry *entry, JsonSlice value, const GError *error)
{
    gboolean tells = error != NULL && (entry->want.alone || error->domain != QMP_ERROR);

    scheduler->options.answered(&entry->want, value, error, scheduler->options.opaque);
    entry_end(scheduler, entry, tells ? error : NULL);
}

void live_scheduler_want(LiveScheduler *scheduler, const LiveWant *want, LiveWanted wanted, void *opaque)
{
    Waiter waiter = {wanted, opaque};
    char *id = want_id(want);
    Entry *entry = want->alone ? NULL : g_hash_table_lookup(scheduler->entries, id);

    if (entry != NULL) {
        g_free(id);
        entry_hurry(scheduler, entry, want);
    } else {
        entry = entry_new(want, id);
        if (!want->alone) {
            g_hash_table_insert(scheduler->entries, entry->id, entry);
        }
        entry_push(scheduler, entry, FALSE);
    }
    g_array_append_val(entry->waiters, waiter);
    scheduler_plan(scheduler, 0);
}

/* ---- what it costs the target ---- */

static void credit_update(LiveScheduler *scheduler, gint64 now)
{
    double more = (double)(now - scheduler->credited_at) * scheduler->options.duty;

    scheduler->credit_us = MIN(scheduler->credit_us + more, CREDIT_US);
    scheduler->idle_credit_us = MIN(scheduler->idle_credit_us + more * IDLE_SHARE, CREDIT_US * IDLE_SHARE);
    scheduler->credited_at = now;
}

static gboolean is_urgent(const LiveScheduler *scheduler)
{
    return scheduler->lanes[LANE_URGENT].length > 0 || scheduler->lanes[LANE_MANY].length > 0;
}

/* How long to wait until something may be sent; 0: now. */
static gint64 credit_delay(LiveScheduler *scheduler, gint64 now)
{
    gboolean urgent = is_urgent(scheduler);
    double missing;

    credit_update(scheduler, now);
    missing = -scheduler->credit_us;
    if (!urgent) {
        missing = MAX(missing, -scheduler->idle_credit_us / IDLE_SHARE);
    }
    return scheduler->options.duty >= 1 || missing < 0 ? 0 : (gint64)(missing / scheduler->options.duty) + 1;
}

static guint batch_cost(const LiveScheduler *scheduler)
{
    return (guint)CLAMP(STRETCH_US / scheduler->us_per_property, 1, BATCH_PROPERTIES);
}

/* Microseconds of the target's main loop since this was asked last, as it says itself; negative: unknown. */
static double main_us(LiveScheduler *scheduler)
{
    gint64 now = live_link_main_ns(scheduler->link), before = scheduler->main_ns;

    scheduler->main_ns = now;
    return now >= 0 && before >= 0 ? (double)(now - before) / 1000 : -1;
}

static double request_guess(const LiveScheduler *scheduler, const Request *request)
{
    return REQUEST_US + request->cost * scheduler->us_per_property;
}

/* No debt is so large that the pause which pays for it looks like silence of the target: what held its main loop so
 * long may have been another's request. */
static void credit_take(LiveScheduler *scheduler, double us, gboolean urgent)
{
    double debt_max = scheduler->options.duty * (double)scheduler->options.timeout_us / 2;

    scheduler->credit_us = MAX(scheduler->credit_us - us, -debt_max);
    if (!urgent) {
        scheduler->idle_credit_us = MAX(scheduler->idle_credit_us - us, -debt_max * IDLE_SHARE);
    }
}

static void learn_cost(LiveScheduler *scheduler, double took, guint cost)
{
    double each = MIN(took / cost, 4 * scheduler->us_per_property);

    if (cost > SMALL_COST) {
        scheduler->us_per_property = CLAMP(0.75 * scheduler->us_per_property + 0.25 * each, 0.5, 100.0);
    }
}

/* The main loop goes on with a request after its reply, and what the kernel says of a thread that runs is some
 * milliseconds old: only now is it known what was used. No more than passed, though: it has others to work for. */
static void bill_settle(LiveScheduler *scheduler, gint64 now)
{
    Bill *bill = &scheduler->bill;
    double more = main_us(scheduler), used = bill->used + MAX(more, 0);

    if (bill->requests == 0) {
        return;
    }
    used = MIN(used, (double)(now - bill->began));
    credit_take(scheduler, used - bill->paid, bill->urgent);
    if (bill->requests == 1) {
        learn_cost(scheduler, used, bill->cost);
    }
    *bill = (Bill){0};
}

/* What is known by now is paid for at once, the rest when it is. */
static void bill_add(LiveScheduler *scheduler, const Request *request, double passed, double used, gint64 now)
{
    Bill *bill = &scheduler->bill;
    double paid = MAX(used, MIN(request_guess(scheduler, request), passed));

    if (bill->requests++ == 0) {
        bill->began = request->sent_at;
    }
    bill->used += used;
    bill->paid += paid;
    bill->cost = request->cost;
    bill->urgent = request->urgent;
    bill->due = now + SETTLE_US;
    credit_take(scheduler, paid, request->urgent);
    scheduler_plan(scheduler, SETTLE_US);
}

/* Where the main loop's thread cannot be seen: what passed until the reply, less the reading of the request, and no
 * more than a busy machine would make of it. */
static void request_pay(LiveScheduler *scheduler, const Request *request, gint64 now)
{
    double guess = request_guess(scheduler, request), used = main_us(scheduler);
    double passed =
        (double)(now - MAX(request->sent_at, scheduler->last_answer)) - (double)request->bytes * READ_US_PER_BYTE;

    credit_update(scheduler, now);
    if (!request->measured) {
        credit_take(scheduler, guess, request->urgent);
    } else if (used >= 0) {
        bill_add(scheduler, request, passed, used, now);
    } else {
        double took = request->cost <= SMALL_COST ? guess : CLAMP(passed, guess / 4, guess * 4);

        credit_take(scheduler, took, request->urgent);
        learn_cost(scheduler, took, request->cost);
    }
}

/* ---- requests ---- */

static void request_free(Request *request)
{
    g_ptr_array_unref(request->entries);
    g_free(request);
}

/* Where the next one is taken from; NULL: there is none. */
static GQueue *lane_next(LiveScheduler *scheduler)
{
    guint lane = turns[scheduler->turn % G_N_ELEMENTS(turns)];

    if (lane == LANE_IDLE && is_urgent(scheduler) && scheduler->idle_credit_us <= 0) {
        lane = LANE_URGENT;
    }
    if (scheduler->lanes[lane].length > 0) {
        return &scheduler->lanes[lane];
    }
    for (lane = 0; lane < N_LANES; lane++) {
        if (scheduler->lanes[lane].length > 0) {
            return &scheduler->lanes[lane];
        }
    }
    return NULL;
}

/* The next one to be sent, and with it others that go into the same request; NULL: there is none. */
static Request *request_take(LiveScheduler *scheduler)
{
    GQueue *lane = lane_next(scheduler);
    Entry *first = lane != NULL ? g_queue_peek_head(lane) : NULL;
    guint limit = batch_cost(scheduler);
    Request *request;

    if (first == NULL) {
        return NULL;
    }
    /* What takes long goes alone, so that one stretch is not followed by the next. */
    if (!g_queue_is_empty(&scheduler->requests) &&
        (first->want.cost > SMALL_COST || g_queue_get_length(&scheduler->requests) >= WINDOW ||
         ((Request *)g_queue_peek_tail(&scheduler->requests))->cost > SMALL_COST)) {
        return NULL;
    }
    scheduler->turn++;
    request = g_new0(Request, 1);
    request->scheduler = scheduler;
    request->urgent = first->want.urgent;
    request->entries = g_ptr_array_new();
    do {
        Entry *entry = entry_pop(lane);

        g_ptr_array_add(request->entries, entry);
        request->cost += entry->want.cost;
        if (!scheduler->options.merge && g_hash_table_lookup(scheduler->entries, entry->id) == entry) {
            g_hash_table_remove(scheduler->entries, entry->id);
        }
        entry = g_queue_peek_head(lane);
        if (entry == NULL || entry->want.kind != LIVE_OBJECT || first->want.kind != LIVE_OBJECT ||
            request->cost + entry->want.cost > limit) {
            break;
        }
    } while (TRUE);
    return request;
}

static const char *request_write(const Request *request, GString *arguments)
{
    const Entry *first = g_ptr_array_index(request->entries, 0);

    switch (first->want.kind) {
    case LIVE_OBJECT:
        g_string_append(arguments, "{\"paths\":[");
        for (guint i = 0; i < request->entries->len; i++) {
            if (i > 0) {
                g_string_append_c(arguments, ',');
            }
            json_append_string(arguments, ((Entry *)g_ptr_array_index(request->entries, i))->want.path, -1);
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
        Entry *entry = g_ptr_array_index(request->entries, i - 1);

        entry->want.cost = MAX(entry->want.cost, BATCH_PROPERTIES);
        entry_push(scheduler, entry, TRUE);
    }
}

static void request_answer(LiveScheduler *scheduler, Request *request, JsonSlice value, const GError *error)
{
    const Entry *first = g_ptr_array_index(request->entries, 0);
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
    gint64 now = g_get_monotonic_time();

    if (request->entries->len == 0) { /* it took too long, and was given up: a sign of life, no more */
        g_queue_remove(&scheduler->requests, request);
        if (error == NULL || error->domain == QMP_ERROR) {
            scheduler_alive(scheduler, now);
        }
        request_free(request);
        scheduler_plan(scheduler, 0);
        return;
    }
    g_queue_remove(&scheduler->requests, request);
    if (error == NULL || error->domain == QMP_ERROR) {
        request_pay(scheduler, request, now);
        scheduler_alive(scheduler, now);
    }
    request_answer(scheduler, request, value, error);
    request_free(request);
    scheduler_plan(scheduler, 0);
}

static void request_send(LiveScheduler *scheduler, Request *request)
{
    g_autoptr(GString) arguments = g_string_new(NULL);
    const char *command = request_write(request, arguments);
    gint64 now = g_get_monotonic_time();

    request->bytes = arguments->len + strlen(command) + strlen("{\"execute\":\"\",\"arguments\":,\"id\":1}");
    request->sent_at = now;
    request->measured = live_link_state(scheduler->link) == LIVE_LINK_UP;
    if (g_queue_is_empty(&scheduler->requests)) {
        scheduler->last_answer = now;
        scheduler->received = live_link_received(scheduler->link);
        bill_settle(scheduler, now); /* and what it did meanwhile was not for us */
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
        entry_answer(scheduler, entry_pop(lane), (JsonSlice){0}, error);
    }
}

/* Ends all wants. Replies that come yet are thrown away. */
static void scheduler_fail(LiveScheduler *scheduler, const GError *error)
{
    for (GList *item = scheduler->requests.head; item != NULL; item = item->next) {
        Request *request = item->data;

        while (request->entries->len > 0) {
            Entry *entry = g_ptr_array_steal_index(request->entries, request->entries->len - 1);

            entry_answer(scheduler, entry, (JsonSlice){0}, error);
        }
    }
    for (guint lane = 0; lane < N_LANES; lane++) {
        fail_lane(scheduler, &scheduler->lanes[lane], error);
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
    gint64 now = g_get_monotonic_time(), delay, deadline;

    if (scheduler->link == NULL) {
        return;
    }
    if (scheduler->bill.requests > 0 && now >= scheduler->bill.due) {
        credit_update(scheduler, now);
        bill_settle(scheduler, now);
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
    while (is_urgent(scheduler) || scheduler->lanes[LANE_IDLE].length > 0) {
        Request *request;

        delay = credit_delay(scheduler, now);
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
    scheduler->entries = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint lane = 0; lane < N_LANES; lane++) {
        g_queue_init(&scheduler->lanes[lane]);
    }
    g_queue_init(&scheduler->requests);
    scheduler->us_per_property = FIRST_US_PER_PROPERTY;
    scheduler->credit_us = CREDIT_US;
    scheduler->idle_credit_us = CREDIT_US * IDLE_SHARE;
    scheduler->credited_at = scheduler->progress = g_get_monotonic_time();
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
    g_hash_table_unref(scheduler->entries);
    g_free(scheduler);
}

gint64 live_scheduler_progress(LiveScheduler *scheduler)
{
    return __atomic_load_n(&scheduler->progress, __ATOMIC_RELAXED);
}
