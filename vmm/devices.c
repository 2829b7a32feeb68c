/* SPDX-License-Identifier: MIT */
/* Devices and objects that come and go. */
#include "vmm/devices.h"

#include <string.h>

#include "vmm/balloon.h"
#include "vmm/block.h"
#include "vmm/bus.h"
#include "vmm/device.h"
#include "vmm/hosts.h"
#include "vmm/id.h"
#include "vmm/iothread.h"
#include "vmm/machine.h"
#include "vmm/vm-private.h"

/* ---- arguments ---- */

/* A member that must be a string; NULL where it is absent. */
static gboolean string_argument(JsonSlice arguments, const char *name, char **ret, GError **error)
{
    JsonSlice value = json_member(arguments, name);

    *ret = value.length ? json_string_dup(value, NULL) : NULL;
    if (!value.length || *ret)
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Invalid parameter type for '%s', expected: string",
                name);
    return FALSE;
}

static gboolean missing(const char *name, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter '%s' is missing", name);
    return FALSE;
}

/* A PCI address as people write it, "SLOT" or "SLOT.FUNCTION" in hexadecimal. */
static gboolean set_address(Object *device, JsonSlice value, GError **error)
{
    g_autofree char *text = json_string_dup(value, NULL);
    g_autofree char *json = NULL;
    guint64 slot, function = 0;
    char *end;

    if (!text)
        return object_set(device, "addr", value, error);
    slot = g_ascii_strtoull(text, &end, 16);
    if (end != text && *end == '.' && g_ascii_isdigit(end[1]))
        function = g_ascii_strtoull(end + 1, &end, 16);
    if (end == text || *end || slot > 31 || function > 7) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Property '%s.addr' doesn't take value '%s'",
                    class_name(device->class), text);
        return FALSE;
    }
    json = g_strdup_printf("%" G_GUINT64_FORMAT, slot * 8 + function);
    return object_set(device, "addr", (JsonSlice){json, strlen(json)}, error);
}

static gboolean set_properties(Object *object, JsonSlice arguments, const char *const *but, GError **error)
{
    JsonWalk walk = json_walk(arguments);
    JsonSlice key, value;

    while (json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);

        if (g_strv_contains(but, name))
            continue;
        if (strcmp(name, "addr") == 0 && object_is_a(object, "pci-device")) {
            if (!set_address(object, value, error))
                return FALSE;
            continue;
        }
        if (!object_set(object, name, value, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- device_add ---- */

static Class *device_class(Vm *vm, const char *driver, GError **error)
{
    Class *class = types_find(vm_types(vm), driver);
    const DeviceInfo *info = class ? device_info(vm_device_types(vm), class) : NULL;

    if (!class || !class_is_a(class, device_type.name))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "'%s' is not a valid device model name", driver);
    else if (class_type(class)->abstract)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED,
                    "Parameter 'driver' expects a non-abstract device type");
    else if (!info || !info->pluggable)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Parameter 'driver' expects a pluggable device type");
    else
        return class;
    return NULL;
}

/* The bus that the client names, or one that has a place. */
static gboolean choose_bus(Vm *vm, const Class *class, const char *name, Object **ret, GError **error)
{
    const char *type = device_info(vm_device_types(vm), class)->bus;

    *ret = NULL;
    if (!type)
        return TRUE;
    *ret = name ? bus_find(vm, name, error) : bus_find_free(vm, type, class_name(class), error);
    if (!*ret)
        return FALSE;
    if (!object_is_a(*ret, type)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Device '%s' can't go on %s bus", class_name(class),
                    class_name((*ret)->class));
        return FALSE;
    }
    if (vm_is_up(vm) && !bus_is_hotpluggable(*ret)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Bus '%s' does not support hotplugging",
                    (*ret)->name);
        return FALSE;
    }
    return TRUE;
}

static gboolean check_device_id(Vm *vm, const char *id, GError **error)
{
    if (id && !id_is_valid(id))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Invalid qdev ID '%s'", id);
    else if (id && object_child(vm_peripheral(vm), id))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_EXISTS, "Duplicate device ID '%s'", id);
    else
        return TRUE;
    return FALSE;
}

gboolean device_add(Vm *vm, JsonSlice arguments, GError **error)
{
    static const char *const not_properties[] = {"driver", "id", "bus", NULL};
    g_autofree char *driver = NULL, *id = NULL, *bus_name = NULL;
    Object *bus, *device;
    Class *class;

    if (!string_argument(arguments, "driver", &driver, error) || !string_argument(arguments, "id", &id, error) ||
        !string_argument(arguments, "bus", &bus_name, error))
        return FALSE;
    if (!driver)
        return missing("driver", error);
    class = device_class(vm, driver, error);
    if (!class || !choose_bus(vm, class, bus_name, &bus, error) || !check_device_id(vm, id, error))
        return FALSE;
    device = device_new(id ? vm_peripheral(vm) : vm_peripheral_anon(vm), id ? id : "device[*]", class, error);
    if (!device)
        return FALSE;
    if (bus)
        device_set_bus(device, bus);
    if (set_properties(device, arguments, not_properties, error) && object_complete(device, error))
        return TRUE;
    object_unparent(device);
    return FALSE;
}

/* The guest keeps the device. */
static void tell_refusal(Vm *vm, const Object *device)
{
    g_autoptr(GString) data = g_string_new("{");

    if (device->parent == vm_peripheral(vm)) {
        g_string_append(data, "\"device\":");
        json_append_string(data, device->name, -1);
        g_string_append_c(data, ',');
    }
    g_string_append(data, "\"path\":");
    object_append_path(device, data);
    g_string_append_c(data, '}');
    vm_event(vm, "DEVICE_UNPLUG_GUEST_ERROR", data->str);
}

/* Its last request is done. */
static void unplug(Vm *vm G_GNUC_UNUSED, Object *device)
{
    object_unparent(device);
}

gboolean device_del(Vm *vm, const char *id, GError **error)
{
    Object *object = *id == '/' ? object_resolve(vm_root(vm), id, NULL) : object_child(vm_peripheral(vm), id);
    const Device *device = (Device *)object;

    if (!object)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "Device '%s' not found", id);
    else if (!object_is_a(object, device_type.name))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "%s is not a device", id);
    else if (device->parent_bus && !bus_is_hotpluggable(device->parent_bus))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Bus '%s' does not support hotplugging",
                    device->parent_bus->name);
    else if (object->parent != vm_peripheral(vm) && object->parent != vm_peripheral_anon(vm))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Device '%s' can not be unplugged",
                    class_name(object->class));
    else if (block_is_quiescing(vm, object))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Device %s is already in the process of unplug", id);
    else if (qmp_faults_refuse_unplug(vm_faults(vm))) {
        tell_refusal(vm, object);
        return TRUE;
    } else {
        if (block_quiesce(vm, object, unplug))
            unplug(vm, object);
        return TRUE;
    }
    return FALSE;
}

/* ---- object-add ---- */

/* QEMU checks the names of the members before it makes anything. */
static gboolean check_members(const Class *class, JsonSlice arguments, const char *const *but, GError **error)
{
    JsonWalk walk = json_walk(arguments);
    JsonSlice key, value;

    while (json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        if (g_strv_contains(but, name) || class_find_prop(class, name) >= 0)
            continue;
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter '%s' is unexpected", name);
        return FALSE;
    }
    return TRUE;
}

gboolean object_add(Vm *vm, JsonSlice arguments, GError **error)
{
    static const char *const not_properties[] = {"qom-type", "id", NULL};
    g_autofree char *type = NULL, *id = NULL;
    g_autoptr(Object) object = NULL;
    Class *class;

    if (!string_argument(arguments, "qom-type", &type, error) || !string_argument(arguments, "id", &id, error))
        return FALSE;
    if (!type || !id)
        return missing(type ? "id" : "qom-type", error);
    class = types_find(vm_types(vm), type);
    if (!class || class_type(class)->abstract || !class_type(class)->user_creatable) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter 'qom-type' does not accept value '%s'",
                    type);
        return FALSE;
    }
    if (!id_is_valid(id)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter 'id' expects an identifier");
        return FALSE;
    }
    if (!check_members(class, arguments, not_properties, error))
        return FALSE;
    object = object_new(class);
    if (!object_add_child(vm_objects(vm), id, object, error))
        return FALSE;
    if (set_properties(object, arguments, not_properties, error) && object_complete(object, error))
        return TRUE;
    object_unparent(object);
    return FALSE;
}

gboolean object_del(Vm *vm, const char *id, GError **error)
{
    Object *object = object_child(vm_objects(vm), id);

    if (!object) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "object '%s' not found", id);
        return FALSE;
    }
    for (const Class *class = object->class; class; class = class_parent(class)) {
        if (!class_type(class)->may_delete)
            continue;
        if (!class_type(class)->may_delete(object, error))
            return FALSE;
        break;
    }
    object_unparent(object);
    return TRUE;
}

/* ---- the rest of what clients change ---- */

gboolean qom_set(Vm *vm, const char *path, const char *property, JsonSlice value, GError **error)
{
    Object *object = object_resolve(vm_root(vm), path, error);
    return object && object_set(object, property, value, error);
}

void vm_stop(Vm *vm)
{
    if (strcmp(vm_status(vm), "running") != 0)
        return;
    vm_set_status(vm, "paused");
    vm_event(vm, "STOP", NULL);
}

void vm_stop_for_error(Vm *vm)
{
    if (!vm_is_running(vm))
        return;
    vm_set_status(vm, "io-error");
    vm_event(vm, "STOP", NULL);
}

void vm_cont(Vm *vm)
{
    if (strcmp(vm_status(vm), "running") == 0)
        return;
    vm_set_status(vm, "running");
    vm_event(vm, "RESUME", NULL);
    balloon_resume(vm);
}

void vm_reset(Vm *vm)
{
    vm_event(vm, "RESET", "{\"guest\":false,\"reason\":\"host-qmp-system-reset\"}");
}

/* ---- what the configuration lists ---- */

static gboolean G_GNUC_PRINTF(3, 4) add_device(Vm *vm, GError **error, const char *format, ...)
{
    g_autofree char *json = NULL;
    va_list args;

    va_start(args, format);
    json = g_strdup_vprintf(format, args);
    va_end(args);
    return device_add(vm, (JsonSlice){json, strlen(json)}, error);
}

/*
 * Where the next device of the configuration goes. As long as there are slots enough, each has one of
 * the root bus; else eight share a port, as its functions, and eight ports a slot.
 */
typedef struct Places {
    gboolean shared;
    guint next;
    char where[96]; /* members of device_add */
} Places;

enum {
    PCI_SLOTS_FREE = 29, /* the host bridge, the display and the chipset's own have the others */
    PCI_FUNCTIONS = 8,
};

static gboolean next_place(Vm *vm, Places *places, GError **error)
{
    guint port = places->next / PCI_FUNCTIONS, function = places->next % PCI_FUNCTIONS;
    guint first_slot = 2 + vm_config(vm)->root_ports;

    places->next++;
    places->where[0] = '\0';
    if (!places->shared)
        return TRUE;
    if (function == 0 &&
        !add_device(vm, error,
                    "{\"driver\":\"pcie-root-port\",\"id\":\"port%u\",\"chassis\":%u,\"bus\":\"pcie.0\","
                    "\"multifunction\":true,\"addr\":\"%x.%u\"}",
                    port, port % 255 + 1, first_slot + port / PCI_FUNCTIONS, port % PCI_FUNCTIONS))
        return FALSE;
    g_snprintf(places->where, sizeof(places->where), ",\"bus\":\"port%u\",\"multifunction\":true,\"addr\":\"0.%u\"",
               port, function);
    return TRUE;
}

/* A disk's content, and what it is seen through. */
static gboolean make_nodes(Vm *vm, const VmDisk *disk, GError **error)
{
    g_autoptr(GString) json = g_string_new("{\"driver\":\"raw\",\"node-name\":\"");

    g_string_append_printf(json, "%s-format\",\"cache\":{\"direct\":%s},\"file\":{\"node-name\":\"%s-storage\",",
                           disk->id, disk->direct ? "true" : "false", disk->id);
    if (disk->file) {
        g_string_append(json, "\"driver\":\"file\",\"filename\":");
        json_append_string(json, disk->file, -1);
    } else {
        g_string_append_printf(json, "\"driver\":\"null-co\",\"size\":%" G_GUINT64_FORMAT, disk->size);
    }
    g_string_append(json, "}}");
    if (blockdev_add(vm, (JsonSlice){json->str, json->len}, error))
        return TRUE;
    g_prefix_error(error, "disk '%s': ", disk->id);
    return FALSE;
}

static gboolean make_disk(Vm *vm, const VmDisk *disk, Places *places, GError **error)
{
    g_autoptr(GString) serial = g_string_new(NULL);

    json_append_string(serial, disk->serial ? disk->serial : "", -1);
    return make_nodes(vm, disk, error) && next_place(vm, places, error) &&
           add_device(vm, error,
                      "{\"driver\":\"virtio-blk-pci\",\"id\":\"%s\",\"drive\":\"%s-format\",\"serial\":%s%s%s%s%s}",
                      disk->id, disk->id, serial->str, disk->iothread ? ",\"iothread\":\"/objects/" : "",
                      disk->iothread ? disk->iothread : "", disk->iothread ? "\"" : "", places->where);
}

static gboolean make_nic(Vm *vm, const VmNic *nic, Places *places, GError **error)
{
    return next_place(vm, places, error) &&
           add_device(vm, error, "{\"driver\":\"virtio-net-pci\",\"id\":\"%s\",\"mac\":\"%s\"%s}", nic->id, nic->mac,
                      places->where);
}

/* What stands in the configuration as clients would write it. */
static gboolean make_listed(Vm *vm, const GPtrArray *list, const char *name,
                            gboolean (*add)(Vm *vm, JsonSlice arguments, GError **error), GError **error)
{
    for (guint i = 0; i < list->len; i++) {
        const char *json = list->pdata[i];
        if (!add(vm, (JsonSlice){json, strlen(json)}, error)) {
            g_prefix_error(error, "%s[%u]: ", name, i);
            return FALSE;
        }
    }
    return TRUE;
}

/* As object-add has it, with an id where it has none. */
static gboolean make_faults(Vm *vm, GError **error)
{
    const GPtrArray *faults = vm_config(vm)->faults;

    for (guint i = 0; i < faults->len; i++) {
        const char *members = faults->pdata[i];
        JsonSlice id = json_member((JsonSlice){members, strlen(members)}, "id");
        g_autoptr(GString) json = g_string_new("{\"qom-type\":\"qmp-fault\"");

        if (!id.length)
            g_string_append_printf(json, ",\"id\":\"fault%u\"", i);
        g_string_append_printf(json, "%s%s", members[1] == '}' ? "" : ",", members + 1);
        if (!object_add(vm, (JsonSlice){json->str, json->len}, error)) {
            g_prefix_error(error, "faults[%u]: ", i);
            return FALSE;
        }
    }
    return TRUE;
}

/* Load is made last: it needs its disk. */
static gboolean is_load(JsonSlice arguments)
{
    return json_string_is(json_member(arguments, "qom-type"), "io-load");
}

static gboolean add_early(Vm *vm, JsonSlice arguments, GError **error)
{
    return is_load(arguments) || object_add(vm, arguments, error);
}

static gboolean add_late(Vm *vm, JsonSlice arguments, GError **error)
{
    return !is_load(arguments) || object_add(vm, arguments, error);
}

gboolean devices_make(Vm *vm, GError **error)
{
    const VmConfig *config = vm_config(vm);
    Places places = {.shared = config->disks->len + config->nics->len + config->root_ports > PCI_SLOTS_FREE};

    for (guint i = 0; i < config->iothreads->len; i++) {
        if (!iothread_new(vm, config->iothreads->pdata[i], error))
            return FALSE;
    }
    if (!make_listed(vm, config->chardevs, "chardevs", chardev_add, error) || !machine_connect_ports(vm, error) ||
        !make_listed(vm, config->netdevs, "netdevs", netdev_add, error) ||
        !make_listed(vm, config->blockdevs, "blockdevs", blockdev_add, error))
        return FALSE;
    if (!make_listed(vm, config->objects, "objects", add_early, error) || !make_faults(vm, error))
        return FALSE;
    for (guint i = 0; i < config->root_ports; i++) {
        if (!add_device(vm, error, "{\"driver\":\"pcie-root-port\",\"id\":\"rp%u\",\"chassis\":%u,\"bus\":\"pcie.0\"}",
                        i, i + 1))
            return FALSE;
    }
    for (guint i = 0; i < config->disks->len; i++) {
        if (!make_disk(vm, &g_array_index(config->disks, VmDisk, i), &places, error))
            return FALSE;
    }
    for (guint i = 0; i < config->nics->len; i++) {
        if (!make_nic(vm, &g_array_index(config->nics, VmNic, i), &places, error))
            return FALSE;
    }
    return make_listed(vm, config->devices, "devices", device_add, error) &&
           make_listed(vm, config->objects, "objects", add_late, error);
}
