/* SPDX-License-Identifier: MIT */
/*
 * The counters of one block node. Only the thread that does the node's I/O writes them; any
 * thread reads them, without a lock, and always a set of one moment.
 */
#pragma once

#include "objmodel/object.h"

typedef struct BlockStats BlockStats;

typedef enum BlockOp {
    BLOCK_READ,
    BLOCK_WRITE,
    BLOCK_FLUSH,
    BLOCK_UNMAP,
    N_BLOCK_OPS,
} BlockOp;

/* account: whether invalid and failed requests count (of what a guest's disk is attached to they do). */
BlockStats *block_stats_new(gboolean account);
BlockStats *block_stats_ref(BlockStats *stats);
void block_stats_unref(BlockStats *stats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockStats, block_stats_unref)

/* The writer: a request of `bytes` at `offset` is done, and took so many nanoseconds. */
void block_stats_done(BlockStats *stats, BlockOp op, guint64 offset, guint64 bytes, guint64 ns);

/* Any thread: appends them as BlockDeviceStats. */
void block_stats_append(const BlockStats *stats, GString *out);
