/* SPDX-License-Identifier: MIT */
/*
 * Paths of objects, as QEMU resolves them: an absolute one runs through children and
 * links, empty components are skipped; any other is partial and must match exactly once,
 * counted from every object of the tree. On snapshots; any thread.
 */
#pragma once

#include "objmodel/node.h"

/* The object, borrowed from root. NULL with OBJMODEL_ERROR_NOT_FOUND or _AMBIGUOUS. */
const Node *path_resolve(const Node *root, const char *path, GError **error);
