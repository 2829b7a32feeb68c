/* SPDX-License-Identifier: MIT */
/*
 * Commands that change something: handed to the VM's main loop, and answered when everybody who
 * watches snapshots (the mount) has seen the change, so that a client that reads a file afterwards finds it
 * changed.
 */
#pragma once

#include "vmm/qmp-context.h"

/* The change itself, on the main loop. On failure nothing has changed. */
typedef gboolean (*QmpJobFunc)(Vm *vm, QmpCall *call, const void *args, GError **error);

/* Called by a handler; replies. Where there is no VM, the command fails. */
void qmp_job(QmpCall *call, const void *args, QmpJobFunc run);
/* The same; `after` is called (on any thread) once the reply to a success is on its way. */
void qmp_job_then(QmpCall *call, const void *args, QmpJobFunc run, void (*after)(const QmpContext *context));
