/* SPDX-License-Identifier: MIT */
/*
 * Latencies of the last so many seconds: timed_stats. A window that moves is made of two that stand, one of which began
 * half an interval after the other: what is told is of the older one, which began between half an interval and a whole
 * one ago. One writer; readers on any thread.
 */
#pragma once

#include "vmm/block-stats.h"

typedef struct BlockIntervals BlockIntervals;

/* seconds: the length of each. */
BlockIntervals *block_intervals_new(const guint *seconds, guint n);
void block_intervals_free(BlockIntervals *intervals);
/* A request that took so many nanoseconds until now. */
void block_intervals_add(BlockIntervals *intervals, BlockOp op, gint64 ns, gint64 now_ns);
/* Appends a list of BlockDeviceTimedStats. */
void block_intervals_append(BlockIntervals *intervals, GString *out);
