/* SPDX-License-Identifier: MIT */
/*
 * How long requests took: counts by ranges that are 1/32 of their value wide, so that percentiles are exact to 3 %.
 * One writer, readers on any thread.
 */
#pragma once

#include <glib.h>
#include <stdatomic.h>

enum {
    IO_LATENCY_STEPS = 32, /* ranges for each doubling */
    IO_LATENCY_RANGES = 60 * IO_LATENCY_STEPS,
};

typedef struct IoLatency {
    _Atomic guint64 counts[IO_LATENCY_RANGES];
} IoLatency;

void io_latency_add(IoLatency *latency, guint64 ns);

/* Nanoseconds that so many in a thousand took at most; 0: there were none. */
guint64 io_latency_percentile(const IoLatency *latency, guint per_mille);
