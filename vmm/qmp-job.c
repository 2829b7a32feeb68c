/* SPDX-License-Identifier: MIT */
/*
 * See qmp-job.h. A job is made on the monitor thread, runs on the main loop, and is freed by whoever
 * is last to see the change, on its thread; it belongs to one of them at a time.
 */
#include "vmm/qmp-job.h"

#include "objmodel/error.h"

typedef struct Job {
    QmpCall *call;
    const void *args;
    QmpJobFunc run;
    void (*after)(const QmpContext *context); /* or NULL */
    const QmpContext *context;
    GError *error;
} Job;

static void job_reply(void *data)
{
    Job *job = data;

    if (job->error != NULL) {
        qmp_call_fail(job->call, job->error);
        g_error_free(job->error);
    } else {
        qmp_call_return(job->call);
        if (job->after != NULL) {
            job->after(job->context);
        }
    }
    g_free(job);
}

static void job_run(Vm *vm, gpointer data)
{
    Job *job = data;

    job->run(vm, job->call, job->args, &job->error);
}

/* What it changed is published. */
static void job_done(Vm *vm, gpointer data)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(vm_snapshots(vm));

    snapshots_when_settled(vm_snapshots(vm), snapshot->generation, job_reply, data);
}

void qmp_job(QmpCall *call, const void *args, QmpJobFunc run)
{
    qmp_job_then(call, args, run, NULL);
}

void qmp_job_then(QmpCall *call, const void *args, QmpJobFunc run, void (*after)(const QmpContext *context))
{
    const QmpContext *context = qmp_call_context(call);
    Job *job;

    if (context->vm == NULL) {
        qmp_call_fail_new(call, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY,
                          "this is a saved tree, which cannot be changed");
        return;
    }
    job = g_new0(Job, 1);
    job->call = call;
    job->args = args;
    job->run = run;
    job->after = after;
    job->context = context;
    vm_call(context->vm, job_run, job_done, job);
}
