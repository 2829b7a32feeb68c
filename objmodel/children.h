/* SPDX-License-Identifier: MIT */
/* What children.c offers to node.c beyond node.h. */
#pragma once

#include "objmodel/node.h"

/* The JSON of all children with the commas between them. */
gsize children_tree_size(const Children *children);
/* Whether any of them moves. */
gboolean children_moving(const Children *children);
/* Whether two lists have the very same nodes in the same order. */
gboolean children_same_nodes(const Children *a, const Children *b);
/* Whether two lists have the same names in the same order. */
gboolean children_same_names(const Children *a, const Children *b);
