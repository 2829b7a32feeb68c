/* SPDX-License-Identifier: MIT */
/*
 * Tells ThreadSanitizer what GLib's functions synchronise. GLib is not instrumented and its locks are bare futexes, so
 * that whatever is handed from thread to thread under them would be reported as a race.
 *
 * Linked into every program of the ThreadSanitizer build (tests/run.sh), and into nothing else. Its functions have the
 * names of GLib's and take their place in our own objects, not inside GLib; each does what GLib's does, or calls it.
 * What is not here and is used between threads has to be added: TSan's report then has GLib's function in its stack.
 */
#include <dlfcn.h>
#include <glib.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <string.h>
#include <time.h>

#define OURS __attribute__((visibility("hidden")))

/* GLib's own function of this name, looked up once. */
#define REAL(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) real;                                                                                 \
        __typeof__(&name) found = __atomic_load_n(&real, __ATOMIC_ACQUIRE);                                            \
        if (!found) {                                                                                                  \
            found = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                        \
            __atomic_store_n(&real, found, __ATOMIC_RELEASE);                                                          \
        }                                                                                                              \
        found;                                                                                                         \
    })

/* --- Mutexes and conditions: GLib's, with the events announced --- */

OURS void g_mutex_init(GMutex *mutex)
{
    REAL(g_mutex_init)(mutex);
    __tsan_mutex_create(mutex, 0);
}

OURS void g_mutex_clear(GMutex *mutex)
{
    __tsan_mutex_destroy(mutex, 0);
    REAL(g_mutex_clear)(mutex);
}

OURS void g_mutex_lock(GMutex *mutex)
{
    __tsan_mutex_pre_lock(mutex, 0);
    REAL(g_mutex_lock)(mutex);
    __tsan_mutex_post_lock(mutex, 0, 0);
}

OURS gboolean g_mutex_trylock(GMutex *mutex)
{
    __tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock);
    gboolean locked = REAL(g_mutex_trylock)(mutex);
    __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock | (locked ? 0 : __tsan_mutex_try_lock_failed), 0);
    return locked;
}

OURS void g_mutex_unlock(GMutex *mutex)
{
    __tsan_mutex_pre_unlock(mutex, 0);
    REAL(g_mutex_unlock)(mutex);
    __tsan_mutex_post_unlock(mutex, 0);
}

static void announce_unlock(GMutex *mutex)
{
    __tsan_mutex_pre_unlock(mutex, 0);
    __tsan_mutex_post_unlock(mutex, 0);
}

static void announce_lock(GMutex *mutex)
{
    __tsan_mutex_pre_lock(mutex, 0);
    __tsan_mutex_post_lock(mutex, 0, 0);
}

OURS void g_cond_wait(GCond *cond, GMutex *mutex)
{
    announce_unlock(mutex);
    REAL(g_cond_wait)(cond, mutex);
    announce_lock(mutex);
}

OURS gboolean g_cond_wait_until(GCond *cond, GMutex *mutex, gint64 end_time)
{
    announce_unlock(mutex);
    gboolean signalled = REAL(g_cond_wait_until)(cond, mutex, end_time);
    announce_lock(mutex);
    return signalled;
}

OURS void g_rw_lock_reader_lock(GRWLock *lock)
{
    __tsan_mutex_pre_lock(lock, __tsan_mutex_read_lock);
    REAL(g_rw_lock_reader_lock)(lock);
    __tsan_mutex_post_lock(lock, __tsan_mutex_read_lock, 0);
}

OURS void g_rw_lock_reader_unlock(GRWLock *lock)
{
    __tsan_mutex_pre_unlock(lock, __tsan_mutex_read_lock);
    REAL(g_rw_lock_reader_unlock)(lock);
    __tsan_mutex_post_unlock(lock, __tsan_mutex_read_lock);
}

OURS void g_rw_lock_writer_lock(GRWLock *lock)
{
    __tsan_mutex_pre_lock(lock, 0);
    REAL(g_rw_lock_writer_lock)(lock);
    __tsan_mutex_post_lock(lock, 0, 0);
}

OURS void g_rw_lock_writer_unlock(GRWLock *lock)
{
    __tsan_mutex_pre_unlock(lock, 0);
    REAL(g_rw_lock_writer_unlock)(lock);
    __tsan_mutex_post_unlock(lock, 0);
}

OURS gboolean(g_once_init_enter)(volatile void *location)
{
    gboolean mine = REAL(g_once_init_enter)(location);
    __tsan_acquire((void *)location);
    return mine;
}

OURS void(g_once_init_leave)(volatile void *location, gsize result)
{
    __tsan_release((void *)location);
    REAL(g_once_init_leave)(location, result);
}

/* --- Reference counts: done here, by atomics that are instrumented --- */

#undef g_atomic_ref_count_init
#undef g_atomic_ref_count_inc
#undef g_atomic_ref_count_dec
#undef g_atomic_ref_count_compare

OURS void g_atomic_ref_count_init(gatomicrefcount *count)
{
    __atomic_store_n(count, 1, __ATOMIC_SEQ_CST);
}

OURS void g_atomic_ref_count_inc(gatomicrefcount *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

OURS gboolean g_atomic_ref_count_dec(gatomicrefcount *count)
{
    return __atomic_fetch_sub(count, 1, __ATOMIC_SEQ_CST) == 1;
}

OURS gboolean g_atomic_ref_count_compare(gatomicrefcount *count, gint value)
{
    return __atomic_load_n(count, __ATOMIC_SEQ_CST) == value;
}

typedef struct Box {
    gatomicrefcount count;
    gsize size;
} Box;
G_STATIC_ASSERT(sizeof(Box) == 2 * sizeof(gsize)); /* keeps what follows aligned */

OURS gpointer(g_atomic_rc_box_alloc)(gsize size)
{
    Box *box = g_malloc(sizeof(Box) + size);
    g_atomic_ref_count_init(&box->count);
    box->size = size;
    return box + 1;
}

OURS gpointer(g_atomic_rc_box_alloc0)(gsize size)
{
    return memset(g_atomic_rc_box_alloc(size), 0, size);
}

OURS gpointer(g_atomic_rc_box_dup)(gsize size, gconstpointer content)
{
    return memcpy(g_atomic_rc_box_alloc(size), content, size);
}

OURS gpointer(g_atomic_rc_box_acquire)(gpointer content)
{
    g_atomic_ref_count_inc(&((Box *)content - 1)->count);
    return content;
}

OURS void(g_atomic_rc_box_release_full)(gpointer content, GDestroyNotify clear)
{
    Box *box = (Box *)content - 1;
    if (g_atomic_ref_count_dec(&box->count)) {
        if (clear)
            clear(content);
        g_free(box);
    }
}

OURS void(g_atomic_rc_box_release)(gpointer content)
{
    g_atomic_rc_box_release_full(content, NULL);
}

OURS gsize(g_atomic_rc_box_get_size)(gpointer content)
{
    return ((Box *)content - 1)->size;
}

/* The count of GBytes is out of reach. Unreferencing is put in an order instead: recursive, as freeing may unref
 * others. */
static pthread_mutex_t bytes_lock;

static void __attribute__((constructor)) init_bytes_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&bytes_lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

OURS void g_bytes_unref(GBytes *bytes)
{
    pthread_mutex_lock(&bytes_lock);
    REAL(g_bytes_unref)(bytes);
    pthread_mutex_unlock(&bytes_lock);
}

/*
 * --- Queues: done here, for GLib allocates and frees an element outside what could be announced ---
 * A function of GAsyncQueue that is not here would take a Queue for GLib's own.
 */

typedef struct Queue {
    gatomicrefcount refs;
    pthread_mutex_t lock;
    pthread_cond_t pushed;
    GQueue items;
    GDestroyNotify free_item; /* or NULL */
} Queue;

OURS GAsyncQueue *g_async_queue_new_full(GDestroyNotify free_item)
{
    Queue *queue = g_new0(Queue, 1);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->pushed, &attributes);
    pthread_condattr_destroy(&attributes);
    g_atomic_ref_count_init(&queue->refs);
    queue->free_item = free_item;
    return (GAsyncQueue *)queue;
}

OURS GAsyncQueue *g_async_queue_new(void)
{
    return g_async_queue_new_full(NULL);
}

OURS GAsyncQueue *g_async_queue_ref(GAsyncQueue *opaque)
{
    g_atomic_ref_count_inc(&((Queue *)opaque)->refs);
    return opaque;
}

OURS void g_async_queue_unref(GAsyncQueue *opaque)
{
    Queue *queue = (Queue *)opaque;
    if (!g_atomic_ref_count_dec(&queue->refs))
        return;
    if (queue->free_item)
        g_queue_clear_full(&queue->items, queue->free_item);
    g_queue_clear(&queue->items);
    pthread_cond_destroy(&queue->pushed);
    pthread_mutex_destroy(&queue->lock);
    g_free(queue);
}

OURS gint g_async_queue_length(GAsyncQueue *opaque)
{
    Queue *queue = (Queue *)opaque;
    pthread_mutex_lock(&queue->lock);
    gint length = (gint)g_queue_get_length(&queue->items);
    pthread_mutex_unlock(&queue->lock);
    return length;
}

OURS void g_async_queue_push(GAsyncQueue *opaque, gpointer item)
{
    Queue *queue = (Queue *)opaque;
    pthread_mutex_lock(&queue->lock);
    g_queue_push_tail(&queue->items, item);
    pthread_cond_signal(&queue->pushed);
    pthread_mutex_unlock(&queue->lock);
}

/* deadline: of the monotonic clock, in microseconds; G_MAXINT64: waits as long as it takes. */
static gpointer queue_pop(GAsyncQueue *opaque, gint64 deadline)
{
    Queue *queue = (Queue *)opaque;
    struct timespec until = {.tv_sec = deadline / G_USEC_PER_SEC, .tv_nsec = deadline % G_USEC_PER_SEC * 1000};
    int result = 0;
    pthread_mutex_lock(&queue->lock);
    while (g_queue_is_empty(&queue->items) && result == 0)
        result = deadline == G_MAXINT64 ? pthread_cond_wait(&queue->pushed, &queue->lock)
                                        : pthread_cond_timedwait(&queue->pushed, &queue->lock, &until);
    gpointer item = g_queue_pop_head(&queue->items);
    pthread_mutex_unlock(&queue->lock);
    return item;
}

OURS gpointer g_async_queue_pop(GAsyncQueue *queue)
{
    return queue_pop(queue, G_MAXINT64);
}

OURS gpointer g_async_queue_try_pop(GAsyncQueue *queue)
{
    return queue_pop(queue, 0);
}

OURS gpointer g_async_queue_timeout_pop(GAsyncQueue *queue, guint64 timeout)
{
    return queue_pop(queue, g_get_monotonic_time() + (gint64)timeout);
}

/* --- Main loops: what was done before a source was attached is seen by its callback --- */

typedef struct Callback {
    GSourceFunc function;
    gpointer data;
    GDestroyNotify notify;
} Callback;

static Callback *callback_new(GSourceFunc function, gpointer data, GDestroyNotify notify)
{
    Callback *callback = g_new(Callback, 1);
    *callback = (Callback){function, data, notify};
    __tsan_release(callback);
    return callback;
}

static gboolean callback_run(gpointer opaque)
{
    Callback *callback = opaque;
    GSource *source = g_main_current_source();
    __tsan_acquire(callback);
    if (source && g_source_get_context(source))
        __tsan_acquire(g_source_get_context(source));
    gboolean again = callback->function(callback->data);
    __tsan_release(callback);
    return again;
}

static void callback_free(gpointer opaque)
{
    Callback *callback = opaque;
    __tsan_acquire(callback);
    if (callback->notify)
        callback->notify(callback->data);
    g_free(callback);
}

OURS void g_source_set_callback(GSource *source, GSourceFunc function, gpointer data, GDestroyNotify notify)
{
    /* Other sources call their callbacks with other arguments; they mostly stay in one thread. */
    if (source->source_funcs == &g_idle_funcs || source->source_funcs == &g_timeout_funcs)
        REAL(g_source_set_callback)(source, callback_run, callback_new(function, data, notify), callback_free);
    else
        REAL(g_source_set_callback)(source, function, data, notify);
}

/* Of ThreadSanitizer's run-time library, in no header of it. */
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

OURS guint g_source_attach(GSource *source, GMainContext *context)
{
    __tsan_release(context ? context : g_main_context_default());
    /* The elements of the context's lists that are allocated here are freed by any thread, under GLib's lock. */
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    guint id = REAL(g_source_attach)(source, context);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    return id;
}

OURS void g_main_context_invoke_full(GMainContext *context, gint priority, GSourceFunc function, gpointer data,
                                     GDestroyNotify notify)
{
    GMainContext *target = context ? context : g_main_context_default();
    GMainContext *mine = g_main_context_get_thread_default();
    gboolean owned = g_main_context_is_owner(target);
    if (owned || ((mine ? mine : g_main_context_default()) == target && g_main_context_acquire(target))) {
        while (function(data))
            continue;
        if (notify)
            notify(data);
        if (!owned)
            g_main_context_release(target);
        return;
    }
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, priority);
    g_source_set_callback(source, function, data, notify);
    g_source_attach(source, target);
    g_source_unref(source);
}

OURS void g_main_context_invoke(GMainContext *context, GSourceFunc function, gpointer data)
{
    g_main_context_invoke_full(context, G_PRIORITY_DEFAULT, function, data, NULL);
}

OURS void g_main_loop_quit(GMainLoop *loop)
{
    __tsan_release(loop);
    REAL(g_main_loop_quit)(loop);
}

OURS void g_main_loop_run(GMainLoop *loop)
{
    REAL(g_main_loop_run)(loop);
    __tsan_acquire(loop);
}
