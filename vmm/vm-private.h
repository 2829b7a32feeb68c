/* SPDX-License-Identifier: MIT */
/* What the files of the VM's inside share. The main loop. */
#pragma once

#include "vmm/device-types.h"
#include "vmm/qmp-fault.h"
#include "vmm/vm.h"

const DeviceTypes *vm_device_types(const Vm *vm);
/* All buses, in the order made; owned by the VM. */
GPtrArray *vm_buses(Vm *vm);
/* The root nodes of all disks, in the order attached, and all block nodes by name: see block.h. */
GPtrArray *vm_disks(Vm *vm);
GHashTable *vm_block_nodes(Vm *vm);
/* The links that wait for a part to come: see parts.h. */
typedef struct WaitingLink WaitingLink;
void waiting_link_free(WaitingLink *link);
GPtrArray *vm_waiting_links(Vm *vm);

/* What goes wrong on request; constant, any thread. */
QmpFaults *vm_faults(Vm *vm);

/* Told by iothreads, for vm_iothread_thread_id(). */
void vm_iothread_started(Vm *vm, const char *id, int thread_id);
void vm_iothread_stopped(Vm *vm, const char *id);
