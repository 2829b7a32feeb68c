/* SPDX-License-Identifier: MIT */
/* See queue.h. */
#include "vmm/live/queue.h"

typedef struct Waiter {
    LiveWanted wanted;
    void *opaque;
} Waiter;

/* Whose turn it is, where several lanes have something: who wants a file does not wait for the whole tree of another,
 * which goes on nevertheless; and what nobody waits for does not stand still for ever. */
static const guint8 turns[] = {LIVE_LANE_URGENT, LIVE_LANE_MANY, LIVE_LANE_URGENT, LIVE_LANE_MANY,
                               LIVE_LANE_URGENT, LIVE_LANE_MANY, LIVE_LANE_IDLE};

/* ---- entries ---- */

static void entry_free(LiveEntry *entry)
{
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

static LiveEntry *entry_new(const LiveWant *want, char *id)
{
    LiveEntry *entry = g_new0(LiveEntry, 1);

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
    return !want->urgent ? LIVE_LANE_IDLE : want->many ? LIVE_LANE_MANY : LIVE_LANE_URGENT;
}

static void entry_push(LiveQueue *queue, LiveEntry *entry)
{
    entry->lane = &queue->lanes[want_lane(&entry->want)];
    g_queue_push_tail_link(entry->lane, &entry->link);
}

/* Somebody waits for what nobody was in such a hurry for. */
static void entry_hurry(LiveQueue *queue, LiveEntry *entry, const LiveWant *want)
{
    if (entry->lane == NULL || want_lane(want) >= want_lane(&entry->want)) {
        return;
    }
    g_queue_unlink(entry->lane, &entry->link);
    entry->want.urgent = want->urgent;
    entry->want.many = want->many;
    entry_push(queue, entry);
}

/* ---- adding ---- */

void live_queue_add(LiveQueue *queue, const LiveWant *want, LiveWanted wanted, void *opaque)
{
    Waiter waiter = {wanted, opaque};
    char *id = want_id(want);
    LiveEntry *entry = want->alone ? NULL : g_hash_table_lookup(queue->entries, id);

    if (entry != NULL) {
        g_free(id);
        entry_hurry(queue, entry, want);
    } else {
        entry = entry_new(want, id);
        if (!want->alone) {
            g_hash_table_insert(queue->entries, entry->id, entry);
        }
        entry_push(queue, entry);
    }
    g_array_append_val(entry->waiters, waiter);
}

gboolean live_queue_is_urgent(const LiveQueue *queue)
{
    return queue->lanes[LIVE_LANE_URGENT].length > 0 || queue->lanes[LIVE_LANE_MANY].length > 0;
}

gboolean live_queue_is_empty(const LiveQueue *queue)
{
    return !live_queue_is_urgent(queue) && queue->lanes[LIVE_LANE_IDLE].length == 0;
}

/* ---- taking ---- */

LiveEntry *live_queue_first(const LiveQueue *queue, gboolean idle)
{
    guint lane = turns[queue->turn % G_N_ELEMENTS(turns)];

    if (lane == LIVE_LANE_IDLE && live_queue_is_urgent(queue) && !idle) {
        lane = LIVE_LANE_URGENT;
    }
    if (queue->lanes[lane].length > 0) {
        return queue->lanes[lane].head->data;
    }
    for (lane = 0; lane < N_LIVE_LANES; lane++) {
        if (queue->lanes[lane].length > 0) {
            return queue->lanes[lane].head->data;
        }
    }
    return NULL;
}

void live_queue_turn(LiveQueue *queue)
{
    queue->turn++;
}

LiveEntry *live_queue_take(LiveQueue *queue, LiveEntry *entry)
{
    GQueue *lane = entry->lane;
    GList *next = entry->link.next;

    (void)queue;
    g_queue_unlink(lane, &entry->link);
    entry->lane = NULL;
    return next != NULL ? next->data : NULL;
}

void live_queue_put_back(LiveQueue *queue, LiveEntry *entry)
{
    entry->lane = &queue->lanes[want_lane(&entry->want)];
    g_queue_push_head_link(entry->lane, &entry->link);
}

void live_queue_part(LiveQueue *queue, LiveEntry *entry)
{
    if (g_hash_table_lookup(queue->entries, entry->id) == entry) {
        g_hash_table_remove(queue->entries, entry->id);
    }
}

void live_queue_end(LiveQueue *queue, LiveEntry *entry, const GError *error)
{
    live_queue_part(queue, entry);
    for (guint i = 0; i < entry->waiters->len; i++) {
        const Waiter *waiter = &g_array_index(entry->waiters, Waiter, i);

        waiter->wanted(error, waiter->opaque);
    }
    entry_free(entry);
}

/* ---- life ---- */

void live_queue_init(LiveQueue *queue)
{
    *queue = (LiveQueue){.entries = g_hash_table_new(g_str_hash, g_str_equal)};
    for (guint lane = 0; lane < N_LIVE_LANES; lane++) {
        g_queue_init(&queue->lanes[lane]);
    }
}

void live_queue_clear(LiveQueue *queue)
{
    g_hash_table_unref(queue->entries);
}
