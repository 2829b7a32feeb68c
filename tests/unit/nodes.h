/* SPDX-License-Identifier: MIT */
/* Nodes for tests, made from a few words each. Included by test-*.c. */
#pragma once

#include <string.h>

#include "objmodel/name.h"
#include "objmodel/node.h"

/* One property; a row without a name ends a list of them. */
typedef struct Prop {
    const char *name;
    const char *type;  /* NULL: "string" */
    const char *value; /* JSON; NULL: it has none */
    SlotFlags flags;
    const char *error; /* why it has no value, or NULL */
} Prop;

static inline void prop_append(const Prop *prop, GString *out, NodeSlot *slot)
{
    slot->entry = (guint32)out->len;
    g_string_append(out, "{\"name\":");
    json_append_string(out, prop->name, -1);
    g_string_append_printf(out, ",\"type\":\"%s\"", prop->type ? prop->type : "string");
    if (prop->value) {
        g_string_append(out, ",\"value\":");
        slot->value = (guint32)out->len;
        slot->length = (guint32)strlen(prop->value);
        g_string_append(out, prop->value);
    }
    g_string_append_c(out, '}');
}

/* An object. name: as in QOM. shapes: so that versions with the same properties have the same shape. What may be
 * NULL there: props, children, sampler, previous. */
static inline Node *object_node(ShapePool *shapes, const char *name, const Prop *props, Children *children,
                                Sampler *sampler, const Node *previous, guint64 stamp)
{
    g_autofree char *file_name = file_name_encode(name, strlen(name));
    g_autoptr(GString) json_name = g_string_new(NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    GString *text = g_string_new(NULL);
    SlotInfo infos[80] = {0};
    NodeSlot slots[80] = {0};
    const char *errors[80] = {0};
    gboolean has_errors = FALSE;
    guint n = 0;

    for (; props && props[n].name; n++) {
        char *slot_name = file_name_encode(props[n].name, strlen(props[n].name));
        g_assert_cmpuint(n, <, G_N_ELEMENTS(infos));
        g_ptr_array_add(names, slot_name);
        infos[n] =
            (SlotInfo){.name = slot_name, .type = props[n].type ? props[n].type : "string", .flags = props[n].flags};
        if (g_str_has_prefix(infos[n].type, "link<"))
            infos[n].flags |= SLOT_LINK;
        errors[n] = props[n].error;
        has_errors |= props[n].error != NULL;
        if (n > 0)
            g_string_append_c(text, ',');
        prop_append(&props[n], text, &slots[n]);
    }
    json_append_string(json_name, name, -1);
    gsize length = text->len;
    g_autoptr(GBytes) bytes = g_string_free_to_bytes(text);
    g_autoptr(Shape) shape = shape_pool_get(shapes, infos, n);
    return node_new(&(NodeSpec){.kind = NODE_OBJECT,
                                .name = file_name,
                                .json_name = {json_name->str, json_name->len},
                                .shape = shape,
                                .bytes = bytes,
                                .text = {g_bytes_get_data(bytes, NULL), length},
                                .slots = slots,
                                .slot_errors = has_errors ? errors : NULL,
                                .children = children,
                                .sampler = sampler,
                                .previous = previous,
                                .stamp = stamp});
}

/* Takes the nodes over; NULL ends them. */
static inline G_GNUC_NULL_TERMINATED Children *children_of(Node *first, ...)
{
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_unref);
    va_list more;

    va_start(more, first);
    for (Node *node = first; node; node = va_arg(more, Node *))
        g_ptr_array_add(nodes, node);
    va_end(more);
    return children_new((Node *const *)nodes->pdata, nodes->len);
}

static inline void check_tree(const Node *node, const char *expected)
{
    g_autoptr(GString) out = g_string_new("before:");
    g_autofree char *all = g_strconcat("before:", expected, NULL);

    node_append_tree(node, out);
    g_assert_cmpstr(out->str, ==, all);
}

static inline void check_slice(JsonSlice slice, const char *expected)
{
    if (!expected)
        g_assert_cmpuint(slice.length, ==, 0);
    else
        g_assert_cmpmem(slice.text, slice.length, expected, strlen(expected));
}

static inline guint slot_of(const Node *node, const char *name)
{
    int slot = node_find_slot(node, name);

    g_assert_cmpint(slot, >=, 0);
    return (guint)slot;
}
