/* SPDX-License-Identifier: MIT */
/* Queries about memory. */
#include "vmm/query-pieces.h"
#include "qmp/message.h"

/* ---- what backs it ---- */

static void append_memdev(const QueryObject *backend, gpointer opaque)
{
    static const char *const properties[] = {"share", "reserve", "prealloc", "host-nodes",
                                             "size",  "merge",   "dump",     "policy"};
    GString *out = opaque;

    query_append_comma(out);
    g_string_append(out, "{\"id\":");
    json_append_slice(out, backend->node->json_name);
    for (guint i = 0; i < G_N_ELEMENTS(properties); i++)
        query_append_slot(out, backend->node, properties[i], NULL);
    g_string_append_c(out, '}');
}

static gboolean query_memdev(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    g_string_append_c(out, '[');
    query_each(in, "/objects", "memory-backend", append_memdev, out);
    g_string_append_c(out, ']');
    return TRUE;
}

/* ---- memory that was plugged ---- */

/* The devices that are memory, and what QEMU calls them here. */
static const struct {
    const char *type, *shown;
} memory_types[] = {{"pc-dimm", "dimm"}, {"nvdimm", "nvdimm"}};

typedef struct MemoryList {
    GString *out; /* or NULL: only the sum is wanted */
    const char *shown;
    guint64 plugged;
} MemoryList;

static void add_memory_device(const QueryObject *device, gpointer opaque)
{
    static const char *const properties[] = {"memdev", "hotplugged", "addr", "hotpluggable", "size", "slot", "node"};
    MemoryList *list = opaque;

    list->plugged += query_number(device->node, "size");
    if (!list->out)
        return;
    query_append_comma(list->out);
    g_string_append_printf(list->out, "{\"type\":\"%s\",\"data\":{", list->shown);
    for (guint i = 0; i < G_N_ELEMENTS(properties); i++)
        query_append_slot(list->out, device->node, properties[i], NULL);
    if (!strchr(device->node->name, '[')) {
        query_append_comma(list->out);
        g_string_append(list->out, "\"id\":");
        json_append_slice(list->out, device->node->json_name);
    }
    g_string_append(list->out, "}}");
}

static void each_memory_device(const QueryInput *in, MemoryList *list)
{
    for (guint i = 0; i < G_N_ELEMENTS(memory_types); i++) {
        list->shown = memory_types[i].shown;
        query_each_device(in, memory_types[i].type, add_memory_device, list);
    }
}

static gboolean query_memory_devices(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    MemoryList list = {.out = out};

    g_string_append_c(out, '[');
    each_memory_device(in, &list);
    g_string_append_c(out, ']');
    return TRUE;
}

static gboolean query_memory_size_summary(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    MemoryList list = {0};

    each_memory_device(in, &list);
    g_string_append_printf(out, "{\"base-memory\":%" G_GUINT64_FORMAT ",\"plugged-memory\":%" G_GUINT64_FORMAT "}",
                           vm_config(in->vm)->memory, list.plugged);
    return TRUE;
}

/* ---- the balloon ---- */

static void count_device(const QueryObject *device G_GNUC_UNUSED, gpointer opaque)
{
    ++*(guint *)opaque;
}

/* What the guest has left of its memory. */
static gboolean query_balloon(const QueryInput *in, GString *out, GError **error)
{
    guint n = 0;

    query_each_device(in, "virtio-balloon-pci", count_device, &n);
    if (n == 0) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_DEVICE_NOT_ACTIVE, "No balloon device has been activated");
        return FALSE;
    }
    g_string_append_printf(out, "{\"actual\":%" G_GUINT64_FORMAT "}", vm_balloon(in->vm));
    return TRUE;
}

/* ---- the table ---- */

const Query queries_memory[] = {
    {.command = "query-memdev", .answer = query_memdev},
    {.command = "query-memory-devices", .answer = query_memory_devices},
    {.command = "query-memory-size-summary", .answer = query_memory_size_summary},
    {.command = "query-balloon", .answer = query_balloon},
    {0},
};
