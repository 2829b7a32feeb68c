/* SPDX-License-Identifier: MIT */
/* Buses, and the addresses of PCI devices. */
#include "vmm/bus.h"

#include <stdarg.h>
#include <string.h>

#include "vmm/device.h"
#include "vmm/vm-private.h"

enum {
    PCI_SLOTS = 32,
    PCI_FUNCTIONS = 8,
    PCI_ADDRESSES = PCI_SLOTS * PCI_FUNCTIONS,
};

typedef struct Bus {
    Object base;
    bool realized;
    Object *hotplug_handler;
    guint next_number; /* of "child[N]" */
    GPtrArray *devices;
} Bus;

static const Property bus_props[] = {
    PROP_FIELD(Bus, realized, "realized", .initial = TRUE, .help = "whether it is up"),
    PROP_LINK(Bus, hotplug_handler, "hotplug-handler", "hotplug-handler", .help = "who plugs and unplugs its devices"),
    {0},
};

static void bus_init(Object *object)
{
    ((Bus *)object)->devices = g_ptr_array_new();
}

static void bus_finalize(Object *object)
{
    g_ptr_array_unref(((Bus *)object)->devices);
}

static gboolean bus_complete(Object *object, GError **error G_GNUC_UNUSED)
{
    g_ptr_array_add(vm_buses(vm_of(object)), object);
    return TRUE;
}

static void bus_unparent(Object *object)
{
    g_ptr_array_remove(vm_buses(vm_of(object)), object);
}

const ObjectType bus_type = {
    .name = "bus",
    .help = "what devices sit on",
    .instance_size = sizeof(Bus),
    .abstract = TRUE,
    .props = bus_props,
    .init = bus_init,
    .finalize = bus_finalize,
    .complete = bus_complete,
    .unparent = bus_unparent,
};

/* ---- PCI addresses: slot * 8 + function, in the property "addr"; -1: to be given one ---- */

static gint64 pci_address(Object *device)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gint64 address = -1;

    if (object_get(device, "addr", text, NULL))
        json_to_int64((JsonSlice){text->str, text->len}, &address);
    return address;
}

static Object *pci_device_at(const Bus *bus, gint64 address)
{
    for (guint i = 0; i < bus->devices->len; i++) {
        if (pci_address(bus->devices->pdata[i]) == address)
            return bus->devices->pdata[i];
    }
    return NULL;
}

/* The bus behind a PCIe port has one place; the root's has them all. */
static guint pci_slots(const Bus *bus)
{
    return object_is_a(bus->base.parent, "pcie-port") ? 1 : PCI_SLOTS;
}

/* The first slot without any device; -1: there is none. */
static gint64 pci_free_address(const Bus *bus)
{
    gboolean taken[PCI_SLOTS] = {0};

    for (guint i = 0; i < bus->devices->len; i++) {
        gint64 address = pci_address(bus->devices->pdata[i]);
        if (address >= 0 && address < PCI_ADDRESSES)
            taken[address / PCI_FUNCTIONS] = TRUE;
    }
    for (guint slot = 0; slot < pci_slots(bus); slot++) {
        if (!taken[slot])
            return slot * PCI_FUNCTIONS;
    }
    return -1;
}

static gboolean G_GNUC_PRINTF(2, 3) no_place(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error)
        *error = g_error_new_valist(OBJMODEL_ERROR, OBJMODEL_ERROR_IN_USE, format, args);
    va_end(args);
    return FALSE;
}

static gboolean is_multifunction(Object *device)
{
    g_autoptr(GString) text = g_string_new(NULL);
    return object_get(device, "multifunction", text, NULL) && strcmp(text->str, "true") == 0;
}

/* Gives the device an address where it has none, or checks the one that it has. */
static gboolean pci_place(Bus *bus, Object *device, GError **error)
{
    const char *type = class_name(device->class);
    gint64 address = pci_address(device);
    Object *first, *other;

    if (address < 0) {
        g_autofree char *json = NULL;
        other = pci_slots(bus) == 1 ? pci_device_at(bus, 0) : NULL;
        address = pci_free_address(bus);
        if (other)
            return no_place(error,
                            "PCI: slot 0 function 0 already occupied by %s, new func %s cannot be exposed to guest.",
                            class_name(other->class), type);
        if (address < 0)
            return no_place(error, "PCI: no slot/function available for %s, all in use or reserved", type);
        json = g_strdup_printf("%" G_GINT64_FORMAT, address);
        object_assign(device, "addr", json);
        return TRUE;
    }
    if (address >= pci_slots(bus) * PCI_FUNCTIONS)
        return no_place(error, "PCI: no slot/function available for %s, all in use or reserved", type);
    first = pci_device_at(bus, address - address % PCI_FUNCTIONS);
    other = pci_device_at(bus, address);
    if (other)
        return no_place(error, "PCI: slot %d function %d not available for %s, in use by %s,id=%s",
                        (int)(address / PCI_FUNCTIONS), (int)(address % PCI_FUNCTIONS), type, class_name(other->class),
                        device_id(other) ? device_id(other) : "");
    if (first && !is_multifunction(first))
        return no_place(error, "PCI: single function device can't be populated in function %x.%x",
                        (int)(address / PCI_FUNCTIONS), (int)(address % PCI_FUNCTIONS));
    return TRUE;
}

/* ---- devices ---- */

static gboolean is_pci(const Object *bus)
{
    return object_is_a(bus, "PCI");
}

/* What sits on a virtio bus is the one device that it is for. */
static gboolean is_full(const Object *object)
{
    const Bus *bus = (const Bus *)object;
    if (is_pci(object))
        return pci_free_address(bus) < 0;
    return object_is_a(object, "virtio-bus") && bus->devices->len > 0;
}

gboolean bus_attach(Object *object, Object *device, GError **error)
{
    Bus *bus = (Bus *)object;
    g_autofree char *name = NULL;

    if (is_pci(object) && !pci_place(bus, device, error))
        return FALSE;
    name = g_strdup_printf("child[%u]", bus->next_number++);
    object_add_link(object, name, class_name(device->class), device);
    g_ptr_array_add(bus->devices, device);
    return TRUE;
}

const GPtrArray *bus_devices(const Object *bus)
{
    return ((const Bus *)bus)->devices;
}

void bus_detach(Object *object, Object *device)
{
    Bus *bus = (Bus *)object;

    if (!g_ptr_array_remove(bus->devices, device))
        return;
    for (guint i = class_prop_count(object->class); i < object_prop_count(object); i++) {
        const char *name = object_prop(object, i)->name;
        if (object_linked(object, name) == device) {
            object_remove_property(object, name);
            return;
        }
    }
}

/* The number that the firmware knows a PCI bus by, where devices may come and go. */
static const char pci_bus_number[] = "acpi-pcihp-bsel";

static gboolean has_number(const Object *bus)
{
    for (guint i = class_prop_count(bus->class); i < object_prop_count(bus); i++) {
        if (strcmp(object_prop(bus, i)->name, pci_bus_number) == 0)
            return TRUE;
    }
    return FALSE;
}

gboolean bus_is_hotpluggable(const Object *object)
{
    return is_pci(object) ? has_number(object) : ((const Bus *)object)->hotplug_handler != NULL;
}

void bus_number_all(Vm *vm)
{
    GPtrArray *buses = vm_buses(vm);
    guint number = 0;

    for (guint i = buses->len; i-- > 0;) {
        Object *bus = buses->pdata[i];
        if (is_pci(bus) && pci_slots((Bus *)bus) == 1) {
            g_autofree char *json = g_strdup_printf("%u", number++);
            object_add_value(bus, pci_bus_number, "uint32", json);
            for (guint n = 0; n < bus_devices(bus)->len; n++)
                device_set_hotpluggable(bus_devices(bus)->pdata[n]);
        }
    }
}

/* ---- finding one ---- */

Object *bus_find(Vm *vm, const char *name, GError **error)
{
    GPtrArray *buses = vm_buses(vm);
    Object *found = *name == '/' ? object_resolve(vm_root(vm), name, NULL) : NULL;

    if (found && object_is_a(found, bus_type.name))
        return found;
    for (guint i = 0; i < buses->len; i++) {
        Object *bus = buses->pdata[i];
        if (strcmp(bus->name, name) == 0)
            return bus;
    }
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Bus '%s' not found", name);
    return NULL;
}

Object *bus_find_free(Vm *vm, const char *bus_type_name, const char *device_type_name, GError **error)
{
    GPtrArray *buses = vm_buses(vm);
    const Object *fixed = NULL;
    gboolean full = FALSE;

    for (guint i = 0; i < buses->len; i++) {
        Object *bus = buses->pdata[i];
        if (!object_is_a(bus, bus_type_name))
            continue;
        if (is_full(bus))
            full = TRUE;
        else if (vm_is_up(vm) && !bus_is_hotpluggable(bus))
            fixed = bus;
        else
            return bus;
    }
    if (fixed)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Bus '%s' does not support hotplugging", fixed->name);
    else if (full)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "A '%s' bus was found but is full", bus_type_name);
    else
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "No '%s' bus found for device '%s'", bus_type_name,
                    device_type_name);
    return NULL;
}
