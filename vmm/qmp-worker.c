/* SPDX-License-Identifier: MIT */
/* See qmp-worker.h. */
#include "vmm/qmp-worker.h"

/* More would only wait for each other's memory; and each may hold a long reply. */
#define WORKERS_MAX 2

struct QmpWorkers {
    GThreadPool *pool;
    gint ending; /* atomic */
};

typedef struct Work {
    QmpCall *call;
    const void *args;
    void (*handler)(QmpCall *call, const void *args);
} Work;

static void work_run(gpointer data, gpointer user_data)
{
    g_autofree Work *work = data;
    QmpWorkers *workers = user_data;

    if (g_atomic_int_get(&workers->ending)) {
        qmp_call_fail_new(work->call, QMP_ERROR, QMP_ERROR_GENERIC, "the server ends");
    } else {
        work->handler(work->call, work->args);
    }
}

QmpWorkers *qmp_workers_new(void)
{
    QmpWorkers *workers = g_new0(QmpWorkers, 1);

    workers->pool = g_thread_pool_new(work_run, workers, WORKERS_MAX, FALSE, NULL);
    return workers;
}

void qmp_workers_free(QmpWorkers *workers)
{
    if (workers == NULL) {
        return;
    }
    g_atomic_int_set(&workers->ending, TRUE);
    g_thread_pool_free(workers->pool, FALSE, TRUE);
    g_free(workers);
}

void qmp_workers_run(QmpWorkers *workers, QmpCall *call, const void *args,
                     void (*handler)(QmpCall *call, const void *args))
{
    Work *work = g_new(Work, 1);

    *work = (Work){call, args, handler};
    /* Where no thread can be made, one that is there takes it later: with a pool that shares its threads, that is no
     * error. */
    g_thread_pool_push(workers->pool, work, NULL);
}
