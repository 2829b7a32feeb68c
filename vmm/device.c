/* SPDX-License-Identifier: MIT */
/* Devices: coming, taking their place, and leaving. */
#include "vmm/device.h"

#include <string.h>

#include "vmm/bus.h"
#include "vmm/hosts.h"
#include "vmm/parts.h"
#include "vmm/vm-private.h"

static const Property device_props[] = {
    PROP_LINK(Device, parent_bus, "parent_bus", "bus", .help = "what it sits on"),
    PROP_FIELD(Device, realized, "realized", .help = "whether it is complete and works"),
    PROP_FIELD(Device, hotplugged, "hotplugged", .help = "whether it came while the VM was up"),
    PROP_FIELD(Device, hotpluggable, "hotpluggable", .help = "whether it can come and go while the VM is up"),
    {0},
};

static void device_too_late(const Object *object, const Property *prop, GError **error)
{
    const char *type = class_name(object->class);
    const char *id = object->parent == vm_peripheral(vm_of(object)) ? object->name : NULL;

    if (id)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY,
                    "Attempt to set property '%s' on device '%s' (type '%s') after it was realized", prop->name, id,
                    type);
    else
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY,
                    "Attempt to set property '%s' on anonymous device (type '%s') after it was realized", prop->name,
                    type);
}

static void tell_deleted(Vm *vm, const Object *object)
{
    g_autoptr(GString) data = g_string_new("{");

    if (object->parent == vm_peripheral(vm)) {
        g_string_append(data, "\"device\":");
        json_append_string(data, object->name, -1);
        g_string_append_c(data, ',');
    }
    g_string_append(data, "\"path\":");
    object_append_path(object, data);
    g_string_append_c(data, '}');
    vm_event(vm, "DEVICE_DELETED", data->str);
}

static void device_unparent(Object *object)
{
    Device *device = (Device *)object;
    Vm *vm = vm_of(object);

    if (device->parent_bus)
        bus_detach(device->parent_bus, object);
    host_release(object);
    if (device->realized && vm_is_up(vm) && !vm_is_ending(vm))
        tell_deleted(vm, object);
    device->realized = false;
}

const ObjectType device_type = {
    .name = "device",
    .help = "what a machine is made of",
    .instance_size = sizeof(Device),
    .abstract = TRUE,
    .props = device_props,
    .complete = device_complete,
    .too_late = device_too_late,
    .unparent = device_unparent,
};

/* The template of the part that alias properties stand for; or NULL. */
static const PartTemplate *inner_template(const DeviceInfo *info)
{
    for (guint i = 0; info && info->inner && i < info->n_parts; i++) {
        if (strcmp(info->parts[i].name, info->inner) == 0)
            return &info->parts[i];
    }
    return NULL;
}

Object *device_new(Object *parent, const char *name, Class *class, GError **error)
{
    Vm *vm = vm_of(parent);
    g_autoptr(Object) object = object_new(class);
    const PartTemplate *inner = inner_template(device_info(vm_device_types(vm), class));

    if (!object_add_child(parent, name, object, error))
        return NULL;
    if (inner) {
        Object *part = device_new(object, inner->name, vm_class(vm, inner->type), error);
        if (!part) {
            object_unparent(object);
            return NULL;
        }
        object_set_alias_target(object, &((Device *)object)->inner, part);
    }
    return object; /* the parent's reference keeps it */
}

void device_set_bus(Object *object, Object *bus)
{
    object_set_link(object, &((Device *)object)->parent_bus, bus);
}

void device_set_hotpluggable(Object *object)
{
    Device *device = (Device *)object;

    device->hotpluggable = !device->parent_bus || bus_is_hotpluggable(device->parent_bus);
    object_changed(object);
}

gboolean device_complete(Object *object, GError **error)
{
    Device *device = (Device *)object;
    Vm *vm = vm_of(object);
    const DeviceInfo *info = device_info(vm_device_types(vm), object->class);

    if (!host_claim(object, error))
        return FALSE;
    if (device->parent_bus && !bus_attach(device->parent_bus, object, error))
        return FALSE;
    if (info && !parts_make(object, info, error))
        return FALSE;
    device->realized = true;
    device->hotplugged = vm_is_up(vm);
    device_set_hotpluggable(object);
    return TRUE;
}

const char *device_id(const Object *object)
{
    for (; object->parent; object = object->parent) {
        if (object->parent == vm_peripheral(vm_of(object)))
            return object->name;
    }
    return NULL;
}
