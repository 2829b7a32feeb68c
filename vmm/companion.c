/* SPDX-License-Identifier: MIT */
/* See companion.h. */
#include "vmm/companion.h"

#include <stdio.h>

#include "vmm/qmp-context.h"

struct Companion {
    gpointer context;
    QmpServer *server;
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

/* The rows of qmp_vm_commands for which vm/ has something. */
static void add_vm_commands(QmpRegistry *registry, const Snapshot *snapshot, gboolean is_model, void *context)
{
    static const char *const members[][2] = {
        {"query-status", "status"},
        {"query-uuid", "uuid"},
    };

    for (const QmpCommand *command = qmp_vm_commands; command->name != NULL; command++) {
        gboolean has = is_model || views_get(snapshot->root, VIEW_VM)->kind == NODE_RECORD;

        for (guint i = 0; i < G_N_ELEMENTS(members) && !is_model; i++) {
            if (g_str_equal(command->name, members[i][0])) {
                has = vm_has(snapshot, members[i][1]);
            }
        }
        if (has) {
            qmp_registry_add_one(registry, command, context);
        }
    }
}

QmpRegistry *companion_registry_new(Source *source, Vm *vm, gpointer *ret_context)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(source->snapshots);
    QmpVersion version = source_version(snapshot);
    QmpRegistry *registry = qmp_registry_new(&version);
    QmpContext *context = g_new0(QmpContext, 1);

    context->source = source;
    context->vm = vm;
    add_vm_commands(registry, snapshot, vm != NULL, context);
    if (source_has(snapshot, VIEW_QOM)) {
        qmp_registry_add(registry, qmp_qom_commands, context);
    }
    if (vm != NULL || source_has(snapshot, VIEW_CPU_DEFINITIONS)) {
        qmp_registry_add(registry, qmp_cpu_commands, context);
    }
    if (vm != NULL || source_has(snapshot, VIEW_BLOCKSTATS)) {
        qmp_registry_add(registry, qmp_block_commands, context);
    }
    *ret_context = context;
    return registry;
}

/* ---- the server ---- */

Companion *companion_new(Source *source, Vm *vm, const char *path, GError **error)
{
    g_autoptr(Companion) companion = g_new0(Companion, 1);
    g_autoptr(QmpRegistry) registry = companion_registry_new(source, vm, &companion->context);

    companion->server = qmp_server_new(path, registry, error);
    return companion->server != NULL ? g_steal_pointer(&companion) : NULL;
}

void companion_start(Companion *companion)
{
    qmp_server_start(companion->server);
}

QmpServer *companion_server(Companion *companion)
{
    return companion->server;
}

void companion_free(Companion *companion)
{
    if (companion != NULL) {
        qmp_server_free(companion->server);
        g_free(companion->context);
        g_free(companion);
    }
}
