/* SPDX-License-Identifier: MIT */
/* The virtio devices that do more than show their properties: disk, network card, randomness. */
#include <string.h>

#include "vmm/block.h"
#include "vmm/device.h"
#include "vmm/types.h"

static gboolean has_value(Object *object, const char *property, const char *json)
{
    g_autoptr(GString) now = g_string_new(NULL);
    return object_get(object, property, now, NULL) && strcmp(now->str, json) == 0;
}

/* ---- what stands between a virtio device and PCI ---- */

/* Behind a port of PCI Express there is no I/O space, which the legacy interface needs. */
static gboolean virtio_pci_complete(Object *object, GError **error)
{
    const Object *bus = ((Device *)object)->parent_bus;

    if (has_value(object, "disable-legacy", "\"auto\""))
        object_assign(object, "disable-legacy", bus && object_is_a(bus->parent, "pcie-port") ? "\"on\"" : "\"off\"");
    return device_complete(object, error);
}

const ObjectType virtio_pci_type = {
    .name = "virtio-pci",
    .help = "a virtio device on a PCI bus",
    .instance_size = sizeof(Device),
    .complete = virtio_pci_complete,
};

/* ---- disk ---- */

typedef struct VirtioBlk {
    Device base;
    char *drive;
    uint16_t num_queues;
    BlockNode *node; /* while it is realized */
} VirtioBlk;

enum {
    QUEUES_BY_CPUS = 0xffff, /* as many queues as there are CPUs */
    MAX_QUEUES = 1024,
    HEADS = 16,
    SECTORS = 63,
    SECTOR_SIZE = 512,
    MAX_CYLINDERS = 16383,
};

static gboolean check_drive(Object *object, const Property *prop, JsonSlice value, GError **error)
{
    g_autofree char *name = json_string_dup(value, NULL);

    if (!name || block_node_find(vm_of(object), name))
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Property '%s.%s' can't find value '%s'",
                class_name(object->class), prop->name, name);
    return FALSE;
}

static const Property virtio_blk_props[] = {
    PROP_FIELD(VirtioBlk, drive, "drive", .type = "str", .flags = PROP_INITIAL, .set = check_drive,
               .help = "the block node that holds its data"),
    PROP_FIELD(VirtioBlk, num_queues, "num-queues", .flags = PROP_INITIAL, .initial = QUEUES_BY_CPUS,
               .help = "request queues"),
    {0},
};

static guint queues_by_cpus(const Object *object)
{
    return MIN(vm_config(vm_of(object))->cpus.count, MAX_QUEUES);
}

/* What a client leaves at 0 follows from the disk. */
static void set_geometry(Object *object, guint64 size)
{
    const struct {
        const char *property;
        guint64 value;
    } values[] = {
        {"cyls", MIN(size / SECTOR_SIZE / HEADS / SECTORS, MAX_CYLINDERS)},
        {"heads", HEADS},
        {"secs", SECTORS},
        {"physical_block_size", SECTOR_SIZE},
        {"logical_block_size", SECTOR_SIZE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autofree char *json = g_strdup_printf("%" G_GUINT64_FORMAT, values[i].value);
        if (has_value(object, values[i].property, "0"))
            object_assign(object, values[i].property, json);
    }
}

/* The node is this disk's alone. */
static gboolean take_node(Object *object, GError **error)
{
    VirtioBlk *blk = (VirtioBlk *)object;
    BlockNode *node = blk->drive ? block_node_find(vm_of(object), blk->drive) : NULL;
    g_autofree char *mine = NULL, *theirs = NULL;

    if (!node) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "drive property not set");
        return FALSE;
    }
    if (node->user) {
        mine = object_path(object);
        theirs = object_path(node->user);
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_IN_USE,
                    "Permission conflict on node '%s': permissions 'write' are both required by block device '%s' "
                    "(uses node '%s' as 'root' child) and unshared by block device '%s' (uses node '%s' as 'root' "
                    "child).",
                    node->name, theirs, node->name, mine, node->name);
        return FALSE;
    }
    blk->node = node;
    block_attach(vm_of(object), node, object);
    return TRUE;
}

static gboolean virtio_blk_complete(Object *object, GError **error)
{
    VirtioBlk *blk = (VirtioBlk *)object;

    if (!take_node(object, error))
        return FALSE;
    if (blk->num_queues == QUEUES_BY_CPUS)
        blk->num_queues = (uint16_t)queues_by_cpus(object);
    set_geometry(object, blk->node->size);
    return device_complete(object, error);
}

static void virtio_blk_unparent(Object *object)
{
    VirtioBlk *blk = (VirtioBlk *)object;

    if (blk->node)
        block_detach(vm_of(object), g_steal_pointer(&blk->node));
    device_type.unparent(object);
}

const ObjectType virtio_blk_device_type = {
    .name = "virtio-blk-device",
    .help = "a disk",
    .instance_size = sizeof(VirtioBlk),
    .props = virtio_blk_props,
    .complete = virtio_blk_complete,
    .unparent = virtio_blk_unparent,
};

/* One interrupt for each queue, one for changes of its configuration. */
static gboolean virtio_blk_pci_complete(Object *object, GError **error)
{
    guint queues = ((VirtioBlk *)((Device *)object)->inner)->num_queues;
    g_autofree char *vectors = NULL;

    if (queues == QUEUES_BY_CPUS)
        queues = queues_by_cpus(object);
    vectors = g_strdup_printf("%u", queues + 1);
    if (has_value(object, "vectors", "4294967295"))
        object_assign(object, "vectors", vectors);
    return virtio_pci_complete(object, error);
}

const ObjectType virtio_blk_pci_type = {
    .name = "virtio-blk-pci",
    .help = "a disk on a PCI bus",
    .instance_size = sizeof(Device),
    .complete = virtio_blk_pci_complete,
};

/* ---- network card ---- */

typedef struct VirtioNet {
    Device base;
    char *mac;
} VirtioNet;

static gboolean check_mac(Object *object, const Property *prop, JsonSlice value, GError **error)
{
    g_autofree char *text = json_string_dup(value, NULL);
    guint i = 0;

    for (; text && i < 17; i++) {
        if (i % 3 == 2 ? text[i] != ':' && text[i] != '-' : !g_ascii_isxdigit(text[i]))
            break;
    }
    if (!text || (i == 17 && text[i] == '\0'))
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Property '%s.%s' doesn't take value '%s'",
                class_name(object->class), prop->name, text);
    return FALSE;
}

static const Property virtio_net_props[] = {
    PROP_FIELD(VirtioNet, mac, "mac", .type = "str", .flags = PROP_INITIAL, .set = check_mac,
               .help = "its address on the network"),
    {0},
};

/* The first address, in QEMU's order, that no other card of the VM has. */
static char *free_mac(Vm *vm)
{
    for (guint32 last = 0x123456;; last++) {
        char *mac = g_strdup_printf("52:54:00:%02x:%02x:%02x", last >> 16 & 0xff, last >> 8 & 0xff, last & 0xff);
        gboolean taken = FALSE;
        for (Object *device = vm_peripheral(vm)->first_child; device && !taken; device = device->next) {
            Object *inner = object_child(device, "virtio-backend");
            taken = inner && object_is_a(inner, virtio_net_device_type.name) && ((VirtioNet *)inner)->mac &&
                    g_ascii_strcasecmp(((VirtioNet *)inner)->mac, mac) == 0;
        }
        if (!taken)
            return mac;
        g_free(mac);
    }
}

static gboolean virtio_net_complete(Object *object, GError **error)
{
    VirtioNet *net = (VirtioNet *)object;
    if (!net->mac)
        net->mac = free_mac(vm_of(object));
    return device_complete(object, error);
}

const ObjectType virtio_net_device_type = {
    .name = "virtio-net-device",
    .help = "a network card",
    .instance_size = sizeof(VirtioNet),
    .props = virtio_net_props,
    .complete = virtio_net_complete,
};

/* ---- randomness ---- */

/* Where no source is given it makes one of its own. */
static gboolean virtio_rng_complete(Object *object, GError **error)
{
    if (!object_linked(object, "rng")) {
        Object *backend = object_new_child(object, "default-backend", vm_class(vm_of(object), rng_builtin_type.name));
        if (!object_complete(backend, error))
            return FALSE;
        object_assign_link(object, "rng", backend);
    }
    return device_complete(object, error);
}

const ObjectType virtio_rng_device_type = {
    .name = "virtio-rng-device",
    .help = "a source of randomness",
    .instance_size = sizeof(Device),
    .complete = virtio_rng_complete,
};
