/* SPDX-License-Identifier: MIT */
/*
 * query-pci: what stands on the PCI bus. What a device says of itself in its configuration space follows from its
 * type: vmm/data/pci.json. Its addresses are those before a firmware has given it some.
 */
#include <string.h>

#include "vmm/data.h"
#include "vmm/qmp-path.h"
#include "vmm/query-pieces.h"

/* Where the devices are in a PCI bus: eight functions in a slot. */
enum { FUNCTIONS = 8 };

typedef struct PciDevice {
    const Node *node;
    char *id; /* or "" */
    guint64 devfn;
} PciDevice;

static void device_clear(gpointer data)
{
    g_free(((PciDevice *)data)->id);
}

static int by_devfn(gconstpointer a, gconstpointer b)
{
    guint64 first = ((const PciDevice *)a)->devfn, second = ((const PciDevice *)b)->devfn;

    return first < second ? -1 : first > second;
}

/* The id where the path is that of a device with one. */
static char *id_from_path(const char *path)
{
    static const char peripheral[] = "/machine/peripheral/";

    return g_strdup(g_str_has_prefix(path, peripheral) ? path + strlen(peripheral) : "");
}

/* The devices that the bus has links to, by address. */
static GArray *devices_on(const Node *root, const Node *bus)
{
    GArray *devices = g_array_new(FALSE, FALSE, sizeof(PciDevice));

    g_array_set_clear_func(devices, device_clear);
    for (guint slot = 0; slot < node_slot_count(bus); slot++) {
        g_autofree char *path = NULL;
        PciDevice device;

        if (!g_str_has_prefix(node_slot_info(bus, slot)->name, "child[") || !node_slot_is_link(bus, slot))
            continue;
        path = json_string_dup(node_slot_value(bus, slot), NULL);
        device.node = qmp_path_resolve(root, path, NULL, NULL);
        if (!device.node)
            continue;
        device.id = id_from_path(path);
        device.devfn = query_number(device.node, "addr");
        g_array_append_val(devices, device);
    }
    g_array_sort(devices, by_devfn);
    return devices;
}

/* A bridge as it is before a firmware numbers its buses: nothing behind it is seen. */
static void append_bridge(GString *out)
{
    g_string_append(out, ",\"pci_bridge\":{\"bus\":{\"prefetchable_range\":{\"limit\":1048575,\"base\":4293918720},"
                         "\"memory_range\":{\"limit\":1048575,\"base\":4293918720},\"secondary\":0,"
                         "\"io_range\":{\"limit\":4095,\"base\":61440},\"number\":0,\"subordinate\":0}}");
}

static gboolean append_device(GString *out, const PciDevice *device, GError **error)
{
    g_autofree char *type = json_string_dup(node_type(device->node), NULL);
    JsonSlice row = json_member(data_json(DATA_PCI), type), pin = json_member(row, "pin");
    guint64 slot = device->devfn / FUNCTIONS, function = device->devfn % FUNCTIONS;

    if (!row.length) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "vmm/data/pci.json does not say what a %s is", type);
        return FALSE;
    }
    query_append_comma(out);
    g_string_append(out, "{\"irq_pin\":");
    json_append_slice(out, pin);
    g_string_append(out, ",\"bus\":0");
    if (json_member(row, "bridge").length)
        append_bridge(out);
    g_string_append(out, ",\"qdev_id\":");
    json_append_string(out, device->id, -1);
    if (pin.text[0] != '0') /* it has one */
        g_string_append(out, ",\"irq\":0");
    g_string_append_printf(out, ",\"slot\":%" G_GUINT64_FORMAT ",\"class_info\":", slot);
    json_append_slice(out, json_member(row, "class"));
    g_string_append(out, ",\"id\":");
    json_append_slice(out, json_member(row, "id"));
    g_string_append_printf(out, ",\"function\":%" G_GUINT64_FORMAT ",\"regions\":", function);
    json_append_slice(out, json_member(row, "regions"));
    g_string_append_c(out, '}');
    return TRUE;
}

static gboolean query_pci(const QueryInput *in, GString *out, GError **error)
{
    const Node *root = views_get(in->snapshot->root, VIEW_QOM);
    const Node *bus = qmp_path_resolve(root, "/machine/q35/pcie.0", NULL, error);
    g_autoptr(GArray) devices = bus ? devices_on(root, bus) : NULL;
    gboolean ok = bus != NULL;

    g_string_append(out, "[{\"bus\":0,\"devices\":[");
    for (guint i = 0; ok && i < devices->len; i++)
        ok = append_device(out, &g_array_index(devices, PciDevice, i), error);
    g_string_append(out, "]}]");
    return ok;
}

const Query queries_pci[] = {
    {.command = "query-pci", .answer = query_pci},
    {0},
};
