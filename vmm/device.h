/* SPDX-License-Identifier: MIT */
/*
 * Devices and the buses that they sit on. What a type of device has besides behaviour (properties,
 * and the regions, buses and devices that come with it) is read from vmm/data/devices.json; see
 * device-types.h. The main loop.
 */
#pragma once

#include "vmm/vm.h"

/* What the struct of every device's type begins with. */
typedef struct Device {
    Object base;
    Object *parent_bus;
    bool realized;
    bool hotplugged;
    bool hotpluggable;
    Object *inner; /* the object that its alias properties stand for; or NULL */
} Device;

extern const ObjectType device_type;

/* A new device (or any other object) in its place, with the inner device that it may have; the
 * result is borrowed. It is to be given its values, and then to object_complete(). NULL where the name
 * is taken. */
Object *device_new(Object *parent, const char *name, Class *class, GError **error);
void device_set_bus(Object *device, Object *bus);
/* Looks again whether its bus lets devices come and go. */
void device_set_hotpluggable(Object *device);

/* ObjectType.complete of devices: makes what comes with the type, and takes the device's place on its
 * bus. Types with behaviour of their own call it from theirs. On failure it has no place. */
gboolean device_complete(Object *device, GError **error);

/* The id of a device that stands in /machine/peripheral, or of the nearest one that it is part
 * of; NULL where there is none. */
const char *device_id(const Object *device);
