/* SPDX-License-Identifier: MIT */
/*
 * Commands that change something: handed to the VM's main loop, and answered when everybody who
 * watches snapshots (the mount) has seen the change, so that a client that reads a file afterwards finds it
 * changed.
 */
#pragma once

#include "vmm/qmp-context.h"

typedef struct QmpJob {
    /* The change itself, on the main loop. On failure nothing has changed. */
    gboolean (*run)(Vm *vm, QmpCall *call, const void *args, GError **error);
    /* Called (on any thread) once the reply to a success is on its way; or NULL. */
    void (*after)(const QmpContext *context);
} QmpJob;

/* The handler of all such commands; where there is no VM, they fail. */
void qmp_job(QmpCall *call, const void *args);
/* What makes a row of a table of commands one of these. */
#define QMP_JOB(function, ...)                                                                                         \
    .handler = qmp_job, .data = &(const QmpJob)                                                                        \
    {                                                                                                                  \
        .run = (function), __VA_ARGS__                                                                                 \
    }

/* What removes something takes just this. */
typedef struct QmpIdArgs {
    char *id;
} QmpIdArgs;
extern const QmpArg qmp_id_args[];
#define QMP_ID_ARGS .args = qmp_id_args, .args_size = sizeof(QmpIdArgs)

/* And qom-set, of whatever source. */
typedef struct QmpSetArgs {
    char *path;
    char *property;
    JsonSlice value;
} QmpSetArgs;
extern const QmpArg qmp_set_args[];
#define QMP_SET_ARGS .args = qmp_set_args, .args_size = sizeof(QmpSetArgs)
