/* SPDX-License-Identifier: MIT */
/* The virtio devices that do more than show their properties: network card, randomness; disks are in virtio-blk.c. */
#include "vmm/virtio.h"

#include <string.h>

#include "vmm/device.h"
#include "vmm/types.h"

gboolean virtio_has_value(Object *object, const char *property, const char *json)
{
    g_autoptr(GString) now = g_string_new(NULL);
    return object_get(object, property, now, NULL) && strcmp(now->str, json) == 0;
}

/* ---- what stands between a virtio device and PCI ---- */

static void assign_size(Object *object, const char *child, const char *property, guint64 value)
{
    Object *part = object_child(object, child);
    g_autofree char *json = g_strdup_printf("%" G_GUINT64_FORMAT, value);

    if (part)
        object_assign(part, property, json);
}

/* A table with 16 bytes for each interrupt, and a bit for each, in one region of a size that is a power of 2. */
static void set_interrupts(Object *object)
{
    enum { ENTRY_SIZE = 16, WORD_BITS = 64, MIN_REGION = 4096 };
    g_autofree char *region = g_strdup_printf("%s-msix[0]", class_name(object->class));
    g_autoptr(GString) json = g_string_new(NULL);
    guint64 n = 0, table, bits_at, bits, size = MIN_REGION;

    if (!object_get(object, "vectors", json, NULL) || !json_to_uint64((JsonSlice){json->str, json->len}, &n) || n == 0)
        return;
    table = n * ENTRY_SIZE;
    bits_at = MAX(table, MIN_REGION / 2);
    bits = (n + WORD_BITS - 1) / WORD_BITS * (WORD_BITS / 8);
    while (size < bits_at + bits)
        size *= 2;
    assign_size(object, "msix-table[0]", "size", table);
    assign_size(object, "msix-pba[0]", "size", bits);
    assign_size(object, "msix-pba[0]", "addr", bits_at);
    assign_size(object, region, "size", size);
}

/* Behind a port of PCI Express there is no I/O space, which the legacy interface needs. */
gboolean virtio_pci_complete(Object *object, GError **error)
{
    const Object *bus = ((Device *)object)->parent_bus;
    Object *legacy;

    if (virtio_has_value(object, "disable-legacy", "\"auto\""))
        object_assign(object, "disable-legacy", bus && object_is_a(bus->parent, "pcie-port") ? "\"on\"" : "\"off\"");
    if (!device_complete(object, error))
        return FALSE;
    set_interrupts(object);
    /* The second one of that name is the legacy interface's. */
    legacy = object_child(object, "virtio-pci[1]");
    if (legacy && virtio_has_value(object, "disable-legacy", "\"on\""))
        object_unparent(legacy);
    return TRUE;
}

const ObjectType virtio_pci_type = {
    .name = "virtio-pci",
    .help = "a virtio device on a PCI bus",
    .instance_size = sizeof(Device),
    .complete = virtio_pci_complete,
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

/* ---- SCSI ---- */

enum { SCSI_FIXED_QUEUES = 2 }; /* for control and for events; and an interrupt for changes */

static gboolean scsi_queues_are_open(Object *object)
{
    return virtio_has_value(object, "num_queues", "4294967295");
}

static gboolean virtio_scsi_complete(Object *object, GError **error)
{
    g_autofree char *queues = g_strdup_printf("%u", virtio_queues_by_cpus(object));
    if (scsi_queues_are_open(object))
        object_assign(object, "num_queues", queues);
    return device_complete(object, error);
}

const ObjectType virtio_scsi_device_type = {
    .name = "virtio-scsi-device",
    .help = "a SCSI controller",
    .instance_size = sizeof(Device),
    .complete = virtio_scsi_complete,
};

static gboolean virtio_scsi_pci_complete(Object *object, GError **error)
{
    g_autoptr(GString) queues = g_string_new(NULL);
    gint64 number = 0;

    if (scsi_queues_are_open(object))
        number = virtio_queues_by_cpus(object);
    else if (object_get(object, "num_queues", queues, NULL))
        json_to_int64((JsonSlice){queues->str, queues->len}, &number);
    if (virtio_has_value(object, "vectors", "4294967295")) {
        g_autofree char *vectors = g_strdup_printf("%" G_GINT64_FORMAT, number + SCSI_FIXED_QUEUES + 1);
        object_assign(object, "vectors", vectors);
    }
    return virtio_pci_complete(object, error);
}

const ObjectType virtio_scsi_pci_type = {
    .name = "virtio-scsi-pci",
    .help = "a SCSI controller on a PCI bus",
    .instance_size = sizeof(Device),
    .complete = virtio_scsi_pci_complete,
};
