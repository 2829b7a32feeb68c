/* SPDX-License-Identifier: MIT */
/*
 * See qmp-job.h. A job is made on the monitor thread, runs on the main loop, and is freed by whoever
 * is last to see the change, on its thread; it belongs to one of them at a time.
 */
#include "vmm/qmp-job.h"

#include "objmodel/error.h"

/* One that is under way. */
typedef struct Running {
    QmpCall *call;
    const void *args;
    const QmpJob *job;
    const QmpContext *context;
    GError *error;
} Running;

static void job_reply(void *data)
{
    Running *running = data;

    if (running->error != NULL) {
        qmp_call_fail(running->call, running->error);
        g_error_free(running->error);
    } else {
        qmp_call_return(running->call);
        if (running->job->after != NULL) {
            running->job->after(running->context);
        }
    }
    g_free(running);
}

static void job_run(Vm *vm, gpointer data)
{
    Running *running = data;

    running->job->run(vm, running->call, running->args, &running->error);
}

/* What it changed is published. */
static void job_done(Vm *vm, gpointer data)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(vm_snapshots(vm));

    snapshots_when_settled(vm_snapshots(vm), snapshot->generation, job_reply, data);
}

void qmp_job(QmpCall *call, const void *args)
{
    const QmpContext *context = qmp_call_context(call);
    Running *running;

    if (context->vm == NULL) {
        qmp_call_fail_new(call, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY,
                          "this is a saved tree, which cannot be changed");
        return;
    }
    running = g_new0(Running, 1);
    running->call = call;
    running->args = args;
    running->job = qmp_call_data(call);
    running->context = context;
    vm_call(context->vm, job_run, job_done, running);
}

const QmpArg qmp_id_args[] = {
    QMP_ARG(QmpIdArgs, id, "id", qmp_str),
    {0},
};

const QmpArg qmp_set_args[] = {
    QMP_ARG(QmpSetArgs, path, "path", qmp_str),
    QMP_ARG(QmpSetArgs, property, "property", qmp_str),
    QMP_ARG(QmpSetArgs, value, "value", qmp_any),
    {0},
};
