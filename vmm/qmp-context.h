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
} QmpContext;

/* The newest snapshot; a new reference. */
static inline Snapshot *qmp_context_snapshot(QmpCall *call)
{
    const QmpContext *context = qmp_call_context(call);

    return snapshots_current(context->source->snapshots);
}

/* The tables. Those that answer from the tree alone, from types, and so on. */
extern const QmpCommand qmp_qom_commands[];    /* qmp-qom.c: needs the object tree */
extern const QmpCommand qmp_cpu_commands[];    /* qmp-query.c: needs the CPU definitions */
extern const QmpCommand qmp_block_commands[];  /* qmp-query.c: needs the block statistics */
extern const QmpCommand qmp_vm_commands[];     /* qmp-query.c: needs what vm/ shows */
extern const QmpCommand qmp_types_commands[];  /* qmp-types.c: needs a VM */
extern const QmpCommand qmp_model_commands[];  /* qmp-model.c: needs a VM */
extern const QmpCommand qmp_change_commands[]; /* qmp-change.c: without a VM they fail */
