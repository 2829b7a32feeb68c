/* SPDX-License-Identifier: MIT */
/*
 * IO threads. The object belongs to the main loop; its thread runs a GMainContext of its own, in
 * which the disks that name it do their work, and ends with the object.
 */
#include "vmm/iothread.h"

#include <sys/types.h>
#include <unistd.h>

#include "vmm/types.h"
#include "vmm/vm-private.h"

typedef struct IOThread {
    Object base;
    /* properties */
    int64_t thread_pool_min, thread_pool_max, aio_max_batch;
    int64_t poll_max_ns, poll_grow, poll_shrink, poll_weight;
    /* state */
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
} IOThread;

/* ---- the thread ---- */

typedef struct Start {
    GMainContext *context;
    GMainLoop *loop;
    GMutex lock;
    GCond started;
    pid_t tid; /* 0: not started yet */
} Start;

static gpointer iothread_run(gpointer opaque)
{
    Start *start = opaque;
    g_autoptr(GMainContext) context = g_main_context_ref(start->context);
    g_autoptr(GMainLoop) loop = g_main_loop_ref(start->loop);

    g_main_context_push_thread_default(context);
    g_mutex_lock(&start->lock);
    start->tid = gettid();
    g_cond_signal(&start->started);
    g_mutex_unlock(&start->lock); /* start is gone from here on */
    g_main_loop_run(loop);
    g_main_context_pop_thread_default(context);
    return NULL;
}

static gboolean iothread_complete(Object *object, GError **error)
{
    IOThread *iothread = (IOThread *)object;
    Start start = {0};

    iothread->context = g_main_context_new();
    iothread->loop = g_main_loop_new(iothread->context, FALSE);
    start.context = iothread->context;
    start.loop = iothread->loop;
    g_mutex_init(&start.lock);
    g_cond_init(&start.started);
    iothread->thread = g_thread_try_new(object->name, iothread_run, &start, error);
    g_mutex_lock(&start.lock);
    while (iothread->thread && !start.tid)
        g_cond_wait(&start.started, &start.lock);
    g_mutex_unlock(&start.lock);
    g_mutex_clear(&start.lock);
    g_cond_clear(&start.started);
    if (iothread->thread)
        vm_iothread_started(vm_of(object), object->name, start.tid);
    return iothread->thread != NULL;
}

static gboolean quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void iothread_unparent(Object *object)
{
    IOThread *iothread = (IOThread *)object;

    if (!iothread->thread)
        return;
    vm_iothread_stopped(vm_of(object), object->name);
    g_main_context_invoke(iothread->context, quit, iothread->loop);
    g_thread_join(g_steal_pointer(&iothread->thread));
}

static void iothread_finalize(Object *object)
{
    IOThread *iothread = (IOThread *)object;
    g_clear_pointer(&iothread->loop, g_main_loop_unref);
    g_clear_pointer(&iothread->context, g_main_context_unref);
}

/* ---- the type ---- */

/* The pool's least and most must fit together. */
static gboolean check_pool(Object *object, const Property *prop, JsonSlice value, GError **error)
{
    const IOThread *iothread = (IOThread *)object;
    gboolean is_min = prop->offset == offsetof(IOThread, thread_pool_min);
    gint64 number;

    if (!json_to_int64(value, &number) || number < 0)
        return TRUE; /* the range check has the words for it */
    if (is_min ? number <= iothread->thread_pool_max : number > 0 && number >= iothread->thread_pool_min)
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "bad thread-pool-min/thread-pool-max values");
    return FALSE;
}

static const Property event_loop_props[] = {
    PROP_FIELD(IOThread, thread_pool_min, "thread-pool-min", .flags = PROP_WRITABLE, .max = G_MAXINT64,
               .set = check_pool, .help = "threads that are always there for blocking requests"),
    PROP_FIELD(IOThread, aio_max_batch, "aio-max-batch", .flags = PROP_WRITABLE, .max = G_MAXINT64,
               .help = "requests given to the kernel at once; 0: as it sees fit"),
    PROP_FIELD(IOThread, thread_pool_max, "thread-pool-max", .flags = PROP_WRITABLE, .max = G_MAXINT64, .initial = 64,
               .set = check_pool, .help = "threads for blocking requests at most"),
    {0},
};

static const ObjectType event_loop_base_type = {
    .name = "event-loop-base",
    .help = "an event loop",
    .instance_size = sizeof(IOThread),
    .abstract = TRUE,
    .props = event_loop_props,
};

static const Property iothread_props[] = {
    PROP_FIELD(IOThread, poll_max_ns, "poll-max-ns", .flags = PROP_WRITABLE, .max = G_MAXINT64, .initial = 32768,
               .help = "longest busy poll in nanoseconds"),
    PROP_FIELD(IOThread, poll_weight, "poll-weight", .flags = PROP_WRITABLE, .max = G_MAXINT64, .initial = 3,
               .help = "how much the last wait counts for the next poll"),
    PROP_FIELD(IOThread, poll_grow, "poll-grow", .flags = PROP_WRITABLE, .max = G_MAXINT64, .initial = 2,
               .help = "growth factor of the busy poll"),
    PROP_FIELD(IOThread, poll_shrink, "poll-shrink", .flags = PROP_WRITABLE, .max = G_MAXINT64, .initial = 2,
               .help = "shrink factor of the busy poll"),
    {0},
};

const ObjectType iothread_type = {
    .name = "iothread",
    .help = "an event loop with a thread of its own",
    .parent = &event_loop_base_type,
    .user_creatable = TRUE,
    .props = iothread_props,
    .complete = iothread_complete,
    .unparent = iothread_unparent,
    .finalize = iothread_finalize,
};

Object *iothread_new(Vm *vm, const char *id, GError **error)
{
    g_autoptr(Object) object = object_new(vm_class(vm, iothread_type.name));

    if (!object_add_child(vm_objects(vm), id, object, error))
        return NULL;
    if (!object_complete(object, error)) {
        object_unparent(object);
        return NULL;
    }
    return object; /* /objects keeps it */
}
