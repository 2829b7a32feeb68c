/* SPDX-License-Identifier: MIT */
/* Symlinks: the relative path from a directory to the object that a link points at. */
#pragma once

#include "objmodel/node.h"

/* Whether a slot is shown as a symlink: a link that is set, and whose path is not too long for one. */
gboolean link_is_symlink(const Node *dir, guint slot, guint depth);

/* The target of a link in a directory that stands `depth` below the root of the object tree.
 * It depends on nothing else, so an object keeps its links' texts as long as it lives. */
char *link_target(const Node *dir, guint slot, guint depth);
