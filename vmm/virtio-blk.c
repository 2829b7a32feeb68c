/* SPDX-License-Identifier: MIT */
/* Disks: the device in front of a block node. What it does is in block-disk.h. The main loop. */
#include <string.h>

#include "vmm/block.h"
#include "vmm/device.h"
#include "vmm/iothread.h"
#include "vmm/types.h"
#include "vmm/virtio.h"
#include "vmm/vm-private.h"

typedef struct VirtioBlk {
    Device base;
    char *drive;
    uint16_t num_queues;
    BlockAttachment *attachment; /* while it is realized */
} VirtioBlk;

enum {
    QUEUES_BY_CPUS = 0xffff, /* as many queues as there are CPUs */
    MAX_QUEUES = 1024,
    HEADS = 16,
    SECTORS = 63,
    SECTOR_SIZE = 512,
    MAX_CYLINDERS = 16383,
    MAX_INTERVALS = 32,
};

static gboolean check_drive(Object *object, const Property *prop, JsonSlice value, GError **error)
{
    g_autofree char *name = json_string_dup(value, NULL);

    if (!name || !*name || block_node_find(vm_of(object), name))
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

guint virtio_queues_by_cpus(const Object *object)
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
        if (virtio_has_value(object, values[i].property, "0"))
            object_assign(object, values[i].property, json);
    }
}

/* ---- how it does its I/O ---- */

/* rerror, werror. */
static BlockOnError on_error(Object *object, const char *property, BlockOnError otherwise)
{
    static const struct {
        const char *json;
        BlockOnError action;
    } actions[] = {
        {"\"report\"", BLOCK_ON_ERROR_REPORT},
        {"\"ignore\"", BLOCK_ON_ERROR_IGNORE},
        {"\"enospc\"", BLOCK_ON_ERROR_ENOSPC},
        {"\"stop\"", BLOCK_ON_ERROR_STOP},
    };

    for (guint i = 0; i < G_N_ELEMENTS(actions); i++)
        if (virtio_has_value(object, property, actions[i].json))
            return actions[i].action;
    return otherwise;
}

/* stats-intervals: a list of seconds. */
static gboolean take_intervals(Object *object, guint *ret, guint *ret_n, GError **error)
{
    g_autoptr(GString) json = g_string_new(NULL);
    JsonSlice list, value;
    JsonWalk walk;

    *ret_n = 0;
    if (!object_get(object, "stats-intervals", json, NULL))
        return TRUE;
    list = (JsonSlice){json->str, json->len};
    if (json_kind(list) != JSON_ARRAY) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE,
                    "Invalid parameter type for 'stats-intervals', expected: array");
        return FALSE;
    }
    walk = json_walk(list);
    while (json_walk_element(&walk, &value)) {
        guint64 seconds;
        if (!json_to_uint64(value, &seconds) || seconds == 0 || seconds > G_MAXINT32 || *ret_n == MAX_INTERVALS) {
            g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Invalid interval length: %.*s",
                        (int)value.length, value.text);
            return FALSE;
        }
        ret[(*ret_n)++] = (guint)seconds;
    }
    return TRUE;
}

BlockAttachment *virtio_disk_attach(Object *object, BlockNode *node, GError **error)
{
    Vm *vm = vm_of(object);
    Object *iothread = object_linked(object, "iothread");
    guint intervals[MAX_INTERVALS];
    BlockDiskOptions options = {
        .loop = iothread ? iothread_loop(iothread) : vm_block_loop(vm),
        .stats = {.account_invalid = !virtio_has_value(object, "account-invalid", "\"off\""),
                  .account_failed = !virtio_has_value(object, "account-failed", "\"off\""),
                  .intervals = intervals},
        .on_read_error = on_error(object, "rerror", BLOCK_ON_ERROR_REPORT),
        .on_write_error = on_error(object, "werror", BLOCK_ON_ERROR_ENOSPC),
        .writeback = !virtio_has_value(object, "write-cache", "\"off\""),
        .share_rw = virtio_has_value(object, "share-rw", "true"),
    };

    if (!take_intervals(object, intervals, &options.stats.n_intervals, error))
        return NULL;
    return block_attach(vm, node, object, &options, error);
}

static gboolean virtio_blk_complete(Object *object, GError **error)
{
    VirtioBlk *blk = (VirtioBlk *)object;
    BlockNode *node = blk->drive && *blk->drive ? block_node_find(vm_of(object), blk->drive) : NULL;

    if (!node) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "drive property not set");
        return FALSE;
    }
    blk->attachment = virtio_disk_attach(object, node, error);
    if (!blk->attachment)
        return FALSE;
    if (blk->num_queues == QUEUES_BY_CPUS)
        blk->num_queues = (uint16_t)virtio_queues_by_cpus(object);
    set_geometry(object, node->size);
    return device_complete(object, error);
}

static void virtio_blk_unparent(Object *object)
{
    VirtioBlk *blk = (VirtioBlk *)object;

    if (blk->attachment)
        block_detach(vm_of(object), g_steal_pointer(&blk->attachment));
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
        queues = virtio_queues_by_cpus(object);
    vectors = g_strdup_printf("%u", queues + 1);
    if (virtio_has_value(object, "vectors", "4294967295"))
        object_assign(object, "vectors", vectors);
    return virtio_pci_complete(object, error);
}

const ObjectType virtio_blk_pci_type = {
    .name = "virtio-blk-pci",
    .help = "a disk on a PCI bus",
    .instance_size = sizeof(Device),
    .complete = virtio_blk_pci_complete,
};
