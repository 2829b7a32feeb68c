/* SPDX-License-Identifier: MIT */
/* See block-intervals.h. Few disks have any, so a lock is good enough; who holds it does not wait for anything. */
#include "vmm/block-intervals.h"

#include "objmodel/json.h"
#include "vmm/block-loop.h"

#define NS_PER_SEC G_GINT64_CONSTANT(1000000000)

typedef struct Latencies {
    guint64 n;
    gint64 min, max, sum;
} Latencies;

typedef struct Window {
    gint64 start;
    Latencies ops[N_BLOCK_OPS];
} Window;

typedef struct Interval {
    guint seconds;
    Window windows[2];
} Interval;

struct BlockIntervals {
    GMutex lock;
    guint n;
    Interval all[];
};

BlockIntervals *block_intervals_new(const guint *seconds, guint n)
{
    BlockIntervals *intervals = g_malloc0(sizeof(BlockIntervals) + n * sizeof(Interval));
    gint64 now = block_now_ns();

    g_mutex_init(&intervals->lock);
    intervals->n = n;
    for (guint i = 0; i < n; i++) {
        intervals->all[i].seconds = seconds[i];
        intervals->all[i].windows[0].start = now;
        intervals->all[i].windows[1].start = now - seconds[i] * NS_PER_SEC / 2;
    }
    return intervals;
}

void block_intervals_free(BlockIntervals *intervals)
{
    if (!intervals)
        return;
    g_mutex_clear(&intervals->lock);
    g_free(intervals);
}

/* Windows that are over begin anew, in step. */
static void interval_move(Interval *interval, gint64 now)
{
    gint64 length = interval->seconds * NS_PER_SEC;

    for (guint i = 0; i < G_N_ELEMENTS(interval->windows); i++) {
        Window *window = &interval->windows[i];
        if (now - window->start >= length)
            *window = (Window){.start = now - (now - window->start) % length};
    }
}

static const Window *interval_older(const Interval *interval)
{
    return &interval->windows[interval->windows[0].start > interval->windows[1].start];
}

void block_intervals_add(BlockIntervals *intervals, BlockOp op, gint64 ns, gint64 now)
{
    g_mutex_lock(&intervals->lock);
    for (guint i = 0; i < intervals->n; i++) {
        Interval *interval = &intervals->all[i];

        interval_move(interval, now);
        for (guint w = 0; w < G_N_ELEMENTS(interval->windows); w++) {
            Latencies *latencies = &interval->windows[w].ops[op];
            latencies->min = latencies->n ? MIN(latencies->min, ns) : ns;
            latencies->max = MAX(latencies->max, ns);
            latencies->sum += ns;
            latencies->n++;
        }
    }
    g_mutex_unlock(&intervals->lock);
}

static void append_one(const Interval *interval, gint64 now, GString *out)
{
    static const struct {
        const char *name;
        int op; /* -1: there are no zones */
        gboolean depth;
    } kinds[] = {
        {"rd", BLOCK_READ, TRUE}, {"wr", BLOCK_WRITE, TRUE}, {"zone_append", -1, TRUE}, {"flush", BLOCK_FLUSH, FALSE}};
    const Window *window = interval_older(interval);
    gint64 age = MAX(now - window->start, 1);

    g_string_append_printf(out, "{\"interval_length\":%u", interval->seconds);
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const Latencies none = {0}, *l = kinds[i].op < 0 ? &none : &window->ops[kinds[i].op];
        char depth[G_ASCII_DTOSTR_BUF_SIZE];

        g_string_append_printf(out,
                               ",\"min_%s_latency_ns\":%" G_GINT64_FORMAT ",\"max_%s_latency_ns\":%" G_GINT64_FORMAT
                               ",\"avg_%s_latency_ns\":%" G_GINT64_FORMAT,
                               kinds[i].name, l->min, kinds[i].name, l->max, kinds[i].name,
                               l->n ? l->sum / (gint64)l->n : 0);
        /* How many were under way, on average: the time they took over the time that passed. */
        if (kinds[i].depth)
            g_string_append_printf(out, ",\"avg_%s_queue_depth\":%s", kinds[i].name,
                                   g_ascii_formatd(depth, sizeof(depth), "%.6g", (double)l->sum / (double)age));
    }
    g_string_append_c(out, '}');
}

void block_intervals_append(BlockIntervals *intervals, GString *out)
{
    gint64 now = block_now_ns();

    g_string_append_c(out, '[');
    g_mutex_lock(&intervals->lock);
    for (guint i = 0; i < intervals->n; i++) {
        if (i)
            g_string_append_c(out, ',');
        interval_move(&intervals->all[i], now);
        append_one(&intervals->all[i], now, out);
    }
    g_mutex_unlock(&intervals->lock);
    g_string_append_c(out, ']');
}
