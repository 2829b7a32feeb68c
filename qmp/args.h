/* SPDX-License-Identifier: MIT */
/*
 * Arguments: a command's table says what it takes, and is checked before the handler
 * sees anything. The handler gets a struct that is filled by the table. Any thread.
 *
 *     typedef struct ListArgs { char *path; } ListArgs;
 *     static const QmpArg list_args[] = { QMP_ARG(ListArgs, path, "path", qmp_str), { 0 } };
 */
#pragma once

#include "objmodel/json.h"
#include "qmp/schema.h"

/* One argument. What its field is depends on the type:
 *   qmp_str       char *, NULL where it is absent (a string with a NUL inside is refused)
 *   qmp_bool      gboolean
 *   qmp_int       gint64
 *   an enum       int, the index of the value
 *   qmp_str_list  char **, NULL where it is absent
 *   all others    JsonSlice, of the kind that the type says; what is within is not checked
 * An absent bool, int or enum has the value `otherwise`. */
typedef struct QmpArg {
    const char *name;
    const QmpType *type;
    gsize offset;
    gboolean optional;
    gint64 otherwise;
    gint64 min, max; /* of an int; both 0: any */
} QmpArg;

#define QMP_ARG(args_struct, field, wire_name, wire_type, ...)                                                         \
    {                                                                                                                  \
        .name = (wire_name), .type = &(wire_type), .offset = G_STRUCT_OFFSET(args_struct, field), __VA_ARGS__          \
    }

/* Fills `args` (zeroed) from an object (or an absent one). Members that are not in the
 * table are an error unless `open`. Slices in it are parts of `object`. On failure nothing
 * is left to free. */
gboolean qmp_args_fill(const QmpArg *table, JsonSlice object, gboolean open, void *args, GError **error);
void qmp_args_clear(const QmpArg *table, void *args);
