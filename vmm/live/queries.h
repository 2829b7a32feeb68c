/* SPDX-License-Identifier: MIT */
/* Which query-* commands of a QEMU become files of query/: the reviewed table, and what its schema tells of others. */
#pragma once

#include "objmodel/json.h"

typedef enum LiveQueryVerdict {
    LIVE_QUERY_SHOWN,
    LIVE_QUERY_LEFT_OUT, /* shown with -o query=all */
    LIVE_QUERY_NEVER,    /* needs an argument, or a view of its own shows it */
    LIVE_QUERY_UNKNOWN,  /* the table does not have it: the schema decides */
} LiveQueryVerdict;

LiveQueryVerdict live_query_verdict(const char *command);

/* The commands of a schema (the return value of query-qmp-schema) that are to be shown: those without a mandatory
 * argument; unless `all`, neither deprecated nor unstable, nor left out by the table. Strings, new memory. */
GPtrArray *live_query_from_schema(JsonSlice schema, gboolean all);
/* The same of a list of commands (the return value of query-commands), as far as the table knows them. */
GPtrArray *live_query_from_commands(JsonSlice commands, gboolean all);
