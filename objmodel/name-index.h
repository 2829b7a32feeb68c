/* SPDX-License-Identifier: MIT */
/*
 * A small hash index over a list of names that it does not own: from a name to its place in
 * the list. Built once, then read by any thread.
 */
#pragma once

#include <glib.h>

typedef struct NameIndex NameIndex;

/* The name at a place of `list`. */
typedef const char *(*NameAt)(guint place, const void *list);

/* Where a name stands twice, the first place counts. */
NameIndex *name_index_new(guint n, NameAt name_at, const void *list);
void name_index_free(NameIndex *index);

/* The place, or -1. `list` may be another one than it was built from, with the same names. */
int name_index_find(const NameIndex *index, const char *name, NameAt name_at, const void *list);
