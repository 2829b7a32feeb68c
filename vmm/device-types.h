/* SPDX-License-Identifier: MIT */
/*
 * Types of devices, from vmm/data/devices.json. A type that has behaviour is also a constant in C: its
 * rows take the place of those of the same name in the file, its functions are used. All others
 * need no C. Built when the VM starts, constant from then on.
 */
#pragma once

#include "objmodel/type.h"

/* A part that comes with each device of a type. Its strings live as long as the DeviceTypes. */
typedef struct PartTemplate {
    const char *name; /* "{id}" stands for the device's id; "[*]" for the next number */
    const char *type;
    guint count;      /* so many of them */
    JsonSlice values; /* an object, property -> value (see parts.h); absent where there are none */
} PartTemplate;

/* What the file says of a type, or of the nearest parent that says it. */
typedef struct DeviceInfo {
    gboolean pluggable; /* device_add makes them */
    const char *bus;    /* the type of the bus that it needs; or NULL */
    const char *inner;  /* the part that alias properties stand for; or NULL */
    const PartTemplate *parts;
    guint n_parts;
} DeviceInfo;

typedef struct DeviceTypes DeviceTypes;

/* Adds all types of the file to `types`; must outlive them. behaviour: constants in C, ended by
 * NULL; those that the file does not name are added as they are. */
DeviceTypes *device_types_new(Types *types, const ObjectType *const *behaviour);
void device_types_free(DeviceTypes *device_types);

/* NULL where the file does not know the class. */
const DeviceInfo *device_info(const DeviceTypes *device_types, const Class *class);
