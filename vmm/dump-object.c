/* SPDX-License-Identifier: MIT */
/* An object of a dump, and all below it: see dump-object.h. */
#include "vmm/dump-object.h"

#include <string.h>

#include "objmodel/name.h"
#include "vmm/secrets.h"

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

/* The reader's next value, which must be a string. */
static gboolean read_string(DumpLoader *loader, const char *what, JsonSlice *ret)
{
    JsonKind kind;
    gsize offset, position = dump_loader_position(loader);
    if (!json_reader_peek(loader->reader, &kind) || !json_reader_value(loader->reader, &offset))
        return FALSE;
    if (kind != JSON_STRING) {
        json_reader_fail_at(loader->reader, position, "%s must be a string, not %s", what, json_kind_name(kind));
        return FALSE;
    }
    *ret = dump_loader_slice(loader, offset);
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
static gboolean read_entry_member(DumpLoader *loader, Draft *draft, JsonSlice name, SlotInfo *info, NodeSlot *slot,
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
        value = dump_loader_slice(loader, offset);
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
static gboolean read_entry(DumpLoader *loader, Draft *draft)
{
    gsize position = dump_loader_position(loader);
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

static gboolean read_properties(DumpLoader *loader, Draft *draft)
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
static void hide_value(DumpLoader *loader, Draft *draft, guint hidden)
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

static void hide_secrets(DumpLoader *loader, Draft *draft)
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

static gboolean take_name(DumpLoader *loader, const char *name, gsize position)
{
    if (g_hash_table_add(loader->names, (gpointer)name))
        return TRUE;
    json_reader_fail_at(loader->reader, position, "'%s' stands twice in one object", name);
    return FALSE;
}

static gboolean check_names(DumpLoader *loader, const Draft *draft)
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

static Node *draft_finish(DumpLoader *loader, Draft *draft, const char *name)
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

static gboolean read_children(DumpLoader *loader, Draft *draft)
{
    draft->has_children = TRUE;
    if (!json_reader_enter(loader->reader, JSON_ARRAY, "\"children\""))
        return FALSE;
    while (json_reader_next_element(loader->reader)) {
        gsize position = dump_loader_position(loader);
        g_array_append_val(draft->child_positions, position);
        Node *child = dump_read_object(loader, NULL);
        if (!child)
            return FALSE;
        g_ptr_array_add(draft->children, child);
    }
    return !json_reader_failed(loader->reader);
}

static gboolean read_object_member(DumpLoader *loader, Draft *draft, JsonSlice name, gsize position)
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
Node *dump_read_object(DumpLoader *loader, const char *file_name)
{
    g_auto(Draft) draft;
    draft_init(&draft);
    draft.position = dump_loader_position(loader);
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
