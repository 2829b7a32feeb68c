/* SPDX-License-Identifier: MIT */
/*
 * The views of the mount's root, one row each in the table below. Called by the thread that
 * publishes a source's snapshots.
 */
#include "vmm/views.h"

#include <string.h>

#include "objmodel/name.h"
#include "objmodel/record.h"

/* What the directory of a list's entry is called; NULL: the index decides. */
typedef char *(*EntryNamer)(JsonSlice entry);

typedef struct ViewRow {
    const char *name;
    const RecordLayout *layout; /* of a record, or of a list's records */
    const RecordLayout *moving; /* the same for records that have a sampler */
    EntryNamer entry_name;      /* lists only */
} ViewRow;

/* ---- names of entries ---- */

/* A member that is a string which can name something; new memory, or NULL. */
static char *string_member(JsonSlice object, const char *name)
{
    JsonSlice value = json_member(object, name);
    gsize length = 0;
    g_autofree char *text = value.length ? json_string_dup(value, &length) : NULL;

    if (!text || !length)
        return NULL;
    return file_name_encode(text, length);
}

static char *cpu_definition_name(JsonSlice entry)
{
    return string_member(entry, "name");
}

/* The device's id where its qdev is a path below the container of devices with an id. */
static char *disk_name(JsonSlice entry)
{
    static const char peripheral[] = "/machine/peripheral/";
    gsize length = 0;
    g_autofree char *qdev = json_string_dup(json_member(entry, "qdev"), &length);
    char *name;

    if (qdev && g_str_has_prefix(qdev, peripheral)) {
        const char *id = qdev + strlen(peripheral);
        const char *end = strchrnul(id, '/');
        if (end > id)
            return file_name_encode(id, end - id);
    }
    if (qdev && length && !memchr(qdev, '/', length))
        return file_name_encode(qdev, length);
    name = string_member(entry, "device");
    return name ? name : string_member(entry, "node-name");
}

/* ---- the table ---- */

static const char *const block_nested[] = {"parent", "backing", "driver-specific", NULL};

static const RecordLayout plain_layout = {0};
static const RecordLayout plain_moving_layout = {.moving = TRUE};
static const RecordLayout block_layout = {.flatten = "stats", .nested = block_nested};
static const RecordLayout block_moving_layout = {.flatten = "stats", .nested = block_nested, .moving = TRUE};

static const ViewRow views[N_VIEWS] = {
    [VIEW_QOM] = {"qom", NULL, NULL, NULL},
    [VIEW_CPU_DEFINITIONS] = {"cpu-definitions", &plain_layout, &plain_moving_layout, cpu_definition_name},
    [VIEW_BLOCKSTATS] = {"blockstats", &block_layout, &block_moving_layout, disk_name},
    [VIEW_QUERY] = {"query", NULL, NULL, NULL},
    [VIEW_VM] = {"vm", &plain_layout, NULL, NULL},
};

const char *view_name(View view)
{
    g_return_val_if_fail((guint)view < N_VIEWS, NULL);
    return views[view].name;
}

const char *view_path(View view, const char *path)
{
    gsize length = strlen(view_name(view));

    if (strncmp(path, view_name(view), length) != 0 || (path[length] && path[length] != '/'))
        return NULL;
    return path[length] ? path + length + 1 : path + length;
}

int view_find(const char *name)
{
    for (int view = 0; view < N_VIEWS; view++) {
        if (view != VIEW_QUERY && strcmp(views[view].name, name) == 0)
            return view;
    }
    return -1;
}

/* ---- lists ---- */

/* NAME, or NAME.2, NAME.3, ... where it is taken; owned by `taken`, which maps each name to the
 * number to try next, so that a thousand equal names cost no million attempts. Takes `name` over. */
static const char *unique_name(GHashTable *taken, char *name)
{
    guint number = GPOINTER_TO_UINT(g_hash_table_lookup(taken, name));
    g_autofree char *candidate = NULL;

    if (number == 0) {
        g_hash_table_insert(taken, name, GUINT_TO_POINTER(2));
        return name;
    }
    do {
        g_autofree char *numbered = g_strdup_printf("%s.%u", name, number++);
        g_free(candidate);
        /* `name` is encoded already: only its length can be wrong now. */
        candidate = strlen(numbered) > FILE_NAME_MAX ? file_name_encode(numbered, strlen(numbered))
                                                     : g_steal_pointer(&numbered);
    } while (g_hash_table_contains(taken, candidate));
    g_hash_table_insert(taken, name, GUINT_TO_POINTER(number)); /* frees this name: it has it already */
    name = g_steal_pointer(&candidate);
    g_hash_table_insert(taken, name, GUINT_TO_POINTER(2));
    return name;
}

Node *view_list_new(View view, const ViewEntry *entries, guint n, const Node *previous, guint64 stamp)
{
    const ViewRow *row = &views[view];
    g_autoptr(GHashTable) taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) records = g_ptr_array_new_full(n, (GDestroyNotify)node_unref);
    g_autoptr(Children) children = NULL;

    g_return_val_if_fail(row->entry_name, NULL);
    for (guint i = 0; i < n; i++) {
        const ViewEntry *entry = &entries[i];
        char *name = row->entry_name(entry->text);
        const char *unique = unique_name(taken, name ? name : g_strdup_printf("%u", i));
        const RecordLayout *layout = entry->sampler ? row->moving : row->layout;
        const Node *before = previous ? children_find(previous->children, unique) : NULL;

        g_ptr_array_add(records, record_new(unique, entry->bytes, entry->text, layout, entry->sampler, before, stamp));
    }
    children = children_new((Node *const *)records->pdata, records->len);
    return node_new(&(NodeSpec){
        .kind = NODE_LIST,
        .name = row->name,
        .children = children,
        .previous = previous,
        .stamp = stamp,
    });
}

GArray *view_entries(GBytes *bytes, JsonSlice array)
{
    GArray *entries = g_array_new(FALSE, FALSE, sizeof(ViewEntry));
    JsonWalk walk = json_walk(array);
    JsonSlice element;

    while (json_walk_element(&walk, &element)) {
        ViewEntry entry = {.bytes = bytes, .text = element};
        if (json_kind(element) == JSON_OBJECT)
            g_array_append_val(entries, entry);
    }
    return entries;
}

Node *view_list_from_json(View view, GBytes *bytes, JsonSlice array, const Node *previous, guint64 stamp)
{
    g_autoptr(GArray) entries = view_entries(bytes, array);

    return view_list_new(view, (const ViewEntry *)(gpointer)entries->data, entries->len, previous, stamp);
}

/* ---- queries ---- */

char *view_query_file_name(const char *command)
{
    static const char prefix[] = "query-";
    const char *name = g_str_has_prefix(command, prefix) ? command + strlen(prefix) : command;
    g_autofree char *file_name = g_strconcat(name, ".json", NULL);

    return file_name_encode(file_name, strlen(file_name));
}

static Node *query_node(const ViewQuery *query, const char *file_name, const Node *previous, guint64 stamp)
{
    SlotInfo info = {.name = file_name, .flags = query->sampler ? SLOT_MOVING : 0};
    const NodeSlot slot = {.length = (guint32)query->text.length};
    gboolean same = previous && node_slot_info(previous, 0)->flags == info.flags;
    g_autoptr(Shape) shape = same ? shape_ref(previous->shape) : shape_new(&info, 1);

    return node_new(&(NodeSpec){
        .kind = NODE_VALUE,
        .name = file_name,
        .shape = shape,
        .bytes = query->bytes,
        .text = query->text,
        .slots = &slot,
        .slot_errors = query->error ? &query->error : NULL,
        .sampler = query->sampler,
        .previous = previous,
        .stamp = stamp,
    });
}

Node *view_query_new(const ViewQuery *queries, guint n, const Node *previous, guint64 stamp)
{
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_full(n, (GDestroyNotify)node_unref);
    g_autoptr(Children) children = NULL;

    for (guint i = 0; i < n; i++) {
        g_autofree char *file_name = view_query_file_name(queries[i].command);
        const Node *before = previous ? children_find(previous->children, file_name) : NULL;

        g_ptr_array_add(nodes, query_node(&queries[i], file_name, before, stamp));
    }
    children = children_new((Node *const *)nodes->pdata, nodes->len);
    return node_new(&(NodeSpec){
        .kind = NODE_FOLDER,
        .name = views[VIEW_QUERY].name,
        .children = children,
        .previous = previous,
        .stamp = stamp,
    });
}

Node *view_query_set(const Node *folder, const ViewQuery *query, guint64 stamp)
{
    g_autofree char *file_name = view_query_file_name(query->command);
    const Node *before = children_find(folder->children, file_name);
    g_autoptr(Node) after = NULL;
    g_autoptr(Children) children = NULL;

    g_return_val_if_fail(before, node_ref(folder));
    after = query_node(query, file_name, before, stamp);
    children = children_with(folder->children, before, after);
    return node_with_children(folder, children, stamp);
}

/* ---- vm ---- */

static void append_string_member(GString *out, const char *name, const char *value)
{
    g_string_append_c(out, out->len ? ',' : '{');
    json_append_string(out, name, -1);
    g_string_append_c(out, ':');
    json_append_string(out, value ? value : "", -1);
}

Node *view_vm_new(const VmView *vm, const Node *previous, guint64 stamp)
{
    g_autoptr(GBytes) bytes = NULL;
    GString *text = g_string_sized_new(256);
    JsonSlice all;

    append_string_member(text, "name", vm->name);
    append_string_member(text, "uuid", vm->uuid);
    append_string_member(text, "status", vm->status);
    append_string_member(text, "version", vm->version);
    append_string_member(text, "source", vm->source);
    g_string_append(text, ",\"generation\":");
    json_append_uint(text, vm->generation);
    g_string_append(text, ",\"connected\":");
    json_append_bool(text, vm->connected);
    if (vm->stale_since)
        append_string_member(text, "stale-since", vm->stale_since);
    if (vm->fetched)
        append_string_member(text, "fetched", vm->fetched);
    g_string_append_c(text, '}');

    bytes = g_string_free_to_bytes(text);
    all.text = g_bytes_get_data(bytes, &all.length);
    return record_new(views[VIEW_VM].name, bytes, all, views[VIEW_VM].layout, NULL, previous, stamp);
}

/* ---- the root ---- */

Node *views_root_new(Node *const nodes[N_VIEWS], const Node *previous, guint64 stamp)
{
    g_autoptr(Children) children = NULL;
    g_autoptr(GPtrArray) made = g_ptr_array_new_full(N_VIEWS, (GDestroyNotify)node_unref);
    Node *all[N_VIEWS];

    for (int view = 0; view < N_VIEWS; view++) {
        if (nodes[view]) {
            all[view] = nodes[view];
            continue;
        }
        all[view] = node_new(&(NodeSpec){
            .kind = view == VIEW_QUERY ? NODE_FOLDER : NODE_LIST,
            .name = views[view].name,
            .previous = previous ? views_get(previous, view) : NULL,
            .stamp = stamp,
        });
        g_ptr_array_add(made, all[view]);
    }
    children = children_new(all, N_VIEWS);
    return node_new(&(NodeSpec){
        .kind = NODE_MAP,
        .name = "",
        .children = children,
        .previous = previous,
        .stamp = stamp,
    });
}

const Node *views_get(const Node *root, View view)
{
    return children_find(root->children, view_name(view));
}
