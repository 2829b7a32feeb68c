/* SPDX-License-Identifier: MIT */
/* What node.c needs of node-tree.c; what everybody may is in node.h. */
#pragma once

#include "objmodel/node.h"

/* Sets tree_size and tree_moving of a node that is being made, whose text and children are there. */
void node_measure_tree(Node *node);
