/* SPDX-License-Identifier: MIT */
/* See command.h. The schema, which is large and constant, is made once when it is first
 * asked for, by any of the threads that share the registry. */
#include "qmp/registry.h"

#include <string.h>

typedef struct Entry {
    const QmpCommand *command;
    void *context;
} Entry;

struct QmpRegistry {
    gatomicrefcount refs;
    QmpVersion version;
    char *package;
    const char *hint;
    GArray *entries;      /* Entry, in the order in which they were added */
    GHashTable *by_name;  /* command name -> index + 1 in entries */
    GPtrArray *events;    /* QmpEvent */
    GHashTable *left_out; /* names of commands and events */
    gboolean no_oob;
    Entry otherwise; /* or no command */
    GOnce schema;
};

QmpRegistry *qmp_registry_new_bare(const QmpVersion *version, const char *hint)
{
    QmpRegistry *registry = g_new0(QmpRegistry, 1);

    g_atomic_ref_count_init(&registry->refs);
    registry->package = g_strdup(version->package);
    registry->version = *version;
    registry->version.package = registry->package;
    registry->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    registry->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    registry->events = g_ptr_array_new();
    registry->left_out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    registry->schema = (GOnce)G_ONCE_INIT;
    registry->hint = hint;
    return registry;
}

QmpRegistry *qmp_registry_new(const QmpVersion *version)
{
    QmpRegistry *registry = qmp_registry_new_bare(version, NULL);

    qmp_registry_add(registry, qmp_builtin_commands, registry);
    return registry;
}

const char *qmp_registry_hint(const QmpRegistry *registry)
{
    return registry->hint;
}

QmpRegistry *qmp_registry_ref(QmpRegistry *registry)
{
    g_atomic_ref_count_inc(&registry->refs);
    return registry;
}

void qmp_registry_unref(QmpRegistry *registry)
{
    if (registry == NULL || !g_atomic_ref_count_dec(&registry->refs)) {
        return;
    }
    g_free(registry->package);
    g_array_unref(registry->entries);
    g_hash_table_unref(registry->by_name);
    g_ptr_array_unref(registry->events);
    g_hash_table_unref(registry->left_out);
    g_free(registry->schema.retval);
    g_free(registry);
}

void qmp_registry_leave_out(QmpRegistry *registry, const char *const *names)
{
    g_autoptr(GArray) before = g_steal_pointer(&registry->entries);

    for (; *names != NULL; names++) {
        g_hash_table_add(registry->left_out, g_strdup(*names));
    }
    registry->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    g_hash_table_remove_all(registry->by_name);
    for (guint i = 0; i < before->len; i++) {
        const Entry *entry = &g_array_index(before, Entry, i);

        qmp_registry_add_one(registry, entry->command, entry->context);
    }
}

void qmp_registry_leave_out_oob(QmpRegistry *registry)
{
    registry->no_oob = TRUE;
}

void qmp_registry_set_otherwise(QmpRegistry *registry, const QmpCommand *command, void *context)
{
    registry->otherwise = (Entry){command, context};
}

gboolean qmp_registry_has_oob(const QmpRegistry *registry)
{
    return !registry->no_oob;
}

void qmp_registry_add_one(QmpRegistry *registry, const QmpCommand *command, void *context)
{
    Entry entry = {command, context};

    if (g_hash_table_contains(registry->left_out, command->name)) {
        return;
    }
    g_array_append_val(registry->entries, entry);
    g_hash_table_insert(registry->by_name, (void *)(guintptr)command->name, GUINT_TO_POINTER(registry->entries->len));
}

void qmp_registry_add(QmpRegistry *registry, const QmpCommand *table, void *context)
{
    for (const QmpCommand *command = table; command->name != NULL; command++) {
        qmp_registry_add_one(registry, command, context);
    }
}

void qmp_registry_add_events(QmpRegistry *registry, const QmpEvent *table)
{
    for (const QmpEvent *event = table; event->name != NULL; event++) {
        if (!g_hash_table_contains(registry->left_out, event->name)) {
            g_ptr_array_add(registry->events, (void *)(guintptr)event);
        }
    }
}

const QmpVersion *qmp_registry_version(const QmpRegistry *registry)
{
    return &registry->version;
}

const QmpCommand *qmp_registry_find(const QmpRegistry *registry, const char *name, void **ret_context)
{
    guint index = GPOINTER_TO_UINT(g_hash_table_lookup(registry->by_name, name));
    const Entry *entry;

    if (index == 0) {
        *ret_context = registry->otherwise.context;
        return registry->otherwise.command;
    }
    entry = &g_array_index(registry->entries, Entry, index - 1);
    *ret_context = entry->context;
    return entry->command;
}

const QmpEvent *qmp_registry_find_event(const QmpRegistry *registry, const char *name)
{
    for (guint i = 0; i < registry->events->len; i++) {
        const QmpEvent *event = g_ptr_array_index(registry->events, i);

        if (strcmp(event->name, name) == 0) {
            return event;
        }
    }
    return NULL;
}

guint qmp_registry_count(const QmpRegistry *registry)
{
    return registry->entries->len;
}

const QmpCommand *qmp_registry_nth(const QmpRegistry *registry, guint i)
{
    return g_array_index(registry->entries, Entry, i).command;
}

/* ---- the schema ---- */

/* The type of a command's arguments, made from its table; goes to `made` (with its
 * members) so that it lives until the schema is written. */
static const QmpType *command_arg_type(const QmpCommand *command, GPtrArray *made)
{
    g_autoptr(GArray) members = NULL;
    QmpType *type;

    if (command->arg_type != NULL) {
        return command->arg_type;
    }
    if (command->args == NULL) {
        return &qmp_empty;
    }
    members = g_array_new(TRUE, TRUE, sizeof(QmpMember));
    for (const QmpArg *arg = command->args; arg->name != NULL; arg++) {
        QmpMember member = {arg->name, arg->type, arg->optional};

        g_array_append_val(members, member);
    }
    type = g_new0(QmpType, 1);
    type->meta = QMP_OBJECT;
    type->members = (QmpMember *)(void *)g_array_free(g_steal_pointer(&members), FALSE);
    g_ptr_array_add(made, type);
    return type;
}

static void arg_type_free(gpointer data)
{
    QmpType *type = data;

    g_free((void *)(guintptr)type->members);
    g_free(type);
}

static gpointer make_schema(gpointer data)
{
    QmpRegistry *registry = data;
    g_autoptr(SchemaWriter) writer = schema_writer_new();
    g_autoptr(GPtrArray) made = g_ptr_array_new_with_free_func(arg_type_free);

    for (guint i = 0; i < registry->entries->len; i++) {
        const QmpCommand *command = qmp_registry_nth(registry, i);

        schema_writer_command(
            writer, command->name, command_arg_type(command, made), command->ret != NULL ? command->ret : &qmp_empty,
            !registry->no_oob && command->flags & QMP_COMMAND_OOB, (command->flags & QMP_COMMAND_DEPRECATED) != 0);
    }
    for (guint i = 0; i < registry->events->len; i++) {
        const QmpEvent *event = g_ptr_array_index(registry->events, i);

        schema_writer_event(writer, event->name, event->data);
    }
    return schema_writer_end(writer);
}

const char *qmp_registry_schema(QmpRegistry *registry)
{
    return g_once(&registry->schema, make_schema, registry);
}
