/* SPDX-License-Identifier: MIT */
/* What devices that are plugged into a controller take from it or their drive: SCSI disks, NVMe, ports of a virtio
 * serial controller; and the USB controller. */
#include <string.h>

#include "vmm/block.h"
#include "vmm/bus.h"
#include "vmm/device.h"
#include "vmm/types.h"
#include "vmm/virtio.h"

static const char unset32[] = "4294967295";

static void assign_uint(Object *object, const char *property, guint64 value)
{
    g_autofree char *json = g_strdup_printf("%" G_GUINT64_FORMAT, value);
    object_assign(object, property, json);
}

/* Where it has the value `unset`, the other one. */
static void settle(Object *object, const char *property, const char *unset, guint64 value)
{
    if (virtio_has_value(object, property, unset))
        assign_uint(object, property, value);
}

/* The lowest number from `first` on that no device of the same bus has in that property. */
static guint64 free_number(Object *object, const char *property, guint first)
{
    const GPtrArray *devices = bus_devices(((Device *)object)->parent_bus);
    guint64 number = first;

    for (gboolean taken = TRUE; taken;) {
        g_autofree char *json = g_strdup_printf("%" G_GUINT64_FORMAT, number);
        taken = FALSE;
        for (guint i = 0; i < devices->len && !taken; i++)
            taken = devices->pdata[i] != object && virtio_has_value(devices->pdata[i], property, json);
        number += taken;
    }
    return number;
}

/* ---- disks ---- */

enum {
    SECTOR_SIZE = 512,
    PAGE_SIZE = 4096,
    HEADS = 16,
    SECTORS = 63,
    MAX_CYLINDERS = 16383,
};

/* What is left open follows from the drive. */
static void settle_blocks(Object *object)
{
    settle(object, "physical_block_size", "0", SECTOR_SIZE);
    settle(object, "logical_block_size", "0", SECTOR_SIZE);
    settle(object, "discard_granularity", unset32, PAGE_SIZE);
}

typedef struct Disk {
    Device base;
    BlockAttachment *attachment; /* or NULL */
} Disk;

static BlockNode *node_of(Object *object)
{
    g_autoptr(GString) json = g_string_new(NULL);
    g_autofree char *name =
        object_get(object, "drive", json, NULL) ? json_string_dup((JsonSlice){json->str, json->len}, NULL) : NULL;
    return name && *name ? block_node_find(vm_of(object), name) : NULL;
}

/* Attaches it to its drive, if it has one. */
static gboolean attach(Object *object, GError **error)
{
    BlockNode *node = node_of(object);

    if (!node && !virtio_has_value(object, "drive", "\"\"")) {
        g_autoptr(GString) drive = g_string_new(NULL);
        g_autofree char *name = NULL;
        object_get(object, "drive", drive, NULL);
        name = json_string_dup((JsonSlice){drive->str, drive->len}, NULL);
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Property '%s.drive' can't find value '%s'",
                    class_name(object->class), name ? name : drive->str);
        return FALSE;
    }
    if (!node)
        return TRUE;
    ((Disk *)object)->attachment = virtio_disk_attach(object, node, error);
    return ((Disk *)object)->attachment != NULL;
}

static void disk_unparent(Object *object)
{
    Disk *disk = (Disk *)object;

    if (disk->attachment)
        block_detach(vm_of(object), g_steal_pointer(&disk->attachment));
    device_type.unparent(object);
}

static gboolean scsi_hd_complete(Object *object, GError **error)
{
    if (virtio_has_value(object, "drive", "\"\"")) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "drive property not set");
        return FALSE;
    }
    if (!attach(object, error) || !device_complete(object, error))
        return FALSE;
    settle(object, "scsi-id", unset32, free_number(object, "scsi-id", 0));
    settle(object, "lun", unset32, 0);
    settle(object, "cyls", "0",
           MIN(((Disk *)object)->attachment->node->size / SECTOR_SIZE / HEADS / SECTORS, MAX_CYLINDERS));
    settle(object, "heads", "0", HEADS);
    settle(object, "secs", "0", SECTORS);
    settle_blocks(object);
    return TRUE;
}

const ObjectType scsi_hd_type = {
    .name = "scsi-hd",
    .help = "a SCSI disk",
    .instance_size = sizeof(Disk),
    .complete = scsi_hd_complete,
    .unparent = disk_unparent,
};

/* A controller that belongs to no subsystem has one of its own. */
static gboolean nvme_complete(Object *object, GError **error)
{
    Vm *vm = vm_of(object);

    if (virtio_has_value(object, "serial", "\"\"")) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "serial property not set");
        return FALSE;
    }
    if (!attach(object, error) || !device_complete(object, error))
        return FALSE;
    settle_blocks(object);
    if (!object_linked(object, "subsys")) {
        g_autoptr(GString) serial = g_string_new(NULL);
        Object *subsystem = device_new(vm_unattached(vm), "device[*]", vm_class(vm, "nvme-subsys"), error);
        if (subsystem && object_get(object, "serial", serial, error))
            object_assign(subsystem, "nqn", serial->str);
        if (!subsystem || !object_complete(subsystem, error))
            return FALSE;
        object_assign_link(object, "subsys", subsystem);
    }
    return TRUE;
}

const ObjectType nvme_type = {
    .name = "nvme",
    .help = "an NVMe controller",
    .instance_size = sizeof(Disk),
    .complete = nvme_complete,
    .unparent = disk_unparent,
};

/* ---- ports ---- */

/* Port 0 is kept for a console. */
static gboolean virtserialport_complete(Object *object, GError **error)
{
    if (!device_complete(object, error))
        return FALSE;
    settle(object, "nr", unset32, free_number(object, "nr", 1));
    return TRUE;
}

const ObjectType virtserialport_type = {
    .name = "virtserialport",
    .help = "a channel between guest and host",
    .instance_size = sizeof(Device),
    .complete = virtserialport_complete,
};

/* ---- USB ---- */

/* Where it has the newer kind of interrupts, it does without the older one. */
static gboolean xhci_complete(Object *object, GError **error)
{
    if (virtio_has_value(object, "msi", "\"auto\""))
        object_assign(object, "msi", virtio_has_value(object, "msix", "\"off\"") ? "\"on\"" : "\"off\"");
    return device_complete(object, error);
}

const ObjectType qemu_xhci_type = {
    .name = "qemu-xhci",
    .help = "a USB controller",
    .instance_size = sizeof(Device),
    .complete = xhci_complete,
};
