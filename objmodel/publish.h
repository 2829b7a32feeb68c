/* SPDX-License-Identifier: MIT */
/*
 * From live objects to nodes: what changed since the last time is made anew, all else is
 * shared with the version before. The objects' thread.
 */
#pragma once

#include "objmodel/object.h"

typedef struct Publisher Publisher;

/* file_name: what the root's node is called among the views ("qom"). */
Publisher *publisher_new(Object *root, const char *file_name);
void publisher_free(Publisher *publisher);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Publisher, publisher_free)

/* Whether anything was marked since the last publication. */
gboolean publisher_has_changes(const Publisher *publisher);

/* The root's node with all that changed, and the marks taken away. Returns a new reference; the
 * same node as before where nothing came of it. stamp: of the snapshot that is being made. */
Node *publisher_publish(Publisher *publisher, guint64 stamp);
