/* SPDX-License-Identifier: MIT */
/* qmp/worker.c: all work is done, begun in its order, by two threads at most; at the end it is told that it is too
 * late. */
#include "qmp/worker.h"

typedef struct Record {
    GMutex lock;
    GCond changed;
    guint done, late, running, most;
    gboolean open; /* work need not wait any more */
} Record;

static void work(void *opaque, gboolean ending)
{
    Record *record = opaque;

    g_mutex_lock(&record->lock);
    record->late += ending;
    record->running++;
    record->most = MAX(record->most, record->running);
    while (!record->open) {
        g_cond_wait(&record->changed, &record->lock);
    }
    record->running--;
    record->done++;
    g_cond_broadcast(&record->changed);
    g_mutex_unlock(&record->lock);
}

static void wait_for(Record *record, const guint *number, guint value)
{
    g_mutex_lock(&record->lock);
    while (*number < value) {
        g_cond_wait_until(&record->changed, &record->lock, g_get_monotonic_time() + 1000);
    }
    g_mutex_unlock(&record->lock);
}

static void open_up(Record *record)
{
    g_mutex_lock(&record->lock);
    record->open = TRUE;
    g_cond_broadcast(&record->changed);
    g_mutex_unlock(&record->lock);
}

static void test_all_is_done(void)
{
    g_autoptr(QmpWorkers) workers = qmp_workers_new();
    Record record = {.open = FALSE};

    for (guint i = 0; i < 50; i++) {
        qmp_workers_run(workers, work, &record);
    }
    wait_for(&record, &record.running, 2);
    open_up(&record);
    wait_for(&record, &record.done, 50);
    g_assert_cmpuint(record.most, ==, 2);
    g_assert_cmpuint(record.late, ==, 0);
}

static gpointer free_workers(gpointer workers)
{
    qmp_workers_free(workers);
    return NULL;
}

static void test_end(void)
{
    QmpWorkers *workers = qmp_workers_new();
    Record record = {.open = FALSE};
    GThread *thread;

    for (guint i = 0; i < 10; i++) {
        qmp_workers_run(workers, work, &record);
    }
    wait_for(&record, &record.running, 2);
    thread = g_thread_new("ending", free_workers, workers);
    g_usleep(50 * 1000);
    open_up(&record);
    g_thread_join(thread);
    g_assert_cmpuint(record.done, ==, 10);
    g_assert_cmpuint(record.late, ==, 8);
}

static void test_no_work(void)
{
    qmp_workers_free(qmp_workers_new());
    qmp_workers_free(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/worker/all-is-done", test_all_is_done);
    g_test_add_func("/worker/end", test_end);
    g_test_add_func("/worker/no-work", test_no_work);
    return g_test_run();
}
