/* SPDX-License-Identifier: MIT */
/*
 * Records: the members of a JSON object become the slots of a node, as the layout says; a
 * nested one becomes a child whose text is a part of the whole one's.
 */
#include "objmodel/record.h"

#include <string.h>

#include "objmodel/name.h"

static gboolean layout_nests(const RecordLayout *layout, JsonSlice name, JsonSlice value)
{
    if (json_kind(value) != JSON_OBJECT)
        return FALSE;
    for (const char *const *nested = layout->nested; nested && *nested; nested++)
        if (json_string_is(name, *nested))
            return TRUE;
    return FALSE;
}

static gboolean layout_flattens(const RecordLayout *layout, JsonSlice name, JsonSlice value)
{
    return layout->flatten && json_kind(value) == JSON_OBJECT && json_string_is(name, layout->flatten);
}

/* What is found in a record's text: a member that is a slot (nested FALSE) or a child. */
typedef void (*MemberFunc)(JsonSlice name, JsonSlice value, gboolean nested, void *opaque);

static void record_walk(JsonSlice text, const RecordLayout *layout, MemberFunc found, void *opaque)
{
    JsonSlice name, value, inner_name, inner_value;
    JsonWalk walk = json_walk(text);
    while (json_walk_member(&walk, &name, &value)) {
        if (!layout_flattens(layout, name, value)) {
            found(name, value, layout_nests(layout, name, value), opaque);
            continue;
        }
        JsonWalk inner = json_walk(value);
        while (json_walk_member(&inner, &inner_name, &inner_value))
            found(inner_name, inner_value, FALSE, opaque);
    }
}

static NodeSlot slot_at(JsonSlice text, JsonSlice name, JsonSlice value)
{
    return (NodeSlot){.entry = (guint32)(name.text - text.text),
                      .value = (guint32)(value.text - text.text),
                      .length = (guint32)value.length};
}

typedef struct Indexing {
    JsonSlice text;
    NodeSlot *slots;
    guint n, found;
} Indexing;

static void index_member(JsonSlice name, JsonSlice value, gboolean nested, void *opaque)
{
    Indexing *indexing = opaque;
    if (nested)
        return;
    if (indexing->found < indexing->n)
        indexing->slots[indexing->found] = slot_at(indexing->text, name, value);
    indexing->found++;
}

guint record_index(JsonSlice text, const RecordLayout *layout, NodeSlot *slots, guint n)
{
    Indexing indexing = {.text = text, .slots = slots, .n = n};
    record_walk(text, layout, index_member, &indexing);
    return indexing.found;
}

/* ---- a nested record that moves: cut out of what the whole one's sampler writes ---- */

typedef struct MemberSampler {
    Sampler base;
    Sampler *whole;
    char *member;
} MemberSampler;

static void member_sampler_fill(Sampler *base, GString *out)
{
    MemberSampler *sampler = (MemberSampler *)base;
    g_autoptr(GString) whole = g_string_new(NULL);
    sampler->whole->fill(sampler->whole, whole);
    json_append_slice(out, json_member((JsonSlice){whole->str, whole->len}, sampler->member));
}

static void member_sampler_free(Sampler *base)
{
    MemberSampler *sampler = (MemberSampler *)base;
    sampler_unref(sampler->whole);
    g_free(sampler->member);
    g_free(sampler);
}

static Sampler *member_sampler_new(Sampler *whole, const char *member)
{
    MemberSampler *sampler = g_new0(MemberSampler, 1);
    g_atomic_ref_count_init(&sampler->base.refs);
    sampler->base.fill = member_sampler_fill;
    sampler->base.free = member_sampler_free;
    sampler->whole = sampler_ref(whole);
    sampler->member = g_strdup(member);
    return &sampler->base;
}

/* ---- making one ---- */

typedef struct Building {
    GBytes *bytes;
    JsonSlice text;
    const RecordLayout *layout;
    Sampler *sampler;
    const Node *previous;
    guint64 stamp;
    GArray *infos; /* of SlotInfo */
    GArray *slots; /* of NodeSlot */
    GPtrArray *children;
    GHashTable *names; /* which are taken; owns them */
} Building;

/* The member's file name; owned by building->names. */
static const char *take_name(Building *building, JsonSlice name)
{
    gsize length;
    g_autofree char *bytes = json_string_dup(name, &length);
    char *file_name = file_name_encode(bytes, length);
    g_autofree char *first = g_strdup(file_name);
    for (guint i = 2; g_hash_table_contains(building->names, file_name); i++) {
        g_free(file_name);
        file_name = g_strdup_printf("%s.%u", first, i);
    }
    g_hash_table_add(building->names, file_name);
    return file_name;
}

/* The child of the version before, so that it stays the same object. */
static const Node *previous_child(const Building *building, const char *name)
{
    return building->previous ? children_find(building->previous->children, name) : NULL;
}

static void build_member(JsonSlice name, JsonSlice value, gboolean nested, void *opaque)
{
    Building *building = opaque;
    const char *file_name = take_name(building, name);
    if (!nested) {
        SlotInfo info = {.name = file_name, .flags = building->layout->moving && building->sampler ? SLOT_MOVING : 0};
        NodeSlot slot = slot_at(building->text, name, value);
        g_array_append_val(building->infos, info);
        g_array_append_val(building->slots, slot);
        return;
    }
    g_autofree char *member = json_string_dup(name, NULL);
    Sampler *sampler = building->sampler ? member_sampler_new(building->sampler, member) : NULL;
    g_ptr_array_add(building->children, record_new(file_name, building->bytes, value, building->layout, sampler,
                                                   previous_child(building, file_name), building->stamp));
    sampler_unref(sampler);
}

/* The previous version's shape where it lists the same, else a new one. */
static Shape *record_shape(const Building *building)
{
    guint n = building->infos->len;
    const SlotInfo *infos = (const SlotInfo *)building->infos->data;
    const Node *previous = building->previous;
    gboolean same = previous && previous->shape && node_slot_count(previous) == n;
    for (guint i = 0; same && i < n; i++)
        same = !strcmp(infos[i].name, node_slot_info(previous, i)->name) &&
               infos[i].flags == node_slot_info(previous, i)->flags;
    return same ? shape_ref(previous->shape) : shape_new(infos, n);
}

/* The previous version's list where it has the same nodes. */
static Children *record_children(const Building *building)
{
    Node *const *nodes = (Node *const *)building->children->pdata;
    guint n = building->children->len;
    const Node *previous = building->previous;
    gboolean same = previous && children_count(previous->children) == n;
    if (same) {
        ChildrenIter iter = children_iter(previous->children, 0);
        for (guint i = 0; same && i < n; i++)
            same = children_next(&iter) == nodes[i];
    }
    return same ? children_ref(previous->children) : children_new(nodes, n);
}

Node *record_new(const char *name, GBytes *bytes, JsonSlice text, const RecordLayout *layout, Sampler *sampler,
                 const Node *previous, guint64 stamp)
{
    g_autoptr(GArray) infos = g_array_new(FALSE, FALSE, sizeof(SlotInfo));
    g_autoptr(GArray) slots = g_array_new(FALSE, FALSE, sizeof(NodeSlot));
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_unref);
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Building building = {.bytes = bytes,
                         .text = text,
                         .layout = layout,
                         .sampler = sampler,
                         .previous = previous,
                         .stamp = stamp,
                         .infos = infos,
                         .slots = slots,
                         .children = nodes,
                         .names = names};
    record_walk(text, layout, build_member, &building);
    g_autoptr(Shape) shape = record_shape(&building);
    g_autoptr(Children) children = record_children(&building);
    NodeSpec spec = {.kind = NODE_RECORD,
                     .name = name,
                     .shape = shape,
                     .bytes = bytes,
                     .text = text,
                     .slots = (const NodeSlot *)slots->data,
                     .children = children,
                     .sampler = sampler,
                     .layout = layout,
                     .previous = previous,
                     .stamp = stamp};
    return node_new(&spec);
}
