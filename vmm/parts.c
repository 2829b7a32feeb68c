/* SPDX-License-Identifier: MIT */
/* Making what vmm/data describes. A mistake in the data ends the program. */
#include "vmm/parts.h"

#include <string.h>

#include "vmm/data.h"
#include "vmm/device.h"
#include "vmm/vm-private.h"

/* ---- references ---- */

/* The object that a reference means; NULL where its part is not there yet. */
static Object *follow(Vm *vm, const char *reference, Object *owner)
{
    g_autofree char *part = NULL;
    const char *rest = strchrnul(reference, '/');
    Object *object;

    if (*reference == '@') {
        part = g_strndup(reference + 1, (gsize)(rest - reference - 1));
        object = vm_part(vm, part);
    } else {
        object = *reference == '.' ? owner : vm_root(vm);
    }
    return object && *rest ? object_resolve(object, rest, NULL) : object;
}

struct WaitingLink {
    Object *object; /* a reference */
    char *property;
    char *target;
    Object *owner; /* a reference, or NULL */
};

void waiting_link_free(WaitingLink *link)
{
    object_unref(link->object);
    object_unref(link->owner);
    g_free(link->property);
    g_free(link->target);
    g_free(link);
}

void parts_set_link(Object *object, const char *property, const char *reference, Object *owner)
{
    Vm *vm = vm_of(object);
    Object *target = *reference ? follow(vm, reference, owner) : NULL;
    WaitingLink *link;

    if (target || !*reference) {
        object_assign_link(object, property, target);
        return;
    }
    if (vm_is_up(vm))
        g_error("vmm/data: there is no '%s' for '%s' of '%s'", reference, property, object->name);
    link = g_new0(WaitingLink, 1);
    link->object = object_ref(object);
    link->property = g_strdup(property);
    link->target = g_strdup(reference);
    link->owner = owner ? object_ref(owner) : NULL;
    g_ptr_array_add(vm_waiting_links(vm), link);
}

void parts_finish(Vm *vm)
{
    GPtrArray *links = vm_waiting_links(vm);

    for (guint i = 0; i < links->len; i++) {
        WaitingLink *link = links->pdata[i];
        Object *target = follow(vm, link->target, link->owner);
        if (!target)
            g_error("vmm/data: there is no '%s' for '%s' of '%s'", link->target, link->property, link->object->name);
        object_assign_link(link->object, link->property, target);
    }
    g_ptr_array_set_size(links, 0);
}

/* ---- values ---- */

/* "{id}.0" -> "scsi0.0"; a device without an id lends its type's name. */
static char *with_id(const Object *owner, const char *text)
{
    const char *place = strstr(text, "{id}");
    const char *id;

    if (!place)
        return g_strdup(text);
    id = device_id(owner);
    return g_strdup_printf("%.*s%s%s", (int)(place - text), text, id ? id : class_name(owner->class),
                           place + strlen("{id}"));
}

static void set_value(Object *object, const char *name, JsonSlice value, Object *owner)
{
    g_autofree char *text = json_string_dup(value, NULL);
    g_autoptr(GString) json = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    if (text && (*text == '@' || *text == '.' || *text == '/')) {
        g_autofree char *reference = owner ? with_id(owner, text) : g_strdup(text);
        parts_set_link(object, name, reference, owner);
        return;
    }
    if (text && *text == '=') {
        if (!object_get(owner, text + 1, json, &error))
            g_error("vmm/data: %s", error->message);
    } else {
        json_append_slice(json, value);
    }
    object_assign(object, name, json->str);
}

void parts_set_values(Object *object, JsonSlice values, Object *owner)
{
    JsonWalk walk = json_walk(values);
    JsonSlice key, value;

    while (values.length && json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        set_value(object, name, value, owner);
    }
}

/* ---- parts of devices ---- */

static gboolean make_part(Object *owner, const PartTemplate *part, GError **error)
{
    Vm *vm = vm_of(owner);
    g_autofree char *name = with_id(owner, part->name);
    Class *class = vm_class(vm, part->type);
    Object *object = object_child(owner, name); /* an inner device is there already */

    if (!object)
        object = device_new(owner, name, class, error);
    if (!object)
        return FALSE;
    parts_set_values(object, part->values, owner);
    return object_complete(object, error);
}

gboolean parts_make(Object *owner, const DeviceInfo *info, GError **error)
{
    for (guint i = 0; i < info->n_parts; i++) {
        for (guint n = 0; n < info->parts[i].count; n++) {
            if (!make_part(owner, &info->parts[i], error))
                return FALSE;
        }
    }
    return TRUE;
}

/* ---- boards ---- */

/* [NAME, TYPE, REFERENCE, COUNT]: links that only this object has. "[*]" counts from 0 in the reference, and on
 * in the name. */
static void add_own_links(Object *object, JsonSlice list)
{
    JsonWalk walk = json_walk(list);
    JsonSlice entry;

    while (list.length && json_walk_element(&walk, &entry)) {
        JsonWalk values = json_walk(entry);
        JsonSlice at[4] = {0};
        guint64 count = 1;
        g_autofree char *name = NULL, *type = NULL, *reference = NULL;

        for (guint i = 0; i < G_N_ELEMENTS(at) && json_walk_element(&values, &at[i]); i++)
            ;
        name = json_string_dup(at[0], NULL);
        type = json_string_dup(at[1], NULL);
        reference = json_string_dup(at[2], NULL);
        if (at[3].length)
            json_to_uint64(at[3], &count);
        for (guint64 i = 0; i < count; i++) {
            g_autofree char *number = g_strdup_printf("[%" G_GUINT64_FORMAT "]", i);
            g_auto(GStrv) pieces = g_strsplit(reference, "[*]", 2);
            g_autofree char *target = g_strjoinv(number, pieces);
            g_autofree char *link = object_free_name(object, name);

            object_add_link(object, link, type, NULL);
            if (*target)
                parts_set_link(object, link, target, NULL);
        }
    }
}

/* The parent of a path, and the last component. */
static Object *place_of(Vm *vm, const char *at, const char **ret_name)
{
    const char *slash = strrchr(at, '/');
    g_autofree char *parent = g_strndup(at, (gsize)(slash - at));
    Object *object = follow(vm, *parent ? parent : "/", NULL);

    if (!object)
        g_error("vmm/data/%s: there is no '%s'", data_name(DATA_MACHINES), parent);
    *ret_name = slash + 1;
    return object;
}

/* The object that an entry makes, or changes. */
static Object *board_object(Vm *vm, JsonSlice entry)
{
    g_autofree char *is = json_string_dup(json_member(entry, "is"), NULL);
    g_autofree char *at = NULL, *type = NULL;
    g_autoptr(GError) error = NULL;
    const char *name;
    Object *object;

    if (is) {
        object = follow(vm, is, NULL);
        if (!object)
            g_error("vmm/data/%s: there is no '%s'", data_name(DATA_MACHINES), is);
        return object;
    }
    at = json_string_dup(json_member(entry, "at"), NULL);
    type = json_string_dup(json_member(entry, "type"), NULL);
    object = place_of(vm, at, &name);
    object = device_new(object, name, vm_class(vm, type), &error);
    if (!object)
        g_error("vmm/data/%s: %s", data_name(DATA_MACHINES), error->message);
    return object;
}

static void board_entry(Vm *vm, JsonSlice entry)
{
    Object *object = board_object(vm, entry);
    g_autofree char *id = json_string_dup(json_member(entry, "id"), NULL);
    g_autofree char *bus = json_string_dup(json_member(entry, "bus"), NULL);
    g_autoptr(GError) error = NULL;

    if (id)
        vm_add_part(vm, id, object);
    if (bus)
        device_set_bus(object, follow(vm, bus, NULL));
    parts_set_values(object, json_member(entry, "set"), NULL);
    parts_set_values(object, json_member(entry, "link"), NULL);
    add_own_links(object, json_member(entry, "own"));
    if (!json_member(entry, "is").length && !object_complete(object, &error))
        g_error("vmm/data/%s: %s", data_name(DATA_MACHINES), error->message);
}

void board_make(Vm *vm, const char *machine_type, const BoardStep *steps)
{
    JsonSlice board = json_member(data_json(DATA_MACHINES), machine_type);
    JsonWalk walk = json_walk(board);
    JsonSlice entry;

    g_assert(board.length);
    while (json_walk_element(&walk, &entry)) {
        g_autofree char *step = json_string_dup(json_member(entry, "step"), NULL);
        guint64 count = 1;

        if (step) {
            const BoardStep *at = steps;
            while (at->name && strcmp(at->name, step) != 0)
                at++;
            g_assert(at->name);
            at->run(vm);
            continue;
        }
        if (json_member(entry, "count").length)
            json_to_uint64(json_member(entry, "count"), &count);
        while (count-- > 0)
            board_entry(vm, entry);
    }
    parts_finish(vm);
}
