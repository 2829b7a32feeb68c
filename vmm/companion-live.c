/* SPDX-License-Identifier: MIT */
/* See companion-live.h. What was offered once stays as long as the server does: clients may have it still. */
#include "vmm/companion-live.h"

#include <stdio.h>
#include <string.h>

#include "qmp/registry.h"
#include "vmm/live/live.h"
#include "vmm/qmp-live.h"

struct CompanionLive {
    QmpContext *context;
    Share *share; /* or NULL */

    /* The monitor thread's, once that runs. */
    GPtrArray *registries; /* QmpRegistry, all that were offered; the last one is the current */
    GPtrArray *queries;    /* QueryCommands, of each */
    guint64 names;         /* when the current one was made: the stamp of the names in query/ */
    QmpVersion version;    /* and the version of the target */
    char *package;         /* of the first, which said so itself */
};

/* ---- what is offered ---- */

static void add_mounted(CompanionLive *live, QmpRegistry *registry, const Snapshot *snapshot)
{
    QmpContext *context = live->context;
    QueryCommands *queries = query_commands_new(context);

    g_ptr_array_add(live->queries, queries);
    qmp_registry_add(registry, qmp_builtin_commands, registry);
    qmp_registry_add(registry, qmp_qom_commands, context);
    query_commands_add_table(queries, registry, queries_cpu);
    query_commands_add_table(queries, registry, queries_block);
    query_commands_add_files(queries, registry, views_get(snapshot->root, VIEW_QUERY));
    if (context->source->ops->set != NULL) {
        qmp_registry_add(registry, qmp_live_commands, context);
    }
}

/* QEMU has had qom-list-get since 10.1. */
static gboolean is_ours(const char *command, const QmpVersion *version)
{
    gboolean has_bulk = version->major > 10 || (version->major == 10 && version->minor >= 1);

    return strcmp(command, "qom-tree-get") == 0 || strcmp(command, "qom-list-getv") == 0 ||
           (strcmp(command, "qom-list-get") == 0 && !has_bulk);
}

static void add_ours(CompanionLive *live, QmpRegistry *registry)
{
    for (const QmpCommand *command = qmp_qom_commands; command->name != NULL; command++) {
        if (is_ours(command->name, &live->version) && share_permits(live->share, command->name)) {
            qmp_registry_add_one(registry, command, live->context);
        }
    }
}

static void make_registry(CompanionLive *live, const Snapshot *snapshot)
{
    QmpRegistry *registry;

    if (live->share != NULL) {
        registry = share_registry(live->share, &live->version);
        add_ours(live, registry);
    } else {
        registry = qmp_registry_new_bare(&live->version,
                                         "this socket has what the mount shows; with --share it has all of QMP");
        add_mounted(live, registry, snapshot);
    }
    g_ptr_array_add(live->registries, registry);
}

/* As vm/ shows it. FALSE where that is what is known already. */
static gboolean take_version(CompanionLive *live, const Snapshot *snapshot)
{
    const Node *vm = views_get(snapshot->root, VIEW_VM);
    JsonSlice value = vm->kind == NODE_RECORD ? json_member(vm->text, "version") : (JsonSlice){NULL, 0};
    g_autofree char *text = value.length > 0 ? json_string_dup(value, NULL) : NULL;
    QmpVersion version = {.package = ""};

    if (text == NULL || sscanf(text, "%u.%u.%u", &version.major, &version.minor, &version.micro) != 3 ||
        (version.major == live->version.major && version.minor == live->version.minor &&
         version.micro == live->version.micro)) {
        return FALSE;
    }
    live->version = version;
    return TRUE;
}

QmpRegistry *companion_live_offer(void *companion_live)
{
    CompanionLive *live = companion_live;
    g_autoptr(Snapshot) snapshot = snapshots_current(live->context->source->snapshots);
    guint64 names = live->share != NULL ? 0 : views_get(snapshot->root, VIEW_QUERY)->names_stamp;

    if (take_version(live, snapshot) || names != live->names || live->registries->len == 0) {
        live->names = names;
        make_registry(live, snapshot);
    }
    return g_ptr_array_index(live->registries, live->registries->len - 1);
}

/* ---- life ---- */

CompanionLive *companion_live_new(QmpContext *context, Share *share)
{
    CompanionLive *live = g_new0(CompanionLive, 1);

    live->context = context;
    live->share = share;
    live->registries = g_ptr_array_new_with_free_func((GDestroyNotify)qmp_registry_unref);
    live->queries = g_ptr_array_new_with_free_func((GDestroyNotify)query_commands_free);
    live_source_version(context->source, &live->version);
    live->package = g_strdup(live->version.package);
    live->version.package = live->package;
    return live;
}

void companion_live_free(CompanionLive *live)
{
    if (live != NULL) {
        g_ptr_array_unref(live->registries);
        g_ptr_array_unref(live->queries);
        g_free(live->package);
        g_free(live);
    }
}

/* ---- events ---- */

/* What one thread asks of the live thread, and waits for. */
typedef struct Errand {
    Source *source;
    QmpServer *server; /* whom to tell of events; or NULL */
    GMutex lock;
    GCond done_cond;
    gboolean done;
} Errand;

static void live_told(const char *name, JsonSlice message, void *opaque)
{
    (void)name;
    qmp_server_pass_event(opaque, message);
}

/* On the live thread. */
static gboolean errand_run(gpointer data)
{
    Errand *errand = data;

    live_source_set_event_listener(errand->source, errand->server != NULL ? live_told : NULL, errand->server);
    g_mutex_lock(&errand->lock);
    errand->done = TRUE;
    g_cond_signal(&errand->done_cond);
    g_mutex_unlock(&errand->lock);
    return G_SOURCE_REMOVE;
}

static void listen_live(Source *source, QmpServer *server)
{
    Errand errand = {.source = source, .server = server};

    g_mutex_init(&errand.lock);
    g_cond_init(&errand.done_cond);
    g_main_context_invoke(live_source_context(source), errand_run, &errand);
    g_mutex_lock(&errand.lock);
    while (!errand.done) {
        g_cond_wait(&errand.done_cond, &errand.lock);
    }
    g_mutex_unlock(&errand.lock);
    g_cond_clear(&errand.done_cond);
    g_mutex_clear(&errand.lock);
}

void companion_live_connect(CompanionLive *live, QmpServer *server)
{
    Source *source = live->context->source;
    QmpClientHooks hooks;

    qmp_server_set_offer(server, companion_live_offer, live);
    if (live->share != NULL) {
        share_attach(live->share, live_source_context(source), live_source_link(source));
        hooks = share_hooks(live->share);
        qmp_server_set_client_hooks(server, &hooks);
    }
    /* Waits, so that the share is attached by then. */
    listen_live(source, server);
}

void companion_live_leave(CompanionLive *live)
{
    listen_live(live->context->source, NULL);
}
