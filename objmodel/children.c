/* SPDX-License-Identifier: MIT */
/*
 * Lists of children. A list is a row of chunks, each with up to CHUNK_MAX nodes; lists share
 * the chunks in which they do not differ, so that one change in a long list copies little and
 * two lists are compared by the chunk. Immutable but for the index by name, which the first
 * reader that looks for a name makes; versions with the same names share it.
 */
#include "objmodel/children.h"

#include <string.h>

#include "objmodel/name-index.h"

enum { CHUNK_MAX = 64, CHUNK_FEW = CHUNK_MAX / 4 };

typedef struct Chunk {
    gatomicrefcount refs;
    guint n;
    gsize tree_size; /* of its nodes, without the commas between them */
    guint moving;    /* how many of its nodes move */
    Node *nodes[];
} Chunk;

/* Which names a list has, in which order: one for all versions with the same names. */
typedef struct Names {
    gatomicrefcount refs;
    GMutex lock; /* for the building of what follows */
    NameIndex *index;
    guint32 *places; /* chunk * CHUNK_MAX + index in it, of each ordinal */
} Names;

struct Children {
    gatomicrefcount refs;
    guint n;
    gboolean ascending; /* the ids grow along the list */
    Names *names;
    guint n_chunks;
    Chunk *chunks[];
};

/* ---- chunks ---- */

static Chunk *chunk_new(Node *const *nodes, guint n)
{
    Chunk *chunk = g_malloc(sizeof(Chunk) + n * sizeof(Node *));
    g_atomic_ref_count_init(&chunk->refs);
    chunk->n = n;
    chunk->tree_size = 0;
    chunk->moving = 0;
    for (guint i = 0; i < n; i++) {
        chunk->nodes[i] = node_ref(nodes[i]);
        chunk->tree_size += nodes[i]->tree_size;
        chunk->moving += nodes[i]->tree_moving;
    }
    return chunk;
}

static Chunk *chunk_ref(Chunk *chunk)
{
    g_atomic_ref_count_inc(&chunk->refs);
    return chunk;
}

static void chunk_unref(Chunk *chunk)
{
    if (!g_atomic_ref_count_dec(&chunk->refs))
        return;
    for (guint i = 0; i < chunk->n; i++)
        node_unref(chunk->nodes[i]);
    g_free(chunk);
}

/* ---- names ---- */

static Names *names_new(void)
{
    Names *names = g_new0(Names, 1);
    g_atomic_ref_count_init(&names->refs);
    g_mutex_init(&names->lock);
    return names;
}

static Names *names_ref(Names *names)
{
    g_atomic_ref_count_inc(&names->refs);
    return names;
}

static void names_unref(Names *names)
{
    if (!g_atomic_ref_count_dec(&names->refs))
        return;
    name_index_free(names->index);
    g_free(names->places);
    g_mutex_clear(&names->lock);
    g_free(names);
}

static const Node *children_at_place(const Children *children, guint place)
{
    return children->chunks[place / CHUNK_MAX]->nodes[place % CHUNK_MAX];
}

static const char *children_name_at(guint ordinal, const void *list)
{
    const Children *children = list;
    return children_at_place(children, children->names->places[ordinal])->name;
}

static const NameIndex *names_index(const Children *children)
{
    Names *names = children->names;
    NameIndex *index = g_atomic_pointer_get(&names->index);
    if (index)
        return index;
    g_mutex_lock(&names->lock);
    index = names->index;
    if (!index) {
        names->places = g_new(guint32, children->n);
        guint ordinal = 0;
        for (guint c = 0; c < children->n_chunks; c++)
            for (guint i = 0; i < children->chunks[c]->n; i++)
                names->places[ordinal++] = c * CHUNK_MAX + i;
        index = name_index_new(children->n, children_name_at, children);
        g_atomic_pointer_set(&names->index, index);
    }
    g_mutex_unlock(&names->lock);
    return index;
}

/* ---- lists ---- */

static Children *children_alloc(guint n_chunks)
{
    Children *children = g_malloc0(sizeof(Children) + n_chunks * sizeof(Chunk *));
    g_atomic_ref_count_init(&children->refs);
    children->n_chunks = n_chunks;
    return children;
}

Children *children_new(Node *const *nodes, guint n)
{
    Children *children = children_alloc((n + CHUNK_MAX - 1) / CHUNK_MAX);
    children->n = n;
    children->names = names_new();
    children->ascending = TRUE;
    for (guint i = 1; i < n && children->ascending; i++)
        children->ascending = nodes[i - 1]->id < nodes[i]->id;
    for (guint c = 0; c < children->n_chunks; c++)
        children->chunks[c] = chunk_new(&nodes[c * CHUNK_MAX], MIN(n - c * CHUNK_MAX, CHUNK_MAX));
    return children;
}

Children *children_ref(const Children *children)
{
    Children *mine = (Children *)children;
    g_atomic_ref_count_inc(&mine->refs);
    return mine;
}

void children_unref(Children *children)
{
    if (!children || !g_atomic_ref_count_dec(&children->refs))
        return;
    for (guint c = 0; c < children->n_chunks; c++)
        chunk_unref(children->chunks[c]);
    names_unref(children->names);
    g_free(children);
}

/* Which chunk holds the node, and where in it. */
static gboolean children_locate(const Children *children, const Node *node, guint *ret_chunk, guint *ret_index)
{
    guint first = 0, last = children->n_chunks;
    if (children->ascending) {
        while (last - first > 1) {
            guint middle = first + (last - first) / 2;
            if (children->chunks[middle]->nodes[0]->id <= node->id)
                first = middle;
            else
                last = middle;
        }
    }
    for (guint c = first; c < last; c++)
        for (guint i = 0; i < children->chunks[c]->n; i++)
            if (children->chunks[c]->nodes[i]->id == node->id) {
                *ret_chunk = c;
                *ret_index = i;
                return TRUE;
            }
    return FALSE;
}

/* The list with chunks [from, from + gone) replaced by the `count` given, which it takes over. */
static Children *children_splice(const Children *old, guint from, guint gone, Chunk *const *chunks, guint count)
{
    Children *list = children_alloc(old->n_chunks - gone + count);
    guint at = 0;
    for (guint c = 0; c < from; c++)
        list->chunks[at++] = chunk_ref(old->chunks[c]);
    for (guint c = 0; c < count; c++)
        list->chunks[at++] = chunks[c];
    for (guint c = from + gone; c < old->n_chunks; c++)
        list->chunks[at++] = chunk_ref(old->chunks[c]);
    return list;
}

static Children *children_append(const Children *old, Node *node)
{
    guint last = old->n_chunks;
    gboolean fits = last > 0 && old->chunks[last - 1]->n < CHUNK_MAX;
    Node *nodes[CHUNK_MAX];
    guint n = 0;
    if (fits) {
        last--;
        n = old->chunks[last]->n;
        memcpy(nodes, old->chunks[last]->nodes, n * sizeof(Node *));
    }
    nodes[n++] = node;
    Chunk *chunk = chunk_new(nodes, n);
    Children *list = children_splice(old, last, fits, &chunk, 1);
    list->n = old->n + 1;
    list->names = names_new();
    list->ascending = old->ascending;
    if (n > 1)
        list->ascending = list->ascending && nodes[n - 2]->id < node->id;
    else if (last > 0)
        list->ascending = list->ascending && list->chunks[last - 1]->nodes[old->chunks[last - 1]->n - 1]->id < node->id;
    return list;
}

static Children *children_replace(const Children *old, guint c, guint i, Node *node)
{
    const Chunk *was = old->chunks[c];
    gboolean same_name = !strcmp(was->nodes[i]->name, node->name);
    gboolean same_id = was->nodes[i]->id == node->id;
    Node *nodes[CHUNK_MAX];
    memcpy(nodes, was->nodes, was->n * sizeof(Node *));
    nodes[i] = node;
    Chunk *chunk = chunk_new(nodes, was->n);
    Children *list = children_splice(old, c, 1, &chunk, 1);
    list->n = old->n;
    list->names = same_name ? names_ref(old->names) : names_new();
    list->ascending = old->ascending && same_id;
    return list;
}

static Children *children_remove(const Children *old, guint c, guint i)
{
    const Chunk *was = old->chunks[c];
    Node *nodes[CHUNK_MAX + CHUNK_FEW];
    guint n = 0, gone = 1;
    for (guint j = 0; j < was->n; j++)
        if (j != i)
            nodes[n++] = was->nodes[j];
    /* What has become small joins the chunk behind it, or many removals would leave a list of crumbs. */
    if (n < CHUNK_FEW && c + 1 < old->n_chunks && n + old->chunks[c + 1]->n <= CHUNK_MAX) {
        const Chunk *next = old->chunks[c + 1];
        memcpy(&nodes[n], next->nodes, next->n * sizeof(Node *));
        n += next->n;
        gone = 2;
    }
    Chunk *chunk = n > 0 ? chunk_new(nodes, n) : NULL;
    Children *list = children_splice(old, c, gone, &chunk, chunk != NULL);
    list->n = old->n - 1;
    list->names = names_new();
    list->ascending = old->ascending;
    return list;
}

Children *children_with(const Children *children, const Node *old_child, Node *new_child)
{
    if (!old_child)
        return children_append(children, new_child);
    guint c = 0, i = 0;
    gboolean found = children_locate(children, old_child, &c, &i);
    g_assert(found);
    return new_child ? children_replace(children, c, i, new_child) : children_remove(children, c, i);
}

guint children_count(const Children *children)
{
    return children->n;
}

const Node *children_find(const Children *children, const char *name)
{
    int ordinal = name_index_find(names_index(children), name, children_name_at, children);
    return ordinal < 0 ? NULL : children_at_place(children, children->names->places[ordinal]);
}

ChildrenIter children_iter(const Children *children, guint ordinal)
{
    ChildrenIter iter = {.children = children, .index = ordinal};
    while (iter.chunk < children->n_chunks && iter.index >= children->chunks[iter.chunk]->n)
        iter.index -= children->chunks[iter.chunk++]->n;
    return iter;
}

const Node *children_next(ChildrenIter *iter)
{
    const Children *children = iter->children;
    if (iter->chunk >= children->n_chunks)
        return NULL;
    const Chunk *chunk = children->chunks[iter->chunk];
    const Node *node = chunk->nodes[iter->index++];
    if (iter->index == chunk->n) {
        iter->chunk++;
        iter->index = 0;
    }
    return node;
}

gsize children_tree_size(const Children *children)
{
    gsize size = children->n > 0 ? children->n - 1 : 0;
    for (guint c = 0; c < children->n_chunks; c++)
        size += children->chunks[c]->tree_size;
    return size;
}

gboolean children_moving(const Children *children)
{
    for (guint c = 0; c < children->n_chunks; c++)
        if (children->chunks[c]->moving)
            return TRUE;
    return FALSE;
}

gboolean children_same_nodes(const Children *a, const Children *b)
{
    if (a == b)
        return TRUE;
    if (a->n != b->n)
        return FALSE;
    if (a->names == b->names) {
        /* The same chunks but for those in which something was replaced. */
        for (guint c = 0; c < a->n_chunks; c++)
            if (a->chunks[c] != b->chunks[c] &&
                memcmp(a->chunks[c]->nodes, b->chunks[c]->nodes, a->chunks[c]->n * sizeof(Node *)) != 0)
                return FALSE;
        return TRUE;
    }
    ChildrenIter left = children_iter(a, 0), right = children_iter(b, 0);
    for (const Node *node; (node = children_next(&left));)
        if (node != children_next(&right))
            return FALSE;
    return TRUE;
}

gboolean children_same_names(const Children *a, const Children *b)
{
    if (a->names == b->names)
        return TRUE;
    if (a->n != b->n)
        return FALSE;
    ChildrenIter left = children_iter(a, 0), right = children_iter(b, 0);
    for (const Node *node; (node = children_next(&left));)
        if (strcmp(node->name, children_next(&right)->name))
            return FALSE;
    return TRUE;
}

/* ---- comparing ---- */

/* The nodes of chunks [from, to) by name. */
static GHashTable *children_by_name(const Children *children, guint from, guint to)
{
    GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint c = from; c < to; c++)
        for (guint i = 0; i < children->chunks[c]->n; i++)
            g_hash_table_insert(table, children->chunks[c]->nodes[i]->name, children->chunks[c]->nodes[i]);
    return table;
}

/* Calls found for what is in chunks [from, to) of `list` and not, or other, in the table. */
static void children_diff_against(const Children *list, guint from, guint to, GHashTable *others, gboolean list_is_new,
                                  ChildrenDiffFunc found, void *opaque)
{
    for (guint c = from; c < to; c++)
        for (guint i = 0; i < list->chunks[c]->n; i++) {
            const Node *node = list->chunks[c]->nodes[i];
            const Node *other = g_hash_table_lookup(others, node->name);
            if (list_is_new && node != other)
                found(other, node, opaque);
            else if (!list_is_new && !other)
                found(node, NULL, opaque);
        }
}

void children_diff(const Children *old_list, const Children *new_list, ChildrenDiffFunc found, void *opaque)
{
    if (old_list == new_list)
        return;
    guint head = 0, tail = 0, most = MIN(old_list->n_chunks, new_list->n_chunks);
    if (old_list->names == new_list->names) {
        /* The same names at the same places: chunk by chunk. */
        for (guint c = 0; c < most; c++)
            for (guint i = 0; old_list->chunks[c] != new_list->chunks[c] && i < new_list->chunks[c]->n; i++)
                if (old_list->chunks[c]->nodes[i] != new_list->chunks[c]->nodes[i])
                    found(old_list->chunks[c]->nodes[i], new_list->chunks[c]->nodes[i], opaque);
        return;
    }
    while (head < most && old_list->chunks[head] == new_list->chunks[head])
        head++;
    while (tail < most - head &&
           old_list->chunks[old_list->n_chunks - 1 - tail] == new_list->chunks[new_list->n_chunks - 1 - tail])
        tail++;
    guint old_end = old_list->n_chunks - tail, new_end = new_list->n_chunks - tail;
    g_autoptr(GHashTable) old_nodes = children_by_name(old_list, head, old_end);
    g_autoptr(GHashTable) new_nodes = children_by_name(new_list, head, new_end);
    children_diff_against(old_list, head, old_end, new_nodes, FALSE, found, opaque);
    children_diff_against(new_list, head, new_end, old_nodes, TRUE, found, opaque);
}
