/* SPDX-License-Identifier: MIT */
/* Queries: from rows to QMP commands and to files. See query.h. */
#include "vmm/query.h"

#include <string.h>

#include "objmodel/name.h"
#include "vmm/qmp-fetch.h"
#include "vmm/query-data.h"

/* ---- the tables that need a VM ---- */

static const Query *const vm_tables[] = {queries_machine, queries_memory, queries_devices,
                                         queries_options, queries_pci,    queries_block_nodes};

static const QmpType *query_type(const Query *query)
{
    return query->ret ? query->ret : query_data_type(query->command);
}

/* ---- as QMP commands ---- */

/* One row as a command; the context of that. */
typedef struct QueryCommand {
    QmpCommand command;
    const Query *query;
    QmpContext *context;
} QueryCommand;

struct QueryCommands {
    QmpContext *context;
    GPtrArray *all;  /* QueryCommand */
    GPtrArray *made; /* Query: rows of our own */
};

static void made_free(gpointer data)
{
    Query *query = data;

    g_free((char *)(guintptr)query->command);
    g_free(query);
}

QueryCommands *query_commands_new(QmpContext *context)
{
    QueryCommands *commands = g_new(QueryCommands, 1);

    *commands = (QueryCommands){.context = context,
                                .all = g_ptr_array_new_with_free_func(g_free),
                                .made = g_ptr_array_new_with_free_func(made_free)};
    return commands;
}

void query_commands_free(QueryCommands *commands)
{
    if (!commands)
        return;
    g_ptr_array_unref(commands->all);
    g_ptr_array_unref(commands->made);
    g_free(commands);
}

/* What the source has is current. */
static void answer_now(QmpCall *call, const void *args)
{
    const QueryCommand *command = qmp_call_context(call);
    g_autoptr(Snapshot) snapshot = snapshots_current(command->context->source->snapshots);
    g_autoptr(GError) error = NULL;
    QueryInput in = {.query = command->query, .snapshot = snapshot, .vm = command->context->vm, .args = args};

    if (command->query->answer(&in, qmp_call_result(call), &error))
        qmp_call_return(call);
    else
        qmp_call_fail(call, error);
}

static void answer_call(QmpCall *call, const void *args)
{
    const QueryCommand *command = qmp_call_context(call);
    const Query *query = command->query;
    g_autofree char *file = query->view ? NULL : view_query_file_name(query->command);

    if (query->view)
        qmp_fetch_path(call, args, command->context->source, query->view, NULL, SOURCE_SUBTREE, answer_now);
    else
        qmp_fetch_path(call, args, command->context->source, view_name(VIEW_QUERY), file, SOURCE_PROPERTY, answer_now);
}

void query_commands_add(QueryCommands *commands, QmpRegistry *registry, const Query *query)
{
    QueryCommand *command = g_new0(QueryCommand, 1);

    *command = (QueryCommand){
        .command = {.name = query->command,
                    .handler = answer_call,
                    .args = query->args,
                    .args_size = query->args_size,
                    .ret = query_type(query),
                    .flags = query->flags},
        .query = query,
        .context = commands->context,
    };
    g_ptr_array_add(commands->all, command);
    qmp_registry_add_one(registry, &command->command, command);
}

void query_commands_add_table(QueryCommands *commands, QmpRegistry *registry, const Query *table)
{
    for (const Query *query = table; query->command; query++)
        query_commands_add(commands, registry, query);
}

void query_commands_add_vm(QueryCommands *commands, QmpRegistry *registry)
{
    for (guint i = 0; i < G_N_ELEMENTS(vm_tables); i++)
        query_commands_add_table(commands, registry, vm_tables[i]);
    query_commands_add_table(commands, registry, queries_constant());
}

/* What the file of a query has. */
static gboolean answer_file(const QueryInput *in, GString *out, GError **error)
{
    g_autofree char *name = view_query_file_name(in->query->command);
    const Node *file = children_find(views_get(in->snapshot->root, VIEW_QUERY)->children, name);
    g_autoptr(Node) sample = file ? node_sample(file) : NULL;
    JsonSlice value = file ? node_slot_value(sample, 0) : (JsonSlice){0};
    const char *reason = file ? node_slot_error(sample, 0) : "the target has no such query any more";

    if (value.length == 0) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "%s", reason ? reason : "the answer is not known");
        return FALSE;
    }
    json_append_slice(out, value);
    return TRUE;
}

/* "status.json" -> "query-status"; some are no query-*, and have all of their name. */
static char *file_command(const char *file_name)
{
    g_autofree char *name = file_name_decode(file_name, NULL);

    if (!name || !g_str_has_suffix(name, ".json"))
        return NULL;
    name[strlen(name) - strlen(".json")] = '\0';
    return g_str_has_prefix(name, "x-") ? g_steal_pointer(&name) : g_strconcat("query-", name, NULL);
}

void query_commands_add_files(QueryCommands *commands, QmpRegistry *registry, const Node *folder)
{
    ChildrenIter iter = children_iter(folder->children, 0);
    const Node *file;

    while ((file = children_next(&iter))) {
        char *name = file_command(file->name);
        Query *query = name ? g_new0(Query, 1) : NULL;

        if (!query || qmp_registry_find(registry, name, &(void *){NULL})) {
            g_free(name);
            g_free(query);
            continue;
        }
        *query = (Query){.command = name, .answer = answer_file, .ret = query_data_type(name)};
        query->ret = query->ret ? query->ret : &qmp_any;
        g_ptr_array_add(commands->made, query);
        query_commands_add(commands, registry, query);
    }
}

/* ---- as files ---- */

typedef struct QuerySampler {
    Sampler base;
    const Query *query;
    Vm *vm;
} QuerySampler;

static gboolean sampler_answer(const QuerySampler *sampler, GString *out, GError **error)
{
    const Query *query = sampler->query;
    g_autoptr(Snapshot) snapshot = snapshots_current(vm_snapshots(sampler->vm));
    g_autofree void *args = g_malloc0(MAX(query->args_size, 1));
    QueryInput in = {.query = query, .snapshot = snapshot, .vm = sampler->vm, .args = args};
    gboolean ok = qmp_args_fill(query->args, (JsonSlice){0}, FALSE, args, error) && query->answer(&in, out, error);

    qmp_args_clear(query->args, args);
    return ok;
}

static void sampler_fill(Sampler *base, GString *out)
{
    gsize before = out->len;

    if (!sampler_answer((QuerySampler *)base, out, NULL))
        g_string_truncate(out, before);
}

static char *sampler_reason(Sampler *base)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    return sampler_answer((QuerySampler *)base, out, &error) ? NULL : g_strdup(error->message);
}

static void sampler_free(Sampler *base)
{
    g_free(base);
}

static Sampler *sampler_new(Vm *vm, const Query *query)
{
    QuerySampler *sampler = g_new0(QuerySampler, 1);

    g_atomic_ref_count_init(&sampler->base.refs);
    sampler->base.fill = sampler_fill;
    sampler->base.reason = sampler_reason;
    sampler->base.free = sampler_free;
    sampler->query = query;
    sampler->vm = vm;
    return &sampler->base;
}

/* Of the constant ones the answer is known: their files have a size, and are cached. */
static void add_constant(GArray *files, const Query *query)
{
    ViewQuery file = {.command = query->command};

    file.text = query_data_value(query->command);
    if (file.text.length)
        file.bytes = g_bytes_new_static(file.text.text, file.text.length);
    else
        file.error = query_data_error(query->command);
    g_array_append_val(files, file);
}

static void add_table(GArray *files, Vm *vm, const Query *table)
{
    for (const Query *query = table; query->command; query++) {
        ViewQuery file = {.command = query->command, .sampler = query->no_file ? NULL : sampler_new(vm, query)};

        if (!query->no_file)
            g_array_append_val(files, file);
    }
}

static void file_clear(gpointer data)
{
    ViewQuery *file = data;

    if (file->bytes)
        g_bytes_unref(file->bytes);
    sampler_unref(file->sampler);
}

static int by_command(gconstpointer a, gconstpointer b)
{
    return strcmp(((const ViewQuery *)a)->command, ((const ViewQuery *)b)->command);
}

/* ---- what the protocol itself answers, and no row ---- */

static gboolean answer_commands(const QueryInput *in, GString *out, GError **error)
{
    g_autoptr(GBytes) names = vm_command_names(in->vm);
    gsize length;
    const char *text;

    if (!names) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "nobody offers commands");
        return FALSE;
    }
    text = g_bytes_get_data(names, &length);
    g_string_append_len(out, text, (gssize)length);
    return TRUE;
}

static const Query protocol_queries[] = {
    {.command = "query-commands", .answer = answer_commands},
    {0},
};

static void add_version(GArray *files)
{
    GString *text = g_string_new(NULL);
    ViewQuery file = {.command = "query-version"};

    qmp_append_version(text, &(QmpVersion){VM_VERSION_MAJOR, VM_VERSION_MINOR, VM_VERSION_MICRO, ""});
    file.bytes = g_string_free_to_bytes(text);
    file.text.text = g_bytes_get_data(file.bytes, &file.text.length);
    g_array_append_val(files, file);
}

Node *query_view_new(Vm *vm, guint64 stamp)
{
    g_autoptr(GArray) files = g_array_new(FALSE, TRUE, sizeof(ViewQuery));

    g_array_set_clear_func(files, file_clear);
    add_version(files);
    add_table(files, vm, protocol_queries);
    add_table(files, vm, queries_vm);
    add_table(files, vm, queries_cpu);
    add_table(files, vm, queries_block);
    for (guint i = 0; i < G_N_ELEMENTS(vm_tables); i++)
        add_table(files, vm, vm_tables[i]);
    for (const Query *query = queries_constant(); query->command; query++)
        add_constant(files, query);
    g_array_sort(files, by_command);
    return view_query_new((const ViewQuery *)(gpointer)files->data, files->len, NULL, stamp);
}
