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

typedef struct BlockStatsOptions {
    gboolean account_invalid; /* whether an invalid request is an access, to idle_time_ns */
    gboolean account_failed;  /* the same of a failed one, whose time counts then, too */
    const guint *intervals;   /* seconds; each gets an entry of timed_stats */
    guint n_intervals;
} BlockStatsOptions;

BlockStats *block_stats_new(const BlockStatsOptions *options);
BlockStats *block_stats_ref(BlockStats *stats);
void block_stats_unref(BlockStats *stats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockStats, block_stats_unref)

/* ---- the writer ---- */

/* A request of `bytes` at `offset` is done, and took so many nanoseconds until now. */
void block_stats_done(BlockStats *stats, BlockOp op, guint64 offset, guint64 bytes, gint64 ns, gint64 now_ns);
void block_stats_failed(BlockStats *stats, BlockOp op, gint64 ns, gint64 now_ns);
/* A request that could not be right: it was not begun. */
void block_stats_invalid(BlockStats *stats, BlockOp op, gint64 now_ns);
/* So many requests became part of another one. */
void block_stats_merged(BlockStats *stats, BlockOp op, guint64 n);

/* ---- any thread ---- */

/* What belongs together, of one moment. */
typedef struct BlockSums {
    guint64 operations, bytes, failed; /* of reads and writes */
    guint64 flushes;
    guint64 highest_offset; /* 1 + that of the last byte written */
} BlockSums;
BlockSums block_stats_sums(const BlockStats *stats);

/* Whether there was any access yet. */
gboolean block_stats_accessed(const BlockStats *stats);

/* What is shown, of one moment. */
typedef struct BlockReading BlockReading;
BlockReading *block_stats_read(const BlockStats *stats);
void block_reading_free(BlockReading *reading);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockReading, block_reading_free)
/* Appends it as BlockDeviceStats. idle: with idle_time_ns. */
void block_reading_append(const BlockReading *reading, gboolean idle, GString *out);
/* The same of a node below, which counts nothing but the highest offset. before: where its content begins to be the
 * disk's; kept: what it had before. */
void block_reading_append_node(const BlockReading *reading, guint64 before, guint64 kept, GString *out);
