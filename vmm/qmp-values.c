/* SPDX-License-Identifier: MIT */
/* See qmp-values.h. */
#include "vmm/qmp-values.h"

#include <string.h>

static gboolean is_own(JsonSlice name, const char *const *own)
{
    for (; *own != NULL; own++) {
        if (json_string_is(name, *own)) {
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean set_one(Object *object, JsonSlice name, JsonSlice value, GError **error)
{
    gsize length;
    g_autofree char *property = json_string_dup(name, &length);

    if (strlen(property) != length) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY, "a property's name must not contain \\u0000");
        return FALSE;
    }
    return object_set(object, property, value, error);
}

gboolean qmp_values_set(Object *object, JsonSlice arguments, const char *const *own, GError **error)
{
    JsonWalk walk = json_walk(arguments);
    JsonSlice name, value;

    while (json_walk_member(&walk, &name, &value)) {
        if (!is_own(name, own) && !set_one(object, name, value, error)) {
            return FALSE;
        }
    }
    return TRUE;
}
