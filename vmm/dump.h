/* SPDX-License-Identifier: MIT */
/* The dump source: a tree that was saved, mounted again. It is read once and never changes. */
#pragma once

#include "objmodel/source.h"

/* Whether a JSON text is a dump: an object tree ({"name","children","properties"}) or what
 * the root's .tree.json gives ({"qom",...}). Looks no further than it takes; FALSE for what is not JSON. */
gboolean dump_recognise(const char *text, gsize length);

typedef struct DumpOptions {
    const char *file_name; /* for vm/source and messages */
    guint64 mtime;         /* of the file, in nanoseconds: what all files show */
    gboolean secrets;      /* secrets are shown */
} DumpOptions;

/* NULL with an error "LINE:COLUMN: ..." where the text is not a dump. */
Source *dump_source_new(const char *text, gsize length, const DumpOptions *options, GError **error);
