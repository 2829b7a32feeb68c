/* SPDX-License-Identifier: MIT */
/*
 * Shapes: lists of properties, and the pool that makes equal lists one. A shape is
 * immutable and reference-counted; it is one block of memory with its strings behind it.
 */
#include "objmodel/node.h"

#include <string.h>

#include "objmodel/name-index.h"

struct Shape {
    gatomicrefcount refs;
    guint n;
    guint hash;
    NameIndex *index;
    SlotInfo infos[];
};

static gsize string_size(const char *string)
{
    return string ? strlen(string) + 1 : 0;
}

static const char *string_store(char **at, const char *string)
{
    if (!string)
        return NULL;
    gsize size = string_size(string);
    const char *stored = memcpy(*at, string, size);
    *at += size;
    return stored;
}

static guint slot_info_hash(const SlotInfo *info, guint hash)
{
    hash = hash * 31 + g_str_hash(info->name);
    hash = hash * 31 + (info->type ? g_str_hash(info->type) : 0);
    return hash * 31 + info->flags;
}

static guint slot_infos_hash(const SlotInfo *infos, guint n)
{
    guint hash = n;
    for (guint i = 0; i < n; i++)
        hash = slot_info_hash(&infos[i], hash);
    return hash;
}

static gboolean slot_info_equal(const SlotInfo *a, const SlotInfo *b)
{
    return a->flags == b->flags && !strcmp(a->name, b->name) && !g_strcmp0(a->type, b->type) &&
           !g_strcmp0(a->description, b->description) && !g_strcmp0(a->default_value, b->default_value);
}

/* Many properties share few types: a type that equals the one before is stored once. */
static gboolean type_repeats(const SlotInfo *infos, guint i)
{
    return i > 0 && !g_strcmp0(infos[i].type, infos[i - 1].type);
}

static const char *shape_slot_name(guint slot, const void *shape)
{
    return ((const Shape *)shape)->infos[slot].name;
}

Shape *shape_new(const SlotInfo *infos, guint n)
{
    gsize strings = 0;
    for (guint i = 0; i < n; i++)
        strings += string_size(infos[i].name) + (type_repeats(infos, i) ? 0 : string_size(infos[i].type)) +
                   string_size(infos[i].description) + string_size(infos[i].default_value);
    Shape *shape = g_malloc(sizeof(Shape) + n * sizeof(SlotInfo) + strings);
    g_atomic_ref_count_init(&shape->refs);
    shape->n = n;
    shape->hash = slot_infos_hash(infos, n);
    char *at = (char *)&shape->infos[n];
    for (guint i = 0; i < n; i++) {
        SlotInfo *to = &shape->infos[i];
        to->name = string_store(&at, infos[i].name);
        to->type = type_repeats(infos, i) ? to[-1].type : string_store(&at, infos[i].type);
        to->description = string_store(&at, infos[i].description);
        to->default_value = string_store(&at, infos[i].default_value);
        to->flags = infos[i].flags;
    }
    shape->index = name_index_new(n, shape_slot_name, shape);
    return shape;
}

Shape *shape_ref(Shape *shape)
{
    g_atomic_ref_count_inc(&shape->refs);
    return shape;
}

void shape_unref(Shape *shape)
{
    if (!shape || !g_atomic_ref_count_dec(&shape->refs))
        return;
    name_index_free(shape->index);
    g_free(shape);
}

guint shape_count(const Shape *shape)
{
    return shape ? shape->n : 0;
}

const SlotInfo *shape_info(const Shape *shape, guint slot)
{
    return &shape->infos[slot];
}

int shape_find(const Shape *shape, const char *name)
{
    return shape ? name_index_find(shape->index, name, shape_slot_name, shape) : -1;
}

struct ShapePool {
    GHashTable *shapes; /* a set; its keys are owned references */
};

static guint shape_hash(gconstpointer shape)
{
    return ((const Shape *)shape)->hash;
}

static gboolean shape_equal(gconstpointer a, gconstpointer b)
{
    const Shape *left = a, *right = b;
    if (left == right)
        return TRUE;
    if (left->n != right->n)
        return FALSE;
    for (guint i = 0; i < left->n; i++)
        if (!slot_info_equal(&left->infos[i], &right->infos[i]))
            return FALSE;
    return TRUE;
}

ShapePool *shape_pool_new(void)
{
    ShapePool *pool = g_new0(ShapePool, 1);
    pool->shapes = g_hash_table_new_full(shape_hash, shape_equal, (GDestroyNotify)shape_unref, NULL);
    return pool;
}

void shape_pool_free(ShapePool *pool)
{
    if (!pool)
        return;
    g_hash_table_unref(pool->shapes);
    g_free(pool);
}

Shape *shape_pool_get(ShapePool *pool, const SlotInfo *infos, guint n)
{
    /* Looked up by a stand-in that has what hash and equal look at. */
    g_autofree Shape *probe = g_malloc(sizeof(Shape) + n * sizeof(SlotInfo));
    probe->n = n;
    probe->hash = slot_infos_hash(infos, n);
    if (n > 0)
        memcpy(probe->infos, infos, n * sizeof(SlotInfo));
    Shape *found = g_hash_table_lookup(pool->shapes, probe);
    if (!found) {
        found = shape_new(infos, n);
        g_hash_table_add(pool->shapes, found);
    }
    return shape_ref(found);
}
