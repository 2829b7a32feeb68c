/* SPDX-License-Identifier: MIT */
/*
 * Paths of live objects, resolved as QEMU does (see path.h for the same on snapshots).
 */
#include "objmodel/object.h"

#include <string.h>

#include "objmodel/path.h"

char *object_path(const Object *object)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    GString *path = g_string_new(NULL);

    for (; object->parent; object = object->parent)
        g_ptr_array_add(names, object->name);
    for (guint i = names->len; i-- > 0;) {
        g_string_append_c(path, '/');
        g_string_append(path, names->pdata[i]);
    }
    if (names->len == 0)
        g_string_append_c(path, '/');
    return g_string_free(path, FALSE);
}

void object_append_path(const Object *object, GString *out)
{
    g_autofree char *path = object_path(object);
    json_append_string(out, path, -1);
}

/* No property has a longer name: those stand in tables. So what somebody sends is not hashed at each object. */
#define PROPERTY_NAME_MAX 255

/* Follows the components from here, through children and links. */
static Object *resolve_from(Object *object, PathParts *parts)
{
    const char *name;

    for (guint i = 0; object && (name = path_parts_get(parts, i)); i++) {
        Object *next = object_child(object, name);
        if (!next && strnlen(name, PROPERTY_NAME_MAX + 1) <= PROPERTY_NAME_MAX)
            next = object_linked(object, name);
        object = next;
    }
    return object;
}

/* Counts the objects of the subtree that the components lead to from any of its objects. */
static guint resolve_partial(Object *object, PathParts *parts, Object **ret)
{
    Object *found = resolve_from(object, parts);
    guint n = found ? 1 : 0;

    if (found)
        *ret = found;
    for (Object *child = object->first_child; child && n < 2; child = child->next)
        n += resolve_partial(child, parts, ret);
    return n;
}

Object *object_resolve(Object *root, const char *path, GError **error)
{
    g_auto(PathParts) parts;
    Object *found = NULL;
    guint n;

    path_parts_init(&parts, path, g_strndup);
    if (*path == '/' || *path == '\0') {
        found = *path ? resolve_from(root, &parts) : NULL;
        n = found ? 1 : 0;
    } else {
        n = resolve_partial(root, &parts, &found);
    }
    if (n == 1)
        return found;
    if (n == 0)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "Device '%s' not found", path);
    else
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_AMBIGUOUS, "Path '%s' is ambiguous", path);
    return NULL;
}
