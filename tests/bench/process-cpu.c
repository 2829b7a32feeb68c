/* SPDX-License-Identifier: MIT */
/* See process-cpu.h. The scheduler's own sums are used, which are exact; utime and stime are estimated from ticks. */
#include "tests/bench/process-cpu.h"

#include <time.h>

gboolean process_cpu_total(pid_t pid, guint64 *ret_ns)
{
    struct timespec time;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        return FALSE;
    }
    *ret_ns = (guint64)time.tv_sec * 1000000000 + (guint64)time.tv_nsec;
    return TRUE;
}

static void add_thread(GHashTable *threads, const char *folder, const char *tid)
{
    g_autofree char *schedstat = g_build_filename(folder, tid, "schedstat", NULL);
    g_autofree char *comm = g_build_filename(folder, tid, "comm", NULL);
    g_autofree char *text = NULL, *name = NULL;
    guint64 *sum;

    /* It may have ended meanwhile. */
    if (!g_file_get_contents(schedstat, &text, NULL, NULL) || !g_file_get_contents(comm, &name, NULL, NULL)) {
        return;
    }
    g_strchomp(name);
    sum = g_hash_table_lookup(threads, name);
    if (sum == NULL) {
        sum = g_new0(guint64, 1);
        g_hash_table_insert(threads, g_strdup(name), sum);
    }
    *sum += g_ascii_strtoull(text, NULL, 10);
}

GHashTable *process_cpu_by_thread(pid_t pid)
{
    GHashTable *threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *folder = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) tasks = g_dir_open(folder, 0, NULL);
    const char *tid;

    while (tasks != NULL && (tid = g_dir_read_name(tasks)) != NULL) {
        add_thread(threads, folder, tid);
    }
    return threads;
}
