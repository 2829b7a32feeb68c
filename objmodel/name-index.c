/* SPDX-License-Identifier: MIT */
/* Open addressing over places; a list of a few names is searched without a table. */
#include "objmodel/name-index.h"

#include <string.h>

enum { FEW = 8 };

struct NameIndex {
    guint n;
    guint mask;       /* size of the table less one; 0: there is none */
    guint32 places[]; /* place plus one; 0: free */
};

NameIndex *name_index_new(guint n, NameAt name_at, const void *list)
{
    guint size = 0;
    if (n > FEW)
        for (size = 16; size < 2 * n;)
            size *= 2;
    NameIndex *index = g_malloc0(sizeof(NameIndex) + size * sizeof(guint32));
    index->n = n;
    index->mask = size ? size - 1 : 0;
    for (guint place = 0; size && place < n; place++) {
        guint at = g_str_hash(name_at(place, list)) & index->mask;
        while (index->places[at])
            at = (at + 1) & index->mask;
        index->places[at] = place + 1;
    }
    return index;
}

void name_index_free(NameIndex *index)
{
    g_free(index);
}

int name_index_find(const NameIndex *index, const char *name, NameAt name_at, const void *list)
{
    if (!index->mask) {
        for (guint place = 0; place < index->n; place++)
            if (!strcmp(name_at(place, list), name))
                return (int)place;
        return -1;
    }
    for (guint at = g_str_hash(name) & index->mask; index->places[at]; at = (at + 1) & index->mask)
        if (!strcmp(name_at(index->places[at] - 1, list), name))
            return (int)index->places[at] - 1;
    return -1;
}
