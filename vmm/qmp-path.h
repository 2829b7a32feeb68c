/* SPDX-License-Identifier: MIT */
/* Paths of objects as QMP clients give them, and as they are to be shown. Any thread. */
#pragma once

#include "objmodel/node.h"

/*
 * The object that a path leads to, as path_resolve() finds it. Its own path (not through links, and
 * whole) is appended to json_path (or NULL) as the inside of a JSON string: "" for the root.
 */
const Node *qmp_path_resolve(const Node *root, const char *path, GString *json_path, GError **error);

/* Appends '/' and the object's name, likewise. */
void qmp_path_append(GString *json_path, const Node *node);
