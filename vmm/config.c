/* SPDX-License-Identifier: MIT */
/*
 * The configuration of the built-in VM. Each kind of object in the file is a table of members,
 * so that a new member is a row; docs/configuration.md is checked against the tables by a test.
 */
#include "vmm/config.h"

#include <string.h>

#include "objmodel/json.h"
#include "vmm/config-members.h"
#include "vmm/id.h"

G_DEFINE_QUARK(config - error, config_error)

#define GIB (G_GUINT64_CONSTANT(1) << 30)
#define MIB (G_GUINT64_CONSTANT(1) << 20)

/* A row of a table. */
#define MEMBER(T, field, member_name, member_kind, ...)                                                                \
    {                                                                                                                  \
        .name = member_name, .kind = member_kind, .offset = offsetof(T, field), __VA_ARGS__                            \
    }

/* ---- life ---- */

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

/* The addresses that QEMU gives where none is given. */
static char *default_mac(guint index)
{
    guint32 last = 0x123456 + index;
    return g_strdup_printf("52:54:00:%02x:%02x:%02x", last >> 16 & 0xff, last >> 8 & 0xff, last & 0xff);
}

/* What is left open of the topology follows from the count; the cores take what the others
 * leave. FALSE where the product is not the count. */
static gboolean resolve_topology(VmCpus *cpus)
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

/* The default with its topology left open. */
static VmConfig *config_new_open(void)
{
    VmConfig *config = config_new_empty();
    const VmDisk disks[] = {
        {.id = g_strdup("disk0"), .size = 8 * GIB, .iothread = g_strdup("iothread0")},
        {.id = g_strdup("disk1"), .size = 32 * GIB},
    };
    const VmNic nic = {.id = g_strdup("nic0"), .mac = default_mac(0)};

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
    resolve_topology(&config->cpus);
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

/* ---- checks of single values ---- */

static const char *check_id(const char *text)
{
    return id_is_valid(text) ? NULL : "a letter, then letters, digits, '-', '.' or '_'";
}

static const char *check_uuid(const char *text)
{
    return g_uuid_string_is_valid(text) ? NULL : "a UUID";
}

static const char *check_mac(const char *text)
{
    static const char pattern[] = "xx:xx:xx:xx:xx:xx";
    gsize i = 0;

    while (pattern[i] && (pattern[i] == 'x' ? g_ascii_isxdigit(text[i]) : text[i] == ':'))
        i++;
    return pattern[i] || text[i] ? "a MAC address, six pairs of hexadecimal digits with ':' between them" : NULL;
}

static const char *check_machine(const char *text)
{
    return strcmp(text, "q35") == 0 || strcmp(text, "pc-q35-11.1") == 0 ? NULL : "\"q35\"";
}

/* Three numbers, as a greeting has them. */
static const char *check_version(const char *text)
{
    return g_regex_match_simple("^[0-9]{1,4}\\.[0-9]{1,4}\\.[0-9]{1,4}$", text, 0, 0) ? NULL
                                                                                      : "a version, such as \"2.11.0\"";
}

static const char *check_capability(const char *text)
{
    return strcmp(text, "oob") == 0 ? NULL : "\"oob\"";
}

/* The length of a virtio-blk serial number. */
static const char *check_serial(const char *text)
{
    return strlen(text) <= 20 ? NULL : "at most 20 characters";
}

/* ---- the tables ---- */

static gboolean end_cpus(ConfigReader *reader, gpointer target);
static gboolean end_disk(ConfigReader *reader, gpointer target);
static gboolean end_nic(ConfigReader *reader, gpointer target);

static const ConfigMember cpus_members[] = {
    MEMBER(VmCpus, count, "count", CONFIG_UINT, .min = 1, .max = CONFIG_MAX_CPUS),
    MEMBER(VmCpus, model, "model", CONFIG_STRING),
    MEMBER(VmCpus, sockets, "sockets", CONFIG_UINT, .min = 1, .max = CONFIG_MAX_CPUS),
    MEMBER(VmCpus, dies, "dies", CONFIG_UINT, .min = 1, .max = CONFIG_MAX_CPUS),
    MEMBER(VmCpus, modules, "modules", CONFIG_UINT, .min = 1, .max = CONFIG_MAX_CPUS),
    MEMBER(VmCpus, cores, "cores", CONFIG_UINT, .min = 1, .max = CONFIG_MAX_CPUS),
    MEMBER(VmCpus, threads, "threads", CONFIG_UINT, .min = 1, .max = CONFIG_MAX_CPUS),
    {0},
};
static const ConfigObject cpus_object = {cpus_members, sizeof(VmCpus), end_cpus, NULL};

static const ConfigMember disk_members[] = {
    MEMBER(VmDisk, id, "id", CONFIG_STRING, .check = check_id, .required = TRUE),
    MEMBER(VmDisk, size, "size", CONFIG_SIZE, .min = 512, .max = G_MAXINT64),
    MEMBER(VmDisk, iothread, "iothread", CONFIG_STRING, .check = check_id),
    MEMBER(VmDisk, serial, "serial", CONFIG_STRING, .check = check_serial),
    MEMBER(VmDisk, file, "file", CONFIG_STRING),
    MEMBER(VmDisk, direct, "direct", CONFIG_BOOL),
    {0},
};
static const ConfigObject disk_object = {disk_members, sizeof(VmDisk), end_disk, NULL};

static const ConfigMember nic_members[] = {
    MEMBER(VmNic, id, "id", CONFIG_STRING, .check = check_id, .required = TRUE),
    MEMBER(VmNic, mac, "mac", CONFIG_STRING, .check = check_mac),
    {0},
};
static const ConfigObject nic_object = {nic_members, sizeof(VmNic), end_nic, NULL};

static const ConfigMember qmp_members[] = {
    MEMBER(VmQmp, version, "version", CONFIG_STRING, .check = check_version),
    MEMBER(VmQmp, capabilities, "capabilities", CONFIG_STRINGS, .check = check_capability),
    MEMBER(VmQmp, without, "without", CONFIG_STRINGS),
    MEMBER(VmQmp, exclusive, "exclusive", CONFIG_BOOL),
    {0},
};
static const ConfigObject qmp_object = {qmp_members, sizeof(VmQmp), NULL, NULL};

static const ConfigMember config_members[] = {
    MEMBER(VmConfig, name, "name", CONFIG_STRING),
    MEMBER(VmConfig, uuid, "uuid", CONFIG_STRING, .check = check_uuid),
    MEMBER(VmConfig, machine, "machine", CONFIG_STRING, .check = check_machine),
    MEMBER(VmConfig, cpus, "cpus", CONFIG_OBJECT, .object = &cpus_object),
    MEMBER(VmConfig, memory, "memory", CONFIG_SIZE, .min = CONFIG_MIN_MEMORY, .max = CONFIG_MAX_MEMORY),
    MEMBER(VmConfig, disks, "disks", CONFIG_OBJECTS, .object = &disk_object),
    MEMBER(VmConfig, nics, "nics", CONFIG_OBJECTS, .object = &nic_object),
    MEMBER(VmConfig, iothreads, "iothreads", CONFIG_STRINGS, .check = check_id),
    MEMBER(VmConfig, objects, "objects", CONFIG_JSON),
    MEMBER(VmConfig, blockdevs, "blockdevs", CONFIG_JSON),
    MEMBER(VmConfig, chardevs, "chardevs", CONFIG_JSON),
    MEMBER(VmConfig, netdevs, "netdevs", CONFIG_JSON),
    MEMBER(VmConfig, serial, "serial", CONFIG_STRING),
    MEMBER(VmConfig, devices, "devices", CONFIG_JSON),
    MEMBER(VmConfig, faults, "faults", CONFIG_JSON),
    MEMBER(VmConfig, qmp, "qmp", CONFIG_OBJECT, .object = &qmp_object),
    MEMBER(VmConfig, root_ports, "root-ports", CONFIG_UINT, .max = CONFIG_MAX_ROOT_PORTS),
    MEMBER(VmConfig, paused, "paused", CONFIG_BOOL),
    {0},
};
static const ConfigObject config_object = {config_members, sizeof(VmConfig), NULL, NULL};

/* ---- checks of what belongs together ---- */

static gboolean end_cpus(ConfigReader *reader, gpointer target)
{
    VmCpus *cpus = target;

    if (resolve_topology(cpus))
        return TRUE;
    return config_reader_fail(reader,
                              "sockets (%u) * dies (%u) * modules (%u) * cores (%u) * threads (%u) is not count (%u)",
                              cpus->sockets, cpus->dies, cpus->modules, cpus->cores, cpus->threads, cpus->count);
}

/* A file has a size of its own. */
static gboolean end_disk(ConfigReader *reader, gpointer target)
{
    VmDisk *disk = target;

    if (disk->file && disk->size)
        return config_reader_fail(reader, "size: it is the file's");
    if (!disk->file && disk->direct)
        return config_reader_fail(reader, "direct: there is no file");
    if (!disk->file && !disk->size)
        disk->size = 8 * GIB;
    return TRUE;
}

static gboolean end_nic(ConfigReader *reader, gpointer target)
{
    VmNic *nic = target;
    if (!nic->mac)
        nic->mac = default_mac(config_reader_index(reader));
    return TRUE;
}

/* Notes the id; FALSE where it stood before. */
static gboolean take_id(ConfigReader *reader, GHashTable *taken, const char *list, char *id)
{
    if (g_hash_table_add(taken, id))
        return TRUE;
    config_reader_point_at(reader, list);
    return config_reader_fail(reader, "%s: the id '%s' stands twice", list, id);
}

static gboolean check_together(const VmConfig *config, ConfigReader *reader)
{
    guint n_devices = config->disks->len + config->nics->len;
    g_autoptr(GHashTable) devices = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) iothreads = g_hash_table_new(g_str_hash, g_str_equal);

    if (n_devices > CONFIG_MAX_DEVICES) {
        config_reader_point_at(reader, config_reader_saw(reader, "disks") ? "disks" : "nics");
        return config_reader_fail(reader, "%u disks and nics are more than the board has places for (%d)", n_devices,
                                  CONFIG_MAX_DEVICES);
    }
    for (guint i = 0; i < config->iothreads->len; i++) {
        if (!take_id(reader, iothreads, "iothreads", config->iothreads->pdata[i]))
            return FALSE;
    }
    for (guint i = 0; i < config->disks->len; i++) {
        const VmDisk *disk = &g_array_index(config->disks, VmDisk, i);
        if (!take_id(reader, devices, "disks", disk->id))
            return FALSE;
        if (disk->iothread && !g_hash_table_contains(iothreads, disk->iothread)) {
            config_reader_point_at(reader, "disks");
            return config_reader_fail(reader, "disks[%u].iothread: there is no iothread '%s'", i, disk->iothread);
        }
    }
    for (guint i = 0; i < config->nics->len; i++) {
        if (!take_id(reader, devices, "nics", g_array_index(config->nics, VmNic, i).id))
            return FALSE;
    }
    return TRUE;
}

static void add_member_names(const ConfigObject *object, GPtrArray *names)
{
    for (const ConfigMember *member = object->members; member->name; member++) {
        g_ptr_array_add(names, (gpointer)member->name);
        if (member->object)
            add_member_names(member->object, names);
    }
}

GPtrArray *vm_config_member_names(void)
{
    GPtrArray *names = g_ptr_array_new();
    add_member_names(&config_object, names);
    return names;
}

VmConfig *vm_config_from_json(const char *text, gsize length, GError **error)
{
    g_autoptr(VmConfig) config = config_new_open();
    ConfigReader *reader = config_reader_new(text, length);
    gboolean ok;

    /* The default's disk names the default's iothread: who replaces one of the lists would have to
     * repeat the other. */
    ok = config_reader_object(reader, &config_object, config);
    if (ok && config_reader_saw(reader, "iothreads") && !config_reader_saw(reader, "disks"))
        g_clear_pointer(&g_array_index(config->disks, VmDisk, 0).iothread, g_free);
    ok = ok && check_together(config, reader);
    if (ok && !config_reader_saw(reader, "cpus"))
        resolve_topology(&config->cpus);
    ok = config_reader_end(reader, ok, error);
    if (!ok)
        return NULL;
    for (char *c = config->uuid; *c; c++)
        *c = g_ascii_tolower(*c);
    return g_steal_pointer(&config);
}
