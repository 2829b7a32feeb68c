/* SPDX-License-Identifier: MIT */
/*
 * See block-loop.h. Two queues under one lock: of what waits for a thread, and of what waits for the loop. The
 * source that empties the second one takes what is there and no more, so that disks that are always busy
 * leave room for everything else that the loop does.
 */
#include "vmm/block-loop.h"

#include <signal.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC 1000000000

/* A thread without work ends after this time. */
enum { IDLE_SECONDS = 10 };

typedef struct TaskQueue {
    BlockTask *first, *last;
} TaskQueue;

/* What the loop has in its context. */
typedef struct LoopSource {
    GSource base;
    BlockLoop *loop;
    int timer; /* a timerfd, or -1 */
    gpointer timer_tag;
} LoopSource;

struct BlockLoop {
    gatomicrefcount refs;
    LoopSource *source;

    /* A thread of its own; or NULL. */
    GMainContext *context;
    GMainLoop *main_loop;
    GThread *thread;

    GMutex lock; /* of what follows here */
    GCond wanted, ended, started;
    TaskQueue work, done;
    guint n_threads, n_idle, n_queued, min, max;
    gboolean is_ending;
    int thread_id;

    BlockTask *timers; /* the loop's: the next first */
};

gint64 block_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (gint64)now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static void queue_push(TaskQueue *queue, BlockTask *task)
{
    task->next = NULL;
    if (queue->last)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
}

static BlockTask *queue_pop(TaskQueue *queue)
{
    BlockTask *task = queue->first;
    queue->first = task->next;
    if (!queue->first)
        queue->last = NULL;
    return task;
}

/* ---- the loop ---- */

static void arm_timer(const BlockLoop *loop)
{
    struct itimerspec when = {0};

    if (loop->timers) {
        when.it_value.tv_sec = loop->timers->due_ns / NS_PER_SEC;
        when.it_value.tv_nsec = loop->timers->due_ns % NS_PER_SEC;
    }
    timerfd_settime(loop->source->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void run_timers(BlockLoop *loop)
{
    gint64 now;
    guint64 expirations;

    if (!loop->timers || loop->timers->due_ns > (now = block_now_ns()))
        return;
    (void)!read(loop->source->timer, &expirations, sizeof(expirations));
    while (loop->timers && loop->timers->due_ns <= now) {
        BlockTask *task = loop->timers;
        loop->timers = task->next;
        task->done(task);
    }
    arm_timer(loop);
}

static gboolean loop_dispatch(GSource *source, GSourceFunc callback G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
    BlockLoop *loop = ((LoopSource *)source)->loop;
    BlockTask *task, *next;

    g_source_set_ready_time(source, -1);
    g_mutex_lock(&loop->lock);
    task = loop->done.first;
    loop->done = (TaskQueue){0};
    g_mutex_unlock(&loop->lock);
    /* A task may be what holds the loop. */
    block_loop_ref(loop);
    for (; task; task = next) {
        next = task->next;
        task->done(task);
    }
    run_timers(loop);
    block_loop_unref(loop);
    return G_SOURCE_CONTINUE;
}

void block_loop_flush(BlockLoop *loop)
{
    gboolean found = TRUE;

    while (found) {
        BlockTask *task = NULL;

        g_mutex_lock(&loop->lock);
        if (loop->done.first)
            task = queue_pop(&loop->done);
        g_mutex_unlock(&loop->lock);
        if (!task && loop->timers) {
            task = loop->timers;
            loop->timers = task->next;
        }
        found = task != NULL;
        if (task)
            task->done(task);
    }
}

static GSourceFuncs loop_funcs = {.dispatch = loop_dispatch};

void block_loop_post(BlockLoop *loop, BlockTask *task)
{
    gboolean was_empty;

    g_mutex_lock(&loop->lock);
    was_empty = !loop->done.first;
    queue_push(&loop->done, task);
    if (was_empty)
        g_source_set_ready_time(&loop->source->base, 0);
    g_mutex_unlock(&loop->lock);
}

void block_loop_post_at(BlockLoop *loop, BlockTask *task, gint64 due_ns)
{
    BlockTask **place = &loop->timers;

    if (!loop->source->timer_tag) {
        loop->source->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        loop->source->timer_tag = g_source_add_unix_fd(&loop->source->base, loop->source->timer, G_IO_IN);
    }
    task->due_ns = due_ns;
    while (*place && (*place)->due_ns <= due_ns)
        place = &(*place)->next;
    task->next = *place;
    *place = task;
    if (loop->timers == task)
        arm_timer(loop);
}

/* ---- the threads ---- */

static gpointer worker_run(gpointer opaque)
{
    BlockLoop *loop = opaque;
    sigset_t all;

    /* Signals are for others. What a write beyond a limit of the file size raises stays pending here. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    g_mutex_lock(&loop->lock);
    while (!loop->is_ending) {
        gint64 until = g_get_monotonic_time() + IDLE_SECONDS * G_TIME_SPAN_SECOND;
        gboolean timed_out = FALSE;
        BlockTask *task;

        loop->n_idle++;
        while (!loop->work.first && !loop->is_ending && !timed_out)
            timed_out = !g_cond_wait_until(&loop->wanted, &loop->lock, until);
        loop->n_idle--;
        if (!loop->work.first) {
            if (timed_out && loop->n_threads > loop->min)
                break;
            continue;
        }
        task = queue_pop(&loop->work);
        loop->n_queued--;
        g_mutex_unlock(&loop->lock);
        task->work(task);
        block_loop_post(loop, task);
        g_mutex_lock(&loop->lock);
    }
    loop->n_threads--;
    g_cond_broadcast(&loop->ended);
    g_mutex_unlock(&loop->lock);
    return NULL;
}

/* Where there is no thread to be had, those that are there do it; without any, the caller. */
static gboolean start_worker(BlockLoop *loop)
{
    GThread *thread = g_thread_try_new("block-worker", worker_run, loop, NULL);

    if (!thread)
        return FALSE;
    g_thread_unref(thread);
    loop->n_threads++;
    return TRUE;
}

void block_loop_work(BlockLoop *loop, BlockTask *task)
{
    g_mutex_lock(&loop->lock);
    if (loop->n_idle <= loop->n_queued && loop->n_threads < MAX(loop->max, 1) && !start_worker(loop) &&
        !loop->n_threads) {
        g_mutex_unlock(&loop->lock);
        task->work(task);
        block_loop_post(loop, task);
        return;
    }
    queue_push(&loop->work, task);
    loop->n_queued++;
    g_cond_signal(&loop->wanted);
    g_mutex_unlock(&loop->lock);
}

void block_loop_set_threads(BlockLoop *loop, guint min, guint max)
{
    g_mutex_lock(&loop->lock);
    loop->min = MIN(min, BLOCK_LOOP_THREADS);
    loop->max = MIN(max, BLOCK_LOOP_THREADS);
    while (loop->n_threads < loop->min && start_worker(loop))
        ;
    g_mutex_unlock(&loop->lock);
}

/* ---- life ---- */

BlockLoop *block_loop_new(GMainContext *context)
{
    BlockLoop *loop = g_new0(BlockLoop, 1);

    g_atomic_ref_count_init(&loop->refs);
    g_mutex_init(&loop->lock);
    g_cond_init(&loop->wanted);
    g_cond_init(&loop->ended);
    g_cond_init(&loop->started);
    loop->max = BLOCK_LOOP_THREADS;
    loop->source = (LoopSource *)g_source_new(&loop_funcs, sizeof(LoopSource));
    loop->source->loop = loop;
    loop->source->timer = -1;
    g_source_attach(&loop->source->base, context);
    return loop;
}

static gpointer loop_run(gpointer opaque)
{
    BlockLoop *loop = opaque;
    g_autoptr(GMainContext) context = g_main_context_ref(loop->context);
    g_autoptr(GMainLoop) main_loop = g_main_loop_ref(loop->main_loop);

    g_main_context_push_thread_default(context);
    g_mutex_lock(&loop->lock);
    loop->thread_id = gettid();
    g_cond_signal(&loop->started);
    g_mutex_unlock(&loop->lock);
    g_main_loop_run(main_loop);
    g_main_context_pop_thread_default(context);
    return NULL;
}

BlockLoop *block_loop_new_thread(const char *name, int *ret_thread_id, GError **error)
{
    g_autoptr(GMainContext) context = g_main_context_new();
    BlockLoop *loop = block_loop_new(context);

    loop->context = g_main_context_ref(context);
    loop->main_loop = g_main_loop_new(context, FALSE);
    loop->thread = g_thread_try_new(name, loop_run, loop, error);
    if (!loop->thread) {
        block_loop_unref(loop);
        return NULL;
    }
    g_mutex_lock(&loop->lock);
    while (!loop->thread_id)
        g_cond_wait(&loop->started, &loop->lock);
    *ret_thread_id = loop->thread_id;
    g_mutex_unlock(&loop->lock);
    return loop;
}

BlockLoop *block_loop_ref(BlockLoop *loop)
{
    g_atomic_ref_count_inc(&loop->refs);
    return loop;
}

static gboolean quit(gpointer main_loop)
{
    g_main_loop_quit(main_loop);
    return G_SOURCE_REMOVE;
}

/* Ends the loop's own thread. It may be this one, which then ends when it comes back. */
static void end_thread(BlockLoop *loop)
{
    GSource *source = g_idle_source_new();

    g_source_set_callback(source, quit, g_main_loop_ref(loop->main_loop), (GDestroyNotify)g_main_loop_unref);
    g_source_attach(source, loop->context);
    g_source_unref(source);
    if (loop->thread == g_thread_self())
        g_thread_unref(loop->thread);
    else
        g_thread_join(loop->thread);
}

void block_loop_unref(BlockLoop *loop)
{
    if (!loop || !g_atomic_ref_count_dec(&loop->refs))
        return;
    g_mutex_lock(&loop->lock);
    loop->is_ending = TRUE;
    g_cond_broadcast(&loop->wanted);
    while (loop->n_threads)
        g_cond_wait(&loop->ended, &loop->lock);
    g_mutex_unlock(&loop->lock);
    if (loop->thread)
        end_thread(loop);
    g_source_destroy(&loop->source->base);
    if (loop->source->timer >= 0)
        close(loop->source->timer);
    g_source_unref(&loop->source->base);
    g_clear_pointer(&loop->main_loop, g_main_loop_unref);
    g_clear_pointer(&loop->context, g_main_context_unref);
    g_cond_clear(&loop->wanted);
    g_cond_clear(&loop->ended);
    g_cond_clear(&loop->started);
    g_mutex_clear(&loop->lock);
    g_free(loop);
}
