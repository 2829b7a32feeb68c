/* SPDX-License-Identifier: MIT */
/* What the functions of queries have in common: looking through the tree of a snapshot, and writing members. */
#pragma once

#include "vmm/query.h"

/* One object that was found. */
typedef struct QueryObject {
    const QueryInput *in;
    const Node *node;
    const char *path; /* the inside of a JSON string */
} QueryObject;

typedef void (*QueryFound)(const QueryObject *object, gpointer opaque);

/* Calls `found` for each child of a container ("/objects") that is of that type. */
void query_each(const QueryInput *in, const char *container, const char *type, QueryFound found, gpointer opaque);
/* The same of all devices that were added: those with an id first. */
void query_each_device(const QueryInput *in, const char *type, QueryFound found, gpointer opaque);
gboolean query_is_a(const QueryInput *in, const Node *node, const char *type);

/* A property's value, or an absent slice. */
JsonSlice query_slot(const Node *node, const char *property);
/* The same as a number; 0 where it is none. */
guint64 query_number(const Node *node, const char *property);

/* A comma, where something stands before it. */
void query_append_comma(GString *out);
/* "NAME":VALUE of a property, under another name or its own (NULL), and a comma before it; nothing where there is no
 * such property. */
void query_append_slot(GString *out, const Node *node, const char *property, const char *name);
