/* SPDX-License-Identifier: MIT */
/*
 * Parked requests. An entry belongs to the table; who takes it out, under the lock, answers.
 * One thread looks after deadlines and interrupts. libfuse calls an interrupt's callback under
 * a lock of the request, at any time up to and even while it is answered: so the callback only
 * hands a number to that thread.
 */
#include "fs/parking.h"

#include <errno.h>

#include "objmodel/error.h"

typedef struct Parked {
    fuse_req_t req;
    ParkedAnswer answer;
    void *data;
    GDestroyNotify free_data;
    Source *source;    /* whose progress puts it off */
    gint64 timeout_us; /* from the last sign of progress */
    gint64 deadline;
} Parked;

struct Parking {
    gatomicrefcount refs;
    GMutex lock;
    GHashTable *parked; /* guint64 id -> Parked */
    guint64 next_id;
    gboolean closed;
    guint answering; /* taken out by parking_end(), not yet answered */
    GCond answered;
    GAsyncQueue *wakeups; /* ids that were interrupted; WAKE: look at the deadlines again; QUIT */
    GThread *thread;
};

/* Ids begin above these. */
enum { WAKE = 1, QUIT, FIRST_ID };

static Parked *parking_take(Parking *parking, guint64 id)
{
    gpointer key, parked = NULL;
    g_mutex_lock(&parking->lock);
    g_hash_table_steal_extended(parking->parked, &id, &key, &parked);
    parking->answering += parked ? 1 : 0;
    g_mutex_unlock(&parking->lock);
    if (parked)
        g_free(key);
    return parked;
}

static void parked_end(Parked *parked, const GError *error)
{
    fuse_req_interrupt_func(parked->req, NULL, NULL);
    parked->answer(parked->req, error, parked->data);
    if (parked->free_data)
        parked->free_data(parked->data);
    g_free(parked);
}

void parking_end(Parking *parking, guint64 id, const GError *error)
{
    Parked *parked = parking_take(parking, id);
    if (!parked)
        return;
    parked_end(parked, error);
    g_mutex_lock(&parking->lock);
    parking->answering--;
    g_cond_broadcast(&parking->answered);
    g_mutex_unlock(&parking->lock);
}

static void parking_interrupted(fuse_req_t req, void *data)
{
    g_async_queue_push(fs_of(req)->parking->wakeups, data);
}

guint64 parking_park(Fs *fs, fuse_req_t req, ParkedAnswer answer, void *data, GDestroyNotify free_data)
{
    Parking *parking = fs->parking;
    Parked *parked = g_new(Parked, 1);
    *parked = (Parked){.req = req,
                       .answer = answer,
                       .data = data,
                       .free_data = free_data,
                       .source = fs->source,
                       .timeout_us = fs->options->timeout_us,
                       .deadline = g_get_monotonic_time() + fs->options->timeout_us};
    g_mutex_lock(&parking->lock);
    guint64 id = parking->next_id++;
    gboolean closed = parking->closed;
    if (!closed) {
        /* An interrupt that came already is queued by this very call; the thread that takes it
         * from the queue waits for the lock, and finds the entry. */
        fuse_req_interrupt_func(req, parking_interrupted, GSIZE_TO_POINTER(id));
        g_hash_table_insert(parking->parked, g_memdup2(&id, sizeof(id)), parked);
    }
    g_mutex_unlock(&parking->lock);
    if (closed) {
        g_autoptr(GError) error = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the mount is ending");
        parked_end(parked, error);
    } else {
        g_async_queue_push(parking->wakeups, GSIZE_TO_POINTER(WAKE));
    }
    return id;
}

/* Some id whose deadline has passed, or 0; and when the next one passes. */
static guint64 parking_expired(Parking *parking, gint64 now, gint64 *ret_next)
{
    GHashTableIter iter;
    gpointer key, value;
    guint64 expired = 0;
    *ret_next = G_MAXINT64;
    g_mutex_lock(&parking->lock);
    g_hash_table_iter_init(&iter, parking->parked);
    while (!expired && g_hash_table_iter_next(&iter, &key, &value)) {
        Parked *parked = value;
        Source *source = parked->source;
        if (source->ops->progress)
            parked->deadline = MAX(parked->deadline, source->ops->progress(source) + parked->timeout_us);
        if (parked->deadline <= now)
            expired = *(guint64 *)key;
        *ret_next = MIN(*ret_next, parked->deadline);
    }
    g_mutex_unlock(&parking->lock);
    return expired;
}

static gpointer parking_thread(gpointer data)
{
    Parking *parking = data;
    g_autoptr(GError) timed_out =
        g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_TIMED_OUT, "the source did not answer in time");
    g_autoptr(GError) interrupted = g_error_new(G_FILE_ERROR, G_FILE_ERROR_INTR, "interrupted");
    for (;;) {
        gint64 next;
        guint64 expired;
        while ((expired = parking_expired(parking, g_get_monotonic_time(), &next)))
            parking_end(parking, expired, timed_out);
        gpointer wakeup =
            next == G_MAXINT64
                ? g_async_queue_pop(parking->wakeups)
                : g_async_queue_timeout_pop(parking->wakeups, (guint64)MAX(next - g_get_monotonic_time(), 1));
        if (GPOINTER_TO_SIZE(wakeup) == QUIT)
            return NULL;
        if (GPOINTER_TO_SIZE(wakeup) >= FIRST_ID)
            parking_end(parking, GPOINTER_TO_SIZE(wakeup), interrupted);
    }
}

Parking *parking_new(void)
{
    Parking *parking = g_new0(Parking, 1);
    g_atomic_ref_count_init(&parking->refs);
    g_mutex_init(&parking->lock);
    g_cond_init(&parking->answered);
    parking->parked = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    parking->next_id = FIRST_ID;
    parking->wakeups = g_async_queue_new();
    parking->thread = g_thread_new("parking", parking_thread, parking);
    return parking;
}

/* Some id that is parked, or 0. */
static guint64 parking_any(Parking *parking)
{
    GHashTableIter iter;
    gpointer key;
    g_mutex_lock(&parking->lock);
    g_hash_table_iter_init(&iter, parking->parked);
    guint64 id = g_hash_table_iter_next(&iter, &key, NULL) ? *(guint64 *)key : 0;
    g_mutex_unlock(&parking->lock);
    return id;
}

void parking_close(Parking *parking)
{
    g_mutex_lock(&parking->lock);
    parking->closed = TRUE;
    g_mutex_unlock(&parking->lock);
    g_autoptr(GError) ending = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the mount is ending");
    for (guint64 id; (id = parking_any(parking));)
        parking_end(parking, id, ending);
    /* Another thread may be in the middle of an answer, which needs the session. */
    g_mutex_lock(&parking->lock);
    while (parking->answering > 0)
        g_cond_wait(&parking->answered, &parking->lock);
    g_mutex_unlock(&parking->lock);
    g_async_queue_push(parking->wakeups, GSIZE_TO_POINTER(QUIT));
    g_thread_join(parking->thread);
}

Parking *parking_ref(Parking *parking)
{
    g_atomic_ref_count_inc(&parking->refs);
    return parking;
}

void parking_unref(Parking *parking)
{
    if (!parking || !g_atomic_ref_count_dec(&parking->refs))
        return;
    g_async_queue_unref(parking->wakeups);
    g_hash_table_unref(parking->parked);
    g_cond_clear(&parking->answered);
    g_mutex_clear(&parking->lock);
    g_free(parking);
}
