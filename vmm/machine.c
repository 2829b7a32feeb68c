/* SPDX-License-Identifier: MIT */
/* The q35 machine: what of it follows from the configuration. The rest is in vmm/data. */
#include "vmm/machine.h"

#include "vmm/chardev.h"
#include "vmm/memory-backend.h"
#include "vmm/memory-region.h"
#include "vmm/parts.h"
#include "vmm/rtc.h"
#include "vmm/types.h"
#include "vmm/x86-cpu.h"

#define GIB (G_GUINT64_CONSTANT(1) << 30)

/* Where the I/O APIC is, and so PCI's memory below 4 GiB ends. */
#define IOAPIC_ADDRESS G_GUINT64_CONSTANT(0xfec00000)

typedef struct Machine {
    Object base;
    Object *rtc; /* what rtc-time stands for */
} Machine;

/* ---- properties ---- */

static gboolean get_memory(Object *object, const Property *prop G_GNUC_UNUSED, GString *out,
                           GError **error G_GNUC_UNUSED)
{
    g_string_append_printf(out, "{\"size\":%" G_GUINT64_FORMAT "}", vm_config(vm_of(object))->memory);
    return TRUE;
}

static gboolean get_smp(Object *object, const Property *prop G_GNUC_UNUSED, GString *out, GError **error G_GNUC_UNUSED)
{
    const VmCpus *cpus = &vm_config(vm_of(object))->cpus;
    g_string_append_printf(out,
                           "{\"modules\":%u,\"cpus\":%u,\"maxcpus\":%u,\"books\":1,\"threads\":%u,\"cores\":%u,"
                           "\"dies\":%u,\"sockets\":%u,\"clusters\":1,\"drawers\":1}",
                           cpus->modules, cpus->count, cpus->count, cpus->threads, cpus->cores, cpus->dies,
                           cpus->sockets);
    return TRUE;
}

static const Property machine_props[] = {
    PROP_CALC("memory", "MemorySizeConfiguration", get_memory, .help = "the guest's memory in bytes"),
    PROP_CALC("smp", "SMPConfiguration", get_smp, .help = "how many CPUs, and how they belong together"),
    PROP_ALIAS(Machine, rtc, "rtc-time", "struct tm", .alias_of = "date", .help = "the time that the guest reads"),
    {0},
};

const ObjectType pc_q35_machine_type = {
    .name = "pc-q35-11.1-machine",
    .help = "a PC with PCI Express",
    .instance_size = sizeof(Machine),
    .props = machine_props,
};

/* ---- memory ---- */

/* What lies below 4 GiB: all, as long as it leaves room for PCI; else 2 GiB, so that the rest begins
 * at a whole gibibyte. */
static guint64 memory_below_4g(guint64 size)
{
    return size >= G_GUINT64_CONSTANT(0xb0000000) ? 2 * GIB : size;
}

static void make_memory(Vm *vm)
{
    guint64 size = vm_config(vm)->memory, below = memory_below_4g(size);
    Object *backend = memory_backend_new(vm, "pc.ram", size);
    Object *system = vm_part(vm, "system");

    vm_add_part(vm, "ram", backend->first_child);
    object_assign_link(vm_machine(vm), "memory-backend", backend);
    memory_region_new(vm_unattached(vm), "ram-below-4g[*]", system, 0, below, 0);
    if (size > below)
        memory_region_new(vm_unattached(vm), "ram-above-4g[*]", system, 4 * GIB, size - below, 0);
}

static void assign_uint(Object *object, const char *name, guint64 value)
{
    g_autofree char *json = g_strdup_printf("%" G_GUINT64_FORMAT, value);
    object_assign(object, name, json);
}

/* The host bridge shows how memory and PCI share the addresses. */
static void make_memory_map(Vm *vm)
{
    Object *q35 = vm_part(vm, "q35"), *mch = vm_part(vm, "mch");
    guint64 size = vm_config(vm)->memory, below = memory_below_4g(size), above = size - below;
    guint64 hole64 = (4 * GIB + above + GIB - 1) / GIB * GIB;

    assign_uint(q35, "below-4g-mem-size", below);
    assign_uint(q35, "above-4g-mem-size", above);
    assign_uint(q35, "MCFG", G_MAXUINT64); /* until the firmware places it */
    assign_uint(q35, "pci-hole-start", below);
    assign_uint(q35, "pci-hole-end", IOAPIC_ADDRESS);
    assign_uint(q35, "pci-hole64-start", hole64);
    assign_uint(q35, "pci-hole64-end", hole64 + 32 * GIB);
    assign_uint(object_child(mch, "tseg-blackhole[0]"), "addr", below);
    assign_uint(object_child(mch, "tseg-window[0]"), "addr", below);
}

/* ---- the host's side of the board's ports ---- */

/* A text console of the display, where the configuration has nothing else. */
static void make_console(Vm *vm, const char *port)
{
    g_autofree char *name = g_strdup_printf("%s0", port);
    g_autofree char *json = g_strdup_printf("\"%s\"", name);

    object_new_child(object_child(vm_root(vm), "backend"), "console[*]", vm_class(vm, "qemu-fixed-text-console"));
    ((Chardev *)object_new_child(vm_chardevs(vm), name, vm_class(vm, chardev_vc_type.name)))->user = vm_part(vm, port);
    object_assign(vm_part(vm, port), "chardev", json);
}

gboolean machine_connect_ports(Vm *vm, GError **error)
{
    const char *serial = vm_config(vm)->serial;
    Chardev *chardev = serial ? chardev_find(vm, serial) : NULL;

    make_console(vm, "parallel");
    if (!serial) {
        make_console(vm, "serial");
    } else if (!chardev) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "serial: there is no character device '%s'",
                    serial);
        return FALSE;
    } else {
        g_autofree char *json = g_strdup_printf("\"%s\"", serial);
        chardev->user = vm_part(vm, "serial");
        object_assign(chardev->user, "chardev", json);
    }
    return TRUE;
}

static const BoardStep steps[] = {
    {"memory", make_memory},
    {"cpus", x86_cpus_make},
    {"memory-map", make_memory_map},
    {NULL, NULL},
};

void machine_make(Vm *vm)
{
    Object *object = object_new_child(vm_root(vm), "machine", vm_class(vm, pc_q35_machine_type.name));
    Machine *machine = (Machine *)object;

    vm_add_part(vm, "machine", object);
    board_make(vm, pc_q35_machine_type.name, steps);
    object_set_alias_target(object, &machine->rtc, vm_part(vm, "rtc"));
}

void machine_tick(Vm *vm, gint64 seconds)
{
    rtc_set(vm_part(vm, "rtc"), seconds);
}
