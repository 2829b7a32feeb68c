/* SPDX-License-Identifier: MIT */
/*
 * The members' names of all containers that are open while a JSON text is read: which of
 * them are repeated. Nothing is allocated for a name that has no escapes; it stays where it
 * is in the text. For json-reader.c.
 */
#pragma once

#include <string.h>

#include "objmodel/json.h"

/* Names are remembered by 32-bit offsets. */
#define JSON_TEXT_MAX ((gsize)G_MAXUINT32)

/* Up to so many members of an object, comparing with each is quicker than a table; most texts have no more at a time.
 */
#define JSON_FEW_NAMES 16

/* A member's name, escapes resolved: a part of the text, or of `decoded`. */
typedef struct JsonName {
    guint32 offset;
    guint32 length;
    guint32 hash;
    guint32 is_decoded;
} JsonName;

typedef struct JsonNames {
    const char *text;
    JsonName *list; /* of all containers, the innermost's last */
    guint n, size;
    GString *decoded; /* names that had escapes; NULL: none so far */
    guint64 seed;     /* of the hash: nobody outside can choose names that collide */

    JsonName few[JSON_FEW_NAMES]; /* where `list` begins, so that a short text takes no more memory */
} JsonNames;

/* The names of one open container: the last ones of the list. */
typedef struct JsonNameSet {
    guint first;         /* index in the list */
    gsize first_decoded; /* offset in `decoded` */
    guint32 *table;      /* of many names: open addressing, index + 1 from first; or NULL */
    guint table_bits;
} JsonNameSet;

void json_names_init(JsonNames *names, const char *text);
/* Sets that have not ended are to be ended before. */
void json_names_clear(JsonNames *names);

/* Sets begin and end as containers do: the one that began last ends first. */
void json_names_begin(const JsonNames *names, JsonNameSet *set);
void json_names_end(JsonNames *names, JsonNameSet *set);

/* Remembers the name that is this string of the text (quotes included); FALSE where the set has
 * it already. */
gboolean json_names_add(JsonNames *names, JsonNameSet *set, JsonSlice string, gboolean escapes);

/* A list that is full, with twice the room; few: where it may still stand. */
static inline void *json_grown(void *list, const void *few, guint *size, gsize element)
{
    void *larger = list == few ? memcpy(g_malloc(2 * *size * element), few, *size * element)
                               : g_realloc_n(list, 2 * (gsize)*size, element);

    *size *= 2;
    return larger;
}
