/* SPDX-License-Identifier: MIT */
/*
 * The built-in VM: a main loop in a thread of its own, which owns all live objects, and what it
 * publishes. Everybody else reads snapshots, and hands jobs to the main loop.
 */
#pragma once

#include "objmodel/object.h"
#include "objmodel/snapshot.h"
#include "vmm/config.h"

typedef struct Vm Vm;

/* What the modelled QEMU says of itself. */
#define VM_VERSION_MAJOR 11
#define VM_VERSION_MINOR 1
#define VM_VERSION_MICRO 0
#define VM_VERSION "11.1.0"

/* ---- any thread ---- */

/* Makes the VM and starts its main loop; the first snapshot is there when it returns. NULL with
 * an error where it cannot be as the configuration wants it. */
Vm *vm_new(const VmConfig *config, GError **error);
/* Ends the main loop once all jobs handed over before are done, and frees everything. */
void vm_free(Vm *vm);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Vm, vm_free)

Snapshots *vm_snapshots(Vm *vm);
const VmConfig *vm_config(const Vm *vm);
/* All types that the VM knows, for qom-list-types and the like; constant. */
const Types *vm_types(const Vm *vm);
/* The thread of the main loop, as gettid() has it. */
int vm_thread_id(const Vm *vm);

/* What query-commands returns, for query/: told by whoever makes the socket, before anything can be read. NULL: nobody
 * did. The reference is the caller's. */
void vm_set_command_names(Vm *vm, GBytes *json);
GBytes *vm_command_names(Vm *vm);

/* The thread of an iothread, as gettid() has it; 0: there is no such iothread. */
int vm_iothread_thread_id(Vm *vm, const char *id);

/* What the balloon leaves to the guest, in bytes. */
guint64 vm_balloon(Vm *vm);

/*
 * Hands a job to the main loop: run is called there, what it changed is published, and then done
 * (or NULL) is called, also there. Jobs are done in the order given. Never waits.
 */
typedef void (*VmJob)(Vm *vm, gpointer data);
void vm_call(Vm *vm, VmJob run, VmJob done, gpointer data);

/* ---- the main loop only ---- */

/* The root of the object tree, and its usual containers. */
Object *vm_root(Vm *vm);
Object *vm_machine(Vm *vm);
Object *vm_peripheral(Vm *vm);      /* devices with an id */
Object *vm_peripheral_anon(Vm *vm); /* devices that a client added without one */
Object *vm_unattached(Vm *vm);      /* what has no other place */
Object *vm_objects(Vm *vm);         /* what object-add makes */
Object *vm_chardevs(Vm *vm);

/* The VM that an object belongs to. */
Vm *vm_of(const Object *object);
Class *vm_class(Vm *vm, const char *type_name);

/* Whether the machine is complete, so that what comes now is plugged into a VM that is up. */
gboolean vm_is_up(const Vm *vm);
/* Whether all is coming down, so that nobody is to be told. */
gboolean vm_is_ending(const Vm *vm);

/* "running", "paused", "prelaunch", ...: as query-status. */
const char *vm_status(const Vm *vm);
void vm_set_status(Vm *vm, const char *status);
gboolean vm_is_running(const Vm *vm);

/* The list of disks or block nodes changed: what shows them is to be made anew. */
void vm_disks_changed(Vm *vm);

/* An event, as QMP has it. data: a JSON object, or NULL. Told after the publication that follows, so
 * that whoever hears it sees what it tells of. */
void vm_event(Vm *vm, const char *name, const char *data);
/* Who hears them: called on the main loop, at the time given in microseconds since the epoch. One
 * listener; NULL: none. Set before anything happens, or by a job. */
typedef void (*VmEventFunc)(const char *name, const char *data, gint64 time_us, gpointer opaque);
void vm_set_event_listener(Vm *vm, VmEventFunc func, gpointer opaque);

/* The parts of the board that have a name of their own in vmm/data; NULL where there is none. */
Object *vm_part(Vm *vm, const char *name);
void vm_add_part(Vm *vm, const char *name, Object *part);
/* Where that object has the name. */
void vm_remove_part(Vm *vm, const char *name, const Object *part);
