/* SPDX-License-Identifier: MIT */
/*
 * The notifier. What the kernel does not know (there is no inode of it) needs no
 * notification, and neither does anything below: so the comparison goes no deeper than the
 * kernel's knowledge. A file that changed gets a new node id: its old name is invalidated.
 */
#include "fs/notify.h"

#include <string.h>

#include "fs/inode.h"
#include "fs/special.h"

struct Notifier {
    Fs *fs;
    SnapshotWatcher *watcher;
    Snapshot *told; /* the kernel knows of it; the thread's own */
    GMutex lock;
    GCond wake;
    gboolean published; /* since the thread looked last; under the lock */
    gboolean stopping;  /* under the lock */
    gint stopped;       /* atomic */
    GThread *thread;
};

/* Comparing one directory, of which the kernel knows. */
typedef struct Comparison {
    Fs *fs;
    Inode *dir;
    const Node *before, *after; /* its nodes */
} Comparison;

static void invalidate_name(const Comparison *comparison, const char *name)
{
    fuse_lowlevel_notify_inval_entry(comparison->fs->session, inode_id(comparison->fs, comparison->dir), name,
                                     strlen(name));
}

/* The name, where the kernel may know this version of what had it. */
static void invalidate_version(const Comparison *comparison, const char *name, guint64 ino, guint64 version)
{
    Inode *inode = inode_find(comparison->fs->inodes, ino, version);
    if (!inode)
        return;
    invalidate_name(comparison, name);
    inode_unref(comparison->fs->inodes, inode);
}

/* A file or symlink that is another version now, or gone. */
static void compare_name(const Comparison *comparison, const char *name)
{
    Item was, is;
    if (!item_find(comparison->fs, comparison->before, 0, name, &was))
        return;
    if (!item_find(comparison->fs, comparison->after, 0, name, &is) || is.ino != was.ino || is.version != was.version)
        invalidate_version(comparison, name, was.ino, was.version);
}

static void compare(Fs *fs, const Node *before, const Node *after);

static void compare_child(const Node *before, const Node *after, void *opaque)
{
    const Comparison *comparison = opaque;
    if (!before)
        return; /* a name that was not there is not cached */
    if (before->kind == NODE_VALUE)
        compare_name(comparison, before->name);
    else if (after && before->id == after->id)
        compare(comparison->fs, before, after);
    else
        invalidate_version(comparison, before->name, before->id, 0);
}

static void compare_files(const Comparison *comparison)
{
    for (guint i = 0; i < n_special_files; i++)
        compare_name(comparison, special_files[i].name);
    if (comparison->before->stamp == comparison->after->stamp)
        return;
    for (guint slot = 0; slot < node_slot_count(comparison->before); slot++)
        compare_name(comparison, node_slot_info(comparison->before, slot)->name);
}

static void compare(Fs *fs, const Node *before, const Node *after)
{
    Inode *inode = before == after ? NULL : inode_find(fs->inodes, before->id, 0);
    if (!inode)
        return;
    Comparison comparison = {.fs = fs, .dir = inode, .before = before, .after = after};
    compare_files(&comparison);
    children_diff(before->children, after->children, compare_child, &comparison);
    if (before->stamp != after->stamp) /* its own attributes, not its listing */
        fuse_lowlevel_notify_inval_inode(fs->session, inode_id(fs, inode), -1, 0);
    inode_unref(fs->inodes, inode);
}

static void notifier_published(Snapshot *snapshot, void *opaque)
{
    (void)snapshot;
    Notifier *notifier = opaque;
    g_mutex_lock(&notifier->lock);
    notifier->published = TRUE;
    g_cond_signal(&notifier->wake);
    g_mutex_unlock(&notifier->lock);
}

/* Waits for a publication; FALSE where the thread is to end. */
static gboolean notifier_wait(Notifier *notifier)
{
    g_mutex_lock(&notifier->lock);
    while (!notifier->published && !notifier->stopping)
        g_cond_wait(&notifier->wake, &notifier->lock);
    notifier->published = FALSE;
    gboolean go_on = !notifier->stopping;
    g_mutex_unlock(&notifier->lock);
    return go_on;
}

static gpointer notifier_thread(gpointer data)
{
    Notifier *notifier = data;
    Fs *fs = notifier->fs;
    while (notifier_wait(notifier)) {
        Snapshot *newest = snapshots_current(fs->snapshots);
        compare(fs, notifier->told->root, newest->root);
        snapshot_unref(notifier->told);
        notifier->told = newest;
        snapshots_settled(fs->snapshots, notifier->watcher, newest->generation);
    }
    g_atomic_int_set(&notifier->stopped, TRUE);
    return NULL;
}

Notifier *notifier_new(Fs *fs)
{
    Notifier *notifier = g_new0(Notifier, 1);
    notifier->fs = fs;
    g_mutex_init(&notifier->lock);
    g_cond_init(&notifier->wake);
    notifier->told = snapshots_current(fs->snapshots);
    notifier->published = TRUE; /* one may come in between */
    notifier->watcher = snapshots_watch(fs->snapshots, notifier_published, notifier);
    notifier->thread = g_thread_new("notifier", notifier_thread, notifier);
    return notifier;
}

void notifier_stop(Notifier *notifier)
{
    g_mutex_lock(&notifier->lock);
    notifier->stopping = TRUE;
    g_cond_signal(&notifier->wake);
    g_mutex_unlock(&notifier->lock);
}

gboolean notifier_stopped(Notifier *notifier)
{
    return g_atomic_int_get(&notifier->stopped);
}

void notifier_free(Notifier *notifier)
{
    if (!notifier)
        return;
    snapshots_unwatch(notifier->fs->snapshots, notifier->watcher);
    g_thread_join(notifier->thread);
    snapshot_unref(notifier->told);
    g_cond_clear(&notifier->wake);
    g_mutex_clear(&notifier->lock);
    g_free(notifier);
}
