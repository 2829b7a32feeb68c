/* SPDX-License-Identifier: MIT */
/*
 * The VM's main loop: it makes the machine, does the jobs that it is handed, and publishes after
 * each of them. All live objects are made, changed and freed on its thread.
 */
#include "vmm/vm.h"

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "objmodel/publish.h"
#include "vmm/block.h"
#include "vmm/block-query.h"
#include "vmm/bus.h"
#include "vmm/data.h"
#include "vmm/devices.h"
#include "vmm/machine.h"
#include "vmm/netdev.h"
#include "vmm/parts.h"
#include "vmm/query.h"
#include "vmm/types.h"
#include "vmm/views.h"
#include "vmm/vm-private.h"
#include "vmm/x86-cpu.h"

struct Vm {
    /* Set before the thread starts, constant from then on. */
    VmConfig *config;
    Types *types;
    DeviceTypes *device_types;
    X86CpuTypes *cpu_types;
    Snapshots *snapshots;
    QmpFaults *faults;
    GMainContext *context;
    GMainLoop *loop;

    /* How the thread tells that it has started. */
    GThread *thread;
    GMutex lock; /* of what follows here */
    GCond started;
    gboolean is_started;
    GError *start_error;
    int thread_id;
    GHashTable *iothread_ids; /* id -> thread id */
    GBytes *command_names;    /* or NULL */
    BlockList *block_list;

    gint first_accesses; /* atomic */

    gsize balloon; /* atomic: written by the main loop */

    /* The main loop's. */
    Object *root, *peripheral, *peripheral_anon, *unattached, *objects, *chardevs;
    GHashTable *parts; /* name -> Object, a reference */
    GPtrArray *buses, *disks, *waiting_links;
    BlockNodes block_nodes;
    BlockLoop *block_loop;
    GHashTable *netdevs;
    const char *status;
    gboolean is_up, is_ending;
    Publisher *publisher;
    gboolean disks_changed, vm_changed; /* views that are to be made anew */
    Node *views[N_VIEWS], *view_root;   /* as published last */
    GPtrArray *events;                  /* VmEvent, to be told after the next publication */
    VmEventFunc listener;
    gpointer listener_opaque;
    GSource *tick;
};

typedef struct VmEvent {
    char *name, *data;
    gint64 time_us;
} VmEvent;

/* ---- containers: the root of the tree leads back to the VM ---- */

typedef struct Container {
    Object base;
    Vm *vm; /* the root only */
} Container;

const ObjectType container_type = {
    .name = "container",
    .help = "a place for other objects",
    .instance_size = sizeof(Container),
};

Vm *vm_of(const Object *object)
{
    while (object->parent)
        object = object->parent;
    return ((const Container *)object)->vm;
}

/* ---- what a VM has ---- */

Snapshots *vm_snapshots(Vm *vm)
{
    return vm->snapshots;
}

const VmConfig *vm_config(const Vm *vm)
{
    return vm->config;
}

const Types *vm_types(const Vm *vm)
{
    return vm->types;
}

const DeviceTypes *vm_device_types(const Vm *vm)
{
    return vm->device_types;
}

QmpFaults *vm_faults(Vm *vm)
{
    return vm->faults;
}

Object *vm_root(Vm *vm)
{
    return vm->root;
}

Object *vm_machine(Vm *vm)
{
    return vm_part(vm, "machine");
}

/* A container that the board made. */
static Object *container(Vm *vm, Object **place, const char *name)
{
    if (!*place)
        *place = object_child(vm_machine(vm), name);
    return *place;
}

Object *vm_peripheral(Vm *vm)
{
    return container(vm, &vm->peripheral, "peripheral");
}

Object *vm_peripheral_anon(Vm *vm)
{
    return container(vm, &vm->peripheral_anon, "peripheral-anon");
}

Object *vm_unattached(Vm *vm)
{
    return container(vm, &vm->unattached, "unattached");
}

Object *vm_objects(Vm *vm)
{
    return vm->objects;
}

Object *vm_chardevs(Vm *vm)
{
    return vm->chardevs;
}

Class *vm_class(Vm *vm, const char *type_name)
{
    Class *class = types_find(vm->types, type_name);
    if (!class)
        g_error("there is no type '%s'", type_name);
    return class;
}

GPtrArray *vm_buses(Vm *vm)
{
    return vm->buses;
}

GPtrArray *vm_disks(Vm *vm)
{
    return vm->disks;
}

BlockNodes *vm_block_nodes(Vm *vm)
{
    return &vm->block_nodes;
}

BlockLoop *vm_block_loop(Vm *vm)
{
    return vm->block_loop;
}

gint *vm_first_accesses(Vm *vm)
{
    return &vm->first_accesses;
}

GHashTable *vm_netdevs(Vm *vm)
{
    return vm->netdevs;
}

GPtrArray *vm_waiting_links(Vm *vm)
{
    return vm->waiting_links;
}

Object *vm_part(Vm *vm, const char *name)
{
    return g_hash_table_lookup(vm->parts, name);
}

void vm_add_part(Vm *vm, const char *name, Object *part)
{
    g_hash_table_insert(vm->parts, g_strdup(name), object_ref(part));
}

void vm_remove_part(Vm *vm, const char *name, const Object *part)
{
    if (vm_part(vm, name) == part)
        g_hash_table_remove(vm->parts, name);
}

gboolean vm_is_up(const Vm *vm)
{
    return vm->is_up;
}

gboolean vm_is_ending(const Vm *vm)
{
    return vm->is_ending;
}

const char *vm_status(const Vm *vm)
{
    return vm->status;
}

void vm_set_status(Vm *vm, const char *status)
{
    vm->status = g_intern_string(status);
    vm->vm_changed = TRUE;
    block_set_paused(vm, !vm_is_running(vm));
}

gboolean vm_is_running(const Vm *vm)
{
    return strcmp(vm->status, "running") == 0;
}

void vm_disks_changed(Vm *vm)
{
    vm->disks_changed = TRUE;
}

/* ---- threads ---- */

int vm_thread_id(const Vm *vm)
{
    return vm->thread_id;
}

void vm_set_command_names(Vm *vm, GBytes *json)
{
    g_mutex_lock(&vm->lock);
    g_clear_pointer(&vm->command_names, g_bytes_unref);
    vm->command_names = g_bytes_ref(json);
    g_mutex_unlock(&vm->lock);
}

GBytes *vm_command_names(Vm *vm)
{
    GBytes *names;

    g_mutex_lock(&vm->lock);
    names = vm->command_names ? g_bytes_ref(vm->command_names) : NULL;
    g_mutex_unlock(&vm->lock);
    return names;
}

int vm_iothread_thread_id(Vm *vm, const char *id)
{
    int thread_id;
    g_mutex_lock(&vm->lock);
    thread_id = GPOINTER_TO_INT(g_hash_table_lookup(vm->iothread_ids, id));
    g_mutex_unlock(&vm->lock);
    return thread_id;
}

void vm_iothread_started(Vm *vm, const char *id, int thread_id)
{
    g_mutex_lock(&vm->lock);
    g_hash_table_insert(vm->iothread_ids, g_strdup(id), GINT_TO_POINTER(thread_id));
    g_mutex_unlock(&vm->lock);
}

void vm_iothread_stopped(Vm *vm, const char *id)
{
    g_mutex_lock(&vm->lock);
    g_hash_table_remove(vm->iothread_ids, id);
    g_mutex_unlock(&vm->lock);
}

/* ---- block nodes, for any thread ---- */

static void renew_block_list(Vm *vm)
{
    BlockList *list = block_list_new(vm), *previous;

    g_mutex_lock(&vm->lock);
    previous = vm->block_list;
    vm->block_list = list;
    g_mutex_unlock(&vm->lock);
    block_list_unref(previous);
}

BlockList *vm_block_list(Vm *vm)
{
    BlockList *list;

    g_mutex_lock(&vm->lock);
    list = block_list_ref(vm->block_list);
    g_mutex_unlock(&vm->lock);
    return list;
}

/* ---- the balloon ---- */

guint64 vm_balloon(Vm *vm)
{
    return (guint64)(gsize)g_atomic_pointer_get(&vm->balloon);
}

void vm_set_balloon(Vm *vm, guint64 bytes)
{
    g_atomic_pointer_set(&vm->balloon, (gsize)bytes);
}

/* ---- events ---- */

static void event_free(gpointer data)
{
    VmEvent *event = data;
    g_free(event->name);
    g_free(event->data);
    g_free(event);
}

void vm_event(Vm *vm, const char *name, const char *data)
{
    VmEvent *event = g_new0(VmEvent, 1);
    event->name = g_strdup(name);
    event->data = g_strdup(data);
    event->time_us = g_get_real_time();
    g_ptr_array_add(vm->events, event);
}

void vm_set_event_listener(Vm *vm, VmEventFunc func, gpointer opaque)
{
    vm->listener = func;
    vm->listener_opaque = opaque;
}

static void tell_events(Vm *vm)
{
    for (guint i = 0; i < vm->events->len && vm->listener; i++) {
        const VmEvent *event = vm->events->pdata[i];
        vm->listener(event->name, event->data, event->time_us, vm->listener_opaque);
    }
    g_ptr_array_set_size(vm->events, 0);
}

/* ---- publishing ---- */

static void take_view(Vm *vm, View view, Node *node)
{
    node_unref(vm->views[view]);
    vm->views[view] = node;
}

static Node *make_vm_view(Vm *vm, guint64 stamp)
{
    return view_vm_new(
        &(VmView){
            .name = vm->config->name,
            .uuid = vm->config->uuid,
            .status = vm->status,
            .version = VM_VERSION,
            .source = "model",
            .generation = snapshots_next_generation(vm->snapshots),
            .connected = TRUE,
        },
        vm->views[VIEW_VM], stamp);
}

static Node *make_cpu_definitions(guint64 stamp)
{
    JsonSlice json = data_json(DATA_CPU_DEFINITIONS);
    g_autoptr(GBytes) bytes = g_bytes_new_static(json.text, json.length);
    return view_list_from_json(VIEW_CPU_DEFINITIONS, bytes, json, NULL, stamp);
}

static void vm_publish(Vm *vm)
{
    guint64 stamp;
    Node *qom, *root;
    gboolean changed;

    if (!publisher_has_changes(vm->publisher) && !vm->disks_changed && !vm->vm_changed)
        return;
    stamp = snapshots_next_stamp(vm->snapshots, 0);
    qom = publisher_publish(vm->publisher, stamp);
    changed = qom != vm->views[VIEW_QOM] || vm->disks_changed || vm->vm_changed;
    take_view(vm, VIEW_QOM, qom);
    if (!changed)
        return;
    if (vm->disks_changed) {
        take_view(vm, VIEW_BLOCKSTATS, block_view_new(vm, vm->views[VIEW_BLOCKSTATS], stamp));
        renew_block_list(vm);
    }
    if (!vm->views[VIEW_CPU_DEFINITIONS])
        take_view(vm, VIEW_CPU_DEFINITIONS, make_cpu_definitions(stamp));
    if (!vm->views[VIEW_QUERY])
        take_view(vm, VIEW_QUERY, query_view_new(vm, stamp));
    take_view(vm, VIEW_VM, make_vm_view(vm, stamp));
    vm->disks_changed = vm->vm_changed = FALSE;

    root = views_root_new(vm->views, vm->view_root, stamp);
    node_unref(vm->view_root);
    vm->view_root = root;
    snapshots_publish(vm->snapshots, root, stamp);
}

/* ---- jobs ---- */

typedef struct Job {
    Vm *vm;
    VmJob run, done;
    gpointer data;
} Job;

static gboolean job_run(gpointer opaque)
{
    Job *job = opaque;
    Vm *vm = job->vm;

    job->run(vm, job->data);
    vm_publish(vm);
    tell_events(vm);
    if (job->done)
        job->done(vm, job->data);
    return G_SOURCE_REMOVE;
}

void vm_call(Vm *vm, VmJob run, VmJob done, gpointer data)
{
    GSource *source = g_idle_source_new();
    Job *job = g_new(Job, 1);

    *job = (Job){.vm = vm, .run = run, .done = done, .data = data};
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, job_run, job, g_free);
    g_source_attach(source, vm->context);
    g_source_unref(source);
}

/* ---- the clock ---- */

static void tick_attach(Vm *vm);

static gboolean tick(gpointer opaque)
{
    Vm *vm = opaque;

    machine_tick(vm, g_get_real_time() / G_USEC_PER_SEC);
    vm_publish(vm);
    tell_events(vm);
    tick_attach(vm);
    return G_SOURCE_REMOVE;
}

/* At the next full second of the wall clock. */
static void tick_attach(Vm *vm)
{
    gint64 rest = G_USEC_PER_SEC - g_get_real_time() % G_USEC_PER_SEC;

    g_clear_pointer(&vm->tick, g_source_unref);
    vm->tick = g_timeout_source_new((guint)((rest + 999) / 1000));
    g_source_set_callback(vm->tick, tick, vm, NULL);
    g_source_attach(vm->tick, vm->context);
}

/* ---- start and end ---- */

static gboolean vm_build(Vm *vm, GError **error)
{
    vm->root = object_new(vm_class(vm, container_type.name));
    ((Container *)vm->root)->vm = vm;
    vm->publisher = publisher_new(vm->root, view_name(VIEW_QOM));
    object_new_child(vm->root, "backend", vm_class(vm, container_type.name));
    vm->objects = object_new_child(vm->root, "objects", vm_class(vm, container_type.name));
    vm->chardevs = object_new_child(vm->root, "chardevs", vm_class(vm, container_type.name));
    object_new_child(vm->root, "audiodevs", vm_class(vm, container_type.name));
    vm_set_status(vm, vm->config->paused ? "prelaunch" : "running");

    machine_make(vm);
    machine_tick(vm, g_get_real_time() / G_USEC_PER_SEC);
    if (!devices_make(vm, error))
        return FALSE;
    parts_finish(vm);
    bus_number_all(vm);
    vm->is_up = TRUE;
    vm_disks_changed(vm);
    vm_publish(vm);
    return TRUE;
}

/* What the thread made goes on the thread. */
static void vm_tear_down(Vm *vm)
{
    vm->is_ending = TRUE;
    block_end_all(vm);
    if (vm->tick)
        g_source_destroy(vm->tick);
    g_clear_pointer(&vm->tick, g_source_unref);
    g_clear_pointer(&vm->publisher, publisher_free);
    while (vm->root && vm->root->last_child)
        object_unparent(vm->root->last_child);
    g_ptr_array_set_size(vm->waiting_links, 0);
    g_hash_table_remove_all(vm->parts);
    g_clear_pointer(&vm->root, object_unref);
    block_nodes_remove_all(vm);
    block_loop_flush(vm->block_loop);
    g_clear_pointer(&vm->block_loop, block_loop_unref);
}

static gpointer vm_run(gpointer opaque)
{
    Vm *vm = opaque;
    GError *error = NULL;
    gboolean ok;

    g_main_context_push_thread_default(vm->context);
    vm->block_loop = block_loop_new(vm->context);
    ok = vm_build(vm, &error);
    g_mutex_lock(&vm->lock);
    vm->thread_id = gettid();
    vm->start_error = error;
    vm->is_started = TRUE;
    g_cond_signal(&vm->started);
    g_mutex_unlock(&vm->lock);
    if (ok) {
        tick_attach(vm);
        g_main_loop_run(vm->loop);
    }
    vm_tear_down(vm);
    g_main_context_pop_thread_default(vm->context);
    return NULL;
}

static gboolean vm_start(Vm *vm, GError **error)
{
    vm->thread = g_thread_try_new("vm", vm_run, vm, error);
    if (!vm->thread)
        return FALSE;
    g_mutex_lock(&vm->lock);
    while (!vm->is_started)
        g_cond_wait(&vm->started, &vm->lock);
    g_mutex_unlock(&vm->lock);
    if (vm->start_error)
        g_propagate_error(error, g_steal_pointer(&vm->start_error));
    else
        return TRUE;
    g_thread_join(g_steal_pointer(&vm->thread));
    return FALSE;
}

Vm *vm_new(const VmConfig *config, GError **error)
{
    g_autoptr(Vm) vm = g_new0(Vm, 1);

    g_mutex_init(&vm->lock);
    g_cond_init(&vm->started);
    vm->config = vm_config_copy(config);
    vm->types = types_new();
    vm->device_types = device_types_new(vm->types, behaviour_types);
    vm->cpu_types = x86_cpu_types_new(vm->types);
    vm->snapshots = snapshots_new();
    vm->faults = qmp_faults_new();
    vm->context = g_main_context_new();
    vm->loop = g_main_loop_new(vm->context, FALSE);
    vm->iothread_ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    vm->parts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)object_unref);
    vm->buses = g_ptr_array_new();
    vm->disks = g_ptr_array_new();
    vm->waiting_links = g_ptr_array_new_with_free_func((GDestroyNotify)waiting_link_free);
    vm->block_nodes.by_name = g_hash_table_new(g_str_hash, g_str_equal);
    vm->block_nodes.all = g_ptr_array_new();
    vm->netdevs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)netdev_free);
    vm->events = g_ptr_array_new_with_free_func(event_free);

    if (!x86_cpu_class(vm->types, vm->config->cpus.model, error) || !vm_start(vm, error))
        return NULL;
    return g_steal_pointer(&vm);
}

static void vm_quit(Vm *vm, gpointer data G_GNUC_UNUSED)
{
    g_main_loop_quit(vm->loop);
}

void vm_free(Vm *vm)
{
    if (!vm)
        return;
    if (vm->thread) {
        vm_call(vm, vm_quit, NULL, NULL);
        g_thread_join(vm->thread);
    }
    for (int view = 0; view < N_VIEWS; view++)
        node_unref(vm->views[view]);
    node_unref(vm->view_root);
    g_ptr_array_unref(vm->events);
    g_hash_table_unref(vm->block_nodes.by_name);
    g_ptr_array_unref(vm->block_nodes.all);
    block_list_unref(vm->block_list);
    g_hash_table_unref(vm->netdevs);
    g_ptr_array_unref(vm->waiting_links);
    g_ptr_array_unref(vm->disks);
    g_ptr_array_unref(vm->buses);
    g_hash_table_unref(vm->parts);
    g_hash_table_unref(vm->iothread_ids);
    g_clear_pointer(&vm->command_names, g_bytes_unref);
    g_main_loop_unref(vm->loop);
    g_main_context_unref(vm->context);
    snapshots_free(vm->snapshots);
    qmp_faults_free(vm->faults);
    types_free(vm->types);
    device_types_free(vm->device_types);
    x86_cpu_types_free(vm->cpu_types);
    vm_config_free(vm->config);
    g_cond_clear(&vm->started);
    g_mutex_clear(&vm->lock);
    g_clear_error(&vm->start_error);
    g_free(vm);
}
