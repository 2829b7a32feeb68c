/* SPDX-License-Identifier: MIT */
/*
 * Live objects: life, tree and marks. Their properties are in object-props.c.
 */
#include "objmodel/object-private.h"

#include <string.h>

/* From this many children on, a table finds them by name. */
enum { CHILDREN_INDEXED = 16 };

/* ---- the root of all types ---- */

static gboolean get_type(Object *object, const Property *prop G_GNUC_UNUSED, GString *out, GError **error G_GNUC_UNUSED)
{
    json_append_string(out, class_name(object->class), -1);
    return TRUE;
}

static const Property object_props[] = {
    PROP_CALC("type", "string", get_type),
    {0},
};

const ObjectType object_type = {
    .name = "object",
    .help = "what all types descend from",
    .instance_size = sizeof(Object),
    .abstract = TRUE,
    .props = object_props,
};

/* ---- life ---- */

static void init_chain(const Class *class, Object *object)
{
    if (class_parent(class))
        init_chain(class_parent(class), object);
    if (class_type(class)->init)
        class_type(class)->init(object);
}

Object *object_new(Class *class)
{
    Object *object = class_instance_new(class);
    g_assert(!class_type(class)->abstract);
    object->class = class;
    object->refs = 1;
    object->marks = OBJECT_MARK_TEXT | OBJECT_MARK_CHILDREN;
    init_chain(class, object);
    return object;
}

Object *object_ref(Object *object)
{
    object->refs++;
    return object;
}

static void object_free(Object *object)
{
    while (object->last_child)
        object_unparent(object->last_child);
    for (const Class *class = object->class; class; class = class_parent(class)) {
        if (class_type(class)->finalize)
            class_type(class)->finalize(object);
    }
    object_clear_users(object);
    object_drop_links(object);
    object_extra_free(object->extra);
    node_unref(object->node);
    g_free(object->name);
    class_instance_free(object->class, object);
}

void object_unref(Object *object)
{
    if (object && --object->refs == 0)
        object_free(object);
}

gboolean object_complete(Object *object, GError **error)
{
    for (const Class *class = object->class; class; class = class_parent(class)) {
        if (!class_type(class)->complete)
            continue;
        if (!class_type(class)->complete(object, error))
            return FALSE;
        break;
    }
    object->is_complete = TRUE;
    return TRUE;
}

gboolean object_is_a(const Object *object, const char *type_name)
{
    return class_is_a(object->class, type_name);
}

ObjectExtra *object_need_extra(Object *object)
{
    if (!object->extra)
        object->extra = g_new0(ObjectExtra, 1);
    return object->extra;
}

void object_extra_free(ObjectExtra *extra)
{
    if (!extra)
        return;
    g_clear_pointer(&extra->own, g_ptr_array_unref);
    g_clear_pointer(&extra->stored, g_array_unref);
    g_clear_pointer(&extra->users, g_array_unref);
    g_clear_pointer(&extra->by_name, g_hash_table_unref);
    g_clear_pointer(&extra->numbers, g_hash_table_unref);
    g_clear_pointer(&extra->removed, g_ptr_array_unref);
    g_clear_pointer(&extra->shape, shape_unref);
    shared_unref(extra->shared);
    g_free(extra);
}

/* ---- what moves ---- */

Shared *shared_ref(Shared *shared)
{
    g_atomic_ref_count_inc(&shared->refs);
    return shared;
}

void shared_unref(Shared *shared)
{
    if (shared && g_atomic_ref_count_dec(&shared->refs))
        shared->free(shared);
}

Shared *shared_moment(Shared *shared)
{
    return shared->moment ? shared->moment(shared) : shared_ref(shared);
}

void object_set_shared(Object *object, Shared *shared)
{
    ObjectExtra *extra = object_need_extra(object);
    g_assert(!extra->shared && !object->node);
    extra->shared = shared_ref(shared);
}

Shared *object_shared(const Object *object)
{
    return object->extra ? object->extra->shared : NULL;
}

/* ---- marks ---- */

/* Enters the object, and those that it stands in, into their parents' lists. */
static void object_queue(Object *object)
{
    while (object->parent && !(object->marks & OBJECT_MARK_QUEUED)) {
        Object *parent = object->parent;
        object->marks |= OBJECT_MARK_QUEUED;
        if (parent->last_marked)
            parent->last_marked->next_marked = object;
        else
            parent->first_marked = object;
        parent->last_marked = object;
        object = parent;
    }
}

static void object_unqueue(Object *object)
{
    Object **at = &object->parent->first_marked;
    Object *before = NULL;

    if (!(object->marks & OBJECT_MARK_QUEUED))
        return;
    while (*at != object) {
        before = *at;
        at = &before->next_marked;
    }
    *at = object->next_marked;
    if (object->parent->last_marked == object)
        object->parent->last_marked = before;
    object->next_marked = NULL;
    object->marks &= ~OBJECT_MARK_QUEUED;
}

void object_changed(Object *object)
{
    /* What is marked already has told its aliases, too. */
    if ((object->marks & OBJECT_MARK_TEXT) && (object->marks & OBJECT_MARK_QUEUED))
        return;
    object->marks |= OBJECT_MARK_TEXT;
    object_queue(object);
    if (!object->extra || !object->extra->users)
        return;
    for (guint i = 0; i < object->extra->users->len; i++) {
        const ObjectUser *user = &g_array_index(object->extra->users, ObjectUser, i);
        if (user->prop == OBJECT_USER_ALIAS)
            object_changed(user->object);
    }
}

/* ---- children by name ---- */

Object *object_child(const Object *parent, const char *name)
{
    if (parent->extra && parent->extra->by_name)
        return g_hash_table_lookup(parent->extra->by_name, name);
    for (Object *child = parent->first_child; child; child = child->next) {
        if (strcmp(child->name, name) == 0)
            return child;
    }
    return NULL;
}

static void children_index_add(Object *parent, Object *child)
{
    ObjectExtra *extra = parent->extra;
    if (extra && extra->by_name) {
        g_hash_table_insert(extra->by_name, child->name, child);
    } else if (parent->n_children >= CHILDREN_INDEXED) {
        extra = object_need_extra(parent);
        extra->by_name = g_hash_table_new(g_str_hash, g_str_equal);
        for (Object *each = parent->first_child; each; each = each->next)
            g_hash_table_insert(extra->by_name, each->name, each);
    }
}

/* "name[*]" -> 6, the length of "name["; 0 for other names. */
static gsize array_name_length(const char *name)
{
    gsize length = strlen(name);
    return g_str_has_suffix(name, "[*]") ? length - 2 : 0;
}

/* Where each "base[" may find a free number; below it, none is free. */
static guint64 number_hint(const Object *parent, const char *base)
{
    if (!parent->extra || !parent->extra->numbers)
        return 0;
    return GPOINTER_TO_SIZE(g_hash_table_lookup(parent->extra->numbers, base));
}

static void number_hint_set(Object *parent, const char *base, guint64 number)
{
    ObjectExtra *extra = object_need_extra(parent);
    if (!extra->numbers)
        extra->numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_hash_table_insert(extra->numbers, g_strdup(base), GSIZE_TO_POINTER(number));
}

static char *number_name(Object *parent, const char *name, gsize base_length)
{
    g_autofree char *base = g_strndup(name, base_length);
    for (guint64 number = number_hint(parent, base);; number++) {
        g_autofree char *candidate = g_strdup_printf("%s%" G_GUINT64_FORMAT "]", base, number);
        if (object_child(parent, candidate) || object_find_prop(parent, candidate) >= 0)
            continue;
        number_hint_set(parent, base, number + 1);
        return g_steal_pointer(&candidate);
    }
}

char *object_free_name(Object *parent, const char *name)
{
    gsize base_length = array_name_length(name);
    return base_length ? number_name(parent, name, base_length) : g_strdup(name);
}

/* A name went: where it has a number, that one is free again. */
void object_release_name(Object *parent, const char *name)
{
    const char *bracket = strrchr(name, '[');
    g_autofree char *base = NULL;
    guint64 number;
    char *end;

    if (!bracket || !g_ascii_isdigit(bracket[1]))
        return;
    base = g_strndup(name, (gsize)(bracket + 1 - name));
    number = g_ascii_strtoull(bracket + 1, &end, 10);
    if (strcmp(end, "]") == 0 && number < number_hint(parent, base))
        number_hint_set(parent, base, number);
}

/* ---- coming and going ---- */

gboolean object_add_child(Object *parent, const char *name, Object *child, GError **error)
{
    gsize base_length = array_name_length(name);
    g_autofree char *full = object_free_name(parent, name);

    g_assert(!child->parent);
    if (!base_length && (object_child(parent, full) || object_find_prop(parent, full) >= 0)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_EXISTS,
                    "attempt to add duplicate property '%s' to object (type '%s')", full, class_name(parent->class));
        return FALSE;
    }
    child->name = g_steal_pointer(&full);
    child->parent = parent;
    child->previous = parent->last_child;
    if (parent->last_child)
        parent->last_child->next = child;
    else
        parent->first_child = child;
    parent->last_child = child;
    parent->n_children++;
    children_index_add(parent, child);
    object_ref(child);

    parent->marks |= OBJECT_MARK_CHILDREN;
    object_queue(parent);
    object_queue(child);
    return TRUE;
}

Object *object_new_child(Object *parent, const char *name, Class *class)
{
    g_autoptr(Object) child = object_new(class);
    g_autoptr(GError) error = NULL;
    if (!object_add_child(parent, name, child, &error))
        g_error("%s", error->message);
    return child; /* the parent's reference keeps it */
}

/* Its published node is left to the parent, which takes it out of the published list. */
static void leave_node(Object *parent, Object *child)
{
    if (!child->node)
        return;
    if (parent->node) {
        ObjectExtra *extra = object_need_extra(parent);
        if (!extra->removed)
            extra->removed = g_ptr_array_new_with_free_func((GDestroyNotify)node_unref);
        g_ptr_array_add(extra->removed, child->node);
    } else {
        node_unref(child->node);
    }
    child->node = NULL;
}

void object_unparent(Object *object)
{
    Object *parent = object->parent;

    if (!parent)
        return;
    while (object->last_child)
        object_unparent(object->last_child);
    for (const Class *class = object->class; class; class = class_parent(class)) {
        if (class_type(class)->unparent) {
            class_type(class)->unparent(object);
            break;
        }
    }
    object_clear_users(object);

    object_unqueue(object);
    leave_node(parent, object);
    if (object->previous)
        object->previous->next = object->next;
    else
        parent->first_child = object->next;
    if (object->next)
        object->next->previous = object->previous;
    else
        parent->last_child = object->previous;
    parent->n_children--;
    if (parent->extra && parent->extra->by_name)
        g_hash_table_remove(parent->extra->by_name, object->name);
    object_release_name(parent, object->name);
    g_clear_pointer(&object->name, g_free);
    object->parent = object->next = object->previous = NULL;
    object->marks |= OBJECT_MARK_TEXT | OBJECT_MARK_CHILDREN;

    parent->marks |= OBJECT_MARK_CHILDREN;
    object_queue(parent);
    object_unref(object);
}

GPtrArray *object_removed_nodes(Object *object)
{
    return object->extra ? object->extra->removed : NULL;
}
