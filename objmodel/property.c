/* SPDX-License-Identifier: MIT */
/*
 * Values of properties, by kind. Messages are worded as QEMU 11.1 words them.
 */
#include "objmodel/property.h"

#include <string.h>

#include "objmodel/error.h"

/* ---- kinds ---- */

/* What a number kind can hold, how QOM names it in a property, and in an error. */
typedef struct NumberKind {
    const char *type;
    const char *c_type;
    gint64 min;
    guint64 max;
} NumberKind;

static const NumberKind number_kinds[] = {
    [PROP_KIND_INT8] = {"int8", "int8_t", G_MININT8, G_MAXINT8},
    [PROP_KIND_UINT8] = {"uint8", "uint8_t", 0, G_MAXUINT8},
    [PROP_KIND_INT16] = {"int16", "int16_t", G_MININT16, G_MAXINT16},
    [PROP_KIND_UINT16] = {"uint16", "uint16_t", 0, G_MAXUINT16},
    [PROP_KIND_INT32] = {"int32", "int32_t", G_MININT32, G_MAXINT32},
    [PROP_KIND_UINT32] = {"uint32", "uint32_t", 0, G_MAXUINT32},
    [PROP_KIND_INT64] = {"int", "int64_t", G_MININT64, G_MAXINT64},
    [PROP_KIND_UINT64] = {"uint64", "uint64_t", 0, G_MAXUINT64},
};

static gboolean is_number(PropKind kind)
{
    return kind >= PROP_KIND_INT8 && kind <= PROP_KIND_UINT64;
}

const char *property_type(const Property *prop)
{
    if (prop->type)
        return prop->type;
    if (is_number(prop->kind))
        return number_kinds[prop->kind].type;
    return prop->kind == PROP_KIND_STRING ? "string" : "bool";
}

gboolean property_is_field(const Property *prop)
{
    return prop->kind <= PROP_KIND_BIT;
}

static gpointer field_of(const Property *prop, gconstpointer instance)
{
    return (char *)instance + prop->offset;
}

Object **property_link_field(const Property *prop, gpointer instance)
{
    return field_of(prop, instance);
}

/* ---- numbers: one function that reads a field, one that writes it ---- */

static guint64 number_read(const Property *prop, gconstpointer instance)
{
    gconstpointer field = field_of(prop, instance);
    switch (prop->kind) {
    case PROP_KIND_BOOL:
        return *(const bool *)field;
    case PROP_KIND_INT8:
        return (guint64) * (const int8_t *)field;
    case PROP_KIND_UINT8:
        return *(const uint8_t *)field;
    case PROP_KIND_INT16:
        return (guint64) * (const int16_t *)field;
    case PROP_KIND_UINT16:
        return *(const uint16_t *)field;
    case PROP_KIND_INT32:
        return (guint64) * (const int32_t *)field;
    case PROP_KIND_UINT32:
        return *(const uint32_t *)field;
    case PROP_KIND_INT64:
        return (guint64) * (const int64_t *)field;
    case PROP_KIND_UINT64:
        return *(const uint64_t *)field;
    case PROP_KIND_ENUM:
        return (guint64) * (const int *)field;
    case PROP_KIND_BIT:
        return ((const uint32_t *)field)[prop->bit / 32] >> (prop->bit % 32) & 1;
    default:
        g_assert_not_reached();
    }
}

/* The value is in range. */
static void number_write(const Property *prop, gpointer instance, guint64 value)
{
    gpointer field = field_of(prop, instance);
    switch (prop->kind) {
    case PROP_KIND_BOOL:
        *(bool *)field = value != 0;
        break;
    case PROP_KIND_INT8:
    case PROP_KIND_UINT8:
        *(uint8_t *)field = (uint8_t)value;
        break;
    case PROP_KIND_INT16:
    case PROP_KIND_UINT16:
        *(uint16_t *)field = (uint16_t)value;
        break;
    case PROP_KIND_INT32:
    case PROP_KIND_UINT32:
        *(uint32_t *)field = (uint32_t)value;
        break;
    case PROP_KIND_INT64:
    case PROP_KIND_UINT64:
        *(uint64_t *)field = value;
        break;
    case PROP_KIND_ENUM:
        *(int *)field = (int)value;
        break;
    case PROP_KIND_BIT: {
        uint32_t *word = &((uint32_t *)field)[prop->bit / 32];
        uint32_t mask = (uint32_t)1 << (prop->bit % 32);
        *word = value ? *word | mask : *word & ~mask;
        break;
    }
    default:
        g_assert_not_reached();
    }
}

/* ---- reading ---- */

static void append_number(const Property *prop, guint64 value, GString *out)
{
    switch (prop->kind) {
    case PROP_KIND_BOOL:
    case PROP_KIND_BIT:
        json_append_bool(out, value != 0);
        break;
    case PROP_KIND_ENUM:
        json_append_string(out, prop->names[value], -1);
        break;
    default:
        if (number_kinds[prop->kind].min < 0)
            json_append_int(out, (gint64)value);
        else
            json_append_uint(out, value);
        break;
    }
}

void property_append_field(const Property *prop, gconstpointer instance, GString *out)
{
    if (prop->kind == PROP_KIND_STRING) {
        const char *text = *(char *const *)field_of(prop, instance);
        json_append_string(out, text ? text : "", -1);
        return;
    }
    append_number(prop, number_read(prop, instance), out);
}

void property_init_field(const Property *prop, gpointer instance)
{
    if (prop->kind == PROP_KIND_STRING)
        *(char **)field_of(prop, instance) = g_strdup(prop->initial_text);
    else
        number_write(prop, instance, (guint64)prop->initial);
}

gboolean property_append_initial(const Property *prop, GString *out)
{
    if (prop->kind == PROP_KIND_STORED_LINK) {
        g_string_append(out, "\"\"");
        return TRUE;
    }
    if (prop->kind == PROP_KIND_STORED) {
        if (prop->initial_text)
            g_string_append(out, prop->initial_text);
        return prop->initial_text != NULL;
    }
    if (!property_is_field(prop))
        return FALSE;
    if (prop->kind == PROP_KIND_STRING)
        json_append_string(out, prop->initial_text ? prop->initial_text : "", -1);
    else
        append_number(prop, (guint64)prop->initial, out);
    return TRUE;
}

/* ---- writing ---- */

gboolean property_wrong_kind(const Property *prop, JsonKind expected, GError **error)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean", [JSON_NUMBER] = "integer",
        [JSON_STRING] = "string", [JSON_ARRAY] = "array",  [JSON_OBJECT] = "object",
    };
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Invalid parameter type for '%s', expected: %s",
                prop->name, names[expected]);
    return FALSE;
}

static gboolean out_of_kind(const Property *prop, const NumberKind *kind, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter '%s' expects %s", prop->name, kind->c_type);
    return FALSE;
}

/* What QEMU says where a number without sign is wanted, of whatever size. */
static gboolean no_unsigned(const Property *prop, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter '%s' expects uint64", prop->name);
    return FALSE;
}

static gboolean number_parse(const Property *prop, const NumberKind *kind, JsonSlice value, guint64 *ret,
                             GError **error)
{
    gint64 number;
    guint64 big;

    if (json_to_int64(value, &number)) {
        if (number < kind->min || (number > 0 && (guint64)number > kind->max))
            return out_of_kind(prop, kind, error);
        if ((prop->min != 0 || prop->max != 0) && (number < prop->min || number > prop->max)) {
            g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE,
                        "%s value must be in range [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "]", prop->name, prop->min,
                        prop->max);
            return FALSE;
        }
        *ret = (guint64)number;
        return TRUE;
    }
    if (!json_to_uint64(value, &big))
        return kind->min < 0 ? property_wrong_kind(prop, JSON_NUMBER, error) : no_unsigned(prop, error);
    if (big > kind->max || prop->max != 0)
        return out_of_kind(prop, kind, error);
    *ret = big;
    return TRUE;
}

static gboolean enum_parse(const Property *prop, JsonSlice value, guint64 *ret, GError **error)
{
    g_autofree char *text = json_string_dup(value, NULL);
    if (!text)
        return property_wrong_kind(prop, JSON_STRING, error);
    for (guint i = 0; prop->names[i]; i++) {
        if (json_string_is(value, prop->names[i])) {
            *ret = i;
            return TRUE;
        }
    }
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter '%s' does not accept value '%s'",
                prop->name, text);
    return FALSE;
}

static gboolean string_set(const Property *prop, gpointer instance, JsonSlice value, GError **error)
{
    char **field = field_of(prop, instance);
    gsize length;
    g_autofree char *text = json_string_dup(value, &length);
    if (!text)
        return property_wrong_kind(prop, JSON_STRING, error);
    if (strlen(text) != length) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter '%s' must not contain NUL", prop->name);
        return FALSE;
    }
    g_free(*field);
    *field = g_steal_pointer(&text);
    return TRUE;
}

gboolean property_set_field(const Property *prop, gpointer instance, JsonSlice value, GError **error)
{
    guint64 number = 0;
    gboolean flag;

    switch (prop->kind) {
    case PROP_KIND_STRING:
        return string_set(prop, instance, value, error);
    case PROP_KIND_BOOL:
    case PROP_KIND_BIT:
        if (!json_to_bool(value, &flag))
            return property_wrong_kind(prop, JSON_BOOL, error);
        number = flag ? 1 : 0;
        break;
    case PROP_KIND_ENUM:
        if (!enum_parse(prop, value, &number, error))
            return FALSE;
        break;
    default:
        if (!number_parse(prop, &number_kinds[prop->kind], value, &number, error))
            return FALSE;
        break;
    }
    number_write(prop, instance, number);
    return TRUE;
}

/* The number kind that a type string names, or NULL. */
static const NumberKind *number_kind_named(const char *type)
{
    if (strcmp(type, "size") == 0)
        return &number_kinds[PROP_KIND_UINT64];
    for (gsize i = PROP_KIND_INT8; i < G_N_ELEMENTS(number_kinds); i++) {
        if (strcmp(number_kinds[i].type, type) == 0)
            return &number_kinds[i];
    }
    return NULL;
}

gboolean property_check_stored(const Property *prop, JsonSlice value, GError **error)
{
    JsonSlice initial = {prop->initial_text, prop->initial_text ? strlen(prop->initial_text) : 0};
    const NumberKind *kind;
    guint64 number;
    gint64 negative;

    kind = number_kind_named(property_type(prop));
    if (kind && (json_kind(value) == JSON_NUMBER || (initial.length && json_kind(initial) == JSON_NUMBER)))
        return number_parse(prop, kind, value, &number, error);
    if (initial.length && json_kind(initial) != JSON_NULL && json_kind(initial) != json_kind(value))
        return property_wrong_kind(prop, json_kind(initial), error);
    if (prop->names)
        return enum_parse(prop, value, &number, error);
    if (json_kind(value) != JSON_NUMBER)
        return TRUE;
    /* Whatever the type says it is, it is an integer if it was one. */
    return !json_to_int64(initial, &negative) || json_to_int64(value, &negative) ||
           property_wrong_kind(prop, JSON_NUMBER, error);
}
