/* SPDX-License-Identifier: MIT */
/* Configurations: the default one, copying, freeing. */
#include <string.h>

#include "vmm/config-private.h"

static void disk_clear(gpointer data)
{
    VmDisk *disk = data;
    g_free(disk->id);
    g_free(disk->iothread);
    g_free(disk->serial);
    g_free(disk->file);
}

static void nic_clear(gpointer data)
{
    VmNic *nic = data;
    g_free(nic->id);
    g_free(nic->mac);
}

static GArray *disks_new(void)
{
    GArray *disks = g_array_new(FALSE, TRUE, sizeof(VmDisk));
    g_array_set_clear_func(disks, disk_clear);
    return disks;
}

static GArray *nics_new(void)
{
    GArray *nics = g_array_new(FALSE, TRUE, sizeof(VmNic));
    g_array_set_clear_func(nics, nic_clear);
    return nics;
}

static VmConfig *config_new_empty(void)
{
    VmConfig *config = g_new0(VmConfig, 1);
    config->disks = disks_new();
    config->nics = nics_new();
    config->iothreads = g_ptr_array_new_with_free_func(g_free);
    config->objects = g_ptr_array_new_with_free_func(g_free);
    config->blockdevs = g_ptr_array_new_with_free_func(g_free);
    config->chardevs = g_ptr_array_new_with_free_func(g_free);
    config->netdevs = g_ptr_array_new_with_free_func(g_free);
    config->devices = g_ptr_array_new_with_free_func(g_free);
    config->faults = g_ptr_array_new_with_free_func(g_free);
    config->qmp.capabilities = g_ptr_array_new_with_free_func(g_free);
    config->qmp.without = g_ptr_array_new_with_free_func(g_free);
    return config;
}

char *config_default_mac(guint index)
{
    guint32 last = 0x123456 + index;
    return g_strdup_printf("52:54:00:%02x:%02x:%02x", last >> 16 & 0xff, last >> 8 & 0xff, last & 0xff);
}

gboolean config_resolve_topology(VmCpus *cpus)
{
    guint64 others;

    cpus->sockets = MAX(cpus->sockets, 1);
    cpus->dies = MAX(cpus->dies, 1);
    cpus->modules = MAX(cpus->modules, 1);
    cpus->threads = MAX(cpus->threads, 1);
    others = (guint64)cpus->sockets * cpus->dies * cpus->modules * cpus->threads;
    if (!cpus->cores)
        cpus->cores = (guint)MAX(cpus->count / others, 1);
    return others * cpus->cores == cpus->count;
}

VmConfig *config_new_open(void)
{
    VmConfig *config = config_new_empty();
    const VmDisk disks[] = {
        {.id = g_strdup("disk0"), .size = 8 * GIB, .iothread = g_strdup("iothread0")},
        {.id = g_strdup("disk1"), .size = 32 * GIB},
    };
    const VmNic nic = {.id = g_strdup("nic0"), .mac = config_default_mac(0)};

    config->name = g_strdup("qomfs");
    config->uuid = g_strdup("00000000-0000-0000-0000-000000000000");
    config->machine = g_strdup("q35");
    config->cpus = (VmCpus){.count = 4, .model = g_strdup("qemu64")};
    config->memory = 512 * MIB;
    g_array_append_vals(config->disks, disks, G_N_ELEMENTS(disks));
    g_array_append_val(config->nics, nic);
    g_ptr_array_add(config->iothreads, g_strdup("iothread0"));
    g_ptr_array_add(config->qmp.capabilities, g_strdup("oob"));
    config->root_ports = 4;
    return config;
}

VmConfig *vm_config_new(void)
{
    VmConfig *config = config_new_open();
    config_resolve_topology(&config->cpus);
    return config;
}

static void copy_strings(const GPtrArray *from, GPtrArray *to)
{
    for (guint i = 0; i < from->len; i++)
        g_ptr_array_add(to, g_strdup(from->pdata[i]));
}

VmConfig *vm_config_copy(const VmConfig *config)
{
    VmConfig *copy = config_new_empty();

    copy->name = g_strdup(config->name);
    copy->uuid = g_strdup(config->uuid);
    copy->machine = g_strdup(config->machine);
    copy->cpus = config->cpus;
    copy->cpus.model = g_strdup(config->cpus.model);
    copy->memory = config->memory;
    for (guint i = 0; i < config->disks->len; i++) {
        VmDisk disk = g_array_index(config->disks, VmDisk, i);
        disk.id = g_strdup(disk.id);
        disk.iothread = g_strdup(disk.iothread);
        disk.serial = g_strdup(disk.serial);
        disk.file = g_strdup(disk.file);
        g_array_append_val(copy->disks, disk);
    }
    for (guint i = 0; i < config->nics->len; i++) {
        VmNic nic = g_array_index(config->nics, VmNic, i);
        nic.id = g_strdup(nic.id);
        nic.mac = g_strdup(nic.mac);
        g_array_append_val(copy->nics, nic);
    }
    copy_strings(config->iothreads, copy->iothreads);
    copy_strings(config->objects, copy->objects);
    copy_strings(config->blockdevs, copy->blockdevs);
    copy_strings(config->chardevs, copy->chardevs);
    copy_strings(config->netdevs, copy->netdevs);
    copy_strings(config->devices, copy->devices);
    copy_strings(config->faults, copy->faults);
    copy->qmp.version = g_strdup(config->qmp.version);
    copy_strings(config->qmp.capabilities, copy->qmp.capabilities);
    copy_strings(config->qmp.without, copy->qmp.without);
    copy->qmp.exclusive = config->qmp.exclusive;
    copy->serial = g_strdup(config->serial);
    copy->root_ports = config->root_ports;
    copy->paused = config->paused;
    return copy;
}

void vm_config_free(VmConfig *config)
{
    if (!config)
        return;
    g_free(config->name);
    g_free(config->uuid);
    g_free(config->machine);
    g_free(config->serial);
    g_free(config->cpus.model);
    g_array_unref(config->disks);
    g_array_unref(config->nics);
    g_ptr_array_unref(config->iothreads);
    g_ptr_array_unref(config->objects);
    g_ptr_array_unref(config->blockdevs);
    g_ptr_array_unref(config->chardevs);
    g_ptr_array_unref(config->netdevs);
    g_ptr_array_unref(config->devices);
    g_ptr_array_unref(config->faults);
    g_free(config->qmp.version);
    g_ptr_array_unref(config->qmp.capabilities);
    g_ptr_array_unref(config->qmp.without);
    g_free(config);
}
