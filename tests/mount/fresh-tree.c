/* SPDX-License-Identifier: MIT */
/* Changing a tree by hand: texts are cut and joined, ancestors made anew. */
#include "tests/mount/fresh-tree.h"

#include <string.h>

Node *fresh_object(const char *name, const FreshProperty *properties, guint n, Children *children, Sampler *sampler,
                   guint64 stamp)
{
    g_autofree SlotInfo *infos = g_new0(SlotInfo, n);
    g_autofree NodeSlot *slots = g_new0(NodeSlot, n);
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < n; i++) {
        infos[i] = (SlotInfo){.name = properties[i].name, .type = properties[i].type, .flags = properties[i].flags};
        if (i)
            g_string_append_c(text, ',');
        slots[i].entry = (guint32)text->len;
        g_string_append(text, "{\"name\":");
        json_append_string(text, properties[i].name, -1);
        g_string_append(text, ",\"type\":");
        json_append_string(text, properties[i].type, -1);
        g_string_append(text, ",\"value\":");
        slots[i].value = (guint32)text->len;
        slots[i].length = (guint32)strlen(properties[i].value);
        g_string_append_printf(text, "%s}", properties[i].value);
    }
    g_autoptr(Shape) shape = shape_new(infos, n);
    g_autoptr(GBytes) bytes = g_string_free_to_bytes(text);
    return node_new(&(NodeSpec){
        .kind = NODE_OBJECT,
        .name = name,
        .shape = shape,
        .bytes = bytes,
        .text = {g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)},
        .slots = slots,
        .children = children,
        .sampler = sampler,
        .stamp = stamp,
    });
}

Node *fresh_with_value(const Node *object, guint slot, const char *value, guint64 stamp)
{
    guint n = node_slot_count(object);
    const NodeSlot *old = &object->slots[slot];
    gsize end = old->value + old->length;
    GString *text = g_string_sized_new(object->text.length + strlen(value));

    g_string_append_len(text, object->text.text, old->value);
    g_string_append(text, value);
    g_string_append_len(text, object->text.text + end, (gssize)(object->text.length - end));

    g_autofree NodeSlot *slots = g_memdup2(object->slots, n * sizeof(NodeSlot));
    slots[slot].length = (guint32)strlen(value);
    for (guint i = slot + 1; i < n; i++) {
        slots[i].entry += slots[slot].length - old->length;
        slots[i].value += slots[slot].length - old->length;
    }
    g_autoptr(GBytes) bytes = g_string_free_to_bytes(text);
    return node_new(&(NodeSpec){
        .kind = NODE_OBJECT,
        .name = object->name,
        .json_name = object->json_name,
        .shape = object->shape,
        .bytes = bytes,
        .text = {g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)},
        .slots = slots,
        .children = object->children,
        .sampler = object->sampler,
        .previous = object,
        .stamp = stamp,
    });
}

Node *fresh_edit(const Node *root, const char *path, FreshEdit edit, gpointer opaque, guint64 stamp)
{
    if (!*path)
        return edit(root, stamp, opaque);
    const char *slash = strchrnul(path, '/');
    g_autofree char *name = g_strndup(path, (gsize)(slash - path));
    const Node *child = children_find(root->children, name);
    if (!child)
        return NULL;
    const char *rest = *slash ? slash + 1 : slash;
    g_autoptr(Node) edited = fresh_edit(child, rest, edit, opaque, stamp);
    /* A name that is missing further down is no removal. */
    if (!edited && *rest)
        return NULL;
    g_autoptr(Children) children = children_with(root->children, child, edited);
    return node_with_children(root, children, stamp);
}
