/* SPDX-License-Identifier: MIT */
/* Paths of objects as QMP clients give them, and as they are to be shown. Any thread. */
#pragma once

#include "objmodel/node.h"

/*
 * The object that a path leads to, as path_resolve() finds it. Its own path (not through links, and
 * whole) is appended to json_path (or NULL) as the inside of a JSON string: "" for the root.
 */
const Node *qmp_path_resolve(const Node *root, const char *path, GString *json_path, GError **error);

/* The same in file names, as a source takes paths: appends "/machine/..." to file_path. FALSE where there is no such
 * object: then what was appended is the part of the path that leads on through children. */
gboolean qmp_path_locate(const Node *root, const char *path, GString *file_path);

/* Appends '/' and the object's name, likewise. */
void qmp_path_append(GString *json_path, const Node *node);
