/* SPDX-License-Identifier: MIT */
/*
 * What the QMP commands of the qmp-*.c files are answered from; it is the context of all
 * their tables. Reading commands take a reference to the newest snapshot and never touch the VM's
 * main loop; changing ones hand it a job. Constant once the server runs.
 */
#pragma once

#include "objmodel/source.h"
#include "qmp/command.h"
#include "vmm/views.h"
#include "vmm/vm.h"

typedef struct QmpContext {
    Source *source;
    Vm *vm; /* NULL: nothing but snapshots (a dump) */
    /* What `quit` calls, on any thread, when its client has been answered; or NULL. */
    void (*quit)(void *opaque);
    void *quit_opaque;
} QmpContext;

/* The newest snapshot; a new reference. */
static inline Snapshot *qmp_context_snapshot(QmpCall *call)
{
    const QmpContext *context = qmp_call_context(call);

    return snapshots_current(context->source->snapshots);
}

/* The tables; those of queries are in query.h. Those that change something fail where there is no VM. */
extern const QmpCommand qmp_qom_commands[];    /* need the object tree */
extern const QmpCommand qmp_types_commands[];  /* need a VM */
extern const QmpCommand qmp_cpu_commands[];    /* the same */
extern const QmpCommand qmp_change_commands[]; /* change something */
extern const QmpCommand qmp_block_commands[];  /* the same, of block nodes */
extern const QmpCommand qmp_hosts_commands[];  /* the same, of what devices use of the host; and the balloon */
/* A list of ObjectPropertyInfo: what qom-list and the listings of a type's properties return. */
extern const QmpType qmp_property_info_list;
/* What a VM tells of. */
extern const QmpEvent qmp_vm_events[], qmp_block_events[], qmp_hosts_events[];
