/* SPDX-License-Identifier: MIT */
/* From what a user names to a source. */
#pragma once

#include "objmodel/source.h"
#include "vmm/config.h"

typedef struct OpenOptions {
    gboolean secrets;    /* secrets are shown */
    gboolean read_write; /* the user asked for writing */
    /* Of a running QEMU: see LiveOptions. */
    gint64 ttl_us, timeout_us, release_us;
    double duty;
    gboolean all_queries;
    /* Of the built-in VM. */
    VmConfigChange change;
} OpenOptions;

/*
 * spec: NULL or "model": the built-in VM; the path of a file: a dump, or the configuration of a
 * built-in VM (the content tells); that of a socket, or HOST:PORT: a running QEMU. An existing path goes before the
 * word. The error names the file, and of JSON the line and column.
 */
Source *source_open(const char *spec, const OpenOptions *options, GError **error);

/* The configuration of the built-in VM that source_open() would make, as a file of it; NULL with an error too where
 * spec is another source. */
char *source_print_config(const char *spec, const OpenOptions *options, GError **error);
