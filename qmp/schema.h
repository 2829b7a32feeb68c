/* SPDX-License-Identifier: MIT */
/*
 * What commands take and return, described: constant tables of types, from which
 * query-qmp-schema is written in QEMU's introspection format, and by which arguments are
 * checked (args.h). Descriptions are constant; any thread.
 */
#pragma once

#include <glib.h>

typedef struct QmpType QmpType;

typedef enum QmpMeta {
    QMP_BUILTIN,
    QMP_ENUM,
    QMP_ARRAY,
    QMP_OBJECT,
    QMP_ALTERNATE,
} QmpMeta;

/* A member of an object; of an alternate, where only the type counts. */
typedef struct QmpMember {
    const char *name;
    const QmpType *type;
    gboolean optional;
} QmpMember;

/* What an object has beside, depending on its member `tag`. */
typedef struct QmpVariant {
    const char *value;
    const QmpType *type; /* an object */
} QmpVariant;

struct QmpType {
    QmpMeta meta;
    const char *name;           /* of a builtin: as it is on the wire; else as QEMU's sources call it */
    const char *json_type;      /* builtin */
    const char *const *values;  /* enum: ends with NULL */
    const QmpType *element;     /* array */
    const QmpMember *members;   /* object, alternate: ends with { 0 } */
    const char *tag;            /* object with variants: a member that is an enum */
    const QmpVariant *variants; /* ends with { 0 }; a value that is not here has nothing beside */
};

extern const QmpType qmp_str, qmp_bool, qmp_int, qmp_number, qmp_any, qmp_null;
extern const QmpType qmp_str_list, qmp_int_list;
/* An object without members. */
extern const QmpType qmp_empty;

#define QMP_LIST_OF(variable, of) const QmpType variable = {.meta = QMP_ARRAY, .element = &(of)}

/* ---- writing a schema ---- */

/* Collects types, each once, and gives names to those that have none on the wire. */
typedef struct SchemaWriter SchemaWriter;
SchemaWriter *schema_writer_new(void);
void schema_writer_free(SchemaWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SchemaWriter, schema_writer_free)

void schema_writer_command(SchemaWriter *writer, const char *name, const QmpType *arguments, const QmpType *ret,
                           gboolean allow_oob, gboolean deprecated);
/* data NULL: none. */
void schema_writer_event(SchemaWriter *writer, const char *name, const QmpType *data);
/* What query-qmp-schema returns: what was collected and all types that it refers to. */
char *schema_writer_end(SchemaWriter *writer);
