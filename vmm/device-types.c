/* SPDX-License-Identifier: MIT */
/* Types of devices: from the data file to ObjectTypes. A mistake in the file ends the program. */
#include "vmm/device-types.h"

#include <string.h>

#include "vmm/data.h"
#include "vmm/device.h"

typedef struct Entry {
    JsonSlice json; /* the type's object in the file */
    ObjectType type;
    DeviceInfo info;
    gboolean loaded;
} Entry;

struct DeviceTypes {
    Types *types;
    GHashTable *entries;   /* name -> Entry */
    GHashTable *behaviour; /* name -> ObjectType, not owned */
    GHashTable *enums;     /* name -> GStrv of values */
    GStringChunk *strings;
    GPtrArray *arrays; /* of rows, parts and so on */
};

/* ---- the file ---- */

static G_GNUC_NORETURN G_GNUC_PRINTF(2, 3) void mistake(const char *type, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_error("vmm/data/%s: type '%s': %s", data_name(DATA_DEVICES), type, message);
}

/* A string of the file, kept; NULL where the value is absent or no string. */
static const char *keep_string(DeviceTypes *self, JsonSlice value)
{
    g_autofree char *text = value.length ? json_string_dup(value, NULL) : NULL;
    return text ? g_string_chunk_insert_const(self->strings, text) : NULL;
}

/* A value's JSON, kept. */
static const char *keep_json(DeviceTypes *self, JsonSlice value)
{
    return g_string_chunk_insert_len(self->strings, value.text, (gssize)value.length);
}

static gboolean is_true(JsonSlice value)
{
    gboolean flag = FALSE;
    return value.length && json_to_bool(value, &flag) && flag;
}

/* The elements of an array; returns how many there are, at most max. */
static guint elements(JsonSlice array, JsonSlice *ret, guint max)
{
    JsonWalk walk = json_walk(array);
    guint n = 0;
    while (n < max && json_walk_element(&walk, &ret[n]))
        n++;
    return n;
}

/* ---- rows ---- */

/* "NAME": [TYPE, INITIAL, ACCESS]; a link has no INITIAL other than "". */
static Property row_from_json(DeviceTypes *self, const char *type_name, const char *name, JsonSlice json)
{
    JsonSlice parts[3] = {0};
    guint n = json_kind(json) == JSON_ARRAY ? elements(json, parts, G_N_ELEMENTS(parts)) : 0;
    Property row = {.name = name, .type = n ? keep_string(self, parts[0]) : NULL, .flags = PROP_INITIAL};

    if (!row.type)
        mistake(type_name, "property '%s' must be [TYPE, INITIAL, ACCESS]", name);
    if (n > 2 && json_string_is(parts[2], "rw"))
        row.flags = PROP_WRITABLE;
    else if (n > 2 && json_string_is(parts[2], "ro"))
        row.flags = 0;
    else if (n > 2)
        mistake(type_name, "the access of '%s' must be \"rw\" or \"ro\"", name);
    if (g_str_has_prefix(row.type, "link<")) {
        g_autofree char *target = g_strndup(row.type + 5, strlen(row.type) - 6);
        row.kind = PROP_KIND_STORED_LINK;
        row.target = g_string_chunk_insert_const(self->strings, target);
    } else {
        row.kind = PROP_KIND_STORED;
        row.initial_text = n > 1 ? keep_json(self, parts[1]) : "null";
        row.names = g_hash_table_lookup(self->enums, row.type);
    }
    return row;
}

static const Property *find_row(const Property *rows, const char *name)
{
    for (; rows && rows->name; rows++) {
        if (strcmp(rows->name, name) == 0)
            return rows;
    }
    return NULL;
}

static gboolean has_row(const GArray *rows, const char *name)
{
    for (guint i = 0; i < rows->len; i++) {
        if (strcmp(g_array_index(rows, Property, i).name, name) == 0)
            return TRUE;
    }
    return FALSE;
}

/* The type's own properties; where C has the same one, C's row. */
static void add_properties(DeviceTypes *self, const Entry *entry, const ObjectType *behaviour, GArray *rows)
{
    JsonSlice properties = json_member(entry->json, "properties");
    JsonWalk walk = json_walk(properties);
    JsonSlice key, value;

    while (properties.length && json_walk_member(&walk, &key, &value)) {
        const char *name = keep_string(self, key);
        const Property *in_c = behaviour ? find_row(behaviour->props, name) : NULL;
        Property row = in_c ? *in_c : row_from_json(self, entry->type.name, name, value);
        g_array_append_val(rows, row);
    }
    for (const Property *row = behaviour ? behaviour->props : NULL; row && row->name; row++) {
        if (!has_row(rows, row->name))
            g_array_append_val(rows, *row);
    }
}

/* Properties of a parent that begin with another value here. */
static void add_defaults(DeviceTypes *self, const Entry *entry, const Class *parent, GArray *rows)
{
    JsonSlice defaults = json_member(entry->json, "defaults");
    JsonWalk walk = json_walk(defaults);
    JsonSlice key, value;

    while (defaults.length && json_walk_member(&walk, &key, &value)) {
        const char *name = keep_string(self, key);
        int index = class_find_prop(parent, name);
        Property row;

        if (index < 0 || class_prop(parent, (guint)index)->kind != PROP_KIND_STORED)
            mistake(entry->type.name, "no parent has a property '%s' whose value could be another", name);
        row = *class_prop(parent, (guint)index);
        row.initial_text = keep_json(self, value);
        g_array_append_val(rows, row);
    }
}

/* What the inner device has is shown on the outer one too. */
static void add_aliases(const Class *inner, const Class *parent, GArray *rows)
{
    for (guint i = 0; i < class_prop_count(inner); i++) {
        const Property *prop = class_prop(inner, i);
        Property row = {
            .name = prop->name,
            .type = property_type(prop),
            .help = prop->help,
            .kind = PROP_KIND_ALIAS,
            .flags = prop->flags,
            .offset = offsetof(Device, inner),
        };
        if (class_find_prop(parent, prop->name) < 0 && !has_row(rows, prop->name))
            g_array_append_val(rows, row);
    }
}

/* ---- parts ---- */

/* [NAME, TYPE, {"count": N, property: value, ...}] */
static PartTemplate part_from_json(DeviceTypes *self, const char *type_name, JsonSlice json)
{
    JsonSlice parts[3] = {0};
    guint n = json_kind(json) == JSON_ARRAY ? elements(json, parts, G_N_ELEMENTS(parts)) : 0;
    PartTemplate part = {.count = 1};
    guint64 count;

    if (n > 1) {
        part.name = keep_string(self, parts[0]);
        part.type = keep_string(self, parts[1]);
    }
    if (!part.name || !part.type)
        mistake(type_name, "a part must be [NAME, TYPE, {VALUES}]");
    if (n > 2 && json_to_uint64(json_member(parts[2], "count"), &count))
        part.count = (guint)count;
    else if (n > 2)
        part.values = parts[2];
    return part;
}

static void add_parts(DeviceTypes *self, Entry *entry)
{
    JsonSlice children = json_member(entry->json, "children");
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(PartTemplate));
    JsonWalk walk = json_walk(children);
    JsonSlice element;

    while (json_walk_element(&walk, &element)) {
        PartTemplate part = part_from_json(self, entry->type.name, element);
        g_array_append_val(parts, part);
    }
    g_ptr_array_add(self->arrays, parts);
    entry->info.parts = (const PartTemplate *)(gpointer)parts->data;
    entry->info.n_parts = parts->len;
}

/* ---- one type ---- */

static Class *load(DeviceTypes *self, const char *name, const char *wanted_by);

/* "inner": [PART, TYPE] */
static void add_inner(DeviceTypes *self, Entry *entry, const Class *parent, GArray *rows)
{
    JsonSlice inner[2] = {0};
    const char *type;

    if (elements(json_member(entry->json, "inner"), inner, 2) != 2)
        mistake(entry->type.name, "inner must be [PART, TYPE]");
    entry->info.inner = keep_string(self, inner[0]);
    type = keep_string(self, inner[1]);
    add_aliases(load(self, type, entry->type.name), parent, rows);
}

static Class *load_entry(DeviceTypes *self, Entry *entry)
{
    const char *name = entry->type.name;
    const ObjectType *behaviour = g_hash_table_lookup(self->behaviour, name);
    const char *parent_name = keep_string(self, json_member(entry->json, "parent"));
    Class *parent;
    const DeviceInfo *inherited;
    GArray *rows = g_array_new(TRUE, TRUE, sizeof(Property));

    entry->loaded = TRUE;
    parent = load(self, parent_name ? parent_name : "object", name);
    inherited = device_info(self, parent);
    if (inherited)
        entry->info = *inherited;
    if (behaviour)
        entry->type = *behaviour;
    entry->type.parent = class_type(parent);
    entry->type.abstract = is_true(json_member(entry->json, "abstract"));
    entry->info.pluggable = json_member(entry->json, "pluggable").length == 0;
    if (json_member(entry->json, "bus").length)
        entry->info.bus = keep_string(self, json_member(entry->json, "bus"));

    add_properties(self, entry, behaviour, rows);
    add_defaults(self, entry, parent, rows);
    if (json_member(entry->json, "inner").length)
        add_inner(self, entry, parent, rows);
    if (json_member(entry->json, "children").length)
        add_parts(self, entry);
    g_ptr_array_add(self->arrays, rows);
    entry->type.props = (const Property *)(gpointer)rows->data;
    return types_add(self->types, &entry->type);
}

/* A type in C whose name the file does not have; a parent's may stand there. */
static Class *load_behaviour(DeviceTypes *self, const ObjectType *type)
{
    if (type->parent && !types_find(self->types, type->parent->name)) {
        if (g_hash_table_contains(self->entries, type->parent->name))
            load(self, type->parent->name, type->name);
        else
            load_behaviour(self, type->parent);
    }
    return types_add(self->types, type);
}

static Class *load(DeviceTypes *self, const char *name, const char *wanted_by)
{
    Entry *entry = g_hash_table_lookup(self->entries, name);
    Class *class = types_find(self->types, name);
    const ObjectType *behaviour = g_hash_table_lookup(self->behaviour, name);

    if (class)
        return class;
    if (entry && entry->loaded)
        mistake(wanted_by, "it is part of a circle with '%s'", name);
    if (entry)
        return load_entry(self, entry);
    if (!behaviour)
        mistake(wanted_by, "there is no type '%s'", name);
    return load_behaviour(self, behaviour);
}

/* ---- all of them ---- */

static void index_enums(DeviceTypes *self, JsonSlice enums)
{
    JsonWalk walk = json_walk(enums);
    JsonSlice key, list, element;

    while (json_walk_member(&walk, &key, &list)) {
        JsonWalk values = json_walk(list);
        GPtrArray *names = g_ptr_array_new();
        while (json_walk_element(&values, &element))
            g_ptr_array_add(names, (gpointer)keep_string(self, element));
        g_ptr_array_add(names, NULL);
        g_hash_table_insert(self->enums, (gpointer)keep_string(self, key), g_ptr_array_free(names, FALSE));
    }
}

DeviceTypes *device_types_new(Types *types, const ObjectType *const *behaviour)
{
    DeviceTypes *self = g_new0(DeviceTypes, 1);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    JsonSlice json = data_json(DATA_DEVICES);
    JsonWalk walk = json_walk(json_member(json, "types"));
    JsonSlice element;

    self->types = types;
    self->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    self->behaviour = g_hash_table_new(g_str_hash, g_str_equal);
    self->enums = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    self->strings = g_string_chunk_new(4096);
    self->arrays = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

    index_enums(self, json_member(json, "enums"));
    for (guint i = 0; behaviour[i]; i++)
        g_hash_table_insert(self->behaviour, (gpointer)behaviour[i]->name, (gpointer)behaviour[i]);
    while (json_walk_element(&walk, &element)) {
        Entry *entry = g_new0(Entry, 1);
        entry->json = element;
        entry->type.name = keep_string(self, json_member(element, "name"));
        if (!entry->type.name || g_hash_table_contains(self->entries, entry->type.name))
            mistake(entry->type.name ? entry->type.name : "", "a type without a name of its own");
        g_hash_table_insert(self->entries, (gpointer)entry->type.name, entry);
        g_ptr_array_add(names, (gpointer)entry->type.name);
    }
    for (guint i = 0; behaviour[i]; i++)
        load(self, behaviour[i]->name, "");
    for (guint i = 0; i < names->len; i++)
        load(self, names->pdata[i], "");
    return self;
}

void device_types_free(DeviceTypes *self)
{
    if (!self)
        return;
    g_hash_table_unref(self->entries);
    g_hash_table_unref(self->behaviour);
    g_hash_table_unref(self->enums);
    g_string_chunk_free(self->strings);
    g_ptr_array_unref(self->arrays);
    g_free(self);
}

const DeviceInfo *device_info(const DeviceTypes *self, const Class *class)
{
    for (; class; class = class_parent(class)) {
        const Entry *entry = g_hash_table_lookup(self->entries, class_name(class));
        if (entry)
            return &entry->info;
    }
    return NULL;
}
