/* SPDX-License-Identifier: MIT */
/* The far ends of network cards: netdev_add and netdev_del. Nothing is sent, so one that would need a device or
 * socket of the host is refused. The main loop. */
#include "vmm/netdev.h"

#include <string.h>

#include "vmm/hosts.h"
#include "vmm/id.h"
#include "vmm/vm-private.h"

static const char *const user_members[] = {
    "hostname",  "restrict",    "ipv4",
    "ipv6",      "ip",          "net",
    "host",      "tftp",        "bootfile",
    "dhcpstart", "dns",         "smb",
    "dnssearch", "domainname",  "tftp-server-name",
    "hostfwd",   "ipv6-prefix", "ipv6-prefixlen",
    "ipv6-host", "ipv6-dns",    "smbserver",
    "guestfwd",  NULL,
};

static const char *const hubport_members[] = {"hubid", "netdev", NULL};

static const struct {
    const char *name;
    const char *const *members; /* NULL: QEMU has it, the model does not */
    const char *required;
} kinds[] = {
    {"user", user_members, NULL}, {"hubport", hubport_members, "hubid"},
    {"nic", NULL, NULL},          {"tap", NULL, NULL},
    {"l2tpv3", NULL, NULL},       {"socket", NULL, NULL},
    {"stream", NULL, NULL},       {"dgram", NULL, NULL},
    {"vde", NULL, NULL},          {"bridge", NULL, NULL},
    {"netmap", NULL, NULL},       {"vhost-user", NULL, NULL},
    {"vhost-vdpa", NULL, NULL},   {"passt", NULL, NULL},
    {"af-xdp", NULL, NULL},
};

Netdev *netdev_find(Vm *vm, const char *id)
{
    return g_hash_table_lookup(vm_netdevs(vm), id);
}

void netdev_free(Netdev *netdev)
{
    g_free(netdev->id);
    g_free(netdev);
}

static gboolean G_GNUC_PRINTF(2, 3) fail(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error)
        *error = g_error_new_valist(OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, format, args);
    va_end(args);
    return FALSE;
}

/* A member that must be there and be a string. */
static gboolean string_member(JsonSlice arguments, const char *name, char **ret, GError **error)
{
    JsonSlice value = json_member(arguments, name);

    if (!value.length)
        return fail(error, "Parameter '%s' is missing", name);
    *ret = json_string_dup(value, NULL);
    return *ret || fail(error, "Invalid parameter type for '%s', expected: string", name);
}

gboolean netdev_add(Vm *vm, JsonSlice arguments, GError **error)
{
    static const char *const common[] = {"type", "id", NULL};
    g_autofree char *type = NULL, *id = NULL;
    JsonWalk walk = json_walk(arguments);
    JsonSlice key, value;
    Netdev *netdev;
    guint kind = 0;

    if (!string_member(arguments, "type", &type, error) || !string_member(arguments, "id", &id, error))
        return FALSE;
    while (kind < G_N_ELEMENTS(kinds) && strcmp(kinds[kind].name, type) != 0)
        kind++;
    if (kind == G_N_ELEMENTS(kinds))
        return fail(error, "Parameter 'type' does not accept value '%s'", type);
    if (!kinds[kind].members)
        return fail(error, "the built-in VM has no network backends of type '%s'", type);
    while (json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        if (!g_strv_contains(common, name) && !g_strv_contains(kinds[kind].members, name))
            return fail(error, "Parameter '%s' is unexpected", name);
    }
    if (kinds[kind].required && !json_member(arguments, kinds[kind].required).length)
        return fail(error, "Parameter '%s' is missing", kinds[kind].required);
    if (!id_is_valid(id))
        return fail(error, "Parameter 'id' expects an identifier");
    if (netdev_find(vm, id))
        return fail(error, "Duplicate ID '%s'", id);
    netdev = g_new0(Netdev, 1);
    netdev->id = g_strdup(id);
    netdev->type = kinds[kind].name;
    g_hash_table_insert(vm_netdevs(vm), netdev->id, netdev);
    return TRUE;
}

gboolean netdev_del(Vm *vm, const char *id, GError **error)
{
    if (g_hash_table_remove(vm_netdevs(vm), id))
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "Device '%s' not found", id);
    return FALSE;
}
