/* SPDX-License-Identifier: MIT */
/* vmm/block-stats.c and block-intervals.c: each field by its definition, and sets of one moment. */
#include <string.h>

#include "vmm/block-loop.h"
#include "vmm/block-stats.h"

#define SECOND G_GINT64_CONSTANT(1000000000)

static const BlockStatsOptions accounting = {.account_invalid = TRUE, .account_failed = TRUE};

/* ---- a writer and a reader ---- */

typedef struct Race {
    BlockStats *stats;
    gint stop; /* atomic */
} Race;

static gpointer count(gpointer opaque)
{
    Race *race = opaque;
    for (guint64 i = 0; i < 20000 || !g_atomic_int_get(&race->stop); i++)
        block_stats_done(race->stats, i % 2 ? BLOCK_READ : BLOCK_WRITE, i * 4096, 4096, 10, (gint64)i);
    return NULL;
}

static guint64 counter(JsonSlice stats, const char *name)
{
    guint64 value = 0;
    g_assert_true(json_to_uint64(json_member(stats, name), &value));
    return value;
}

static void test_race(void)
{
    Race race = {.stats = block_stats_new(&(BlockStatsOptions){0})};
    GThread *writer = g_thread_new("writer", count, &race);
    guint64 last = 0;

    for (int i = 0; i < 5000; i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(BlockReading) reading = block_stats_read(race.stats);
        JsonSlice stats;

        block_reading_append(reading, TRUE, text);
        stats = (JsonSlice){text->str, text->len};
        /* One moment: operations, bytes and times belong together, and so do reads and writes. */
        g_assert_cmpuint(counter(stats, "wr_operations") * 4096, ==, counter(stats, "wr_bytes"));
        g_assert_cmpuint(counter(stats, "rd_operations") * 4096, ==, counter(stats, "rd_bytes"));
        g_assert_cmpuint(counter(stats, "rd_operations") * 10, ==, counter(stats, "rd_total_time_ns"));
        g_assert_cmpuint(counter(stats, "wr_operations") - counter(stats, "rd_operations"), <=, 1);
        g_assert_cmpuint(counter(stats, "wr_bytes"), >=, last);
        last = counter(stats, "wr_bytes");
    }
    g_atomic_int_set(&race.stop, 1);
    g_thread_join(writer);
    block_stats_unref(race.stats);
}

/* ---- what counts where ---- */

static char *show(const BlockStats *stats, gboolean idle)
{
    g_autoptr(BlockReading) reading = block_stats_read(stats);
    GString *text = g_string_new(NULL);

    block_reading_append(reading, idle, text);
    return g_string_free(text, FALSE);
}

static void check_counter(const BlockStats *stats, const char *name, guint64 expected)
{
    g_autofree char *text = show(stats, FALSE);
    g_assert_cmpuint(counter((JsonSlice){text, strlen(text)}, name), ==, expected);
}

static void test_definitions(void)
{
    g_autoptr(BlockStats) stats = block_stats_new(&accounting);
    BlockSums sums;

    g_assert_false(block_stats_accessed(stats));
    block_stats_done(stats, BLOCK_WRITE, 8192, 4096, 7, 1);
    block_stats_done(stats, BLOCK_WRITE, 0, 512, 3, 2);
    block_stats_done(stats, BLOCK_READ, 1 << 20, 1024, 5, 3);
    block_stats_done(stats, BLOCK_FLUSH, 0, 0, 11, 4);
    block_stats_done(stats, BLOCK_UNMAP, 0, 65536, 13, 5);
    block_stats_failed(stats, BLOCK_WRITE, 100, 6);
    block_stats_invalid(stats, BLOCK_READ, 7);
    block_stats_merged(stats, BLOCK_WRITE, 2);

    g_assert_true(block_stats_accessed(stats));
    check_counter(stats, "wr_operations", 2);
    check_counter(stats, "wr_bytes", 4608);
    check_counter(stats, "wr_total_time_ns", 110); /* failed ones count */
    check_counter(stats, "wr_highest_offset", 12288);
    check_counter(stats, "wr_merged", 2);
    check_counter(stats, "failed_wr_operations", 1);
    check_counter(stats, "rd_operations", 1);
    check_counter(stats, "rd_bytes", 1024);
    check_counter(stats, "rd_total_time_ns", 5);
    check_counter(stats, "invalid_rd_operations", 1);
    check_counter(stats, "failed_rd_operations", 0);
    check_counter(stats, "flush_operations", 1);
    check_counter(stats, "flush_total_time_ns", 11);
    check_counter(stats, "unmap_operations", 1);
    check_counter(stats, "unmap_bytes", 65536);
    check_counter(stats, "zone_append_operations", 0);
    sums = block_stats_sums(stats);
    g_assert_cmpuint(sums.operations, ==, 3);
    g_assert_cmpuint(sums.bytes, ==, 5632);
    g_assert_cmpuint(sums.failed, ==, 1);
    g_assert_cmpuint(sums.highest_offset, ==, 12288);
}

static void test_not_accounted(void)
{
    static const BlockStatsOptions nothing = {0};
    g_autoptr(BlockStats) stats = block_stats_new(&nothing);
    g_autofree char *text = NULL;

    block_stats_failed(stats, BLOCK_READ, 100, 6);
    block_stats_invalid(stats, BLOCK_WRITE, 7);
    g_assert_false(block_stats_accessed(stats));
    check_counter(stats, "failed_rd_operations", 1);
    check_counter(stats, "invalid_wr_operations", 1);
    check_counter(stats, "rd_total_time_ns", 0);
    text = show(stats, FALSE);
    g_assert_nonnull(strstr(text, "\"account_invalid\":false"));
    g_assert_nonnull(strstr(text, "\"account_failed\":false"));
    g_assert_null(strstr(text, "idle_time_ns"));
}

static void test_idle(void)
{
    g_autoptr(BlockStats) stats = block_stats_new(&accounting);
    g_autofree char *text = NULL;
    guint64 idle;

    block_stats_done(stats, BLOCK_READ, 0, 512, 1, block_now_ns() - 3 * SECOND);
    text = show(stats, TRUE);
    idle = counter((JsonSlice){text, strlen(text)}, "idle_time_ns");
    g_assert_cmpuint(idle, >=, 3 * SECOND);
    g_assert_cmpuint(idle, <, 60 * SECOND);
}

static void test_node_below(void)
{
    g_autoptr(BlockStats) stats = block_stats_new(&accounting);
    g_autoptr(BlockReading) before = block_stats_read(stats), after = NULL;
    g_autoptr(GString) text = g_string_new(NULL);

    block_reading_append_node(before, 512, 0, text);
    g_assert_cmpuint(counter((JsonSlice){text->str, text->len}, "wr_highest_offset"), ==, 0);
    block_stats_done(stats, BLOCK_WRITE, 0, 512, 1, 1);
    after = block_stats_read(stats);
    g_string_truncate(text, 0);
    block_reading_append_node(after, 512, 0, text);
    g_assert_cmpuint(counter((JsonSlice){text->str, text->len}, "wr_highest_offset"), ==, 1024);
    g_assert_cmpuint(counter((JsonSlice){text->str, text->len}, "wr_operations"), ==, 0);
    g_string_truncate(text, 0);
    block_reading_append_node(after, 512, 4096, text);
    g_assert_cmpuint(counter((JsonSlice){text->str, text->len}, "wr_highest_offset"), ==, 4096);
}

static void test_intervals(void)
{
    const guint seconds[] = {60, 3600};
    const BlockStatsOptions options = {.intervals = seconds, .n_intervals = 2};
    g_autoptr(BlockStats) stats = block_stats_new(&options);
    gint64 now = block_now_ns();
    g_autofree char *text = NULL;
    JsonSlice list, first = {0}, second = {0};
    JsonWalk walk;

    block_stats_done(stats, BLOCK_READ, 0, 512, 10, now);
    block_stats_done(stats, BLOCK_READ, 0, 512, 30, now);
    block_stats_done(stats, BLOCK_WRITE, 0, 512, 50, now);
    text = show(stats, FALSE);
    list = json_member((JsonSlice){text, strlen(text)}, "timed_stats");
    walk = json_walk(list);
    g_assert_true(json_walk_element(&walk, &first) && json_walk_element(&walk, &second));
    g_assert_cmpuint(counter(first, "interval_length"), ==, 60);
    g_assert_cmpuint(counter(second, "interval_length"), ==, 3600);
    g_assert_cmpuint(counter(first, "min_rd_latency_ns"), ==, 10);
    g_assert_cmpuint(counter(first, "max_rd_latency_ns"), ==, 30);
    g_assert_cmpuint(counter(first, "avg_rd_latency_ns"), ==, 20);
    g_assert_cmpuint(counter(first, "avg_wr_latency_ns"), ==, 50);
    g_assert_cmpuint(counter(first, "avg_flush_latency_ns"), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/block-stats/race", test_race);
    g_test_add_func("/block-stats/definitions", test_definitions);
    g_test_add_func("/block-stats/not-accounted", test_not_accounted);
    g_test_add_func("/block-stats/idle", test_idle);
    g_test_add_func("/block-stats/node-below", test_node_below);
    g_test_add_func("/block-stats/intervals", test_intervals);
    return g_test_run();
}
