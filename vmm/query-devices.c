/* SPDX-License-Identifier: MIT */
/* Queries about devices: what is written and read through character devices, mice, network cards. */
#include <string.h>

#include "vmm/query-pieces.h"

/* ---- character devices ---- */

/* Whether somebody at the other end of a character device listens: a device that has it as its own, but for a
 * port, which the guest has to open. */
static gboolean is_open(const QueryInput *in, const Node *node, JsonSlice label)
{
    ChildrenIter iter = children_iter(node->children, 0);
    JsonSlice chardev = query_slot(node, "chardev");
    const Node *child;

    if (chardev.length && json_equal_bytes(chardev, label) && !query_is_a(in, node, "virtio-serial-port"))
        return TRUE;
    while ((child = children_next(&iter)))
        if (is_open(in, child, label))
            return TRUE;
    return FALSE;
}

/* "chardev-null" is shown as "null". */
static void append_chardev(const QueryObject *chardev, gpointer opaque)
{
    static const char prefix[] = "chardev-";
    GString *out = opaque;
    const QueryInput *in = chardev->in;
    JsonSlice label = chardev->node->json_name;
    g_autofree char *type = json_string_dup(node_type(chardev->node), NULL);

    query_append_comma(out);
    g_string_append(out, "{\"frontend-open\":");
    json_append_bool(out, is_open(in, views_get(in->snapshot->root, VIEW_QOM), label));
    g_string_append(out, ",\"filename\":");
    json_append_string(out, g_str_has_prefix(type, prefix) ? type + strlen(prefix) : type, -1);
    g_string_append(out, ",\"label\":");
    json_append_slice(out, label);
    g_string_append_c(out, '}');
}

static gboolean query_chardev(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    g_string_append_c(out, '[');
    query_each(in, "/chardevs", "chardev", append_chardev, out);
    g_string_append_c(out, ']');
    return TRUE;
}

/* ---- mice ---- */

/* The board's own one has this index; what is plugged comes later, and is listed before it. */
enum { PS2_MOUSE_INDEX = 2 };

static const struct {
    const char *type, *name;
    gboolean absolute;
} mouse_types[] = {{"usb-tablet", "QEMU HID Tablet", TRUE}, {"usb-mouse", "QEMU HID Mouse", FALSE}};

typedef struct MouseList {
    GString *text;
    guint index, kind;
} MouseList;

static void prepend_mouse(const QueryObject *mouse G_GNUC_UNUSED, gpointer opaque)
{
    MouseList *list = opaque;
    g_autofree char *text =
        g_strdup_printf("{\"index\":%u,\"name\":\"%s\",\"current\":false,\"absolute\":%s},", list->index++,
                        mouse_types[list->kind].name, mouse_types[list->kind].absolute ? "true" : "false");

    g_string_prepend(list->text, text);
}

static gboolean query_mice(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    g_autoptr(GString) text = g_string_new(NULL);
    MouseList list = {.text = text, .index = PS2_MOUSE_INDEX + 1};

    for (list.kind = 0; list.kind < G_N_ELEMENTS(mouse_types); list.kind++)
        query_each_device(in, mouse_types[list.kind].type, prepend_mouse, &list);
    g_string_append_printf(out, "[%s{\"index\":%d,\"name\":\"QEMU PS/2 Mouse\",\"current\":true,\"absolute\":false}]",
                           text->str, PS2_MOUSE_INDEX);
    return TRUE;
}

/* ---- what network cards let through ---- */

/* All VLANs. */
enum { VLANS = 4096 };

typedef struct RxFilterArgs {
    char *name;
} RxFilterArgs;

static const QmpArg rx_filter_args[] = {
    QMP_ARG(RxFilterArgs, name, "name", qmp_str, .optional = TRUE),
    {0},
};

typedef struct RxFilterList {
    GString *out;
    const char *wanted; /* or NULL */
    guint unnamed;      /* cards without an id */
    gboolean found;
} RxFilterList;

/* Before a guest's driver has said anything, everything gets through. */
static void append_rx_filter(const QueryObject *card, gpointer opaque)
{
    RxFilterList *list = opaque;
    g_autofree char *type = json_string_dup(node_type(card->node), NULL);
    g_autofree char *id = json_string_dup(card->node->json_name, NULL);
    g_autofree char *name =
        strstr(card->path, "/peripheral-anon/") ? g_strdup_printf("%s.%u", type, list->unnamed++) : g_strdup(id);

    if (list->wanted && strcmp(list->wanted, name) != 0)
        return;
    list->found = TRUE;
    query_append_comma(list->out);
    g_string_append(list->out, "{\"promiscuous\":true,\"name\":");
    json_append_string(list->out, name, -1);
    query_append_slot(list->out, card->node, "mac", "main-mac");
    g_string_append(list->out, ",\"unicast\":\"normal\",\"vlan\":\"all\",\"vlan-table\":[");
    for (int vlan = VLANS - 1; vlan >= 0; vlan--)
        g_string_append_printf(list->out, vlan ? "%d," : "%d]", vlan);
    g_string_append(list->out, ",\"unicast-table\":[],\"multicast\":\"normal\",\"multicast-overflow\":false,"
                               "\"unicast-overflow\":false,\"multicast-table\":[],\"broadcast-allowed\":false}");
}

static gboolean query_rx_filter(const QueryInput *in, GString *out, GError **error)
{
    const RxFilterArgs *args = in->args;
    RxFilterList list = {.out = out, .wanted = args->name};

    g_string_append_c(out, '[');
    query_each_device(in, "virtio-net-pci", append_rx_filter, &list);
    g_string_append_c(out, ']');
    if (list.found || !args->name)
        return TRUE;
    g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "invalid net client name: %s", args->name);
    return FALSE;
}

/* ---- the table ---- */

const Query queries_devices[] = {
    {.command = "query-chardev", .answer = query_chardev},
    {.command = "query-mice", .answer = query_mice},
    {.command = "query-rx-filter",
     .answer = query_rx_filter,
     .args = rx_filter_args,
     .args_size = sizeof(RxFilterArgs)},
    {0},
};
