/* SPDX-License-Identifier: MIT */
/*
 * Classes, made of types, and the set of them. Types that add no properties share the list of
 * their parent: a hundred CPU models cost one list of five hundred rows.
 */
#include "objmodel/type.h"

#include <string.h>

#include "objmodel/name.h"
#include "objmodel/property.h"

/* The properties of a class, shared by those that add none. Immutable. */
typedef struct PropList {
    grefcount refs;
    guint n;
    const Property **props;
    GHashTable *index; /* name -> place + 1 */
    GString *heads;
    guint32 *head_ends; /* where each head ends in `heads` */
    Shape *shape;
    GArray *strings; /* places of the strings in the instance */
} PropList;

struct Class {
    const ObjectType *type;
    const Class *parent;
    PropList *list;
    gsize instance_size;
    gpointer initial; /* what an instance is copied from; made with the first one */
};

struct Types {
    GHashTable *by_name; /* owned classes */
    GPtrArray *in_order;
};

/* ---- lists of properties ---- */

void property_append_head(const Property *prop, GString *out)
{
    g_string_append(out, "{\"name\":");
    json_append_string(out, prop->name, -1);
    g_string_append(out, ",\"type\":");
    json_append_string(out, property_type(prop), -1);
    g_string_append(out, PROPERTY_HEAD_VALUE);
}

static SlotFlags property_slot_flags(const Property *prop)
{
    SlotFlags flags = 0;
    if (g_str_has_prefix(property_type(prop), "link<"))
        flags |= SLOT_LINK;
    if (prop->flags & PROP_WRITABLE)
        flags |= SLOT_WRITABLE;
    if (prop->flags & PROP_SECRET)
        flags |= SLOT_SECRET;
    if (prop->kind == PROP_KIND_MOVING)
        flags |= SLOT_MOVING;
    return flags;
}

void property_slot_info(const Property *prop, SlotInfo *ret, char **encoded_name, char **default_value)
{
    /* A default only says something where another value could have been given. */
    if (prop->flags & (PROP_WRITABLE | PROP_INITIAL)) {
        g_autoptr(GString) value = g_string_new(NULL);
        if (!(prop->flags & PROP_SECRET) && property_append_initial(prop, value))
            *default_value = g_string_free(g_steal_pointer(&value), FALSE);
    }
    *encoded_name = file_name_encode(prop->name, strlen(prop->name));
    *ret = (SlotInfo){
        .name = *encoded_name,
        .type = property_type(prop),
        .description = prop->help,
        .default_value = *default_value,
        .flags = property_slot_flags(prop),
    };
}

static Shape *prop_list_make_shape(const PropList *list)
{
    g_autofree SlotInfo *infos = g_new0(SlotInfo, list->n);
    g_autofree char **texts = g_new0(char *, 2 * (gsize)list->n);
    Shape *shape;

    for (guint i = 0; i < list->n; i++)
        property_slot_info(list->props[i], &infos[i], &texts[2 * i], &texts[2 * i + 1]);
    shape = shape_new(infos, list->n);
    for (guint i = 0; i < 2 * list->n; i++)
        g_free(texts[i]);
    return shape;
}

static guint count_rows(const Property *rows)
{
    guint n = 0;
    while (rows && rows[n].name)
        n++;
    return n;
}

static PropList *prop_list_new(const PropList *parent, const Property *rows)
{
    guint n_rows = count_rows(rows);
    PropList *list = g_new0(PropList, 1);

    g_ref_count_init(&list->refs);
    list->n = parent ? parent->n : 0;
    list->props = g_new(const Property *, list->n + n_rows);
    list->index = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < list->n; i++) {
        list->props[i] = parent->props[i];
        g_hash_table_insert(list->index, (gpointer)parent->props[i]->name, GUINT_TO_POINTER(i + 1));
    }
    for (guint i = 0; i < n_rows; i++) {
        guint place = GPOINTER_TO_UINT(g_hash_table_lookup(list->index, rows[i].name));
        if (place == 0)
            place = ++list->n;
        list->props[place - 1] = &rows[i];
        g_hash_table_insert(list->index, (gpointer)rows[i].name, GUINT_TO_POINTER(place));
    }

    list->heads = g_string_new(NULL);
    list->head_ends = g_new(guint32, list->n);
    list->strings = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < list->n; i++) {
        property_append_head(list->props[i], list->heads);
        list->head_ends[i] = (guint32)list->heads->len;
        if (list->props[i]->kind == PROP_KIND_STRING)
            g_array_append_val(list->strings, i);
    }
    list->shape = prop_list_make_shape(list);
    return list;
}

static void prop_list_unref(PropList *list)
{
    if (!list || !g_ref_count_dec(&list->refs))
        return;
    g_free(list->props);
    g_hash_table_unref(list->index);
    g_string_free(list->heads, TRUE);
    g_free(list->head_ends);
    g_array_unref(list->strings);
    shape_unref(list->shape);
    g_free(list);
}

/* ---- instances ---- */

/* Runs the class_init functions from the oldest parent down. */
static void class_init_chain(const Class *class, const Class *of, gpointer initial)
{
    if (of->parent)
        class_init_chain(class, of->parent, initial);
    if (of->type->class_init)
        of->type->class_init(class, initial);
}

static gpointer class_make_initial(const Class *class)
{
    gpointer initial = g_malloc0(class->instance_size);
    for (guint i = 0; i < class->list->n; i++) {
        if (property_is_field(class->list->props[i]))
            property_init_field(class->list->props[i], initial);
    }
    class_init_chain(class, class, initial);
    return initial;
}

static char **class_string(const Class *class, guint which, gpointer instance)
{
    guint place = g_array_index(class->list->strings, guint, which);
    return (char **)((char *)instance + class->list->props[place]->offset);
}

gpointer class_instance_new(Class *class)
{
    gpointer instance;

    if (!class->initial)
        class->initial = class_make_initial(class);
    instance = g_malloc(class->instance_size);
    memcpy(instance, class->initial, class->instance_size);
    for (guint i = 0; i < class->list->strings->len; i++) {
        char **string = class_string(class, i, instance);
        *string = g_strdup(*string);
    }
    return instance;
}

gboolean class_init_value(const Class *class, Object *initial, const char *name, JsonSlice value, GError **error)
{
    int index = class_find_prop(class, name);

    if (index < 0 || !property_is_field(class->list->props[index])) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY, "the type '%s' has no field '%s'",
                    class->type->name, name);
        return FALSE;
    }
    return property_set_field(class->list->props[index], initial, value, error);
}

void class_instance_free(const Class *class, gpointer instance)
{
    if (!instance)
        return;
    for (guint i = 0; i < class->list->strings->len; i++)
        g_free(*class_string(class, i, instance));
    g_free(instance);
}

/* ---- looking at a class ---- */

const char *class_name(const Class *class)
{
    return class->type->name;
}

const ObjectType *class_type(const Class *class)
{
    return class->type;
}

const Class *class_parent(const Class *class)
{
    return class->parent;
}

gboolean class_is_a(const Class *class, const char *type_name)
{
    for (; class; class = class->parent) {
        if (strcmp(class->type->name, type_name) == 0)
            return TRUE;
    }
    return FALSE;
}

guint class_prop_count(const Class *class)
{
    return class->list->n;
}

const Property *class_prop(const Class *class, guint index)
{
    return class->list->props[index];
}

int class_find_prop(const Class *class, const char *name)
{
    return (int)GPOINTER_TO_UINT(g_hash_table_lookup(class->list->index, name)) - 1;
}

JsonSlice class_prop_head(const Class *class, guint index)
{
    guint32 start = index ? class->list->head_ends[index - 1] : 0;
    return (JsonSlice){class->list->heads->str + start, class->list->head_ends[index] - start};
}

Shape *class_shape(const Class *class)
{
    return class->list->shape;
}

/* ---- the set of types ---- */

static void class_free(gpointer data)
{
    Class *class = data;
    class_instance_free(class, class->initial);
    prop_list_unref(class->list);
    g_free(class);
}

Types *types_new(void)
{
    Types *types = g_new0(Types, 1);
    types->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, class_free);
    types->in_order = g_ptr_array_new();
    types_add(types, &object_type);
    return types;
}

void types_free(Types *types)
{
    if (!types)
        return;
    g_ptr_array_unref(types->in_order);
    g_hash_table_unref(types->by_name);
    g_free(types);
}

Class *types_add(Types *types, const ObjectType *type)
{
    Class *class = types_find(types, type->name);
    const ObjectType *parent = type->parent ? type->parent : &object_type;

    if (class) {
        g_assert(class->type == type);
        return class;
    }
    class = g_new0(Class, 1);
    class->type = type;
    if (type != &object_type)
        class->parent = types_add(types, parent);
    class->instance_size = type->instance_size ? type->instance_size : class->parent->instance_size;
    g_assert(!class->parent || class->instance_size >= class->parent->instance_size);
    if (class->parent && count_rows(type->props) == 0) {
        class->list = class->parent->list;
        g_ref_count_inc(&class->list->refs);
    } else {
        class->list = prop_list_new(class->parent ? class->parent->list : NULL, type->props);
    }
    g_hash_table_insert(types->by_name, (gpointer)type->name, class);
    g_ptr_array_add(types->in_order, class);
    return class;
}

Class *types_find(const Types *types, const char *name)
{
    return g_hash_table_lookup(types->by_name, name);
}

GPtrArray *types_list(const Types *types, const char *implements, gboolean abstract)
{
    gboolean creatable = g_strcmp0(implements, "user-creatable") == 0;
    GPtrArray *found = g_ptr_array_new();

    for (guint i = 0; i < types->in_order->len; i++) {
        Class *class = types->in_order->pdata[i];
        if (class->type->abstract && !abstract)
            continue;
        if (creatable ? class->type->user_creatable : !implements || class_is_a(class, implements))
            g_ptr_array_add(found, class);
    }
    return found;
}
