/* SPDX-License-Identifier: MIT */
/*
 * See worker.h. The threads are made when there is work that no other is free for. The queue is our own, not
 * GThreadPool's, whose locks ThreadSanitizer does not see.
 */
#include "qmp/worker.h"

/* More would only wait for each other's memory; and each may hold a long reply. */
#define WORKERS_MAX 2

struct QmpWorkers {
    GThread *threads[WORKERS_MAX]; /* the monitor's */
    guint n_threads;

    GMutex lock; /* of all below */
    GCond changed;
    GQueue queue; /* Work */
    guint n_idle; /* threads that wait */
    gboolean ending;
};

typedef struct Work {
    QmpWork run;
    void *opaque;
} Work;

/* The next piece of work, and whether it is too late for it; NULL where there is none and there will be none. */
static Work *workers_take(QmpWorkers *workers, gboolean *ret_ending)
{
    Work *work;

    g_mutex_lock(&workers->lock);
    workers->n_idle++;
    while ((work = g_queue_pop_head(&workers->queue)) == NULL && !workers->ending) {
        g_cond_wait(&workers->changed, &workers->lock);
    }
    workers->n_idle--;
    *ret_ending = workers->ending;
    g_mutex_unlock(&workers->lock);
    return work;
}

static gpointer workers_thread(gpointer data)
{
    gboolean ending;
    Work *work;

    while ((work = workers_take(data, &ending)) != NULL) {
        work->run(work->opaque, ending);
        g_free(work);
    }
    return NULL;
}

QmpWorkers *qmp_workers_new(void)
{
    QmpWorkers *workers = g_new0(QmpWorkers, 1);

    g_mutex_init(&workers->lock);
    g_cond_init(&workers->changed);
    g_queue_init(&workers->queue);
    return workers;
}

void qmp_workers_free(QmpWorkers *workers)
{
    if (workers == NULL) {
        return;
    }
    g_mutex_lock(&workers->lock);
    workers->ending = TRUE;
    g_cond_broadcast(&workers->changed);
    g_mutex_unlock(&workers->lock);
    for (guint i = 0; i < workers->n_threads; i++) {
        g_thread_join(workers->threads[i]);
    }
    g_mutex_clear(&workers->lock);
    g_cond_clear(&workers->changed);
    g_free(workers);
}

/* Makes a thread where none is free for one more piece of work. */
static void workers_grow(QmpWorkers *workers)
{
    gboolean all_busy;
    GThread *thread;

    g_mutex_lock(&workers->lock);
    all_busy = workers->n_idle <= g_queue_get_length(&workers->queue);
    g_mutex_unlock(&workers->lock);
    if (all_busy && workers->n_threads < WORKERS_MAX) {
        thread = g_thread_try_new("qmp-worker", workers_thread, workers, NULL);
        if (thread != NULL) {
            workers->threads[workers->n_threads++] = thread;
        }
    }
}

void qmp_workers_run(QmpWorkers *workers, QmpWork run, void *opaque)
{
    Work *work;

    workers_grow(workers);
    if (workers->n_threads == 0) {
        run(opaque, FALSE); /* no thread can be made */
        return;
    }
    work = g_new(Work, 1);
    *work = (Work){run, opaque};
    g_mutex_lock(&workers->lock);
    g_queue_push_tail(&workers->queue, work);
    g_cond_signal(&workers->changed);
    g_mutex_unlock(&workers->lock);
}
