/* SPDX-License-Identifier: MIT */
/*
 * IO threads. The object belongs to the main loop; its thread is a BlockLoop, in
 * which the disks that name it do their work; it ends with the object and the last of them.
 */
#include "vmm/iothread.h"

#include "vmm/types.h"
#include "vmm/vm-private.h"

typedef struct IOThread {
    Object base;
    /* properties */
    int64_t thread_pool_min, thread_pool_max, aio_max_batch;
    int64_t poll_max_ns, poll_grow, poll_shrink, poll_weight;
    /* state */
    BlockLoop *loop;
} IOThread;

/* ---- the thread ---- */

static void apply_pool(Object *object)
{
    const IOThread *iothread = (IOThread *)object;

    if (iothread->loop)
        block_loop_set_threads(iothread->loop, (guint)MIN(iothread->thread_pool_min, BLOCK_LOOP_THREADS),
                               (guint)MIN(iothread->thread_pool_max, BLOCK_LOOP_THREADS));
}

static gboolean iothread_complete(Object *object, GError **error)
{
    IOThread *iothread = (IOThread *)object;
    int thread_id;

    iothread->loop = block_loop_new_thread(object->name, &thread_id, error);
    if (!iothread->loop)
        return FALSE;
    apply_pool(object);
    vm_iothread_started(vm_of(object), object->name, thread_id);
    return TRUE;
}

/* Disks that do their I/O there keep the thread until they go. */
static void iothread_unparent(Object *object)
{
    IOThread *iothread = (IOThread *)object;

    if (!iothread->loop)
        return;
    vm_iothread_stopped(vm_of(object), object->name);
    g_clear_pointer(&iothread->loop, block_loop_unref);
}

BlockLoop *iothread_loop(Object *object)
{
    return ((IOThread *)object)->loop;
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
               .set = check_pool, .changed = apply_pool, .help = "threads that are always there for blocking requests"),
    PROP_FIELD(IOThread, aio_max_batch, "aio-max-batch", .flags = PROP_WRITABLE, .max = G_MAXINT64,
               .help = "requests given to the kernel at once; 0: as it sees fit"),
    PROP_FIELD(IOThread, thread_pool_max, "thread-pool-max", .flags = PROP_WRITABLE, .max = G_MAXINT64,
               .initial = BLOCK_LOOP_THREADS, .set = check_pool, .changed = apply_pool,
               .help = "threads for blocking requests at most"),
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
