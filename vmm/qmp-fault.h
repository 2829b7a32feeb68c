/* SPDX-License-Identifier: MIT */
/*
 * Faults on request: objects of the type `qmp-fault` say how the model's QMP socket misbehaves, as a real QEMU does on
 * a bad day (docs/faults.md). The objects are the main loop's; what they say is shared with the threads that ask.
 */
#pragma once

#include "objmodel/type.h"
#include "qmp/fault.h"

extern const ObjectType qmp_fault_type;

/* The faults of one VM. */
typedef struct QmpFaults QmpFaults;
QmpFaults *qmp_faults_new(void);
/* After all objects are gone. */
void qmp_faults_free(QmpFaults *faults);

/* What is to happen to a command, to an event: see QmpFaultHooks, whose opaque is the faults. */
void qmp_faults_command(const char *name, QmpFault *ret, void *opaque);
void qmp_faults_event(const char *name, QmpFault *ret, void *opaque);
/* Whether the guest keeps a device that device_del asks it to let go. */
gboolean qmp_faults_refuse_unplug(QmpFaults *faults);
