/* SPDX-License-Identifier: MIT */
/*
 * The dump source. One pass reads the text and writes it anew into a buffer of the same order,
 * compact and in ASCII; the nodes' texts are parts of that buffer. Everything happens before
 * the source is handed out, on the caller's thread.
 */
#include "vmm/dump.h"

#include <string.h>

#include "objmodel/name.h"
#include "vmm/secrets.h"
#include "vmm/views.h"

typedef struct Loader {
    JsonReader *reader;
    GString *copy; /* never grows beyond what it was made with: nodes may point into it */
    GBytes *bytes; /* the same memory, as the owner that nodes refer to */
    ShapePool *shapes;
    GHashTable *names; /* of the object that has just been read: to find repeated ones */
    const DumpOptions *options;
    guint64 stamp;
} Loader;

/* One object while it is read. */
typedef struct Draft {
    GPtrArray *children; /* of Node */
    GArray *infos;       /* of SlotInfo */
    GArray *slots;       /* of NodeSlot, offsets in loader->copy */
    GPtrArray *strings;  /* owns what infos point to */
    GArray *positions;   /* of gsize: where each entry stands in the dump */
    GArray *child_positions;
    gsize position; /* of the object itself */
    JsonSlice name;
    gsize text_start, text_end;
    gboolean has_name, has_children, has_properties;
} Draft;

static void draft_init(Draft *draft)
{
    *draft = (Draft){.children = g_ptr_array_new_with_free_func((GDestroyNotify)node_unref),
                     .infos = g_array_new(FALSE, TRUE, sizeof(SlotInfo)),
                     .slots = g_array_new(FALSE, TRUE, sizeof(NodeSlot)),
                     .strings = g_ptr_array_new_with_free_func(g_free),
                     .positions = g_array_new(FALSE, FALSE, sizeof(gsize)),
                     .child_positions = g_array_new(FALSE, FALSE, sizeof(gsize))};
}

static void draft_clear(Draft *draft)
{
    g_ptr_array_unref(draft->children);
    g_array_unref(draft->infos);
    g_array_unref(draft->slots);
    g_ptr_array_unref(draft->strings);
    g_array_unref(draft->positions);
    g_array_unref(draft->child_positions);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Draft, draft_clear)

static JsonSlice copy_slice(const Loader *loader, gsize offset)
{
    return (JsonSlice){loader->copy->str + offset, loader->copy->len - offset};
}

/* Where the next value begins: behind the white space before it. */
static gsize next_position(Loader *loader)
{
    JsonKind kind;
    json_reader_peek(loader->reader, &kind);
    return json_reader_position(loader->reader);
}

/* The reader's next value, which must be a string. */
static gboolean read_string(Loader *loader, const char *what, JsonSlice *ret)
{
    JsonKind kind;
    gsize offset, position = next_position(loader);
    if (!json_reader_peek(loader->reader, &kind) || !json_reader_value(loader->reader, &offset))
        return FALSE;
    if (kind != JSON_STRING) {
        json_reader_fail_at(loader->reader, position, "%s must be a string, not %s", what, json_kind_name(kind));
        return FALSE;
    }
    *ret = copy_slice(loader, offset);
    return TRUE;
}

static char *file_name_from_json(JsonSlice name)
{
    gsize length;
    g_autofree char *bytes = json_string_dup(name, &length);
    return file_name_encode(bytes, length);
}

/* A string that the draft owns. */
static const char *draft_keep(Draft *draft, char *string)
{
    g_ptr_array_add(draft->strings, string);
    return string;
}

/* ---- properties ---- */

/* The members of a property's entry. Those that are not known are kept as they are. */
static gboolean read_entry_member(Loader *loader, Draft *draft, JsonSlice name, SlotInfo *info, NodeSlot *slot,
                                  gsize start)
{
    JsonSlice value;
    gsize offset;
    if (json_string_is(name, "name")) {
        if (!read_string(loader, "the name of a property", &value))
            return FALSE;
        info->name = draft_keep(draft, file_name_from_json(value));
    } else if (json_string_is(name, "type")) {
        if (!read_string(loader, "the type of a property", &value))
            return FALSE;
        info->type = draft_keep(draft, json_string_dup(value, NULL));
    } else if (json_string_is(name, "description")) {
        if (!read_string(loader, "the description of a property", &value))
            return FALSE;
        info->description = draft_keep(draft, json_string_dup(value, NULL));
    } else {
        if (!json_reader_value(loader->reader, &offset))
            return FALSE;
        value = copy_slice(loader, offset);
        if (json_string_is(name, "default-value"))
            info->default_value = draft_keep(draft, g_strndup(value.text, value.length));
        if (json_string_is(name, "value")) {
            slot->value = (guint32)(offset - start);
            slot->length = (guint32)value.length;
        }
    }
    return TRUE;
}

/* One {"name":...,"type":...,"value":...}, written to the copy as it stands. */
static gboolean read_entry(Loader *loader, Draft *draft)
{
    gsize position = next_position(loader);
    SlotInfo info = {0};
    NodeSlot slot = {.entry = (guint32)(loader->copy->len - draft->text_start)};
    JsonSlice name;
    if (!json_reader_enter(loader->reader, JSON_OBJECT, "a property"))
        return FALSE;
    g_string_append_c(loader->copy, '{');
    for (gboolean first = TRUE; json_reader_next_member(loader->reader, &name); first = FALSE) {
        if (!first)
            g_string_append_c(loader->copy, ',');
        json_append_slice(loader->copy, name);
        g_string_append_c(loader->copy, ':');
        if (!read_entry_member(loader, draft, name, &info, &slot, draft->text_start))
            return FALSE;
    }
    if (json_reader_failed(loader->reader))
        return FALSE;
    g_string_append_c(loader->copy, '}');
    if (!info.name || !info.type) {
        json_reader_fail_at(loader->reader, position, "a property without a %s", info.name ? "type" : "name");
        return FALSE;
    }
    if (g_str_has_prefix(info.type, "link<"))
        info.flags |= SLOT_LINK;
    g_array_append_val(draft->infos, info);
    g_array_append_val(draft->slots, slot);
    g_array_append_val(draft->positions, position);
    return TRUE;
}

static gboolean read_properties(Loader *loader, Draft *draft)
{
    draft->has_properties = TRUE;
    draft->text_start = loader->copy->len;
    if (!json_reader_enter(loader->reader, JSON_ARRAY, "\"properties\""))
        return FALSE;
    for (gboolean first = TRUE; json_reader_next_element(loader->reader); first = FALSE) {
        if (!first)
            g_string_append_c(loader->copy, ',');
        if (!read_entry(loader, draft))
            return FALSE;
    }
    draft->text_end = loader->copy->len;
    return !json_reader_failed(loader->reader);
}

/* Where the name of the member begins whose value stands at this offset of the text. The name is as it was written,
 * and may have escapes in it. */
static gsize value_name(const char *text, const NodeSlot *slot)
{
    JsonSlice name = {0}, value;
    JsonWalk walk = json_walk((JsonSlice){text + slot->entry, slot->value + slot->length - slot->entry});
    while (json_walk_member(&walk, &name, &value) && value.text != text + slot->value)
        continue;
    return (gsize)(name.text - text);
}

/* Takes the value out of an entry, and its name and the comma before it. */
static void hide_value(Loader *loader, Draft *draft, guint hidden)
{
    NodeSlot *slots = (NodeSlot *)draft->slots->data;
    NodeSlot *slot = &slots[hidden];
    if (!slot->length)
        return;
    char *text = loader->copy->str + draft->text_start;
    gsize from = value_name(text, slot), to = slot->value + slot->length;
    if (text[from - 1] == ',')
        from--;
    else if (text[to] == ',')
        to++;
    gsize gone = to - from;
    /* The text may not be the last in the copy: what is behind it stays where it is. */
    memmove(text + from, text + to, draft->text_end - draft->text_start - to);
    draft->text_end -= gone;
    memset(loader->copy->str + draft->text_end, 0, gone);
    slot->value = slot->length = 0;
    for (guint later = hidden; later < draft->slots->len; later++) {
        if (slots[later].entry > from)
            slots[later].entry -= (guint32)gone;
        if (slots[later].value > from)
            slots[later].value -= (guint32)gone;
    }
}

static void hide_secrets(Loader *loader, Draft *draft)
{
    const NodeSlot *slots = (const NodeSlot *)draft->slots->data;
    SlotInfo *infos = (SlotInfo *)draft->infos->data;
    g_autofree char *type = NULL;
    for (guint i = 0; i < draft->infos->len && !type; i++)
        if (!strcmp(infos[i].name, "type") && slots[i].length)
            type = json_string_dup((JsonSlice){loader->copy->str + draft->text_start + slots[i].value, slots[i].length},
                                   NULL);
    for (guint i = 0; type && i < draft->infos->len; i++)
        if (secret_property(type, infos[i].name)) {
            infos[i].flags |= SLOT_SECRET;
            hide_value(loader, draft, i);
        }
}

/* ---- objects ---- */

static gboolean take_name(Loader *loader, const char *name, gsize position)
{
    if (g_hash_table_add(loader->names, (gpointer)name))
        return TRUE;
    json_reader_fail_at(loader->reader, position, "'%s' stands twice in one object", name);
    return FALSE;
}

static gboolean check_names(Loader *loader, const Draft *draft)
{
    gboolean ok = TRUE;
    g_hash_table_remove_all(loader->names);
    for (guint i = 0; ok && i < draft->infos->len; i++)
        ok =
            take_name(loader, g_array_index(draft->infos, SlotInfo, i).name, g_array_index(draft->positions, gsize, i));
    for (guint i = 0; ok && i < draft->children->len; i++)
        ok = take_name(loader, ((Node *)g_ptr_array_index(draft->children, i))->name,
                       g_array_index(draft->child_positions, gsize, i));
    g_hash_table_remove_all(loader->names);
    return ok;
}

static Node *draft_finish(Loader *loader, Draft *draft, const char *name)
{
    if (!check_names(loader, draft))
        return NULL;
    if (!loader->options->secrets)
        hide_secrets(loader, draft);
    guint n = draft->infos->len;
    g_autoptr(Shape) shape = shape_pool_get(loader->shapes, (const SlotInfo *)draft->infos->data, n);
    g_autoptr(Children) children =
        draft->children->len ? children_new((Node *const *)draft->children->pdata, draft->children->len) : NULL;
    NodeSpec spec = {.kind = NODE_OBJECT,
                     .name = name,
                     .json_name = draft->name,
                     .shape = shape,
                     .bytes = loader->bytes,
                     .text = {loader->copy->str + draft->text_start, draft->text_end - draft->text_start},
                     .slots = (const NodeSlot *)draft->slots->data,
                     .children = children,
                     .stamp = loader->stamp};
    return node_new(&spec);
}

static Node *read_object(Loader *loader, const char *file_name);

static gboolean read_children(Loader *loader, Draft *draft)
{
    draft->has_children = TRUE;
    if (!json_reader_enter(loader->reader, JSON_ARRAY, "\"children\""))
        return FALSE;
    while (json_reader_next_element(loader->reader)) {
        gsize position = next_position(loader);
        g_array_append_val(draft->child_positions, position);
        Node *child = read_object(loader, NULL);
        if (!child)
            return FALSE;
        g_ptr_array_add(draft->children, child);
    }
    return !json_reader_failed(loader->reader);
}

static gboolean read_object_member(Loader *loader, Draft *draft, JsonSlice name, gsize position)
{
    if (json_string_is(name, "name")) {
        draft->has_name = TRUE;
        return read_string(loader, "the name of an object", &draft->name);
    }
    if (json_string_is(name, "children"))
        return read_children(loader, draft);
    if (json_string_is(name, "properties"))
        return read_properties(loader, draft);
    g_autofree char *text = g_strndup(name.text, name.length);
    json_reader_fail_at(loader->reader, position, "an object of a dump has no member %s", text);
    return FALSE;
}

/* One {"name":...,"children":[...],"properties":[...]}. file_name: of a view's root; NULL: made
 * from its name. */
static Node *read_object(Loader *loader, const char *file_name)
{
    g_auto(Draft) draft;
    draft_init(&draft);
    draft.position = next_position(loader);
    JsonSlice name;
    if (!json_reader_enter(loader->reader, JSON_OBJECT, "an object of a dump"))
        return NULL;
    for (gsize position = draft.position; json_reader_next_member(loader->reader, &name);
         position = json_reader_position(loader->reader))
        if (!read_object_member(loader, &draft, name, position))
            return NULL;
    if (json_reader_failed(loader->reader))
        return NULL;
    const char *missing = !draft.has_name         ? "name"
                          : !draft.has_children   ? "children"
                          : !draft.has_properties ? "properties"
                                                  : NULL;
    if (missing) {
        json_reader_fail_at(loader->reader, draft.position, "an object without \"%s\"", missing);
        return NULL;
    }
    g_autofree char *made = file_name ? NULL : file_name_from_json(draft.name);
    return draft_finish(loader, &draft, file_name ? file_name : made);
}

/* ---- views ---- */

static Node *read_list(Loader *loader, View view)
{
    g_autofree char *what = g_strdup_printf("\"%s\"", view_name(view));
    g_autofree char *element = g_strdup_printf("an element of \"%s\"", view_name(view));
    g_autoptr(GArray) entries = g_array_new(FALSE, TRUE, sizeof(ViewEntry));
    if (!json_reader_enter(loader->reader, JSON_ARRAY, what))
        return NULL;
    while (json_reader_next_element(loader->reader)) {
        JsonKind kind;
        gsize offset, position = next_position(loader);
        if (!json_reader_peek(loader->reader, &kind) || !json_reader_value(loader->reader, &offset))
            return NULL;
        if (kind != JSON_OBJECT) {
            json_reader_fail_at(loader->reader, position, "%s must be an object, not %s", element,
                                json_kind_name(kind));
            return NULL;
        }
        ViewEntry entry = {.bytes = loader->bytes, .text = copy_slice(loader, offset)};
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

static gboolean read_vm(Loader *loader, SavedVm *saved)
{
    JsonKind kind;
    gsize offset, position = next_position(loader);
    if (!json_reader_peek(loader->reader, &kind) || !json_reader_value(loader->reader, &offset))
        return FALSE;
    if (kind != JSON_OBJECT) {
        json_reader_fail_at(loader->reader, position, "\"vm\" must be an object, not %s", json_kind_name(kind));
        return FALSE;
    }
    JsonSlice vm = copy_slice(loader, offset);
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

static gboolean read_empty_list(Loader *loader)
{
    if (!json_reader_enter(loader->reader, JSON_ARRAY, "\"qom\""))
        return FALSE;
    if (json_reader_next_element(loader->reader))
        json_reader_fail_at(loader->reader, json_reader_position(loader->reader),
                            "\"qom\" must be an object or an empty list");
    return !json_reader_failed(loader->reader);
}

static gboolean read_view(Loader *loader, View view, SavedVm *saved, Node *nodes[N_VIEWS])
{
    JsonKind kind;
    switch (view) {
    case VIEW_QOM:
        /* A root dump of a source without a tree has an empty list here. */
        if (json_reader_peek(loader->reader, &kind) && kind == JSON_ARRAY)
            return read_empty_list(loader);
        nodes[view] = read_object(loader, view_name(view));
        return nodes[view] != NULL;
    case VIEW_VM:
        return read_vm(loader, saved);
    default:
        nodes[view] = read_list(loader, view);
        return nodes[view] != NULL;
    }
}

/* The whole root: {"qom":...,"cpu-definitions":[...],"blockstats":[...],"vm":{...}}. */
static gboolean read_root(Loader *loader, SavedVm *saved, Node *nodes[N_VIEWS])
{
    JsonSlice name;
    gsize position = next_position(loader);
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

static Source *dump_publish(const Loader *loader, Node *nodes[N_VIEWS], const SavedVm *saved)
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
    Loader loader = {.reader = reader,
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
        nodes[VIEW_QOM] = read_object(&loader, view_name(VIEW_QOM));
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
