/* SPDX-License-Identifier: MIT */
/*
 * The QMP commands that change the VM: jobs of its main loop, whose work is in devices.c. The
 * model's guest lets go of a device at once: what device_del removes is gone, and DEVICE_DELETED told, when the
 * reply comes. And the events that a VM tells.
 */
#include "vmm/devices.h"
#include "vmm/qmp-job.h"

/* ---- qom-set ---- */

static gboolean run_set(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const QmpSetArgs *args = data;

    return qom_set(vm, args->path, args->property, args->value, error);
}

/* ---- object-add, device_add ---- */

typedef struct ObjectArgs {
    char *qom_type;
    char *id;
} ObjectArgs;

static const QmpArg object_args[] = {
    QMP_ARG(ObjectArgs, qom_type, "qom-type", qmp_str),
    QMP_ARG(ObjectArgs, id, "id", qmp_str),
    {0},
};

static gboolean run_object_add(Vm *vm, QmpCall *call, const void *args G_GNUC_UNUSED, GError **error)
{
    return object_add(vm, qmp_call_arguments(call), error);
}

typedef struct DeviceArgs {
    char *driver;
    char *bus;
    char *id;
} DeviceArgs;

static const QmpArg device_args[] = {
    QMP_ARG(DeviceArgs, driver, "driver", qmp_str),
    QMP_ARG(DeviceArgs, bus, "bus", qmp_str, .optional = TRUE),
    QMP_ARG(DeviceArgs, id, "id", qmp_str, .optional = TRUE),
    {0},
};

static gboolean run_device_add(Vm *vm, QmpCall *call, const void *args G_GNUC_UNUSED, GError **error)
{
    return device_add(vm, qmp_call_arguments(call), error);
}

/* ---- object-del, device_del ---- */

static gboolean run_object_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const QmpIdArgs *args = data;

    return object_del(vm, args->id, error);
}

static gboolean run_device_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const QmpIdArgs *args = data;

    return device_del(vm, args->id, error);
}

/* ---- stop, cont, system_reset ---- */

static gboolean run_stop(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    vm_stop(vm);
    return TRUE;
}

static gboolean run_cont(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    vm_cont(vm);
    return TRUE;
}

static gboolean run_reset(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                          GError **error G_GNUC_UNUSED)
{
    vm_reset(vm);
    return TRUE;
}

/* ---- quit ---- */

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

/* ---- the tables ---- */

const QmpCommand qmp_change_commands[] = {
    {.name = "qom-set", QMP_JOB(run_set), QMP_SET_ARGS},
    {.name = "object-add",
     QMP_JOB(run_object_add),
     .args = object_args,
     .args_size = sizeof(ObjectArgs),
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "object-del", QMP_JOB(run_object_del), QMP_ID_ARGS},
    {.name = "device_add",
     QMP_JOB(run_device_add),
     .args = device_args,
     .args_size = sizeof(DeviceArgs),
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "device_del", QMP_JOB(run_device_del), QMP_ID_ARGS},
    {.name = "stop", QMP_JOB(run_stop)},
    {.name = "cont", QMP_JOB(run_cont)},
    {.name = "system_reset", QMP_JOB(run_reset)},
    {.name = "quit", QMP_JOB(run_quit, .after = after_quit)},
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

/* Of DEVICE_DELETED and DEVICE_UNPLUG_GUEST_ERROR. */
static const QmpType device_data = {
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
    {.name = "DEVICE_DELETED", .data = &device_data},
    {.name = "DEVICE_UNPLUG_GUEST_ERROR", .data = &device_data},
    {0},
};
