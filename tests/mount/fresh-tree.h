/* SPDX-License-Identifier: MIT */
/*
 * Changing a tree by hand, for tests and benchmarks: what a VM does through its types is
 * done here with nodes. Nothing is kept; any thread.
 */
#pragma once

#include "objmodel/node.h"

/* A property to make an object of. */
typedef struct FreshProperty {
    const char *name;
    const char *type;
    const char *value; /* compact JSON */
    SlotFlags flags;
} FreshProperty;

/* An object with these properties. children, sampler: or NULL. The sampler writes all that
 * stands in the properties. */
Node *fresh_object(const char *name, const FreshProperty *properties, guint n, Children *children, Sampler *sampler,
                   guint64 stamp);

/* The same object with one other value. */
Node *fresh_with_value(const Node *object, guint slot, const char *value, guint64 stamp);

/* Makes what is to take the place of a node; NULL: nothing is. */
typedef Node *(*FreshEdit)(const Node *node, guint64 stamp, gpointer opaque);

/* The tree in which the node at this path (file names, from root) is edited; NULL where there
 * is no such node. */
Node *fresh_edit(const Node *root, const char *path, FreshEdit edit, gpointer opaque, guint64 stamp);
