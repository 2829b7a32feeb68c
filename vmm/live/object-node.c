/* SPDX-License-Identifier: MIT */
/*
 * See object.h: what is known of a running QEMU's objects as nodes of a snapshot. Only what is dirty is made anew, so
 * that an object that said the same again is the same node. The live thread.
 */
#include "vmm/live/object.h"

#include <string.h>

#include "objmodel/name.h"
#include "vmm/views.h"

#define LINK_PREFIX "link<"

typedef struct Draft {
    GString *text;
    GArray *infos;      /* of SlotInfo */
    GArray *slots;      /* of NodeSlot */
    GPtrArray *strings; /* owns the names of infos */
    GPtrArray *errors;  /* borrowed strings or NULLs */
    gboolean has_errors;
} Draft;

static void draft_add(Draft *draft, const LiveTree *tree, const LiveProperty *property)
{
    NodeSlot slot;
    SlotInfo info = {.name = file_name_encode(property->name, strlen(property->name)), .type = property->type};

    g_ptr_array_add(draft->strings, (char *)info.name);
    if (g_str_has_prefix(property->type, LINK_PREFIX)) {
        info.flags |= SLOT_LINK;
    }
    if (property->secret) {
        info.flags |= SLOT_SECRET;
    }
    if (tree->writable && !g_str_equal(property->name, "type")) {
        info.flags |= SLOT_WRITABLE;
    }
    if (draft->text->len > 0) {
        g_string_append_c(draft->text, ',');
    }
    slot = (NodeSlot){.entry = (guint32)draft->text->len};
    g_string_append(draft->text, "{\"name\":");
    json_append_string(draft->text, property->name, -1);
    g_string_append(draft->text, ",\"type\":");
    json_append_string(draft->text, property->type, -1);
    if (property->length > 0) {
        g_string_append(draft->text, ",\"value\":");
        slot.value = (guint32)draft->text->len;
        slot.length = (guint32)property->length;
        g_string_append_len(draft->text, property->value, (gssize)property->length);
    }
    g_string_append_c(draft->text, '}');
    g_array_append_val(draft->infos, info);
    g_array_append_val(draft->slots, slot);
    g_ptr_array_add(draft->errors, property->error);
    draft->has_errors = draft->has_errors || property->error != NULL;
}

static Children *object_children(LiveTree *tree, LiveObject *object, guint64 stamp);

static void object_build(LiveTree *tree, LiveObject *object, guint64 stamp)
{
    Draft draft = {.text = g_string_new(NULL),
                   .infos = g_array_new(FALSE, TRUE, sizeof(SlotInfo)),
                   .slots = g_array_new(FALSE, TRUE, sizeof(NodeSlot)),
                   .strings = g_ptr_array_new_with_free_func(g_free),
                   .errors = g_ptr_array_new()};
    g_autofree char *file_name = file_name_encode(object->name, strlen(object->name));
    g_autoptr(GString) json_name = g_string_new(NULL);
    g_autoptr(Children) children = object_children(tree, object, stamp);
    g_autoptr(GBytes) bytes = NULL;
    g_autoptr(Shape) shape = NULL;
    Node *node;
    gsize length;
    const char *text;

    for (guint i = 0; i < object->properties->len; i++) {
        draft_add(&draft, tree, g_ptr_array_index(object->properties, i));
    }
    json_append_string(json_name, object->parent != NULL ? object->name : "/", -1);
    bytes = g_string_free_to_bytes(draft.text);
    text = g_bytes_get_data(bytes, &length);
    shape = shape_pool_get(tree->shapes, (const SlotInfo *)(gpointer)draft.infos->data, draft.infos->len);
    node = node_new(&(NodeSpec){
        .kind = NODE_OBJECT,
        .name = object->parent != NULL ? file_name : view_name(VIEW_QOM),
        .json_name = {json_name->str, json_name->len},
        .shape = shape,
        .bytes = bytes,
        .text = {text, length},
        .slots = (const NodeSlot *)(gpointer)draft.slots->data,
        .slot_errors = draft.has_errors ? (const char *const *)draft.errors->pdata : NULL,
        .children = children,
        .previous = object->node,
        .stamp = stamp,
    });
    node_unref(object->node);
    object->node = node;
    object->dirty = FALSE;
    g_array_unref(draft.infos);
    g_array_unref(draft.slots);
    g_ptr_array_unref(draft.strings);
    g_ptr_array_unref(draft.errors);
}

/* Those of which something is known. */
static Children *object_children(LiveTree *tree, LiveObject *object, guint64 stamp)
{
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_full(object->children->len, NULL);

    for (guint i = 0; i < object->children->len; i++) {
        LiveObject *child = g_ptr_array_index(object->children, i);

        if (child->dirty && child->properties->len > 0) {
            object_build(tree, child, stamp);
        }
        if (child->node != NULL) {
            g_ptr_array_add(nodes, child->node);
        }
    }
    return children_new((Node *const *)nodes->pdata, nodes->len);
}

const Node *live_tree_node(LiveTree *tree, guint64 stamp)
{
    if (tree->root->dirty && tree->root->properties->len > 0) {
        object_build(tree, tree->root, stamp);
    }
    return tree->root->node;
}
