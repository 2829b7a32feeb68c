/* SPDX-License-Identifier: MIT */
/*
 * A disk at work: requests, which end on the disk's own loop and are counted there. It outlives the device that it was
 * made for as long as somebody uses it.
 */
#pragma once

#include "vmm/block-file.h"
#include "vmm/block-loop.h"
#include "vmm/block-stats.h"

typedef struct BlockDisk BlockDisk;
typedef struct BlockRequest BlockRequest;

/* What a disk does about a request that failed. */
typedef enum BlockOnError {
    BLOCK_ON_ERROR_REPORT, /* tells who made it */
    BLOCK_ON_ERROR_IGNORE, /* takes it for done */
    BLOCK_ON_ERROR_STOP,   /* stops the VM, and tries again when that goes on */
    BLOCK_ON_ERROR_ENOSPC, /* stop where there is no space, else report */
} BlockOnError;

/* Where the content is, and how it is used; constant. */
typedef struct BlockTarget {
    BlockFile *file;      /* NULL: nowhere; what is read are zeros */
    guint64 offset, size; /* of the content in the file */
    gint64 latency_ns;    /* without a file: how long a request takes */
    gboolean read_only;
    gboolean write_through; /* each write is flushed */
    BlockOnError on_read_error, on_write_error;
} BlockTarget;

/* An error that is to be told of: on the loop. The action is never BLOCK_ON_ERROR_ENOSPC. */
typedef struct BlockDiskOps {
    void (*failed)(BlockDisk *disk, BlockOp op, BlockOnError action, int error, gpointer opaque);
    void (*first_access)(BlockDisk *disk, gpointer opaque); /* there is an idle time from now on */
    void (*unused)(BlockDisk *disk, gpointer opaque);       /* it is closed, and the last user let go: any thread */
} BlockDiskOps;

/* Takes references to all that it is given. */
BlockDisk *block_disk_new(BlockLoop *loop, const BlockTarget *target, BlockStats *stats, const BlockDiskOps *ops,
                          gpointer opaque);
BlockDisk *block_disk_ref(BlockDisk *disk);
void block_disk_unref(BlockDisk *disk);

/* ---- any thread ---- */

BlockLoop *block_disk_loop(const BlockDisk *disk);
BlockStats *block_disk_stats(const BlockDisk *disk);
guint64 block_disk_size(const BlockDisk *disk);
/* The VM stops or goes on. */
void block_disk_set_paused(BlockDisk *disk, gboolean paused);
gboolean block_disk_is_paused(const BlockDisk *disk);
/* No new users from now on, and those that are there are told. TRUE: there is none; else ops->unused will be
 * called. */
gboolean block_disk_close(BlockDisk *disk);
gboolean block_disk_is_closed(const BlockDisk *disk);
/* A user; FALSE: it is closed. */
gboolean block_disk_use(BlockDisk *disk);
void block_disk_release(BlockDisk *disk);

/* ---- the loop only ---- */

/* Who wants to know on the loop that the disk was closed, stopped or goes on. */
typedef struct BlockWatch {
    void (*changed)(gpointer opaque);
    gpointer opaque;
} BlockWatch;
void block_disk_watch(BlockDisk *disk, BlockWatch *watch);
void block_disk_unwatch(BlockDisk *disk, BlockWatch *watch);

struct BlockRequest {
    BlockTask task;
    BlockDisk *disk;
    BlockOp op;
    guint64 offset, bytes;
    void *buffer;
    void (*done)(BlockRequest *request);
    int error; /* when it is done: an errno, or 0 */
    gint64 start_ns, took_ns;
};

/* The request belongs to the disk until done is called, on the loop, and never from within. Its user must hold the
 * disk. */
void block_disk_submit(BlockDisk *disk, BlockRequest *request);
