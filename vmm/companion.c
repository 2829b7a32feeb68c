/* SPDX-License-Identifier: MIT */
/* See companion.h. */
#include "vmm/companion.h"

#include <stdio.h>
#include <string.h>

#include "vmm/companion-live.h"
#include "vmm/live/live.h"
#include "vmm/qmp-context.h"
#include "vmm/qmp-object-options.h"
#include "vmm/query.h"
#include "vmm/vm-private.h"

struct Companion {
    QmpContext context;
    QmpServer *server;
    EventLog *events;
    QueryCommands *queries;
    CompanionLive *live;   /* of a running QEMU; or NULL */
    QmpCommand object_add; /* the row of that name, with what our own types take */
    GPtrArray *memory;     /* of its argument type */
};

/* ---- what is offered ---- */

static gboolean source_has(const Snapshot *snapshot, View view)
{
    const Node *node = views_get(snapshot->root, view);

    /* A view that a dump lacks stands as an empty list. */
    return view == VIEW_QOM ? node->kind == NODE_OBJECT : children_count(node->children) > 0;
}

/* A dump need not say what its VM was. */
static gboolean vm_has(const Snapshot *snapshot, const char *member)
{
    const Node *node = views_get(snapshot->root, VIEW_VM);
    JsonSlice value = node->kind == NODE_RECORD ? json_member(node->text, member) : (JsonSlice){NULL, 0};

    return value.length > 0 && json_kind(value) == JSON_STRING && !json_string_is(value, "");
}

/* "MAJOR.MINOR.MICRO" of what the tree comes from. */
static QmpVersion source_version(const Snapshot *snapshot)
{
    const Node *node = views_get(snapshot->root, VIEW_VM);
    g_autofree char *text =
        vm_has(snapshot, "version") ? json_string_dup(json_member(node->text, "version"), NULL) : NULL;
    QmpVersion version = {.package = ""};

    if (text == NULL || sscanf(text, "%u.%u.%u", &version.major, &version.minor, &version.micro) != 3) {
        version = (QmpVersion){.package = ""};
    }
    return version;
}

/* The rows of queries_vm for which vm/ has something. */
static void add_vm_queries(Companion *companion, QmpRegistry *registry, const Snapshot *snapshot, gboolean is_model)
{
    static const char *const members[][2] = {
        {"query-status", "status"},
        {"query-uuid", "uuid"},
    };

    for (const Query *query = queries_vm; query->command != NULL; query++) {
        gboolean has = is_model || views_get(snapshot->root, VIEW_VM)->kind == NODE_RECORD;

        for (guint i = 0; i < G_N_ELEMENTS(members) && !is_model; i++) {
            if (g_str_equal(query->command, members[i][0])) {
                has = vm_has(snapshot, members[i][1]);
            }
        }
        if (has) {
            query_commands_add(companion->queries, registry, query);
        }
    }
}

/* All rows as they stand, but for object-add: what that takes follows from the VM's types. */
static void add_change_commands(QmpRegistry *registry, Companion *companion)
{
    QmpContext *context = &companion->context;

    qmp_registry_add(registry, qmp_hosts_commands, context);
    for (const QmpCommand *command = qmp_change_commands; command->name != NULL; command++) {
        if (context->vm != NULL && strcmp(command->name, "object-add") == 0) {
            companion->object_add = *command;
            companion->object_add.arg_type = qmp_object_options(vm_types(context->vm), companion->memory);
            qmp_registry_add_one(registry, &companion->object_add, context);
        } else {
            qmp_registry_add_one(registry, command, context);
        }
    }
}

/* What the configuration says of the socket: it may be as an older QEMU's. */
static QmpVersion configured_version(const VmConfig *config, const Snapshot *snapshot)
{
    QmpVersion version = {.package = ""};

    if (config == NULL || config->qmp.version == NULL) {
        return source_version(snapshot);
    }
    sscanf(config->qmp.version, "%u.%u.%u", &version.major, &version.minor, &version.micro);
    return version;
}

static void leave_out(QmpRegistry *registry, const VmConfig *config)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    if (config->qmp.capabilities->len == 0) {
        qmp_registry_leave_out_oob(registry);
    }
    for (guint i = 0; i < config->qmp.without->len; i++) {
        g_ptr_array_add(names, config->qmp.without->pdata[i]);
    }
    g_ptr_array_add(names, NULL);
    qmp_registry_leave_out(registry, (const char *const *)names->pdata);
}

static QmpRegistry *companion_registry(Companion *companion, Share *share)
{
    QmpContext *context = &companion->context;
    g_autoptr(Snapshot) snapshot = snapshots_current(context->source->snapshots);
    gboolean is_model = context->vm != NULL;
    const VmConfig *config = is_model ? vm_config(context->vm) : NULL;
    QmpVersion version = configured_version(config, snapshot);
    QmpRegistry *registry;

    companion->queries = query_commands_new(context);
    if (source_is_live(context->source)) {
        companion->live = companion_live_new(context, share);
        return qmp_registry_ref(companion_live_offer(companion->live));
    }
    registry = qmp_registry_new(&version);
    if (is_model) {
        leave_out(registry, config);
    }
    add_vm_queries(companion, registry, snapshot, is_model);
    if (source_has(snapshot, VIEW_QOM)) {
        qmp_registry_add(registry, qmp_qom_commands, context);
    }
    if (is_model || source_has(snapshot, VIEW_CPU_DEFINITIONS)) {
        query_commands_add_table(companion->queries, registry, queries_cpu);
    }
    if (is_model || source_has(snapshot, VIEW_BLOCKSTATS)) {
        query_commands_add_table(companion->queries, registry, queries_block);
    }
    if (is_model) {
        qmp_registry_add(registry, qmp_types_commands, context);
        qmp_registry_add(registry, qmp_cpu_commands, context);
        query_commands_add_vm(companion->queries, registry);
        qmp_registry_add_events(registry, qmp_vm_events);
        qmp_registry_add_events(registry, qmp_block_events);
        qmp_registry_add_events(registry, qmp_hosts_events);
    }
    add_change_commands(registry, companion);
    qmp_registry_add(registry, qmp_block_commands, context);
    return registry;
}

/* ---- events ---- */

/* On the main loop. */
static void vm_told(const char *name, const char *data, gint64 time_us, gpointer opaque)
{
    Companion *companion = opaque;
    JsonSlice slice = {data, data != NULL ? strlen(data) : 0};

    qmp_server_emit(companion->server, name, slice, time_us);
}

/* On the monitor thread. */
static void log_events(const char *text, gsize length, void *opaque)
{
    Companion *companion = opaque;

    event_log_append(companion->events, text, length);
}

static void start_listening(Vm *vm, gpointer data)
{
    vm_set_event_listener(vm, vm_told, data);
}

/* A job that the other side waits for. */
typedef struct Farewell {
    GMutex lock;
    GCond done_cond;
    gboolean done;
} Farewell;

static void stop_listening(Vm *vm, gpointer data)
{
    Farewell *farewell = data;

    vm_set_event_listener(vm, NULL, NULL);
    g_mutex_lock(&farewell->lock);
    farewell->done = TRUE;
    g_cond_signal(&farewell->done_cond);
    g_mutex_unlock(&farewell->lock);
}

/* Afterwards the main loop does not know the companion any more. */
static void leave_vm(Vm *vm)
{
    Farewell farewell = {.done = FALSE};

    g_mutex_init(&farewell.lock);
    g_cond_init(&farewell.done_cond);
    vm_call(vm, stop_listening, NULL, &farewell);
    g_mutex_lock(&farewell.lock);
    while (!farewell.done) {
        g_cond_wait(&farewell.done_cond, &farewell.lock);
    }
    g_mutex_unlock(&farewell.lock);
    g_cond_clear(&farewell.done_cond);
    g_mutex_clear(&farewell.lock);
}

/* ---- life ---- */

static GBytes *command_names(const QmpRegistry *registry)
{
    GString *names = g_string_new(NULL);

    qmp_registry_append_names(registry, names);
    return g_string_free_to_bytes(names);
}

Companion *companion_new(Source *source, Vm *vm, const CompanionOptions *options, GError **error)
{
    g_autoptr(Companion) companion = g_new0(Companion, 1);
    g_autoptr(QmpRegistry) registry = NULL;

    companion->context = (QmpContext){
        .source = source,
        .quit = options->quit,
        .quit_opaque = options->quit_opaque,
    };
    companion->context.vm = vm;
    companion->events = options->events;
    companion->memory = g_ptr_array_new_with_free_func(g_free);
    registry = companion_registry(companion, options->share);
    companion->server = qmp_server_new(options->path, registry, error);
    if (companion->server == NULL) {
        companion->context.vm = NULL; /* it does not know us yet */
        return NULL;
    }
    if (companion->events != NULL) {
        qmp_server_set_event_sink(companion->server, log_events, companion);
    }
    if (vm != NULL) {
        g_autoptr(GBytes) names = command_names(registry);

        vm_set_command_names(vm, names);
        qmp_server_set_faults(
            companion->server,
            &(QmpFaultHooks){.command = qmp_faults_command, .event = qmp_faults_event, .opaque = vm_faults(vm)});
        if (vm_config(vm)->qmp.exclusive) {
            qmp_server_set_exclusive(companion->server);
        }
        vm_call(vm, start_listening, NULL, companion);
    } else if (companion->live != NULL) {
        companion_live_connect(companion->live, companion->server);
    }
    return g_steal_pointer(&companion);
}

void companion_start(Companion *companion)
{
    qmp_server_start(companion->server);
}

void companion_free(Companion *companion)
{
    if (companion == NULL) {
        return;
    }
    if (companion->context.vm != NULL) {
        leave_vm(companion->context.vm);
    } else if (companion->live != NULL && companion->server != NULL) {
        companion_live_leave(companion->live);
    }
    qmp_server_free(companion->server);
    query_commands_free(companion->queries);
    companion_live_free(companion->live);
    g_ptr_array_unref(companion->memory);
    g_free(companion);
}
