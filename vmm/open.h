/* SPDX-License-Identifier: MIT */
/* From what a user names to a source. */
#pragma once

#include "objmodel/source.h"

typedef struct OpenOptions {
    gboolean secrets;    /* secrets are shown */
    gboolean read_write; /* the user asked for writing */
} OpenOptions;

/*
 * spec: NULL or "model": the built-in VM; the path of a file: a dump, or the configuration of a
 * built-in VM (the content tells). An existing path goes before the word. The error names the
 * file, and of JSON the line and column.
 */
Source *source_open(const char *spec, const OpenOptions *options, GError **error);
