/* SPDX-License-Identifier: MIT */
/*
 * Counters behind a sequence lock: the writer makes the sequence odd, changes what it has to, and
 * makes it even again; a reader that sees it odd, or another one afterwards, reads once more. All
 * accesses are atomic; each field is stored with release and loaded with acquire, which orders
 * them against the sequence.
 */
#include "vmm/block-stats.h"

#include <stdatomic.h>

typedef enum Counter {
    UNMAP_OPERATIONS,
    UNMAP_MERGED,
    FAILED_ZONE_APPEND_OPERATIONS,
    FLUSH_TOTAL_TIME_NS,
    WR_HIGHEST_OFFSET,
    WR_TOTAL_TIME_NS,
    FAILED_WR_OPERATIONS,
    FAILED_RD_OPERATIONS,
    WR_MERGED,
    WR_BYTES,
    FAILED_UNMAP_OPERATIONS,
    ZONE_APPEND_MERGED,
    FAILED_FLUSH_OPERATIONS,
    RD_TOTAL_TIME_NS,
    INVALID_UNMAP_OPERATIONS,
    FLUSH_OPERATIONS,
    WR_OPERATIONS,
    UNMAP_BYTES,
    RD_MERGED,
    RD_BYTES,
    UNMAP_TOTAL_TIME_NS,
    INVALID_FLUSH_OPERATIONS,
    ZONE_APPEND_TOTAL_TIME_NS,
    ZONE_APPEND_OPERATIONS,
    RD_OPERATIONS,
    ZONE_APPEND_BYTES,
    INVALID_ZONE_APPEND_OPERATIONS,
    INVALID_WR_OPERATIONS,
    INVALID_RD_OPERATIONS,
    N_COUNTERS,
} Counter;

struct BlockStats {
    gatomicrefcount refs;
    gboolean account;
    atomic_uint sequence;
    _Atomic guint64 counters[N_COUNTERS];
};

/* The members of BlockDeviceStats in QEMU's order; those that are no counters are written where they stand. */
enum { TIMED_STATS = -1, ACCOUNT_INVALID = -2, ACCOUNT_FAILED = -3 };

static const struct {
    const char *name;
    int counter;
} members[] = {
    {"unmap_operations", UNMAP_OPERATIONS},
    {"unmap_merged", UNMAP_MERGED},
    {"failed_zone_append_operations", FAILED_ZONE_APPEND_OPERATIONS},
    {"flush_total_time_ns", FLUSH_TOTAL_TIME_NS},
    {"wr_highest_offset", WR_HIGHEST_OFFSET},
    {"wr_total_time_ns", WR_TOTAL_TIME_NS},
    {"failed_wr_operations", FAILED_WR_OPERATIONS},
    {"failed_rd_operations", FAILED_RD_OPERATIONS},
    {"wr_merged", WR_MERGED},
    {"wr_bytes", WR_BYTES},
    {"timed_stats", TIMED_STATS},
    {"failed_unmap_operations", FAILED_UNMAP_OPERATIONS},
    {"zone_append_merged", ZONE_APPEND_MERGED},
    {"failed_flush_operations", FAILED_FLUSH_OPERATIONS},
    {"account_invalid", ACCOUNT_INVALID},
    {"rd_total_time_ns", RD_TOTAL_TIME_NS},
    {"invalid_unmap_operations", INVALID_UNMAP_OPERATIONS},
    {"flush_operations", FLUSH_OPERATIONS},
    {"wr_operations", WR_OPERATIONS},
    {"unmap_bytes", UNMAP_BYTES},
    {"rd_merged", RD_MERGED},
    {"rd_bytes", RD_BYTES},
    {"unmap_total_time_ns", UNMAP_TOTAL_TIME_NS},
    {"invalid_flush_operations", INVALID_FLUSH_OPERATIONS},
    {"account_failed", ACCOUNT_FAILED},
    {"zone_append_total_time_ns", ZONE_APPEND_TOTAL_TIME_NS},
    {"zone_append_operations", ZONE_APPEND_OPERATIONS},
    {"rd_operations", RD_OPERATIONS},
    {"zone_append_bytes", ZONE_APPEND_BYTES},
    {"invalid_zone_append_operations", INVALID_ZONE_APPEND_OPERATIONS},
    {"invalid_wr_operations", INVALID_WR_OPERATIONS},
    {"invalid_rd_operations", INVALID_RD_OPERATIONS},
};

/* What a request of each kind adds to; -1: nothing. */
static const struct {
    int operations, bytes, time;
} op_counters[N_BLOCK_OPS] = {
    [BLOCK_READ] = {RD_OPERATIONS, RD_BYTES, RD_TOTAL_TIME_NS},
    [BLOCK_WRITE] = {WR_OPERATIONS, WR_BYTES, WR_TOTAL_TIME_NS},
    [BLOCK_FLUSH] = {FLUSH_OPERATIONS, -1, FLUSH_TOTAL_TIME_NS},
    [BLOCK_UNMAP] = {UNMAP_OPERATIONS, UNMAP_BYTES, UNMAP_TOTAL_TIME_NS},
};

BlockStats *block_stats_new(gboolean account)
{
    BlockStats *stats = g_new0(BlockStats, 1);
    g_atomic_ref_count_init(&stats->refs);
    stats->account = account;
    return stats;
}

BlockStats *block_stats_ref(BlockStats *stats)
{
    g_atomic_ref_count_inc(&stats->refs);
    return stats;
}

void block_stats_unref(BlockStats *stats)
{
    if (stats && g_atomic_ref_count_dec(&stats->refs))
        g_free(stats);
}

/* ---- the writer ---- */

static guint64 load(const BlockStats *stats, int counter)
{
    return atomic_load_explicit(&stats->counters[counter], memory_order_acquire);
}

static void store(BlockStats *stats, int counter, guint64 value)
{
    atomic_store_explicit(&stats->counters[counter], value, memory_order_release);
}

static void add(BlockStats *stats, int counter, guint64 value)
{
    if (counter >= 0)
        store(stats, counter, load(stats, counter) + value);
}

void block_stats_done(BlockStats *stats, BlockOp op, guint64 offset, guint64 bytes, guint64 ns)
{
    guint sequence = atomic_load_explicit(&stats->sequence, memory_order_relaxed);

    atomic_store_explicit(&stats->sequence, sequence + 1, memory_order_relaxed);
    add(stats, op_counters[op].operations, 1);
    add(stats, op_counters[op].bytes, bytes);
    add(stats, op_counters[op].time, ns);
    if (op == BLOCK_WRITE && offset + bytes > load(stats, WR_HIGHEST_OFFSET))
        store(stats, WR_HIGHEST_OFFSET, offset + bytes);
    atomic_store_explicit(&stats->sequence, sequence + 2, memory_order_release);
}

/* ---- readers ---- */

static void read_all(const BlockStats *stats, guint64 *ret)
{
    guint before, after;

    do {
        before = atomic_load_explicit(&stats->sequence, memory_order_acquire);
        for (int i = 0; i < N_COUNTERS; i++)
            ret[i] = load(stats, i);
        after = atomic_load_explicit(&stats->sequence, memory_order_relaxed);
    } while (before % 2 || before != after);
}

void block_stats_append(const BlockStats *stats, GString *out)
{
    guint64 counters[N_COUNTERS];

    read_all(stats, counters);
    for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
        g_string_append_c(out, i ? ',' : '{');
        json_append_string(out, members[i].name, -1);
        g_string_append_c(out, ':');
        if (members[i].counter >= 0)
            json_append_uint(out, counters[members[i].counter]);
        else if (members[i].counter == TIMED_STATS)
            g_string_append(out, "[]");
        else
            json_append_bool(out, stats->account);
    }
    g_string_append_c(out, '}');
}
