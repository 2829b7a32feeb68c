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

/* The components of a path that are not empty, each taken out once, when it is first asked for: a path from outside
 * can be long, and is tried from every object. */
typedef struct PathParts {
    const char *rest;                              /* what was not taken apart yet */
    char *(*name)(const char *text, gsize length); /* makes a component's name, as it is looked for */
    GPtrArray *names;
} PathParts;

/* The path must outlive it. */
void path_parts_init(PathParts *parts, const char *path, char *(*name)(const char *text, gsize length));
void path_parts_clear(PathParts *parts);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PathParts, path_parts_clear)
/* Borrowed; NULL behind the last one. */
const char *path_parts_get(PathParts *parts, guint i);
