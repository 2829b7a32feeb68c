/* SPDX-License-Identifier: MIT */
/* See object.h. An object whose reply has the same bytes as the last one is not looked at any further. */
#include "vmm/live/object.h"

#include <string.h>

#include "objmodel/name.h"
#include "vmm/secrets.h"

#define CHILD_PREFIX "child<"

/* ---- properties ---- */

static void property_free(gpointer data)
{
    LiveProperty *property = data;

    g_free(property->name);
    g_free(property->type);
    g_free(property->value);
    g_free(property->error);
    g_free(property);
}

static int by_name(gconstpointer a, gconstpointer b)
{
    const LiveProperty *left = *(LiveProperty *const *)a, *right = *(LiveProperty *const *)b;
    gboolean left_is_type = g_str_equal(left->name, "type"), right_is_type = g_str_equal(right->name, "type");

    if (left_is_type != right_is_type) {
        return left_is_type ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

/* FALSE where it had that value already. */
static gboolean property_set(LiveProperty *property, JsonSlice value, const char *error)
{
    if (json_equal_bytes((JsonSlice){property->value, property->length}, value) &&
        g_strcmp0(property->error, error) == 0) {
        return FALSE;
    }
    g_free(property->value);
    property->value = value.length > 0 ? g_strndup(value.text, value.length) : NULL;
    property->length = value.length;
    if (property->error != error) {
        g_free(property->error);
        property->error = g_strdup(error);
    }
    return TRUE;
}

static LiveProperty *find_property(const LiveObject *object, const char *name)
{
    for (guint i = 0; i < object->properties->len; i++) {
        LiveProperty *property = g_ptr_array_index(object->properties, i);

        if (g_str_equal(property->name, name)) {
            return property;
        }
    }
    return NULL;
}

LiveProperty *live_object_property(const LiveObject *object, const char *file_name)
{
    g_autofree char *name = file_name_decode(file_name, NULL);

    if (name != NULL) {
        return find_property(object, name);
    }
    for (guint i = 0; i < object->properties->len; i++) { /* it was shortened */
        LiveProperty *property = g_ptr_array_index(object->properties, i);
        g_autofree char *encoded = file_name_encode(property->name, strlen(property->name));

        if (g_str_equal(encoded, file_name)) {
            return property;
        }
    }
    return NULL;
}

/* ---- objects ---- */

/* What it says next is to be looked at, whatever it is. */
static void forget_replies(LiveObject *object)
{
    for (guint i = 0; i < G_N_ELEMENTS(object->replies); i++) {
        g_clear_pointer(&object->replies[i], g_free);
        object->reply_lengths[i] = 0;
    }
}

static void object_free(gpointer data)
{
    LiveObject *object = data;

    g_free(object->path);
    g_free(object->key);
    g_free(object->name);
    g_free(object->type);
    forget_replies(object);
    g_ptr_array_unref(object->properties);
    g_ptr_array_unref(object->children);
    node_unref(object->node);
    g_free(object);
}

static LiveObject *object_new(LiveTree *tree, LiveObject *parent, const char *name, const char *type)
{
    LiveObject *object = g_new0(LiveObject, 1);
    g_autofree char *file_name = file_name_encode(name, strlen(name));

    object->parent = parent;
    object->name = g_strdup(name);
    object->type = g_strdup(type);
    object->path = parent == NULL ? g_strdup("/") : g_strconcat(parent->parent ? parent->path : "", "/", name, NULL);
    object->key = parent == NULL ? g_strdup("")
                  : *parent->key ? g_strconcat(parent->key, "/", file_name, NULL)
                                 : g_strdup(file_name);
    object->properties = g_ptr_array_new_with_free_func(property_free);
    object->children = g_ptr_array_new_with_free_func(object_free);
    object->secretive = !tree->secrets && secret_property(type, "data");
    object->dirty = TRUE;
    g_hash_table_insert(tree->by_key, object->key, object);
    return object;
}

static void touch(LiveObject *object)
{
    for (; object != NULL; object = object->parent) {
        object->dirty = TRUE;
    }
}

/* Takes it and all below out of the index, before it is freed. */
static void forget(LiveTree *tree, LiveObject *object)
{
    g_hash_table_remove(tree->by_key, object->key);
    for (guint i = 0; i < object->children->len; i++) {
        forget(tree, g_ptr_array_index(object->children, i));
    }
}

void live_tree_init(LiveTree *tree)
{
    g_mutex_init(&tree->lock);
    tree->by_key = g_hash_table_new(g_str_hash, g_str_equal);
    tree->shapes = shape_pool_new();
    tree->root = object_new(tree, NULL, "", "container");
}

void live_tree_clear(LiveTree *tree)
{
    object_free(tree->root);
    g_hash_table_unref(tree->by_key);
    shape_pool_free(tree->shapes);
    g_mutex_clear(&tree->lock);
}

LiveObject *live_tree_find(const LiveTree *tree, const char *key)
{
    return g_hash_table_lookup(tree->by_key, key);
}

/* ---- what the target says ---- */

/* "child<TYPE>" -> "TYPE"; NULL: it is no child. */
static char *child_type(const char *type)
{
    gsize length = strlen(type);

    if (!g_str_has_prefix(type, CHILD_PREFIX) || type[length - 1] != '>') {
        return NULL;
    }
    return g_strndup(type + strlen(CHILD_PREFIX), length - strlen(CHILD_PREFIX) - 1);
}

/* The object's children as they were, by name; what is left in it afterwards is gone. */
static GHashTable *children_by_name(const LiveObject *object)
{
    GHashTable *children = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < object->children->len; i++) {
        LiveObject *child = g_ptr_array_index(object->children, i);

        g_hash_table_insert(children, child->name, child);
    }
    return children;
}

static void take_child(LiveTree *tree, LiveObject *object, const char *name, const char *type, GHashTable *before,
                       GPtrArray *children)
{
    LiveObject *child = g_hash_table_lookup(before, name);

    if (child != NULL && !child->goes && g_str_equal(child->type, type)) {
        g_hash_table_steal(before, name);
        g_ptr_array_add(children, child);
        return;
    }
    if (child != NULL) { /* another one of the same name */
        g_hash_table_steal(before, name);
        forget(tree, child);
        object_free(child);
    }
    g_ptr_array_add(children, object_new(tree, object, name, type));
}

/* The property as it was, with what was known of it; or a new one. Takes name and type over. */
static LiveProperty *take_property(const LiveObject *object, char *name, char *type)
{
    LiveProperty *before = find_property(object, name), *property = g_new0(LiveProperty, 1);

    property->name = name;
    property->type = type;
    property->secret = object->secretive && secret_property(object->type, name);
    if (before != NULL && g_str_equal(before->type, type)) {
        property->value = g_steal_pointer(&before->value);
        property->length = before->length;
        property->error = g_steal_pointer(&before->error);
        property->at = before->at;
    }
    if (g_str_equal(name, "type") && property->value == NULL) {
        g_autoptr(GString) value = g_string_new(NULL);

        json_append_string(value, object->type, -1);
        property_set(property, (JsonSlice){value->str, value->len}, NULL);
    }
    return property;
}

static int children_by_their_name(gconstpointer a, gconstpointer b)
{
    return strcmp((*(LiveObject *const *)a)->name, (*(LiveObject *const *)b)->name);
}

/* A list of {name,type[,value]}; with_values: those that have none cannot be read. */
static void take_list(LiveTree *tree, LiveObject *object, JsonSlice list, gboolean with_values)
{
    g_autoptr(GHashTable) before = children_by_name(object);
    GPtrArray *children = g_ptr_array_new_with_free_func(object_free);
    GPtrArray *properties = g_ptr_array_new_with_free_func(property_free);
    JsonWalk walk = json_walk(list);
    GHashTableIter iter;
    gpointer left;
    JsonSlice entry;

    while (json_walk_element(&walk, &entry)) {
        char *name = json_string_dup(json_member(entry, "name"), NULL);
        char *type = json_string_dup(json_member(entry, "type"), NULL);
        g_autofree char *child = type != NULL ? child_type(type) : NULL;

        if (name == NULL || type == NULL || child != NULL) {
            if (name != NULL && child != NULL) {
                take_child(tree, object, name, child, before, children);
            }
            g_free(name);
            g_free(type);
            continue;
        }
        g_ptr_array_add(properties, take_property(object, name, type));
        if (with_values) {
            LiveProperty *property = g_ptr_array_index(properties, properties->len - 1);
            JsonSlice value = property->secret ? (JsonSlice){0} : json_member(entry, "value");

            property_set(property, value, value.length > 0 ? NULL : property->error);
        }
    }
    g_hash_table_iter_init(&iter, before);
    while (g_hash_table_iter_next(&iter, NULL, &left)) {
        forget(tree, left);
        object_free(left);
    }
    g_ptr_array_set_free_func(object->children, NULL);
    g_ptr_array_unref(object->children);
    g_ptr_array_unref(object->properties);
    object->children = children;
    object->properties = properties;
    g_ptr_array_sort(children, children_by_their_name);
    g_ptr_array_sort(properties, by_name);
    touch(object);
}

static void take_reply(LiveTree *tree, LiveObject *object, JsonSlice list, gboolean with_values, gint64 now)
{
    guint form = with_values ? 1 : 0;
    gboolean same = json_equal_bytes((JsonSlice){object->replies[form], object->reply_lengths[form]}, list);

    g_mutex_lock(&tree->lock);
    if (!same && list.length > 0 && json_kind(list) == JSON_ARRAY) {
        take_list(tree, object, list, with_values);
        forget_replies(object);
        object->replies[form] = g_strndup(list.text, list.length);
        object->reply_lengths[form] = list.length;
    }
    object->named_at = now;
    if (with_values) {
        object->valued_at = now;
    }
    g_mutex_unlock(&tree->lock);
}

/* The object with this path, as the target has it. */
static LiveObject *find_path(const LiveTree *tree, const char *path)
{
    LiveObject *object = tree->root;
    g_auto(GStrv) names = g_strsplit(path, "/", -1);

    for (char **name = names; object != NULL && *name != NULL; name++) {
        LiveObject *next = **name == '\0' ? object : NULL;

        for (guint i = 0; next == NULL && i < object->children->len; i++) {
            LiveObject *child = g_ptr_array_index(object->children, i);
            next = g_str_equal(child->name, *name) ? child : NULL;
        }
        object = next;
    }
    return object;
}

void live_tree_goes(LiveTree *tree, const char *path)
{
    LiveObject *object = find_path(tree, path);

    if (object != NULL && object->parent != NULL) {
        object->goes = TRUE;
        forget_replies(object->parent);
    }
}

void live_tree_take_names(LiveTree *tree, LiveObject *object, JsonSlice list, gint64 now)
{
    take_reply(tree, object, list, FALSE, now);
}

void live_tree_take_object(LiveTree *tree, LiveObject *object, JsonSlice list, gint64 now)
{
    take_reply(tree, object, list, TRUE, now);
}

void live_tree_take_value(LiveTree *tree, LiveObject *object, const char *property, JsonSlice value, const char *error,
                          gint64 now)
{
    LiveProperty *known = find_property(object, property);

    if (known == NULL || known->secret) {
        return;
    }
    g_mutex_lock(&tree->lock);
    if (property_set(known, value, error)) {
        touch(object);
        forget_replies(object);
    }
    known->at = now;
    g_mutex_unlock(&tree->lock);
}

void live_tree_remove(LiveTree *tree, LiveObject *object)
{
    LiveObject *parent = object->parent;

    if (parent == NULL) {
        return;
    }
    g_mutex_lock(&tree->lock);
    forget(tree, object);
    g_ptr_array_remove(parent->children, object);
    forget_replies(parent);
    touch(parent);
    g_mutex_unlock(&tree->lock);
}

static void outdate(LiveObject *object)
{
    object->named_at = object->valued_at = 0;
    for (guint i = 0; i < object->properties->len; i++) {
        ((LiveProperty *)g_ptr_array_index(object->properties, i))->at = 0;
    }
    for (guint i = 0; i < object->children->len; i++) {
        outdate(g_ptr_array_index(object->children, i));
    }
}

void live_tree_outdate(LiveTree *tree)
{
    g_mutex_lock(&tree->lock);
    outdate(tree->root);
    g_mutex_unlock(&tree->lock);
}
