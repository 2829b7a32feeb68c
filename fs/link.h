/* SPDX-License-Identifier: MIT */
/* Symlinks: the relative path from a directory to the object that a link points at. */
#pragma once

#include "objmodel/node.h"

/* The target of a link in a directory that stands `depth` below the root of the object tree.
 * It depends on nothing else, so an object keeps its links' texts as long as it lives. */
char *link_target(const Node *dir, guint slot, guint depth);
