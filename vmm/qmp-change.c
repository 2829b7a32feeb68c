/* SPDX-License-Identifier: MIT */
/*
 * The QMP commands that change properties, or the state of the whole VM: jobs of the main loop.
 * Devices and objects come and go in qmp-device.c and qmp-object.c.
 */
#include <string.h>

#include "objmodel/error.h"
#include "vmm/qmp-job.h"

/* ---- qom-set ---- */

typedef struct SetArgs {
    char *path;
    char *property;
    JsonSlice value;
} SetArgs;

static const QmpArg set_args[] = {
    QMP_ARG(SetArgs, path, "path", qmp_str),
    QMP_ARG(SetArgs, property, "property", qmp_str),
    QMP_ARG(SetArgs, value, "value", qmp_any),
    {0},
};

static gboolean run_set(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const SetArgs *args = data;
    Object *object = object_resolve(vm_root(vm), args->path, error);

    return object != NULL && object_set(object, args->property, args->value, error);
}

static void qom_set(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_set);
}

/* ---- stop, cont ---- */

static gboolean is_running(Vm *vm)
{
    return strcmp(vm_status(vm), "running") == 0;
}

static gboolean run_stop(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    if (is_running(vm)) {
        vm_set_status(vm, "paused");
        vm_event(vm, "STOP", NULL);
    }
    return TRUE;
}

static void stop(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_stop);
}

static gboolean run_cont(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    if (!is_running(vm)) {
        vm_set_status(vm, "running");
        vm_event(vm, "RESUME", NULL);
    }
    return TRUE;
}

static void cont(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_cont);
}

/* ---- system_reset, quit ---- */

static gboolean run_reset(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                          GError **error G_GNUC_UNUSED)
{
    vm_event(vm, "RESET", "{\"guest\":false,\"reason\":\"host-qmp-system-reset\"}");
    return TRUE;
}

static void system_reset(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_reset);
}

static gboolean run_quit(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    vm_event(vm, "SHUTDOWN", "{\"guest\":false,\"reason\":\"host-qmp-quit\"}");
    return TRUE;
}

static void after_quit(const QmpContext *context)
{
    if (context->quit != NULL) {
        context->quit(context->quit_opaque);
    }
}

static void quit(QmpCall *call, const void *args)
{
    qmp_job_then(call, args, run_quit, after_quit);
}

/* ---- the tables ---- */

const QmpCommand qmp_change_commands[] = {
    {.name = "qom-set", .handler = qom_set, .args = set_args, .args_size = sizeof(SetArgs)},
    {.name = "stop", .handler = stop},
    {.name = "cont", .handler = cont},
    {.name = "system_reset", .handler = system_reset},
    {.name = "quit", .handler = quit},
    {0},
};

static const QmpType shutdown_cause = {
    .meta = QMP_ENUM,
    .name = "ShutdownCause",
    .values =
        (const char *const[]){"none", "host-error", "host-qmp-quit", "host-qmp-system-reset", "host-signal", "host-ui",
                              "guest-shutdown", "guest-reset", "guest-panic", "subsystem-reset", "snapshot-load", NULL},
};

/* Of SHUTDOWN and RESET. */
static const QmpType cause_data = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"guest", &qmp_bool, FALSE},
            {"reason", &shutdown_cause, FALSE},
            {0},
        },
};

static const QmpType device_deleted_data = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"device", &qmp_str, TRUE},
            {"path", &qmp_str, FALSE},
            {0},
        },
};

const QmpEvent qmp_vm_events[] = {
    {.name = "STOP"},
    {.name = "RESUME"},
    {.name = "RESET", .data = &cause_data},
    {.name = "SHUTDOWN", .data = &cause_data},
    {.name = "DEVICE_DELETED", .data = &device_deleted_data},
    {0},
};
