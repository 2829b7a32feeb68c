/* SPDX-License-Identifier: MIT */
/* See io-latency.h. */
#include "vmm/io-latency.h"

/* Values below the number of steps have a range each; from there on the leading bits say which. */
static guint range_of(guint64 ns)
{
    guint shift;

    if (ns < IO_LATENCY_STEPS)
        return (guint)ns;
    shift = 63 - (guint)__builtin_clzll(ns) - 5;
    return shift * IO_LATENCY_STEPS + (guint)(ns >> shift);
}

/* The highest value of a range. */
static guint64 range_end(guint range)
{
    guint shift;

    if (range < IO_LATENCY_STEPS)
        return range;
    shift = range / IO_LATENCY_STEPS - 1;
    return ((guint64)(range - shift * IO_LATENCY_STEPS + 1) << shift) - 1;
}

void io_latency_add(IoLatency *latency, guint64 ns)
{
    _Atomic guint64 *count = &latency->counts[range_of(ns)];
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

guint64 io_latency_percentile(const IoLatency *latency, guint per_mille)
{
    guint64 counts[IO_LATENCY_RANGES], total = 0, sum = 0, wanted;

    for (guint i = 0; i < IO_LATENCY_RANGES; i++)
        total += counts[i] = atomic_load_explicit(&latency->counts[i], memory_order_relaxed);
    wanted = (total * per_mille + 999) / 1000;
    for (guint i = 0; i < IO_LATENCY_RANGES && total; i++) {
        sum += counts[i];
        if (sum >= wanted)
            return range_end(i);
    }
    return 0;
}
