/* SPDX-License-Identifier: MIT */
/*
 * device_add and device_del. Jobs of the main loop. The model's guest lets go of a device at once: what
 * device_del removes is gone, and DEVICE_DELETED told, when the reply comes.
 */
#include <string.h>

#include "objmodel/error.h"
#include "vmm/bus.h"
#include "vmm/device.h"
#include "vmm/id.h"
#include "vmm/qmp-job.h"
#include "vmm/qmp-values.h"
#include "vmm/vm-private.h"

/* ---- device_add ---- */

typedef struct AddArgs {
    char *driver;
    char *bus;
    char *id;
} AddArgs;

static const QmpArg add_args[] = {
    QMP_ARG(AddArgs, driver, "driver", qmp_str),
    QMP_ARG(AddArgs, bus, "bus", qmp_str, .optional = TRUE),
    QMP_ARG(AddArgs, id, "id", qmp_str, .optional = TRUE),
    {0},
};

static const char *const add_own_args[] = {"driver", "bus", "id", NULL};

/* The class of a new device. */
static Class *device_class(Vm *vm, const char *driver, GError **error)
{
    Class *class = types_find(vm_types(vm), driver);
    const DeviceInfo *info = class != NULL ? device_info(vm_device_types(vm), class) : NULL;

    if (class == NULL || !class_is_a(class, "device")) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "'%s' is not a valid device model name", driver);
        return NULL;
    }
    if (class_type(class)->abstract || info == NULL || !info->pluggable) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC,
                    "argument 'driver' must be a pluggable type of device, not '%s'", driver);
        return NULL;
    }
    return class;
}

/* The bus for it; NULL without an error where it needs none. */
static Object *device_bus(Vm *vm, const AddArgs *args, Class *class, GError **error)
{
    const DeviceInfo *info = device_info(vm_device_types(vm), class);
    Object *bus;

    if (args->bus == NULL) {
        return info->bus != NULL ? bus_find_free(vm, info->bus, class_name(class), error) : NULL;
    }
    bus = bus_find(vm, args->bus, error);
    if (bus != NULL && (info->bus == NULL || !object_is_a(bus, info->bus))) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "device '%s' cannot sit on a bus of type %s", args->driver,
                    class_name(bus->class));
        return NULL;
    }
    if (bus != NULL && !bus_is_hotpluggable(bus)) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "Bus '%s' does not support hotplugging", bus->name);
        return NULL;
    }
    return bus;
}

/* A new device without values, where it belongs; NULL where its name is taken. */
static Object *place_device(Vm *vm, const AddArgs *args, Class *class, GError **error)
{
    if (args->id == NULL) {
        return device_new(vm_peripheral_anon(vm), "device[*]", class, error);
    }
    if (!id_is_valid(args->id)) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "argument 'id' must be an identifier, not '%.64s'", args->id);
        return NULL;
    }
    if (object_child(vm_peripheral(vm), args->id) != NULL) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_EXISTS, "Duplicate device ID '%s'", args->id);
        return NULL;
    }
    return device_new(vm_peripheral(vm), args->id, class, error);
}

static gboolean run_add(Vm *vm, QmpCall *call, const void *data, GError **error)
{
    const AddArgs *args = data;
    g_autoptr(GError) problem = NULL;
    Class *class = device_class(vm, args->driver, error);
    Object *bus = class != NULL ? device_bus(vm, args, class, &problem) : NULL;
    Object *device;

    if (problem != NULL) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return FALSE;
    }
    device = class != NULL ? place_device(vm, args, class, error) : NULL;
    if (device == NULL) {
        return FALSE;
    }
    if (bus != NULL) {
        device_set_bus(device, bus);
    }
    if (!qmp_values_set(device, qmp_call_arguments(call), add_own_args, error) || !object_complete(device, error)) {
        object_unparent(device);
        return FALSE;
    }
    return TRUE;
}

static void device_add(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_add);
}

/* ---- device_del ---- */

typedef struct DelArgs {
    char *id;
} DelArgs;

static const QmpArg del_args[] = {
    QMP_ARG(DelArgs, id, "id", qmp_str),
    {0},
};

/* By its id, or by its path. */
static Object *find_device(Vm *vm, const char *id, GError **error)
{
    Object *device = *id == '/' ? object_resolve(vm_root(vm), id, NULL) : object_child(vm_peripheral(vm), id);

    if (device == NULL) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "Device '%s' not found", id);
    } else if (!object_is_a(device, "device")) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "%s is not a hotpluggable device", id);
        device = NULL;
    }
    return device;
}

static gboolean run_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const DelArgs *args = data;
    Object *device = find_device(vm, args->id, error);

    if (device == NULL) {
        return FALSE;
    }
    if (!((const Device *)device)->hotpluggable || (((const Device *)device)->parent_bus == NULL)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_IN_USE, "Device '%s' does not support hotplugging", args->id);
        return FALSE;
    }
    object_unparent(device);
    return TRUE;
}

static void device_del(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_del);
}

/* ---- the table ---- */

const QmpCommand qmp_device_commands[] = {
    {.name = "device_add",
     .handler = device_add,
     .args = add_args,
     .args_size = sizeof(AddArgs),
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "device_del", .handler = device_del, .args = del_args, .args_size = sizeof(DelArgs)},
    {0},
};
