/* SPDX-License-Identifier: MIT */
/*
 * Counters behind a sequence lock: the writer makes the sequence odd, changes what it has to, and
 * makes it even again; a reader that sees it odd, or another one afterwards, reads once more. All
 * accesses are atomic; each field is stored with release and loaded with acquire, which orders
 * them against the sequence.
 */
#include "vmm/block-stats.h"

#include <stdatomic.h>

#include "vmm/block-intervals.h"
#include "vmm/block-loop.h"

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
    gboolean account_invalid, account_failed;
    BlockIntervals *intervals; /* or NULL */
    atomic_uint sequence;
    _Atomic guint64 counters[N_COUNTERS];
    _Atomic gint64 last_access; /* 0: never */
};

struct BlockReading {
    const BlockStats *stats;
    guint64 counters[N_COUNTERS];
    gint64 idle_ns;
};

/* The members of BlockDeviceStats in QEMU's order; those that are no counters are written where they stand. */
enum { TIMED_STATS = -1, ACCOUNT_INVALID = -2, ACCOUNT_FAILED = -3 };

#define MEMBER(name, counter)                                                                                          \
    {                                                                                                                  \
        {"\"" name "\":", sizeof("\"" name "\":") - 1}, counter                                                        \
    }
static const struct {
    JsonSlice head; /* "NAME": */
    int counter;
} members[] = {
    MEMBER("unmap_operations", UNMAP_OPERATIONS),
    MEMBER("unmap_merged", UNMAP_MERGED),
    MEMBER("failed_zone_append_operations", FAILED_ZONE_APPEND_OPERATIONS),
    MEMBER("flush_total_time_ns", FLUSH_TOTAL_TIME_NS),
    MEMBER("wr_highest_offset", WR_HIGHEST_OFFSET),
    MEMBER("wr_total_time_ns", WR_TOTAL_TIME_NS),
    MEMBER("failed_wr_operations", FAILED_WR_OPERATIONS),
    MEMBER("failed_rd_operations", FAILED_RD_OPERATIONS),
    MEMBER("wr_merged", WR_MERGED),
    MEMBER("wr_bytes", WR_BYTES),
    MEMBER("timed_stats", TIMED_STATS),
    MEMBER("failed_unmap_operations", FAILED_UNMAP_OPERATIONS),
    MEMBER("zone_append_merged", ZONE_APPEND_MERGED),
    MEMBER("failed_flush_operations", FAILED_FLUSH_OPERATIONS),
    MEMBER("account_invalid", ACCOUNT_INVALID),
    MEMBER("rd_total_time_ns", RD_TOTAL_TIME_NS),
    MEMBER("invalid_unmap_operations", INVALID_UNMAP_OPERATIONS),
    MEMBER("flush_operations", FLUSH_OPERATIONS),
    MEMBER("wr_operations", WR_OPERATIONS),
    MEMBER("unmap_bytes", UNMAP_BYTES),
    MEMBER("rd_merged", RD_MERGED),
    MEMBER("rd_bytes", RD_BYTES),
    MEMBER("unmap_total_time_ns", UNMAP_TOTAL_TIME_NS),
    MEMBER("invalid_flush_operations", INVALID_FLUSH_OPERATIONS),
    MEMBER("account_failed", ACCOUNT_FAILED),
    MEMBER("zone_append_total_time_ns", ZONE_APPEND_TOTAL_TIME_NS),
    MEMBER("zone_append_operations", ZONE_APPEND_OPERATIONS),
    MEMBER("rd_operations", RD_OPERATIONS),
    MEMBER("zone_append_bytes", ZONE_APPEND_BYTES),
    MEMBER("invalid_zone_append_operations", INVALID_ZONE_APPEND_OPERATIONS),
    MEMBER("invalid_wr_operations", INVALID_WR_OPERATIONS),
    MEMBER("invalid_rd_operations", INVALID_RD_OPERATIONS),
};

/* What a request of each kind adds to; -1: nothing. */
static const struct {
    int operations, bytes, time, failed, invalid, merged;
} op_counters[N_BLOCK_OPS] = {
    [BLOCK_READ] = {RD_OPERATIONS, RD_BYTES, RD_TOTAL_TIME_NS, FAILED_RD_OPERATIONS, INVALID_RD_OPERATIONS, RD_MERGED},
    [BLOCK_WRITE] = {WR_OPERATIONS, WR_BYTES, WR_TOTAL_TIME_NS, FAILED_WR_OPERATIONS, INVALID_WR_OPERATIONS, WR_MERGED},
    [BLOCK_FLUSH] = {FLUSH_OPERATIONS, -1, FLUSH_TOTAL_TIME_NS, FAILED_FLUSH_OPERATIONS, INVALID_FLUSH_OPERATIONS, -1},
    [BLOCK_UNMAP] = {UNMAP_OPERATIONS, UNMAP_BYTES, UNMAP_TOTAL_TIME_NS, FAILED_UNMAP_OPERATIONS,
                     INVALID_UNMAP_OPERATIONS, UNMAP_MERGED},
};

BlockStats *block_stats_new(const BlockStatsOptions *options)
{
    BlockStats *stats = g_new0(BlockStats, 1);
    g_atomic_ref_count_init(&stats->refs);
    stats->account_invalid = options->account_invalid;
    stats->account_failed = options->account_failed;
    if (options->n_intervals)
        stats->intervals = block_intervals_new(options->intervals, options->n_intervals);
    return stats;
}

BlockStats *block_stats_ref(BlockStats *stats)
{
    g_atomic_ref_count_inc(&stats->refs);
    return stats;
}

void block_stats_unref(BlockStats *stats)
{
    if (!stats || !g_atomic_ref_count_dec(&stats->refs))
        return;
    block_intervals_free(stats->intervals);
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

/* From here to end() readers look again. Nothing that is stored in between is seen before it begins. */
static void begin(BlockStats *stats)
{
    atomic_store_explicit(&stats->sequence, atomic_load_explicit(&stats->sequence, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void end(BlockStats *stats)
{
    atomic_store_explicit(&stats->sequence, atomic_load_explicit(&stats->sequence, memory_order_relaxed) + 1,
                          memory_order_release);
}

static void take_time(BlockStats *stats, BlockOp op, gint64 ns, gint64 now_ns)
{
    add(stats, op_counters[op].time, (guint64)ns);
    atomic_store_explicit(&stats->last_access, now_ns, memory_order_release);
    if (stats->intervals)
        block_intervals_add(stats->intervals, op, ns, now_ns);
}

void block_stats_done(BlockStats *stats, BlockOp op, guint64 offset, guint64 bytes, gint64 ns, gint64 now_ns)
{
    begin(stats);
    add(stats, op_counters[op].operations, 1);
    add(stats, op_counters[op].bytes, bytes);
    take_time(stats, op, ns, now_ns);
    if (op == BLOCK_WRITE && offset + bytes > load(stats, WR_HIGHEST_OFFSET))
        store(stats, WR_HIGHEST_OFFSET, offset + bytes);
    end(stats);
}

void block_stats_failed(BlockStats *stats, BlockOp op, gint64 ns, gint64 now_ns)
{
    begin(stats);
    add(stats, op_counters[op].failed, 1);
    if (stats->account_failed)
        take_time(stats, op, ns, now_ns);
    end(stats);
}

void block_stats_invalid(BlockStats *stats, BlockOp op, gint64 now_ns)
{
    begin(stats);
    add(stats, op_counters[op].invalid, 1);
    if (stats->account_invalid)
        atomic_store_explicit(&stats->last_access, now_ns, memory_order_release);
    end(stats);
}

void block_stats_merged(BlockStats *stats, BlockOp op, guint64 n)
{
    begin(stats);
    add(stats, op_counters[op].merged, n);
    end(stats);
}

/* ---- readers ---- */

/* Returns the time of the last access. */
static gint64 read_all(const BlockStats *stats, guint64 *ret)
{
    guint before, after;
    gint64 last;

    do {
        before = atomic_load_explicit(&stats->sequence, memory_order_acquire);
        for (int i = 0; i < N_COUNTERS; i++)
            ret[i] = load(stats, i);
        last = atomic_load_explicit(&stats->last_access, memory_order_acquire);
        after = atomic_load_explicit(&stats->sequence, memory_order_relaxed);
    } while (before % 2 || before != after);
    return last;
}

BlockSums block_stats_sums(const BlockStats *stats)
{
    guint64 counters[N_COUNTERS];

    read_all(stats, counters);
    return (BlockSums){
        .operations = counters[RD_OPERATIONS] + counters[WR_OPERATIONS],
        .bytes = counters[RD_BYTES] + counters[WR_BYTES],
        .failed = counters[FAILED_RD_OPERATIONS] + counters[FAILED_WR_OPERATIONS],
        .flushes = counters[FLUSH_OPERATIONS],
        .highest_offset = counters[WR_HIGHEST_OFFSET],
    };
}

gboolean block_stats_accessed(const BlockStats *stats)
{
    return atomic_load_explicit(&stats->last_access, memory_order_relaxed) != 0;
}

BlockReading *block_stats_read(const BlockStats *stats)
{
    BlockReading *reading = g_new(BlockReading, 1);
    gint64 last = read_all(stats, reading->counters);

    reading->stats = stats;
    reading->idle_ns = MAX(block_now_ns() - last, 0);
    return reading;
}

void block_reading_free(BlockReading *reading)
{
    g_free(reading);
}

/* Bytes that an object of all members may take, without the intervals and the closing bracket. */
static gsize text_max(void)
{
    gsize max = 0;

    for (guint i = 0; i < G_N_ELEMENTS(members); i++)
        max += 1 + members[i].head.length + 20; /* a comma, the name, the digits of 2^64 - 1 */
    return max;
}

static inline char *put(char *to, const char *text, gsize length)
{
    memcpy(to, text, length);
    return to + length;
}

static inline char *put_uint(char *to, guint64 value)
{
    char digits[20];
    guint at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return put(to, digits + at, sizeof digits - at);
}

static inline char *put_bool(char *to, gboolean value)
{
    return value ? put(to, "true", 4) : put(to, "false", 5);
}

/* Hundreds of disks are polled many times a second: room for the whole text is made once, and it is written there. */
static void append(const guint64 *counters, const BlockStats *stats, GString *out)
{
    gsize begin = out->len, max = text_max();
    char *to;

    g_string_set_size(out, begin + max);
    to = out->str + begin;
    for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
        *to++ = i ? ',' : '{';
        to = put(to, members[i].head.text, members[i].head.length);
        if (members[i].counter >= 0) {
            to = put_uint(to, counters[members[i].counter]);
        } else if (members[i].counter == TIMED_STATS && stats->intervals) {
            g_string_set_size(out, (gsize)(to - out->str));
            block_intervals_append(stats->intervals, out);
            begin = out->len;
            g_string_set_size(out, begin + max);
            to = out->str + begin;
        } else if (members[i].counter == TIMED_STATS) {
            to = put(to, "[]", 2);
        } else {
            to = put_bool(to, members[i].counter == ACCOUNT_INVALID ? stats->account_invalid : stats->account_failed);
        }
    }
    g_string_set_size(out, (gsize)(to - out->str));
}

void block_reading_append(const BlockReading *reading, gboolean idle, GString *out)
{
    append(reading->counters, reading->stats, out);
    if (idle) {
        g_string_append(out, ",\"idle_time_ns\":");
        json_append_uint(out, (guint64)reading->idle_ns);
    }
    g_string_append_c(out, '}');
}

/* What is shown of all nodes, which have nothing but a highest offset: the text before its number, and the text after
 * it. */
static GString *node_head, *node_tail;

static gpointer node_text_make(gpointer unused G_GNUC_UNUSED)
{
    static const guint64 zeros[N_COUNTERS];
    static const BlockStats no_stats;
    GString *text = g_string_new(NULL);
    const char *number;

    append(zeros, &no_stats, text);
    number = strstr(text->str, "\"wr_highest_offset\":") + strlen("\"wr_highest_offset\":");
    node_head = g_string_new_len(text->str, number - text->str);
    node_tail = g_string_new(number + 1); /* the 0 */
    g_string_append_c(node_tail, '}');
    g_string_free(text, TRUE);
    return NULL;
}

void block_reading_append_node(const BlockReading *reading, guint64 before, guint64 kept, GString *out)
{
    static GOnce once = G_ONCE_INIT;
    guint64 highest = reading->counters[WR_HIGHEST_OFFSET];

    g_once(&once, node_text_make, NULL);
    g_string_append_len(out, node_head->str, (gssize)node_head->len);
    json_append_uint(out, MAX(kept, highest ? highest + before : 0));
    g_string_append_len(out, node_tail->str, (gssize)node_tail->len);
}
