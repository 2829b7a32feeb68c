/* SPDX-License-Identifier: MIT */
/*
 * See schema.h. The format is that of QEMU's qapi/introspect.json. As there, types but
 * the builtin ones have no names that mean anything (clients must not rely on them): they
 * are numbered in the order in which they are first referred to.
 */
#include "qmp/schema.h"

#include <string.h>

#include "objmodel/json.h"

const QmpType qmp_str = {.meta = QMP_BUILTIN, .name = "str", .json_type = "string"};
const QmpType qmp_bool = {.meta = QMP_BUILTIN, .name = "bool", .json_type = "boolean"};
const QmpType qmp_int = {.meta = QMP_BUILTIN, .name = "int", .json_type = "int"};
const QmpType qmp_number = {.meta = QMP_BUILTIN, .name = "number", .json_type = "number"};
const QmpType qmp_any = {.meta = QMP_BUILTIN, .name = "any", .json_type = "value"};
const QmpType qmp_null = {.meta = QMP_BUILTIN, .name = "null", .json_type = "null"};
const QmpType qmp_str_list = {.meta = QMP_ARRAY, .element = &qmp_str};
const QmpType qmp_int_list = {.meta = QMP_ARRAY, .element = &qmp_int};
const QmpType qmp_empty = {.meta = QMP_OBJECT, .members = (const QmpMember[]){{0}}};

struct SchemaWriter {
    GString *out;
    GHashTable *names; /* QmpType -> its name */
    GPtrArray *types;  /* in the order of their numbers; those from `written` on are still to be written */
    guint written;
    guint next_number;
    GPtrArray *arrays; /* QmpType: arrays of one element type are one type, wherever they are declared */
};

SchemaWriter *schema_writer_new(void)
{
    SchemaWriter *writer = g_new0(SchemaWriter, 1);

    writer->out = g_string_new("[");
    writer->names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    writer->types = g_ptr_array_new();
    writer->arrays = g_ptr_array_new();
    return writer;
}

void schema_writer_free(SchemaWriter *writer)
{
    if (writer == NULL) {
        return;
    }
    g_string_free(writer->out, TRUE);
    g_hash_table_unref(writer->names);
    g_ptr_array_unref(writer->types);
    g_ptr_array_unref(writer->arrays);
    g_free(writer);
}

/* The array type that was seen first among those of this element. */
static const QmpType *writer_first_array(SchemaWriter *writer, const QmpType *type)
{
    for (guint i = 0; i < writer->arrays->len; i++) {
        const QmpType *other = g_ptr_array_index(writer->arrays, i);

        if (other->element == type->element) {
            return other;
        }
    }
    g_ptr_array_add(writer->arrays, (void *)(guintptr)type);
    return type;
}

/* A type's name; notes a new one to be written. */
static const char *writer_name(SchemaWriter *writer, const QmpType *type)
{
    char *name;

    if (type->meta == QMP_ARRAY) {
        type = writer_first_array(writer, type);
    }
    name = g_hash_table_lookup(writer->names, type);
    if (name != NULL) {
        return name;
    }
    if (type->meta == QMP_BUILTIN) {
        name = g_strdup(type->name);
    } else if (type->meta == QMP_ARRAY) {
        name = g_strdup_printf("[%s]", writer_name(writer, type->element));
    } else {
        name = g_strdup_printf("%u", writer->next_number++);
    }
    g_hash_table_insert(writer->names, (void *)(guintptr)type, name);
    g_ptr_array_add(writer->types, (void *)(guintptr)type);
    return name;
}

/* ---- writing ---- */

static void writer_begin(SchemaWriter *writer, const char *meta, const char *name)
{
    if (writer->out->len > 1) {
        g_string_append_c(writer->out, ',');
    }
    g_string_append_printf(writer->out, "{\"name\":\"%s\",\"meta-type\":\"%s\"", name, meta);
}

static void writer_string(SchemaWriter *writer, const char *member, const char *value)
{
    g_string_append_printf(writer->out, ",\"%s\":\"%s\"", member, value);
}

static void writer_members(SchemaWriter *writer, const QmpType *type)
{
    g_string_append(writer->out, ",\"members\":[");
    for (const QmpMember *m = type->members; m->type != NULL; m++) {
        g_string_append(writer->out, m == type->members ? "{" : ",{");
        if (type->meta == QMP_OBJECT) {
            g_string_append_printf(writer->out, "\"name\":\"%s\",%s", m->name, m->optional ? "\"default\":null," : "");
        }
        g_string_append_printf(writer->out, "\"type\":\"%s\"}", writer_name(writer, m->type));
    }
    g_string_append_c(writer->out, ']');
}

/* Whether an object with variants has something beside for this value of its tag. */
static const QmpType *type_variant(const QmpType *type, const char *value)
{
    for (const QmpVariant *v = type->variants; v->value != NULL; v++) {
        if (strcmp(v->value, value) == 0) {
            return v->type;
        }
    }
    return &qmp_empty;
}

static const QmpType *type_tag(const QmpType *type)
{
    const QmpMember *m = type->members;

    while (strcmp(m->name, type->tag) != 0) {
        m++;
    }
    return m->type;
}

static void writer_variants(SchemaWriter *writer, const QmpType *type)
{
    writer_string(writer, "tag", type->tag);
    g_string_append(writer->out, ",\"variants\":[");
    for (const char *const *value = type_tag(type)->values; *value != NULL; value++) {
        g_string_append_printf(writer->out, "%s{\"case\":\"%s\",\"type\":\"%s\"}",
                               value == type_tag(type)->values ? "" : ",", *value,
                               writer_name(writer, type_variant(type, *value)));
    }
    g_string_append_c(writer->out, ']');
}

/* As QEMU: the values as objects, and as plain strings for older clients. */
static void writer_values(SchemaWriter *writer, const QmpType *type)
{
    g_string_append(writer->out, ",\"members\":[");
    for (const char *const *value = type->values; *value != NULL; value++) {
        g_string_append_printf(writer->out, "%s{\"name\":\"%s\"}", value == type->values ? "" : ",", *value);
    }
    g_string_append(writer->out, "],\"values\":[");
    for (const char *const *value = type->values; *value != NULL; value++) {
        g_string_append_printf(writer->out, "%s\"%s\"", value == type->values ? "" : ",", *value);
    }
    g_string_append_c(writer->out, ']');
}

static void writer_type(SchemaWriter *writer, const QmpType *type)
{
    static const char *const meta[] = {
        [QMP_BUILTIN] = "builtin", [QMP_ENUM] = "enum",           [QMP_ARRAY] = "array",
        [QMP_OBJECT] = "object",   [QMP_ALTERNATE] = "alternate",
    };

    writer_begin(writer, meta[type->meta], writer_name(writer, type));
    switch (type->meta) {
    case QMP_BUILTIN:
        writer_string(writer, "json-type", type->json_type);
        break;
    case QMP_ENUM:
        writer_values(writer, type);
        break;
    case QMP_ARRAY:
        writer_string(writer, "element-type", writer_name(writer, type->element));
        break;
    case QMP_OBJECT:
        writer_members(writer, type);
        if (type->tag != NULL) {
            writer_variants(writer, type);
        }
        break;
    case QMP_ALTERNATE:
        writer_members(writer, type);
        break;
    }
    g_string_append_c(writer->out, '}');
}

void schema_writer_command(SchemaWriter *writer, const char *name, const QmpType *arguments, const QmpType *ret,
                           gboolean allow_oob, gboolean deprecated)
{
    writer_begin(writer, "command", name);
    writer_string(writer, "arg-type", writer_name(writer, arguments));
    writer_string(writer, "ret-type", writer_name(writer, ret));
    g_string_append(writer->out, allow_oob ? ",\"allow-oob\":true" : "");
    g_string_append(writer->out, deprecated ? ",\"features\":[\"deprecated\"]}" : "}");
}

void schema_writer_event(SchemaWriter *writer, const char *name, const QmpType *data)
{
    writer_begin(writer, "event", name);
    writer_string(writer, "arg-type", writer_name(writer, data != NULL ? data : &qmp_empty));
    g_string_append_c(writer->out, '}');
}

char *schema_writer_end(SchemaWriter *writer)
{
    while (writer->written < writer->types->len) {
        writer_type(writer, g_ptr_array_index(writer->types, writer->written++));
    }
    g_string_append_c(writer->out, ']');
    return g_strdup(writer->out->str);
}
