/* SPDX-License-Identifier: MIT */
/*
 * The dump source. One pass reads the text and writes it anew into a buffer of the same order,
 * compact and in ASCII; the nodes' texts are parts of that buffer. Everything happens before
 * the source is handed out, on the caller's thread. dump-object.c reads the object tree, this
 * file the other views, and what there is at the top.
 */
#include "vmm/dump.h"

#include <string.h>

#include "vmm/dump-object.h"
#include "vmm/views.h"

/* ---- views ---- */

static Node *read_list(DumpLoader *loader, View view)
{
    g_autofree char *what = g_strdup_printf("\"%s\"", view_name(view));
    g_autofree char *element = g_strdup_printf("an element of \"%s\"", view_name(view));
    g_autoptr(GArray) entries = g_array_new(FALSE, TRUE, sizeof(ViewEntry));
    if (!json_reader_enter(loader->reader, JSON_ARRAY, what))
        return NULL;
    while (json_reader_next_element(loader->reader)) {
        JsonKind kind;
        gsize offset, position = dump_loader_position(loader);
        if (!json_reader_peek(loader->reader, &kind) || !json_reader_value(loader->reader, &offset))
            return NULL;
        if (kind != JSON_OBJECT) {
            json_reader_fail_at(loader->reader, position, "%s must be an object, not %s", element,
                                json_kind_name(kind));
            return NULL;
        }
        ViewEntry entry = {.bytes = loader->bytes, .text = dump_loader_slice(loader, offset)};
        g_array_append_val(entries, entry);
    }
    if (json_reader_failed(loader->reader))
        return NULL;
    return view_list_new(view, (const ViewEntry *)entries->data, entries->len, NULL, loader->stamp);
}

/* What a saved vm/ says of the VM; the rest of vm/ is of this mount. */
typedef struct SavedVm {
    char *name, *uuid, *status, *version;
} SavedVm;

static void saved_vm_clear(SavedVm *saved)
{
    g_free(saved->name);
    g_free(saved->uuid);
    g_free(saved->status);
    g_free(saved->version);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SavedVm, saved_vm_clear)

static const char *const vm_strings[] = {"name", "uuid", "status", "version"};

static gboolean read_vm(DumpLoader *loader, SavedVm *saved)
{
    JsonKind kind;
    gsize offset, position = dump_loader_position(loader);
    if (!json_reader_peek(loader->reader, &kind) || !json_reader_value(loader->reader, &offset))
        return FALSE;
    if (kind != JSON_OBJECT) {
        json_reader_fail_at(loader->reader, position, "\"vm\" must be an object, not %s", json_kind_name(kind));
        return FALSE;
    }
    JsonSlice vm = dump_loader_slice(loader, offset);
    for (guint i = 0; i < G_N_ELEMENTS(vm_strings); i++) {
        JsonSlice member = json_member(vm, vm_strings[i]);
        if (member.text && json_kind(member) != JSON_STRING) {
            json_reader_fail_at(loader->reader, position, "\"%s\" of \"vm\" must be a string, not %s", vm_strings[i],
                                json_kind_name(json_kind(member)));
            return FALSE;
        }
    }
    saved_vm_clear(saved);
    *saved = (SavedVm){.name = json_string_dup(json_member(vm, "name"), NULL),
                       .uuid = json_string_dup(json_member(vm, "uuid"), NULL),
                       .status = json_string_dup(json_member(vm, "status"), NULL),
                       .version = json_string_dup(json_member(vm, "version"), NULL)};
    return TRUE;
}

static void nodes_clear(Node *nodes[N_VIEWS])
{
    for (View view = 0; view < N_VIEWS; view++)
        g_clear_pointer(&nodes[view], node_unref);
}

static gboolean read_empty_list(DumpLoader *loader)
{
    if (!json_reader_enter(loader->reader, JSON_ARRAY, "\"qom\""))
        return FALSE;
    if (json_reader_next_element(loader->reader))
        json_reader_fail_at(loader->reader, json_reader_position(loader->reader),
                            "\"qom\" must be an object or an empty list");
    return !json_reader_failed(loader->reader);
}

static gboolean read_view(DumpLoader *loader, View view, SavedVm *saved, Node *nodes[N_VIEWS])
{
    JsonKind kind;
    switch (view) {
    case VIEW_QOM:
        /* A root dump of a source without a tree has an empty list here. */
        if (json_reader_peek(loader->reader, &kind) && kind == JSON_ARRAY)
            return read_empty_list(loader);
        nodes[view] = dump_read_object(loader, view_name(view));
        return nodes[view] != NULL;
    case VIEW_VM:
        return read_vm(loader, saved);
    default:
        nodes[view] = read_list(loader, view);
        return nodes[view] != NULL;
    }
}

/* The whole root: {"qom":...,"cpu-definitions":[...],"blockstats":[...],"vm":{...}}. */
static gboolean read_root(DumpLoader *loader, SavedVm *saved, Node *nodes[N_VIEWS])
{
    JsonSlice name;
    gsize position = dump_loader_position(loader);
    if (!json_reader_enter(loader->reader, JSON_OBJECT, "a dump"))
        return FALSE;
    for (; json_reader_next_member(loader->reader, &name); position = json_reader_position(loader->reader)) {
        g_autofree char *text = json_string_dup(name, NULL);
        int view = view_find(text);
        if (view < 0)
            json_reader_fail_at(loader->reader, position, "a dump has no view '%s'", text);
        if (view < 0 || !read_view(loader, (View)view, saved, nodes))
            return FALSE;
    }
    return !json_reader_failed(loader->reader);
}

/* ---- recognising ---- */

typedef enum TopLevel { TOP_UNKNOWN, TOP_TREE, TOP_ROOT } TopLevel;

/* What the members say, up to the first that only one kind of dump has. */
static TopLevel recognise(const char *text, gsize length)
{
    g_autoptr(JsonReader) reader = json_reader_new(text, length, JSON_READER_STRICT, NULL);
    JsonKind kind;
    JsonSlice name;
    if (!json_reader_peek(reader, &kind) || kind != JSON_OBJECT || !json_reader_enter(reader, JSON_OBJECT, "a dump"))
        return TOP_UNKNOWN;
    while (json_reader_next_member(reader, &name)) {
        if (json_string_is(name, "children") || json_string_is(name, "properties"))
            return TOP_TREE;
        if (json_string_is(name, view_name(VIEW_QOM)) || json_string_is(name, view_name(VIEW_CPU_DEFINITIONS)) ||
            json_string_is(name, view_name(VIEW_BLOCKSTATS)))
            return TOP_ROOT;
        if (!json_reader_skip(reader))
            break;
    }
    return TOP_UNKNOWN;
}

gboolean dump_recognise(const char *text, gsize length)
{
    return recognise(text, length) != TOP_UNKNOWN;
}

/* ---- the source ---- */

static void dump_free(Source *source)
{
    snapshots_free(source->snapshots);
    g_free(source);
}

static const SourceOps dump_ops = {.free = dump_free};

static Source *dump_publish(const DumpLoader *loader, Node *nodes[N_VIEWS], const SavedVm *saved)
{
    Source *source = g_new0(Source, 1);
    *source = (Source){.ops = &dump_ops, .snapshots = snapshots_new(), .property_mode = 0444, .read_only_mode = 0444};
    VmView vm = {.name = saved->name,
                 .uuid = saved->uuid,
                 .status = saved->status,
                 .version = saved->version ? saved->version : "0.0.0",
                 .source = loader->options->file_name,
                 .generation = snapshots_next_generation(source->snapshots)};
    nodes[VIEW_VM] = view_vm_new(&vm, NULL, loader->stamp);
    g_autoptr(Node) root = views_root_new(nodes, NULL, loader->stamp);
    snapshots_publish(source->snapshots, root, loader->stamp);
    return source;
}

/* Room for a text once all of it is ASCII: each byte beyond may need two more. */
static gsize ascii_size(const char *text, gsize length)
{
    gsize size = length;
    for (gsize i = 0; i < length; i++)
        size += (guchar)text[i] >= 0x80 ? 2 : 0;
    return size;
}

static void copy_free(gpointer copy)
{
    g_string_free(copy, TRUE);
}

Source *dump_source_new(const char *text, gsize length, const DumpOptions *options, GError **error)
{
    gsize room = ascii_size(text, length) + 1;
    GString *copy = g_string_sized_new(room);
    const char *place = copy->str;
    g_autoptr(GBytes) bytes = g_bytes_new_with_free_func(copy->str, room, copy_free, copy);
    g_autoptr(JsonReader) reader = json_reader_new(text, length, JSON_READER_STRICT, copy);
    g_autoptr(ShapePool) shapes = shape_pool_new();
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    DumpLoader loader = {.reader = reader,
                         .copy = copy,
                         .bytes = bytes,
                         .shapes = shapes,
                         .names = names,
                         .options = options,
                         .stamp = MAX(options->mtime, 1)};
    g_auto(SavedVm) saved = {0};
    Node *nodes[N_VIEWS] = {0};
    Source *source = NULL;
    gboolean ok;
    if (recognise(text, length) == TOP_ROOT) {
        ok = read_root(&loader, &saved, nodes);
    } else {
        nodes[VIEW_QOM] = dump_read_object(&loader, view_name(VIEW_QOM));
        ok = nodes[VIEW_QOM] != NULL;
    }
    g_assert(copy->str == place);
    if (ok && json_reader_end(reader))
        source = dump_publish(&loader, nodes, &saved);
    else
        json_reader_propagate(reader, error);
    nodes_clear(nodes);
    return source;
}
