/* SPDX-License-Identifier: MIT */
/* The mount: one function for the whole folder. */
#pragma once

#include "objmodel/event-log.h"
#include "objmodel/source.h"

typedef struct FsOptions {
    const char *mount_point;
    const char *fsname;         /* what /proc/mounts shows as the device */
    const char *kernel_options; /* further options for mount(2) and libfuse, "a,b=c"; or NULL */
    gboolean allow_other;
    gboolean read_only;
    gboolean debug;     /* libfuse's own log of requests, on stderr */
    gboolean hide_tree; /* .tree.json is not listed, though it can be opened */
    guint uid, gid;     /* who owns everything */
    guint umask;        /* permission bits taken away */
    gint64 timeout_us;  /* how long a request may wait for the source */
    EventLog *events;   /* what `events` shows; NULL: there is none */
    const char *qmp;    /* where `qmp` links to; NULL: there is none */
    /* Called once, on any thread, when requests are served. */
    void (*ready)(void *opaque);
    void *ready_data;
} FsOptions;

/*
 * Mounts the source's snapshots and serves them until the mount is gone: by SIGINT, SIGTERM or
 * SIGHUP (which unmount), by umount, or by fs_stop(). Returns TRUE after any of these. The
 * caller has these signals blocked in all other threads. One at a time in a process.
 */
gboolean fs_run(Source *source, const FsOptions *options, GError **error);

/* Ends fs_run() from any thread; called before it, fs_run() ends as soon as it has mounted. */
void fs_stop(void);
