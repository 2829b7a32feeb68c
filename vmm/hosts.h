/* SPDX-License-Identifier: MIT */
/*
 * What devices use of the host: character devices, and the far ends of network cards. Each is used by one
 * device at most, which names it in its property "chardev" or "netdev". The main loop.
 */
#pragma once

#include "vmm/vm.h"

/* A device takes what it names, as part of getting complete; FALSE where something is not there, or another device's.
 * What was taken until then goes with host_release(). */
gboolean host_claim(Object *device, GError **error);
/* It leaves. */
void host_release(Object *device);

/* As the QMP commands: arguments is a JSON object as QMP has it. */
gboolean chardev_add(Vm *vm, JsonSlice arguments, GError **error);
gboolean chardev_remove(Vm *vm, const char *id, GError **error);
gboolean netdev_add(Vm *vm, JsonSlice arguments, GError **error);
gboolean netdev_del(Vm *vm, const char *id, GError **error);
