/* SPDX-License-Identifier: MIT */
/* What the files of the VM's inside share. The main loop. */
#pragma once

#include "vmm/device-types.h"
#include "vmm/qmp-fault.h"
#include "vmm/vm.h"

const DeviceTypes *vm_device_types(const Vm *vm);
/* All buses, in the order made; owned by the VM. */
GPtrArray *vm_buses(Vm *vm);
/* The BlockAttachment of all disks, in the order attached, and all block nodes: see block.h. */
GPtrArray *vm_disks(Vm *vm);
typedef struct BlockNodes {
    GHashTable *by_name;
    GPtrArray *all; /* in the order made */
    guint next_name;
} BlockNodes;
BlockNodes *vm_block_nodes(Vm *vm);
/* Where disks without an iothread do their I/O. */
struct BlockLoop *vm_block_loop(Vm *vm);
/* Atomic: whether disks had their first request since they were looked at; any thread. */
gint *vm_first_accesses(Vm *vm);
/* The far ends of network cards, by id: see netdev.h. */
GHashTable *vm_netdevs(Vm *vm);
/* The links that wait for a part to come: see parts.h. */
typedef struct WaitingLink WaitingLink;
void waiting_link_free(WaitingLink *link);
GPtrArray *vm_waiting_links(Vm *vm);

/* What goes wrong on request; constant, any thread. */
QmpFaults *vm_faults(Vm *vm);

/* Told by the balloon, for vm_balloon(). */
void vm_set_balloon(Vm *vm, guint64 bytes);

/* Told by iothreads, for vm_iothread_thread_id(). */
void vm_iothread_started(Vm *vm, const char *id, int thread_id);
void vm_iothread_stopped(Vm *vm, const char *id);
