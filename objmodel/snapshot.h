/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: the versions of everything that a mount shows. One thread publishes (of
 * the model: the VM's main loop); any thread takes a reference to the current one and
 * reads it without a lock.
 *
 * A snapshot's stamp is its time of publication, in nanoseconds since the epoch, and
 * strictly greater than the one before: it serves as the version of whatever changed in it,
 * and as the mtime.
 */
#pragma once

#include "objmodel/node.h"

typedef struct Snapshot {
    gatomicrefcount refs;
    guint64 generation; /* 1 for the first */
    guint64 stamp;
    Node *root;
} Snapshot;

Snapshot *snapshot_ref(Snapshot *snapshot);
void snapshot_unref(Snapshot *snapshot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Snapshot, snapshot_unref)

typedef struct Snapshots Snapshots;

Snapshots *snapshots_new(void);
void snapshots_free(Snapshots *snapshots);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Snapshots, snapshots_free)

/* A new reference to the newest; NULL before the first. */
Snapshot *snapshots_current(Snapshots *snapshots);

/* The publisher: a stamp for the snapshot to come, at least `at_least`; then that snapshot.
 * Takes its own reference to root. */
guint64 snapshots_next_stamp(Snapshots *snapshots, guint64 at_least);
guint64 snapshots_next_generation(Snapshots *snapshots);
void snapshots_publish(Snapshots *snapshots, Node *root, guint64 stamp);

/*
 * Watchers are told of each publication, on the publisher's thread, and must return at
 * once: `published` (which gets the new one) typically wakes a thread that compares and
 * tells others. When all that follows from a generation is done, that thread calls
 * snapshots_settled().
 */
typedef struct SnapshotWatcher SnapshotWatcher;
SnapshotWatcher *snapshots_watch(Snapshots *snapshots, void (*published)(Snapshot *snapshot, void *opaque),
                                 void *opaque);
/* After it returns, `published` is not called any more; counts as having settled all. */
void snapshots_unwatch(Snapshots *snapshots, SnapshotWatcher *watcher);
void snapshots_settled(Snapshots *snapshots, SnapshotWatcher *watcher, guint64 generation);

/* Calls done once all watchers have settled this generation: at once where they have, else
 * later, on a watcher's thread. So a change can be answered when everybody sees it. */
void snapshots_when_settled(Snapshots *snapshots, guint64 generation, void (*done)(void *opaque), void *opaque);
