/* SPDX-License-Identifier: MIT */
/*
 * Nodes: made once, then only read and counted. Whatever a version has in common with the
 * one before (texts aside) is shared with it.
 */
#include "objmodel/node.h"

#include <string.h>

#include "objmodel/children.h"
#include "objmodel/node-tree.h"
#include "objmodel/record.h"

#define LENGTH(literal) (sizeof(literal) - 1)

/* ---- samplers ---- */

Sampler *sampler_ref(Sampler *sampler)
{
    g_atomic_ref_count_inc(&sampler->refs);
    return sampler;
}

void sampler_unref(Sampler *sampler)
{
    if (sampler && g_atomic_ref_count_dec(&sampler->refs))
        sampler->free(sampler);
}

/* ---- identities ---- */

/* Takes n numbers that no one else has had or will have. */
static guint64 ids_take(guint n)
{
    static guint64 next = 2; /* 1 is the mount's root to the kernel */
    return __atomic_fetch_add(&next, n, __ATOMIC_RELAXED);
}

/* ---- arrays that versions share ---- */

static gpointer shared_ref(gpointer array)
{
    return array ? g_atomic_rc_box_acquire(array) : NULL;
}

static void shared_unref(gpointer array)
{
    if (array)
        g_atomic_rc_box_release(array);
}

static guint64 *shared_numbers(guint n)
{
    return g_atomic_rc_box_alloc(MAX(n, 1) * sizeof(guint64));
}

/* The strings stand behind the array, in the same block. */
static char **shared_strings(const char *const *strings, guint n)
{
    if (!strings)
        return NULL;
    gsize size = MAX(n, 1) * sizeof(char *);
    for (guint i = 0; i < n; i++)
        size += strings[i] ? strlen(strings[i]) + 1 : 0;
    char **array = g_atomic_rc_box_alloc(size);
    char *at = (char *)&array[n];
    for (guint i = 0; i < n; i++) {
        array[i] = strings[i] ? at : NULL;
        if (strings[i])
            at = stpcpy(at, strings[i]) + 1;
    }
    return array;
}

/* ---- what differs from the version before ---- */

static gboolean slot_same_value(const Node *a, guint slot_a, const Node *b, guint slot_b)
{
    if (a->sampler && a->sampler == b->sampler && (node_slot_info(a, slot_a)->flags & SLOT_MOVING))
        return TRUE;
    return json_equal_bytes(node_slot_value(a, slot_a), node_slot_value(b, slot_b)) &&
           !g_strcmp0(node_slot_error(a, slot_a), node_slot_error(b, slot_b));
}

static gboolean node_same_text(const Node *node, const Node *previous)
{
    if (node->shape != previous->shape || node->sampler != previous->sampler)
        return FALSE;
    if (!node->sampler && !node->slot_errors && !previous->slot_errors)
        return json_equal_bytes(node->text, previous->text);
    for (guint slot = 0; slot < shape_count(node->shape); slot++)
        if (!slot_same_value(node, slot, previous, slot))
            return FALSE;
    return TRUE;
}

/* The same properties, some with other values. */
static void node_follow_values(Node *node, const Node *previous)
{
    guint n = shape_count(node->shape);
    node->slot_inos = shared_ref(previous->slot_inos);
    node->slot_stamps = shared_numbers(n);
    for (guint slot = 0; slot < n; slot++)
        node->slot_stamps[slot] =
            slot_same_value(node, slot, previous, slot) ? node_slot_stamp(previous, slot) : node->stamp;
}

/* Other properties: what has the same name is the same file. */
static void node_follow_names(Node *node, const Node *previous)
{
    guint n = shape_count(node->shape);
    node->slot_inos = shared_numbers(n);
    node->slot_stamps = shared_numbers(n);
    for (guint slot = 0; slot < n; slot++) {
        int before = node_find_slot(previous, node_slot_info(node, slot)->name);
        gboolean same = before >= 0 && slot_same_value(node, slot, previous, (guint)before);
        node->slot_inos[slot] = before >= 0 ? node_slot_ino(previous, (guint)before) : ids_take(1);
        node->slot_stamps[slot] = same ? node_slot_stamp(previous, (guint)before) : node->stamp;
    }
}

/* Whether two shapes list the same names in the same order. */
static gboolean shapes_same_names(const Shape *a, const Shape *b)
{
    if (a == b)
        return TRUE;
    if (shape_count(a) != shape_count(b))
        return FALSE;
    for (guint slot = 0; slot < shape_count(a); slot++)
        if (strcmp(shape_info(a, slot)->name, shape_info(b, slot)->name))
            return FALSE;
    return TRUE;
}

/* ---- making one ---- */

static Node *node_alloc(const NodeSpec *spec)
{
    static Children *nobody;
    if (g_once_init_enter(&nobody))
        g_once_init_leave(&nobody, children_new(NULL, 0));

    /* One block: the node, its slots, its name, and for an object the name's JSON. */
    guint n = shape_count(spec->shape);
    gsize name_size = strlen(spec->name) + 1;
    JsonSlice json_name = spec->json_name;
    g_autoptr(GString) made = NULL;
    if (spec->kind == NODE_OBJECT && !json_name.text) {
        made = g_string_new(NULL);
        json_append_string(made, spec->name, -1);
        json_name = (JsonSlice){made->str, made->len};
    }
    Node *node = g_malloc0(sizeof(Node) + n * sizeof(NodeSlot) + name_size + json_name.length);
    g_atomic_ref_count_init(&node->refs);
    node->kind = spec->kind;
    node->slots = (NodeSlot *)&node[1];
    if (n > 0)
        memcpy(node->slots, spec->slots, n * sizeof(NodeSlot));
    node->name = memcpy(&node->slots[n], spec->name, name_size);
    if (json_name.length) {
        node->json_name.text = memcpy(node->name + name_size, json_name.text, json_name.length);
        node->json_name.length = json_name.length;
    }
    node->shape = spec->shape ? shape_ref(spec->shape) : NULL;
    node->bytes = spec->bytes ? g_bytes_ref(spec->bytes) : NULL;
    node->text = spec->text;
    node->slot_errors = shared_strings(spec->slot_errors, n);
    node->children = children_ref(spec->children ? spec->children : nobody);
    node->sampler = spec->sampler ? sampler_ref(spec->sampler) : NULL;
    node->layout = spec->layout;
    return node;
}

Node *node_new(const NodeSpec *spec)
{
    const Node *previous = spec->previous;
    Node *node = node_alloc(spec);
    node->stamp = spec->stamp;
    node_measure_tree(node);
    if (!previous) {
        node->id = ids_take(NODE_INOS + shape_count(node->shape));
        node->born = node->names_stamp = node->tree_stamp = node->stamp;
        return node;
    }

    node->id = previous->id;
    node->born = previous->born;
    gboolean same_text = node_same_text(node, previous);
    if (same_text && children_same_nodes(node->children, previous->children)) {
        node_unref(node);
        return node_ref(previous);
    }
    node->tree_stamp = node->stamp;
    gboolean same_names = (same_text || shapes_same_names(node->shape, previous->shape)) &&
                          children_same_names(node->children, previous->children);
    node->names_stamp = same_names ? previous->names_stamp : node->stamp;
    if (same_text) {
        node->stamp = same_names ? previous->stamp : node->stamp;
        node->slot_stamps = shared_ref(previous->slot_stamps);
        node->slot_inos = shared_ref(previous->slot_inos);
    } else if (node->shape == previous->shape) {
        node_follow_values(node, previous);
    } else {
        node_follow_names(node, previous);
    }
    return node;
}

Node *node_with_children(const Node *node, Children *children, guint64 stamp)
{
    NodeSpec spec = {
        .kind = node->kind,
        .name = node->name,
        .json_name = node->json_name,
        .shape = node->shape,
        .bytes = node->bytes,
        .text = node->text,
        .slots = node->slots,
        .slot_errors = (const char *const *)node->slot_errors,
        .children = children,
        .sampler = node->sampler,
        .layout = node->layout,
        .previous = node,
        .stamp = stamp,
    };
    return node_new(&spec);
}

Node *node_ref(const Node *node)
{
    Node *mine = (Node *)node;
    g_atomic_ref_count_inc(&mine->refs);
    return mine;
}

void node_unref(Node *node)
{
    if (!node || !g_atomic_ref_count_dec(&node->refs))
        return;
    shape_unref(node->shape);
    children_unref(node->children);
    sampler_unref(node->sampler);
    g_clear_pointer(&node->bytes, g_bytes_unref);
    shared_unref(node->slot_stamps);
    shared_unref(node->slot_inos);
    shared_unref(node->slot_errors);
    g_free(node->rendered);
    g_free(node);
}

/* ---- reading one ---- */

guint node_slot_count(const Node *node)
{
    return shape_count(node->shape);
}

int node_find_slot(const Node *node, const char *name)
{
    return shape_find(node->shape, name);
}

const SlotInfo *node_slot_info(const Node *node, guint slot)
{
    return shape_info(node->shape, slot);
}

JsonSlice node_slot_value(const Node *node, guint slot)
{
    const NodeSlot *at = &node->slots[slot];
    return at->length ? (JsonSlice){node->text.text + at->value, at->length} : (JsonSlice){0};
}

JsonSlice node_slot_entry(const Node *node, guint slot)
{
    gsize from = node->slots[slot].entry;
    gsize to = slot + 1 < node_slot_count(node) ? node->slots[slot + 1].entry - LENGTH(",") : node->text.length;
    return (JsonSlice){node->text.text + from, to - from};
}

const char *node_slot_error(const Node *node, guint slot)
{
    return node->slot_errors ? node->slot_errors[slot] : NULL;
}

guint64 node_slot_stamp(const Node *node, guint slot)
{
    return node->slot_stamps ? node->slot_stamps[slot] : node->born;
}

guint64 node_slot_ino(const Node *node, guint slot)
{
    return node->slot_inos ? node->slot_inos[slot] : node->id + NODE_INOS + slot;
}

gboolean node_slot_is_link(const Node *node, guint slot)
{
    if (!(node_slot_info(node, slot)->flags & SLOT_LINK))
        return FALSE;
    JsonSlice value = node_slot_value(node, slot);
    return value.length > LENGTH("\"/\"") - 1 && value.text[0] == '"' && value.text[1] == '/';
}

JsonSlice node_type(const Node *node)
{
    int slot = node->kind == NODE_OBJECT ? node_find_slot(node, "type") : -1;
    return slot < 0 ? (JsonSlice){0} : node_slot_value(node, (guint)slot);
}

/* Of a value: the one slot is all of the text. */
static guint value_index(JsonSlice text, NodeSlot *slots, guint n)
{
    if (n == 1)
        slots[0] = (NodeSlot){.length = (guint32)text.length};
    return 1;
}

/* Where the values stand in a text of property entries. */
static guint object_index(JsonSlice text, NodeSlot *slots, guint n)
{
    guint slot = 0;
    const char *at = text.text, *end = text.text + text.length;
    while (slot < n && at < end) {
        JsonSlice entry = {at, (gsize)(end - at)}, name, member;
        NodeSlot *to = &slots[slot++];
        *to = (NodeSlot){.entry = (guint32)(at - text.text)};
        JsonWalk walk = json_walk(entry);
        while (json_walk_member(&walk, &name, &member))
            if (json_string_is(name, "value")) {
                to->value = (guint32)(member.text - text.text);
                to->length = (guint32)member.length;
            }
        at = walk.at + LENGTH("},"); /* the walk ends at the brace */
    }
    return slot;
}

Node *node_sample(const Node *node)
{
    if (!node->sampler)
        return node_ref(node);
    GString *text = g_string_new(NULL);
    node->sampler->fill(node->sampler, text);
    gsize length = text->len;
    g_autoptr(GBytes) bytes = g_string_free_to_bytes(text);
    JsonSlice slice = {g_bytes_get_data(bytes, NULL), length};

    guint n = node_slot_count(node);
    g_autofree NodeSlot *slots = g_new0(NodeSlot, MAX(n, 1));
    guint found = node->kind == NODE_RECORD  ? record_index(slice, node->layout, slots, n)
                  : node->kind == NODE_VALUE ? value_index(slice, slots, n)
                                             : object_index(slice, slots, n);
    g_assert(found == n); /* a sampler's promise */
    g_autofree char *reason = length == 0 && node->sampler->reason ? node->sampler->reason(node->sampler) : NULL;
    const char *const reasons[] = {reason}; /* of the one slot of a value */

    NodeSpec spec = {.kind = node->kind,
                     .name = node->name,
                     .json_name = node->json_name,
                     .shape = node->shape,
                     .bytes = bytes,
                     .text = slice,
                     .slots = slots,
                     .slot_errors = reason ? reasons : (const char *const *)node->slot_errors,
                     .children = node->children,
                     .layout = node->layout};
    Node *sampled = node_alloc(&spec);
    sampled->id = node->id;
    sampled->born = node->born;
    sampled->stamp = node->stamp;
    sampled->names_stamp = node->names_stamp;
    sampled->tree_stamp = node->tree_stamp;
    sampled->slot_stamps = shared_ref(node->slot_stamps);
    sampled->slot_inos = shared_ref(node->slot_inos);
    node_measure_tree(sampled);
    sampled->tree_moving = TRUE;
    return sampled;
}

gsize value_file_size(JsonSlice value)
{
    if (value.length && value.text[0] == '"')
        return json_string_length(value) + LENGTH("\n");
    return value.length + LENGTH("\n");
}

void value_append_file(JsonSlice value, GString *out)
{
    if (value.length && value.text[0] == '"')
        json_string_decode(value, out);
    else
        json_append_slice(out, value);
    g_string_append_c(out, '\n');
}
