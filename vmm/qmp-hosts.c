/* SPDX-License-Identifier: MIT */
/* The QMP commands about what devices use of the host, and the balloon: jobs of the main loop. */
#include "vmm/balloon.h"
#include "vmm/hosts.h"
#include "vmm/qmp-job.h"

/* ---- character devices ---- */

typedef struct ChardevArgs {
    char *id;
    JsonSlice backend;
} ChardevArgs;

static const QmpArg chardev_args[] = {
    QMP_ARG(ChardevArgs, id, "id", qmp_str),
    QMP_ARG(ChardevArgs, backend, "backend", qmp_any),
    {0},
};

static gboolean run_chardev_add(Vm *vm, QmpCall *call, const void *args G_GNUC_UNUSED, GError **error)
{
    return chardev_add(vm, qmp_call_arguments(call), error);
}

static gboolean run_chardev_remove(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const QmpIdArgs *args = data;

    return chardev_remove(vm, args->id, error);
}

static const QmpType chardev_return = {
    .meta = QMP_OBJECT,
    .name = "ChardevReturn",
    .members =
        (const QmpMember[]){
            {"pty", &qmp_str, TRUE},
            {0},
        },
};

/* ---- networks ---- */

typedef struct NetdevArgs {
    char *type;
    char *id;
} NetdevArgs;

static const QmpArg netdev_args[] = {
    QMP_ARG(NetdevArgs, type, "type", qmp_str),
    QMP_ARG(NetdevArgs, id, "id", qmp_str),
    {0},
};

static const QmpType netdev_driver = {
    .meta = QMP_ENUM,
    .name = "NetClientDriver",
    .values = (const char *const[]){"user", "hubport", NULL},
};

static const QmpType netdev_arg_type = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"type", &netdev_driver, FALSE},
            {"id", &qmp_str, FALSE},
            {0},
        },
};

static gboolean run_netdev_add(Vm *vm, QmpCall *call, const void *args G_GNUC_UNUSED, GError **error)
{
    return netdev_add(vm, qmp_call_arguments(call), error);
}

static gboolean run_netdev_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const QmpIdArgs *args = data;

    return netdev_del(vm, args->id, error);
}

/* ---- the balloon ---- */

typedef struct BalloonArgs {
    gint64 value;
} BalloonArgs;

static const QmpArg balloon_args[] = {
    QMP_ARG(BalloonArgs, value, "value", qmp_int),
    {0},
};

static gboolean run_balloon(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const BalloonArgs *args = data;

    if (!balloon_is_there(vm)) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_DEVICE_NOT_ACTIVE, "No balloon device has been activated");
        return FALSE;
    }
    return balloon_set(vm, args->value, error);
}

/* ---- the tables ---- */

const QmpCommand qmp_hosts_commands[] = {
    {.name = "chardev-add",
     QMP_JOB(run_chardev_add),
     .args = chardev_args,
     .args_size = sizeof(ChardevArgs),
     .ret = &chardev_return},
    {.name = "chardev-remove", QMP_JOB(run_chardev_remove), QMP_ID_ARGS},
    {.name = "netdev_add",
     QMP_JOB(run_netdev_add),
     .args = netdev_args,
     .args_size = sizeof(NetdevArgs),
     .arg_type = &netdev_arg_type,
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "netdev_del", QMP_JOB(run_netdev_del), QMP_ID_ARGS},
    {.name = "balloon", QMP_JOB(run_balloon), .args = balloon_args, .args_size = sizeof(BalloonArgs)},
    {0},
};

static const QmpType balloon_data = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"actual", &qmp_int, FALSE},
            {0},
        },
};

const QmpEvent qmp_hosts_events[] = {
    {.name = "BALLOON_CHANGE", .data = &balloon_data, .interval_ms = 1000},
    {0},
};
