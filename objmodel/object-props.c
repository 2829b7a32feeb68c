/* SPDX-License-Identifier: MIT */
/*
 * Live objects: their properties, and who refers to whom. A link is a plain pointer; the object
 * that it points at keeps a list of those that point at it, so that no link outlives it.
 */
#include "objmodel/object-private.h"

#include <string.h>

#include "objmodel/property.h"

/* ---- rows ---- */

guint object_prop_count(const Object *object)
{
    guint own = object->extra && object->extra->own ? object->extra->own->len : 0;
    return class_prop_count(object->class) + own;
}

const Property *object_prop(const Object *object, guint index)
{
    guint n = class_prop_count(object->class);
    return index < n ? class_prop(object->class, index) : object->extra->own->pdata[index - n];
}

gboolean object_has_own_props(const Object *object)
{
    return object->extra && object->extra->own && object->extra->own->len > 0;
}

Shape **object_own_shape(Object *object)
{
    return &object_need_extra(object)->shape;
}

int object_find_prop(const Object *object, const char *name)
{
    guint first = class_prop_count(object->class), n = object_prop_count(object);
    int found = class_find_prop(object->class, name);

    for (guint i = first; found < 0 && i < n; i++) {
        if (strcmp(object_prop(object, i)->name, name) == 0)
            found = (int)i;
    }
    return found;
}

static gboolean no_property(const Object *object, const char *name, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY, "Property '%s.%s' not found",
                class_name(object->class), name);
    return FALSE;
}

static gboolean not_writable(const Object *object, const char *name, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "Property '%s.%s' is not writable",
                class_name(object->class), name);
    return FALSE;
}

/* ---- stored values ---- */

static void stored_clear(gpointer data)
{
    g_free(((Stored *)data)->json);
}

static Stored *stored_find(const Object *object, guint prop)
{
    GArray *stored = object->extra ? object->extra->stored : NULL;
    for (guint i = 0; stored && i < stored->len; i++) {
        Stored *at = &g_array_index(stored, Stored, i);
        if (at->prop == prop)
            return at;
    }
    return NULL;
}

static Stored *stored_need(Object *object, guint prop)
{
    Stored *at = stored_find(object, prop);
    ObjectExtra *extra = object_need_extra(object);
    Stored stored = {.prop = prop};

    if (at)
        return at;
    if (!extra->stored) {
        extra->stored = g_array_new(FALSE, TRUE, sizeof(Stored));
        g_array_set_clear_func(extra->stored, stored_clear);
    }
    g_array_append_val(extra->stored, stored);
    return &g_array_index(extra->stored, Stored, extra->stored->len - 1);
}

static void stored_remove(Object *object, guint prop)
{
    Stored *at = stored_find(object, prop);
    if (at)
        g_array_remove_index_fast(object->extra->stored, (guint)(at - (Stored *)(gpointer)object->extra->stored->data));
}

static void stored_set_json(Object *object, guint prop, const char *json, gsize length)
{
    Stored *at = stored_need(object, prop);
    g_free(at->json);
    at->json = g_strndup(json, length);
}

/* ---- who refers to whom ---- */

static void user_add(Object *target, Object *object, guint prop)
{
    ObjectExtra *extra = object_need_extra(target);
    ObjectUser user = {.object = object, .prop = prop};

    if (!extra->users)
        extra->users = g_array_new(FALSE, FALSE, sizeof(ObjectUser));
    g_array_append_val(extra->users, user);
}

static void user_remove(Object *target, const Object *object, guint prop)
{
    GArray *users = target->extra->users;
    for (guint i = users->len; i-- > 0;) {
        const ObjectUser *user = &g_array_index(users, ObjectUser, i);
        if (user->object == object && user->prop == prop) {
            g_array_remove_index_fast(users, i);
            return;
        }
    }
    g_assert_not_reached();
}

/* Where a link's target stands, or NULL where it stands nowhere yet. */
static Object **link_place(Object *object, guint index)
{
    const Property *prop = object_prop(object, index);
    Stored *stored;

    if (prop->kind == PROP_KIND_LINK)
        return property_link_field(prop, object);
    stored = stored_find(object, index);
    return stored ? &stored->target : NULL;
}

static void link_set(Object *object, guint index, Object *target)
{
    Object **place = link_place(object, index);

    if (place && *place == target)
        return;
    if (place && *place)
        user_remove(*place, object, index);
    if (target)
        user_add(target, object, index);
    if (!place)
        place = &stored_need(object, index)->target;
    *place = target;
    object_changed(object);
}

static gboolean is_link(const Property *prop)
{
    return prop->kind == PROP_KIND_LINK || prop->kind == PROP_KIND_STORED_LINK;
}

/* All alias rows that share this field lose their target. */
static void alias_clear(Object *object, const Object *target)
{
    for (guint i = 0; i < class_prop_count(object->class); i++) {
        const Property *prop = class_prop(object->class, i);
        if (prop->kind == PROP_KIND_ALIAS && *property_link_field(prop, object) == target)
            *property_link_field(prop, object) = NULL;
    }
    object_changed(object);
}

void object_clear_users(Object *object)
{
    GArray *users = object->extra ? object->extra->users : NULL;

    if (!users)
        return;
    object->extra->users = NULL;
    for (guint i = 0; i < users->len; i++) {
        const ObjectUser *user = &g_array_index(users, ObjectUser, i);
        if (user->prop == OBJECT_USER_ALIAS) {
            alias_clear(user->object, object);
        } else {
            *link_place(user->object, user->prop) = NULL;
            object_changed(user->object);
        }
    }
    g_array_unref(users);
}

void object_drop_links(Object *object)
{
    guint n = object_prop_count(object);
    for (guint i = 0; i < n; i++) {
        const Property *prop = object_prop(object, i);
        Object **place = is_link(prop)                   ? link_place(object, i)
                         : prop->kind == PROP_KIND_ALIAS ? property_link_field(prop, object)
                                                         : NULL;
        Object *target = place ? *place : NULL;
        if (!target)
            continue;
        if (prop->kind == PROP_KIND_ALIAS) {
            user_remove(target, object, OBJECT_USER_ALIAS);
            alias_clear(object, target);
        } else {
            user_remove(target, object, i);
            *place = NULL;
        }
    }
}

void object_set_link(Object *object, Object **field, Object *target)
{
    for (guint i = 0; i < class_prop_count(object->class); i++) {
        const Property *prop = class_prop(object->class, i);
        if (prop->kind == PROP_KIND_LINK && property_link_field(prop, object) == field) {
            link_set(object, i, target);
            return;
        }
    }
    g_assert_not_reached();
}

void object_set_alias_target(Object *object, Object **field, Object *target)
{
    if (*field == target)
        return;
    if (*field)
        user_remove(*field, object, OBJECT_USER_ALIAS);
    if (target)
        user_add(target, object, OBJECT_USER_ALIAS);
    *field = target;
    object_changed(object);
}

/* ---- reading ---- */

/* The place of the property that an alias stands for, and whose it is. */
static gboolean alias_follow(Object *object, const Property *prop, Object **ret_target, guint *ret_index,
                             GError **error)
{
    const char *name = prop->alias_of ? prop->alias_of : prop->name;
    Object *target = *property_link_field(prop, object);
    int index = target ? object_find_prop(target, name) : -1;

    if (index < 0) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_UNREADABLE, "what '%s' stands for is not there", prop->name);
        return FALSE;
    }
    *ret_target = target;
    *ret_index = (guint)index;
    return TRUE;
}

static void append_link(Object *target, GString *out)
{
    if (target)
        object_append_path(target, out);
    else
        g_string_append(out, "\"\"");
}

gboolean object_append_value(Object *object, guint index, GString *out, GError **error)
{
    Shared *moment;
    const Property *prop = object_prop(object, index);
    const Stored *stored;
    Object **place;

    if (prop->flags & PROP_SECRET) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_SECRET, "'%s' is a secret", prop->name);
        return FALSE;
    }
    switch (prop->kind) {
    case PROP_KIND_LINK:
    case PROP_KIND_STORED_LINK:
        place = link_place(object, index);
        append_link(place ? *place : NULL, out);
        return TRUE;
    case PROP_KIND_STORED:
        stored = stored_find(object, index);
        g_string_append(out, stored ? stored->json : prop->initial_text ? prop->initial_text : "null");
        return TRUE;
    case PROP_KIND_CALC:
        return prop->get(object, prop, out, error);
    case PROP_KIND_MOVING:
        moment = shared_moment(object_shared(object));
        prop->sample(moment, prop, out);
        shared_unref(moment);
        return TRUE;
    case PROP_KIND_ALIAS:
        return alias_follow(object, prop, &object, &index, error) && object_append_value(object, index, out, error);
    default:
        property_append_field(prop, object, out);
        return TRUE;
    }
}

gboolean object_get(Object *object, const char *name, GString *out, GError **error)
{
    int index = object_find_prop(object, name);
    const Object *child = index < 0 ? object_child(object, name) : NULL;

    if (child) {
        object_append_path(child, out);
        return TRUE;
    }
    return index < 0 ? no_property(object, name, error) : object_append_value(object, (guint)index, out, error);
}

/* ---- writing ---- */

static gboolean too_late(const Object *object, const Property *prop, GError **error)
{
    for (const Class *class = object->class; class; class = class_parent(class)) {
        if (class_type(class)->too_late) {
            class_type(class)->too_late(object, prop, error);
            return FALSE;
        }
    }
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "Property '%s.%s' cannot be changed any more",
                class_name(object->class), prop->name);
    return FALSE;
}

/* The object that a client's value for a link names; "" names none. */
static gboolean link_parse(Object *object, const Property *prop, JsonSlice value, Object **ret, GError **error)
{
    g_autofree char *path = json_string_dup(value, NULL);
    Object *root = object, *target;

    if (!path)
        return property_wrong_kind(prop, JSON_STRING, error);
    if (!*path) {
        *ret = NULL;
        return TRUE;
    }
    while (root->parent)
        root = root->parent;
    target = object_resolve(root, path, error);
    if (!target)
        return FALSE;
    if (!object_is_a(target, prop->target)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Invalid parameter type for '%s', expected: %s",
                    prop->name, prop->target);
        return FALSE;
    }
    *ret = target;
    return TRUE;
}

/* Takes a value whose property may be set. */
static gboolean take_value(Object *object, guint index, JsonSlice value, GError **error)
{
    const Property *prop = object_prop(object, index);
    Object *target = NULL;

    if (prop->set && !prop->set(object, prop, value, error))
        return FALSE;
    switch (prop->kind) {
    case PROP_KIND_CALC:
    case PROP_KIND_MOVING:
        if (!prop->set)
            return not_writable(object, prop->name, error);
        break;
    case PROP_KIND_LINK:
    case PROP_KIND_STORED_LINK:
        if (!link_parse(object, prop, value, &target, error))
            return FALSE;
        link_set(object, index, target);
        break;
    case PROP_KIND_STORED:
        if (!property_check_stored(prop, value, error))
            return FALSE;
        stored_set_json(object, index, value.text, value.length);
        break;
    default:
        if (!property_set_field(prop, object, value, error))
            return FALSE;
        break;
    }
    if (prop->changed)
        prop->changed(object);
    object_changed(object);
    return TRUE;
}

gboolean object_set(Object *object, const char *name, JsonSlice value, GError **error)
{
    int index = object_find_prop(object, name);
    const Property *prop;
    guint place;

    if (index < 0)
        return object_child(object, name) ? not_writable(object, name, error) : no_property(object, name, error);
    prop = object_prop(object, (guint)index);
    if (prop->kind == PROP_KIND_ALIAS) {
        if (!alias_follow(object, prop, &object, &place, error))
            return FALSE;
        return object_set(object, object_prop(object, place)->name, value, error);
    }
    if (!(prop->flags & (PROP_WRITABLE | PROP_INITIAL)))
        return not_writable(object, name, error);
    if (!(prop->flags & PROP_WRITABLE) && object->is_complete)
        return too_late(object, prop, error);
    return take_value(object, (guint)index, value, error);
}

void object_assign(Object *object, const char *name, const char *json)
{
    g_autoptr(GError) error = NULL;
    int index = object_find_prop(object, name);
    guint place = (guint)index;

    if (index < 0)
        g_error("the type '%s' has no property '%s'", class_name(object->class), name);
    if (object_prop(object, place)->kind == PROP_KIND_ALIAS &&
        !alias_follow(object, object_prop(object, place), &object, &place, &error))
        g_error("%s", error->message);
    if (!take_value(object, place, (JsonSlice){json, strlen(json)}, &error))
        g_error("%s", error->message);
}

/* The row of a link that must exist. */
static guint find_link(const Object *object, const char *name)
{
    int index = object_find_prop(object, name);
    if (index < 0 || !is_link(object_prop(object, (guint)index)))
        g_error("the type '%s' has no link '%s'", class_name(object->class), name);
    return (guint)index;
}

void object_assign_link(Object *object, const char *name, Object *target)
{
    link_set(object, find_link(object, name), target);
}

Object *object_linked(Object *object, const char *name)
{
    int index = object_find_prop(object, name);
    Object **place = index >= 0 && is_link(object_prop(object, (guint)index)) ? link_place(object, (guint)index) : NULL;
    return place ? *place : NULL;
}

/* ---- properties of one object ---- */

static void own_prop_free(gpointer data)
{
    Property *prop = data;
    g_free((char *)prop->name);
    g_free((char *)prop->type);
    g_free((char *)prop->target);
    g_free(prop);
}

static guint add_own(Object *object, Property *prop)
{
    ObjectExtra *extra = object_need_extra(object);

    g_assert(object_find_prop(object, prop->name) < 0 && !object_child(object, prop->name));
    if (!extra->own)
        extra->own = g_ptr_array_new_with_free_func(own_prop_free);
    g_ptr_array_add(extra->own, prop);
    g_clear_pointer(&extra->shape, shape_unref);
    object_changed(object);
    return object_prop_count(object) - 1;
}

void object_add_link(Object *object, const char *name, const char *target, Object *value)
{
    Property *prop = g_new0(Property, 1);
    prop->name = g_strdup(name);
    prop->type = g_strdup_printf("link<%s>", target);
    prop->target = g_strdup(target);
    prop->kind = PROP_KIND_STORED_LINK;
    link_set(object, add_own(object, prop), value);
}

void object_add_value(Object *object, const char *name, const char *type, const char *json)
{
    Property *prop = g_new0(Property, 1);
    prop->name = g_strdup(name);
    prop->type = g_strdup(type);
    prop->kind = PROP_KIND_STORED;
    stored_set_json(object, add_own(object, prop), json, strlen(json));
}

/* The rows behind the one that goes move up; whatever names them by number follows. */
static void renumber(Object *object, guint gone)
{
    GArray *stored = object->extra->stored;
    for (guint i = 0; stored && i < stored->len; i++) {
        Stored *at = &g_array_index(stored, Stored, i);
        if (at->prop <= gone)
            continue;
        for (guint u = 0; at->target && u < at->target->extra->users->len; u++) {
            ObjectUser *user = &g_array_index(at->target->extra->users, ObjectUser, u);
            if (user->object == object && user->prop == at->prop) {
                user->prop--;
                break;
            }
        }
        at->prop--;
    }
}

gboolean object_remove_property(Object *object, const char *name)
{
    guint first = class_prop_count(object->class);
    int index = object_find_prop(object, name);

    if (index < (int)first)
        return FALSE;
    if (is_link(object_prop(object, (guint)index)))
        link_set(object, (guint)index, NULL);
    stored_remove(object, (guint)index);
    object_release_name(object, name);
    renumber(object, (guint)index);
    g_ptr_array_remove_index(object->extra->own, (guint)index - first);
    g_clear_pointer(&object->extra->shape, shape_unref);
    object_changed(object);
    return TRUE;
}
