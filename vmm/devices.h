/* SPDX-License-Identifier: MIT */
/*
 * Devices and objects that come and go: those of the configuration, and what clients add and remove.
 * Errors are worded as QEMU 11.1 words them; a failure leaves nothing behind. The main loop.
 */
#pragma once

#include "vmm/vm.h"

/* What the configuration lists: iothreads, disks, network cards, root ports. */
gboolean devices_make(Vm *vm, GError **error);

/*
 * arguments: a JSON object, as QMP has it: "driver", "id", "bus" and properties; "qom-type", "id" and
 * properties. Strings stand for numbers and booleans, too, as QEMU takes them.
 */
gboolean device_add(Vm *vm, JsonSlice arguments, GError **error);
/* id: of a device, or its path. Tells DEVICE_DELETED for it and the devices inside it. */
gboolean device_del(Vm *vm, const char *id, GError **error);
gboolean object_add(Vm *vm, JsonSlice arguments, GError **error);
gboolean object_del(Vm *vm, const char *id, GError **error);

/* Sets a property of the object that a path (absolute or partial) leads to. */
gboolean qom_set(Vm *vm, const char *path, const char *property, JsonSlice value, GError **error);

/* As the QMP commands stop, cont and system_reset. */
void vm_stop(Vm *vm);
void vm_cont(Vm *vm);
void vm_reset(Vm *vm);
/* A disk failed, and is to be tried again when the VM goes on. */
void vm_stop_for_error(Vm *vm);
