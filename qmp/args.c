/* SPDX-License-Identifier: MIT */
/* See args.h. */
#include "qmp/args.h"

#include <string.h>

#include "qmp/message.h"

static gboolean G_GNUC_PRINTF(2, 3) args_fail(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error != NULL) {
        *error = g_error_new_valist(QMP_ERROR, QMP_ERROR_GENERIC, format, args);
    }
    va_end(args);
    return FALSE;
}

static gboolean args_wrong_kind(const char *name, JsonSlice value, const char *expected, GError **error)
{
    return args_fail(error, "argument '%s' must be %s, not %s", name, expected, json_kind_name(json_kind(value)));
}

/* A string as C has it. */
static char *args_string(const char *name, JsonSlice value, GError **error)
{
    gsize length;
    g_autofree char *bytes = json_string_dup(value, &length);

    if (bytes == NULL) {
        args_wrong_kind(name, value, json_kind_name(JSON_STRING), error);
        return NULL;
    }
    if (strlen(bytes) != length) {
        args_fail(error, "argument '%s' must not contain \\u0000", name);
        return NULL;
    }
    return g_steal_pointer(&bytes);
}

/* ---- one value each ---- */

static gboolean fill_string(const QmpArg *arg, JsonSlice value, void *field, GError **error)
{
    char *bytes = args_string(arg->name, value, error);

    if (bytes == NULL) {
        return FALSE;
    }
    *(char **)field = bytes;
    return TRUE;
}

static gboolean fill_bool(const QmpArg *arg, JsonSlice value, void *field, GError **error)
{
    return json_to_bool(value, field) || args_wrong_kind(arg->name, value, json_kind_name(JSON_BOOL), error);
}

static gboolean fill_int(const QmpArg *arg, JsonSlice value, void *field, GError **error)
{
    gint64 number;

    if (json_kind(value) != JSON_NUMBER) {
        return args_wrong_kind(arg->name, value, "an integer", error);
    }
    if (!json_to_int64(value, &number)) {
        return args_fail(error, "argument '%s' must be an integer of 64 bits, not %.*s", arg->name,
                         (int)MIN(value.length, 64), value.text);
    }
    if ((arg->min != 0 || arg->max != 0) && (number < arg->min || number > arg->max)) {
        return args_fail(error,
                         "argument '%s' must be %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT,
                         arg->name, arg->min, arg->max, number);
    }
    *(gint64 *)field = number;
    return TRUE;
}

static gboolean fill_enum(const QmpArg *arg, JsonSlice value, void *field, GError **error)
{
    g_autofree char *bytes = args_string(arg->name, value, error), *shown = NULL;

    if (bytes == NULL) {
        return FALSE;
    }
    for (int i = 0; arg->type->values[i] != NULL; i++) {
        if (strcmp(bytes, arg->type->values[i]) == 0) {
            *(int *)field = i;
            return TRUE;
        }
    }
    shown = qmp_shown(bytes);
    return args_fail(error, "argument '%s' has no value '%s'", arg->name, shown);
}

static gboolean fill_strings(const QmpArg *arg, JsonSlice value, void *field, GError **error)
{
    g_autoptr(GPtrArray) strings = NULL;
    JsonSlice element;
    JsonWalk walk;

    if (json_kind(value) != JSON_ARRAY) {
        return args_wrong_kind(arg->name, value, "an array of strings", error);
    }
    strings = g_ptr_array_new_with_free_func(g_free);
    walk = json_walk(value);
    while (json_walk_element(&walk, &element)) {
        char *bytes = args_string(arg->name, element, NULL);

        if (bytes == NULL) {
            g_autofree char *name = g_strdup_printf("%s[%u]", arg->name, strings->len);

            args_string(name, element, error); /* again, to say which */
            return FALSE;
        }
        g_ptr_array_add(strings, bytes);
    }
    g_ptr_array_add(strings, NULL);
    *(char ***)field = (char **)g_ptr_array_free(g_steal_pointer(&strings), FALSE);
    return TRUE;
}

static gboolean fill_slice(const QmpArg *arg, JsonSlice value, void *field, GError **error)
{
    if (arg->type->meta == QMP_ARRAY && json_kind(value) != JSON_ARRAY) {
        return args_wrong_kind(arg->name, value, json_kind_name(JSON_ARRAY), error);
    }
    if (arg->type->meta == QMP_OBJECT && json_kind(value) != JSON_OBJECT) {
        return args_wrong_kind(arg->name, value, json_kind_name(JSON_OBJECT), error);
    }
    *(JsonSlice *)field = value;
    return TRUE;
}

/* An array of strings, wherever it is declared. */
static gboolean type_is_strings(const QmpType *type)
{
    return type->meta == QMP_ARRAY && type->element == &qmp_str;
}

static gboolean args_fill_one(const QmpArg *arg, JsonSlice value, void *field, GError **error)
{
    if (arg->type == &qmp_str) {
        return fill_string(arg, value, field, error);
    }
    if (arg->type == &qmp_bool) {
        return fill_bool(arg, value, field, error);
    }
    if (arg->type == &qmp_int) {
        return fill_int(arg, value, field, error);
    }
    if (arg->type->meta == QMP_ENUM) {
        return fill_enum(arg, value, field, error);
    }
    if (type_is_strings(arg->type)) {
        return fill_strings(arg, value, field, error);
    }
    return fill_slice(arg, value, field, error);
}

/* ---- the table ---- */

static void args_set_otherwise(const QmpArg *arg, void *field)
{
    if (arg->type == &qmp_int) {
        *(gint64 *)field = arg->otherwise;
    } else if (arg->type == &qmp_bool || arg->type->meta == QMP_ENUM) {
        *(int *)field = (int)arg->otherwise;
    }
}

/* Every member must be in the table. */
static gboolean args_check_names(const QmpArg *table, JsonSlice object, GError **error)
{
    JsonWalk walk = json_walk(object);
    JsonSlice name, value;

    while (json_walk_member(&walk, &name, &value)) {
        const QmpArg *arg = table;

        while (arg->name != NULL && !json_string_is(name, arg->name)) {
            arg++;
        }
        if (arg->name == NULL) {
            g_autofree char *text = json_string_dup(name, NULL), *shown = qmp_shown(text);

            return args_fail(error, "unexpected argument '%s'", shown);
        }
    }
    return TRUE;
}

gboolean qmp_args_fill(const QmpArg *table, JsonSlice object, gboolean open, void *args, GError **error)
{
    static const QmpArg none[] = {{0}};

    if (table == NULL) {
        table = none;
    }
    for (const QmpArg *arg = table; arg->name != NULL; arg++) {
        JsonSlice value = object.length > 0 ? json_member(object, arg->name) : (JsonSlice){NULL, 0};
        void *field = (char *)args + arg->offset;

        if (value.length == 0) {
            args_set_otherwise(arg, field);
            if (!arg->optional) {
                args_fail(error, "argument '%s' is missing", arg->name);
                goto fail;
            }
        } else if (!args_fill_one(arg, value, field, error)) {
            goto fail;
        }
    }
    if (!open && object.length > 0 && !args_check_names(table, object, error)) {
        goto fail;
    }
    return TRUE;

fail:
    qmp_args_clear(table, args);
    return FALSE;
}

void qmp_args_clear(const QmpArg *table, void *args)
{
    for (const QmpArg *arg = table; arg != NULL && arg->name != NULL; arg++) {
        void *field = (char *)args + arg->offset;

        if (arg->type == &qmp_str) {
            g_clear_pointer((char **)field, g_free);
        } else if (type_is_strings(arg->type)) {
            g_clear_pointer((char ***)field, g_strfreev);
        }
    }
}
