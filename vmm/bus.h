/* SPDX-License-Identifier: MIT */
/* Buses: what devices sit on. The main loop. */
#pragma once

#include "vmm/vm.h"

extern const ObjectType bus_type;

/* Gives a device its place; on a PCI bus also its address, where it has none yet. */
gboolean bus_attach(Object *bus, Object *device, GError **error);
void bus_detach(Object *bus, Object *device);

/* Whether devices come and go on it while the VM is up. */
gboolean bus_is_hotpluggable(const Object *bus);

/* The bus that a client means by its name or path; NULL with QEMU's error. */
Object *bus_find(Vm *vm, const char *name, GError **error);
/* A bus of that type that has a place for a new device now; NULL with QEMU's error. */
Object *bus_find_free(Vm *vm, const char *bus_type_name, const char *device_type_name, GError **error);
/* The board is complete: numbers the PCI buses that take devices, as the firmware wants it. */
void bus_number_all(Vm *vm);
/* What sits on it. Borrowed. */
const GPtrArray *bus_devices(const Object *bus);
