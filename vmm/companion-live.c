/* SPDX-License-Identifier: MIT */
/* See companion-live.h. */
#include "vmm/companion-live.h"

#include <string.h>

#include "qmp/registry.h"
#include "vmm/live/live.h"
#include "vmm/qmp-live.h"

/* ---- what is offered ---- */

static QmpRegistry *mount_registry(QmpContext *context, QueryCommands *queries, const QmpVersion *version)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(context->source->snapshots);
    QmpRegistry *registry =
        qmp_registry_new_bare(version, "this socket has what the mount shows; with --share it has all of QMP");

    qmp_registry_add(registry, qmp_builtin_commands, registry);
    qmp_registry_add(registry, qmp_qom_commands, context);
    query_commands_add_table(queries, registry, queries_cpu);
    query_commands_add_table(queries, registry, queries_block);
    query_commands_add_files(queries, registry, views_get(snapshot->root, VIEW_QUERY));
    if (context->source->ops->set != NULL) {
        qmp_registry_add(registry, qmp_live_commands, context);
    }
    return registry;
}

/* QEMU has had qom-list-get since 10.1. */
static gboolean is_ours(const char *command, const QmpVersion *version)
{
    gboolean has_bulk = version->major > 10 || (version->major == 10 && version->minor >= 1);

    return strcmp(command, "qom-tree-get") == 0 || strcmp(command, "qom-list-getv") == 0 ||
           (strcmp(command, "qom-list-get") == 0 && !has_bulk);
}

QmpRegistry *companion_live_registry(QmpContext *context, QueryCommands *queries, Share *share)
{
    QmpVersion version;
    QmpRegistry *registry;

    live_source_version(context->source, &version);
    if (share == NULL) {
        return mount_registry(context, queries, &version);
    }
    registry = share_registry(share, &version);
    for (const QmpCommand *command = qmp_qom_commands; command->name != NULL; command++) {
        if (is_ours(command->name, &version) && share_permits(share, command->name)) {
            qmp_registry_add_one(registry, command, context);
        }
    }
    return registry;
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

void companion_live_connect(QmpServer *server, Source *source, Share *share)
{
    QmpClientHooks hooks;

    if (share != NULL) {
        share_attach(share, live_source_context(source), live_source_link(source));
        hooks = share_hooks(share);
        qmp_server_set_client_hooks(server, &hooks);
    }
    /* Waits, so that the share is attached by then. */
    listen_live(source, server);
}

void companion_live_leave(Source *source)
{
    listen_live(source, NULL);
}
