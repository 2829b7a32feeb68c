/* SPDX-License-Identifier: MIT */
/*
 * The store of snapshots: one pointer to the newest, swapped under a lock that is held for
 * the few instructions that a swap or a reference takes; and who waits for what follows.
 */
#include "objmodel/snapshot.h"

#include <time.h>

struct SnapshotWatcher {
    void (*published)(Snapshot *snapshot, void *opaque);
    void *opaque;
    guint64 settled; /* all that follows from this generation is done */
};

typedef struct Waiter {
    guint64 generation;
    void (*done)(void *opaque);
    void *opaque;
} Waiter;

struct Snapshots {
    GMutex lock; /* for `current` */
    Snapshot *current;
    GMutex watch_lock; /* for what follows; never held together with a call of `done` */
    GPtrArray *watchers;
    GQueue waiters; /* of Waiter, owned */
    /* The publisher's own. */
    guint64 stamp;
    guint64 generation;
};

Snapshot *snapshot_ref(Snapshot *snapshot)
{
    g_atomic_ref_count_inc(&snapshot->refs);
    return snapshot;
}

void snapshot_unref(Snapshot *snapshot)
{
    if (!snapshot || !g_atomic_ref_count_dec(&snapshot->refs))
        return;
    node_unref(snapshot->root);
    g_free(snapshot);
}

Snapshots *snapshots_new(void)
{
    Snapshots *snapshots = g_new0(Snapshots, 1);
    g_mutex_init(&snapshots->lock);
    g_mutex_init(&snapshots->watch_lock);
    snapshots->watchers = g_ptr_array_new_with_free_func(g_free);
    g_queue_init(&snapshots->waiters);
    return snapshots;
}

Snapshot *snapshots_current(Snapshots *snapshots)
{
    g_mutex_lock(&snapshots->lock);
    Snapshot *current = snapshots->current ? snapshot_ref(snapshots->current) : NULL;
    g_mutex_unlock(&snapshots->lock);
    return current;
}

guint64 snapshots_next_stamp(Snapshots *snapshots, guint64 at_least)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    guint64 now = (guint64)time.tv_sec * G_GUINT64_CONSTANT(1000000000) + (guint64)time.tv_nsec;
    snapshots->stamp = MAX(MAX(now, at_least), snapshots->stamp + 1);
    return snapshots->stamp;
}

guint64 snapshots_next_generation(Snapshots *snapshots)
{
    return snapshots->generation + 1;
}

void snapshots_publish(Snapshots *snapshots, Node *root, guint64 stamp)
{
    Snapshot *snapshot = g_new0(Snapshot, 1);
    g_atomic_ref_count_init(&snapshot->refs);
    snapshot->generation = ++snapshots->generation;
    snapshot->stamp = stamp;
    snapshot->root = node_ref(root);

    g_mutex_lock(&snapshots->lock);
    Snapshot *before = g_steal_pointer(&snapshots->current);
    snapshots->current = snapshot_ref(snapshot);
    g_mutex_unlock(&snapshots->lock);

    g_mutex_lock(&snapshots->watch_lock);
    for (guint i = 0; i < snapshots->watchers->len; i++) {
        SnapshotWatcher *watcher = g_ptr_array_index(snapshots->watchers, i);
        watcher->published(snapshot, watcher->opaque);
    }
    g_mutex_unlock(&snapshots->watch_lock);
    snapshot_unref(snapshot);
    snapshot_unref(before);
}

/* ---- watchers and waiters ---- */

static guint64 settled_by_all(const Snapshots *snapshots)
{
    guint64 settled = G_MAXUINT64;
    for (guint i = 0; i < snapshots->watchers->len; i++) {
        const SnapshotWatcher *watcher = g_ptr_array_index(snapshots->watchers, i);
        settled = MIN(settled, watcher->settled);
    }
    return settled;
}

/* Takes the waiters that need not wait any longer off the queue; with watch_lock held. */
static GQueue take_settled(Snapshots *snapshots)
{
    GQueue ready = G_QUEUE_INIT;
    guint64 settled = settled_by_all(snapshots);
    for (GList *link = snapshots->waiters.head, *next; link; link = next) {
        next = link->next;
        if (((Waiter *)link->data)->generation <= settled) {
            g_queue_unlink(&snapshots->waiters, link);
            g_queue_push_tail_link(&ready, link);
        }
    }
    return ready;
}

static void call_waiters(GQueue *ready)
{
    for (Waiter *waiter; (waiter = g_queue_pop_head(ready));) {
        waiter->done(waiter->opaque);
        g_free(waiter);
    }
}

void snapshots_free(Snapshots *snapshots)
{
    if (!snapshots)
        return;
    call_waiters(&snapshots->waiters); /* nobody is left to wait for */
    snapshot_unref(snapshots->current);
    g_ptr_array_unref(snapshots->watchers);
    g_mutex_clear(&snapshots->watch_lock);
    g_mutex_clear(&snapshots->lock);
    g_free(snapshots);
}

SnapshotWatcher *snapshots_watch(Snapshots *snapshots, void (*published)(Snapshot *snapshot, void *opaque),
                                 void *opaque)
{
    SnapshotWatcher *watcher = g_new0(SnapshotWatcher, 1);
    watcher->published = published;
    watcher->opaque = opaque;
    g_mutex_lock(&snapshots->watch_lock);
    g_autoptr(Snapshot) current = snapshots_current(snapshots);
    watcher->settled = current ? current->generation : 0;
    g_ptr_array_add(snapshots->watchers, watcher);
    g_mutex_unlock(&snapshots->watch_lock);
    return watcher;
}

void snapshots_unwatch(Snapshots *snapshots, SnapshotWatcher *watcher)
{
    g_mutex_lock(&snapshots->watch_lock);
    g_ptr_array_remove(snapshots->watchers, watcher);
    GQueue ready = take_settled(snapshots);
    g_mutex_unlock(&snapshots->watch_lock);
    call_waiters(&ready);
}

void snapshots_settled(Snapshots *snapshots, SnapshotWatcher *watcher, guint64 generation)
{
    g_mutex_lock(&snapshots->watch_lock);
    watcher->settled = MAX(watcher->settled, generation);
    GQueue ready = take_settled(snapshots);
    g_mutex_unlock(&snapshots->watch_lock);
    call_waiters(&ready);
}

void snapshots_when_settled(Snapshots *snapshots, guint64 generation, void (*done)(void *opaque), void *opaque)
{
    g_mutex_lock(&snapshots->watch_lock);
    gboolean settled = settled_by_all(snapshots) >= generation;
    if (!settled) {
        Waiter *waiter = g_new(Waiter, 1);
        *waiter = (Waiter){.generation = generation, .done = done, .opaque = opaque};
        g_queue_push_tail(&snapshots->waiters, waiter);
    }
    g_mutex_unlock(&snapshots->watch_lock);
    if (settled)
        done(opaque);
}
