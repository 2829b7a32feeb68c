/* SPDX-License-Identifier: MIT */
/*
 * The QMP commands that change the VM: jobs of its main loop, whose work is in devices.c. The
 * model's guest lets go of a device at once: what device_del removes is gone, and DEVICE_DELETED told, when the
 * reply comes. And the events that a VM tells.
 */
#include "vmm/devices.h"
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

    return qom_set(vm, args->path, args->property, args->value, error);
}

static void handle_set(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_set);
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

static void handle_object_add(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_object_add);
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

static void handle_device_add(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_device_add);
}

/* ---- object-del, device_del ---- */

typedef struct IdArgs {
    char *id;
} IdArgs;

static const QmpArg id_args[] = {
    QMP_ARG(IdArgs, id, "id", qmp_str),
    {0},
};

static gboolean run_object_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const IdArgs *args = data;

    return object_del(vm, args->id, error);
}

static void handle_object_del(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_object_del);
}

static gboolean run_device_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const IdArgs *args = data;

    return device_del(vm, args->id, error);
}

static void handle_device_del(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_device_del);
}

/* ---- stop, cont, system_reset ---- */

static gboolean run_stop(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    vm_stop(vm);
    return TRUE;
}

static void handle_stop(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_stop);
}

static gboolean run_cont(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                         GError **error G_GNUC_UNUSED)
{
    vm_cont(vm);
    return TRUE;
}

static void handle_cont(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_cont);
}

static gboolean run_reset(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *args G_GNUC_UNUSED,
                          GError **error G_GNUC_UNUSED)
{
    vm_reset(vm);
    return TRUE;
}

static void handle_reset(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_reset);
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

static void handle_quit(QmpCall *call, const void *args)
{
    qmp_job_then(call, args, run_quit, after_quit);
}

/* ---- the tables ---- */

const QmpCommand qmp_change_commands[] = {
    {.name = "qom-set", .handler = handle_set, .args = set_args, .args_size = sizeof(SetArgs)},
    {.name = "object-add",
     .handler = handle_object_add,
     .args = object_args,
     .args_size = sizeof(ObjectArgs),
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "object-del", .handler = handle_object_del, .args = id_args, .args_size = sizeof(IdArgs)},
    {.name = "device_add",
     .handler = handle_device_add,
     .args = device_args,
     .args_size = sizeof(DeviceArgs),
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "device_del", .handler = handle_device_del, .args = id_args, .args_size = sizeof(IdArgs)},
    {.name = "stop", .handler = handle_stop},
    {.name = "cont", .handler = handle_cont},
    {.name = "system_reset", .handler = handle_reset},
    {.name = "quit", .handler = handle_quit},
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

static const QmpType unplug_refused_data = {
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
    {.name = "DEVICE_UNPLUG_GUEST_ERROR", .data = &unplug_refused_data},
    {0},
};
