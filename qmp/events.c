/* SPDX-License-Identifier: MIT */
/* See events.h. All state is under one lock, which is held for moments only. */
#include "qmp/events.h"

#include <string.h>

struct QmpEvents {
    QmpRegistry *registry;
    void (*wake)(void *opaque);
    void *opaque;
    const QmpFaultHooks *faults; /* or NULL */

    GMutex lock;
    GString *due;          /* messages that can be sent */
    GHashTable *held_back; /* event_key() -> Interval, those that run */
    GQueue late;           /* Late: what a fault holds back */
};

typedef struct Late {
    gint64 due;
    GString *message;
} Late;

static void late_free(gpointer data)
{
    Late *late = data;

    g_string_free(late->message, TRUE);
    g_free(late);
}

/* An interval in which one event of a kind was sent already. */
typedef struct Interval {
    gint64 end; /* monotonic, microseconds */
    gint64 length;
    GString *last; /* the message to be sent at its end, or NULL */
} Interval;

static void interval_free(gpointer data)
{
    Interval *interval = data;

    if (interval->last != NULL) {
        g_string_free(interval->last, TRUE);
    }
    g_free(interval);
}

QmpEvents *qmp_events_new(QmpRegistry *registry, void (*wake)(void *opaque), void *opaque)
{
    QmpEvents *events = g_new0(QmpEvents, 1);

    events->registry = qmp_registry_ref(registry);
    events->wake = wake;
    events->opaque = opaque;
    g_mutex_init(&events->lock);
    events->due = g_string_new(NULL);
    g_queue_init(&events->late);
    events->held_back = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, interval_free);
    return events;
}

void qmp_events_free(QmpEvents *events)
{
    if (events == NULL) {
        return;
    }
    g_hash_table_unref(events->held_back);
    g_queue_clear_full(&events->late, late_free);
    g_string_free(events->due, TRUE);
    g_mutex_clear(&events->lock);
    qmp_registry_unref(events->registry);
    g_free(events);
}

/* Which events are held back together. */
static char *event_key(const QmpEvent *event, JsonSlice data)
{
    JsonSlice about = event->about != NULL && data.length > 0 ? json_member(data, event->about) : (JsonSlice){"", 0};

    return g_strdup_printf("%s/%.*s", event->name, (int)about.length, about.text);
}

/* Under lock: puts a message where it belongs; takes it over. key NULL: it is not held back. */
static void events_put(QmpEvents *events, const char *key, guint interval_ms, GString *message)
{
    Interval *interval = key != NULL ? g_hash_table_lookup(events->held_back, key) : NULL;

    if (interval != NULL) {
        if (interval->last != NULL) {
            g_string_free(interval->last, TRUE);
        }
        interval->last = message;
        return;
    }
    if (key != NULL) {
        interval = g_new0(Interval, 1);
        interval->length = (gint64)interval_ms * 1000;
        interval->end = g_get_monotonic_time() + interval->length;
        g_hash_table_insert(events->held_back, g_strdup(key), interval);
    }
    g_string_append_len(events->due, message->str, (gssize)message->len);
    g_string_free(message, TRUE);
}

void qmp_events_set_faults(QmpEvents *events, const QmpFaultHooks *faults)
{
    events->faults = faults;
}

static void events_put_late(QmpEvents *events, gint64 delay_us, GString *message)
{
    Late *late = g_new(Late, 1);

    *late = (Late){.due = g_get_monotonic_time() + delay_us, .message = message};
    g_mutex_lock(&events->lock);
    g_queue_push_tail(&events->late, late);
    g_mutex_unlock(&events->lock);
    events->wake(events->opaque); /* which waits until then */
}

void qmp_events_pass(QmpEvents *events, JsonSlice message)
{
    gboolean asleep;

    g_mutex_lock(&events->lock);
    asleep = events->due->len == 0;
    json_append_slice(events->due, message);
    g_string_append(events->due, "\r\n");
    g_mutex_unlock(&events->lock);
    if (asleep) {
        events->wake(events->opaque);
    }
}

void qmp_events_emit(QmpEvents *events, const char *name, JsonSlice data, gint64 time_us)
{
    QmpFault fault = {0};
    const QmpEvent *event = qmp_registry_find_event(events->registry, name);
    guint interval_ms = event != NULL ? event->interval_ms : 0;
    g_autofree char *key = interval_ms > 0 ? event_key(event, data) : NULL;
    GString *message = g_string_new(NULL);
    gboolean asleep;

    qmp_append_event(message, name, data, time_us);
    if (events->faults != NULL) {
        events->faults->event(name, &fault, events->faults->opaque);
    }
    if (fault.kind == QMP_FAULT_HANG) {
        g_string_free(message, TRUE);
        return;
    }
    if (fault.kind == QMP_FAULT_DELAY) {
        events_put_late(events, fault.delay_us, message);
        return;
    }
    g_mutex_lock(&events->lock);
    asleep = events->due->len == 0;
    events_put(events, key, interval_ms, message);
    asleep = asleep && events->due->len > 0;
    g_mutex_unlock(&events->lock);
    if (asleep) {
        events->wake(events->opaque);
    }
}

/* Under lock: the intervals that have ended. Returns the end of the next one, or -1. */
static gint64 events_end_intervals(QmpEvents *events, gint64 now)
{
    GHashTableIter iter;
    gpointer value;
    gint64 next = -1;

    g_hash_table_iter_init(&iter, events->held_back);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Interval *interval = value;

        if (interval->end <= now && interval->last == NULL) {
            g_hash_table_iter_remove(&iter);
            continue;
        }
        if (interval->end <= now) {
            g_string_append_len(events->due, interval->last->str, (gssize)interval->last->len);
            g_string_free(g_steal_pointer(&interval->last), TRUE);
            interval->end = now + interval->length;
        }
        next = next < 0 ? interval->end : MIN(next, interval->end);
    }
    return next;
}

/* Under lock: what was late and is due. Returns when the next is, or -1. */
static gint64 events_end_late(QmpEvents *events, gint64 now)
{
    gint64 next = -1;

    for (GList *link = events->late.head, *following; link != NULL; link = following) {
        Late *late = link->data;

        following = link->next;
        if (late->due <= now) {
            g_string_append_len(events->due, late->message->str, (gssize)late->message->len);
            late_free(late);
            g_queue_delete_link(&events->late, link);
        } else {
            next = next < 0 ? late->due : MIN(next, late->due);
        }
    }
    return next;
}

gint64 qmp_events_take(QmpEvents *events, gint64 now, GString *out)
{
    gint64 next, late;

    g_mutex_lock(&events->lock);
    next = events_end_intervals(events, now);
    late = events_end_late(events, now);
    next = next < 0 || (late >= 0 && late < next) ? late : next;
    g_string_append_len(out, events->due->str, (gssize)events->due->len);
    g_string_truncate(events->due, 0);
    g_mutex_unlock(&events->lock);
    return next;
}
