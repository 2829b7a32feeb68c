/* SPDX-License-Identifier: MIT */
/*
 * The configuration of the built-in VM, as a file has it. Each kind of object in the file is a table of members,
 * so that a new member is a row; docs/configuration.md and docs/vm-config.schema.json are checked against the tables by
 * tests.
 */
#include "vmm/config.h"

#include <string.h>

#include "objmodel/json.h"
#include "vmm/config-private.h"
#include "vmm/id.h"

G_DEFINE_QUARK(config - error, config_error)

/* A row of a table. */
#define MEMBER(T, field, member_name, member_kind, ...)                                                                \
    {                                                                                                                  \
        .name = member_name, .kind = member_kind, .offset = offsetof(T, field), __VA_ARGS__                            \
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
const ConfigObject config_object = {config_members, sizeof(VmConfig), NULL, NULL};

/* ---- checks of what belongs together ---- */

static gboolean end_cpus(ConfigReader *reader, gpointer target)
{
    VmCpus *cpus = target;

    if (config_resolve_topology(cpus))
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
        disk->size = CONFIG_DISK_SIZE;
    return TRUE;
}

static gboolean end_nic(ConfigReader *reader, gpointer target)
{
    VmNic *nic = target;
    if (!nic->mac)
        nic->mac = config_default_mac(config_reader_index(reader));
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

char *vm_config_print(const VmConfig *config)
{
    GString *text = g_string_new(NULL);
    config_write_object(&config_object, config, text);
    return g_string_free(text, FALSE);
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
        config_resolve_topology(&config->cpus);
    ok = config_reader_end(reader, ok, error);
    if (!ok)
        return NULL;
    for (char *c = config->uuid; *c; c++)
        *c = g_ascii_tolower(*c);
    return g_steal_pointer(&config);
}
