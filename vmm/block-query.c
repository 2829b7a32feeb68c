/* SPDX-License-Identifier: MIT */
/* See block-query.h. An entry is text but for the sizes of files, which move. Entries are immutable, and lists share
 * them. */
#include "vmm/block-query.h"

#include "vmm/block.h"
#include "vmm/vm-private.h"

/* BlockDeviceInfo of a node. */
typedef struct NodeEntry {
    char *head, *tail; /* around the file's size */
    BlockFile *file;   /* or NULL: 0 */
} NodeEntry;

/* BlockInfo of a disk. */
typedef struct DiskEntry {
    char *head, *tail;
    NodeEntry node;
} DiskEntry;

struct BlockList {
    gatomicrefcount refs;
    guint n_nodes, n_disks;
    NodeEntry *nodes;
    DiskEntry *disks;
};

static void append_bool(GString *out, const char *name, gboolean value)
{
    g_string_append_printf(out, "\"%s\":%s,", name, value ? "true" : "false");
}

static void append_text(GString *out, const char *name, const char *value)
{
    g_string_append_printf(out, "\"%s\":", name);
    json_append_string(out, value, -1);
    g_string_append_c(out, ',');
}

/* What the file below asks for. */
static void append_limits(GString *out, const BlockNode *node)
{
    const BlockNode *last = node;

    while (last->on)
        last = last->on;
    g_string_append_printf(
        out,
        "\"limits\":{\"request-alignment\":%d,\"min-mem-alignment\":%d,\"opt-mem-alignment\":4096,\"max-iov\":1024},",
        node->file && node->options.direct ? 512 : 1, last->file && !last->options.direct ? 1 : 512);
}

static NodeEntry node_entry(const BlockNode *node, gboolean writeback)
{
    GString *head = g_string_new("{\"iops_rd\":0,"), *tail = g_string_new(NULL);
    const BlockNode *last = node;

    while (last->on)
        last = last->on;
    append_text(head, "detect_zeroes", node->options.detect_zeroes);
    g_string_append(head, "\"active\":true,\"image\":{");
    append_limits(head, node);
    g_string_append_printf(head, "\"virtual-size\":%" G_GUINT64_FORMAT ",", node->size);
    append_text(head, "filename", node->filename);
    g_string_append_printf(head, "\"format\":\"%s\",\"actual-size\":", block_driver_names[node->options.driver]);

    if (node->file)
        g_string_append(tail, ",\"format-specific\":{\"type\":\"file\",\"data\":{}}");
    g_string_append_printf(tail, "%s},\"iops_wr\":0,", last->file ? ",\"dirty-flag\":false" : "");
    append_bool(tail, "ro", node->options.read_only);
    g_string_append(tail, "\"children\":[");
    if (node->on) {
        g_string_append(tail, "{\"node-name\":");
        json_append_string(tail, node->on->name, -1);
        g_string_append(tail, ",\"child\":\"file\"}");
    }
    g_string_append(tail, "],");
    append_text(tail, "node-name", node->name);
    g_string_append_printf(tail,
                           "\"backing_file_depth\":0,\"drv\":\"%s\",\"iops\":0,\"bps_wr\":0,\"write_threshold\":0,",
                           block_driver_names[node->options.driver]);
    g_string_append(tail, "\"encrypted\":false,\"bps\":0,\"bps_rd\":0,\"cache\":{");
    append_bool(tail, "no-flush", node->options.no_flush);
    append_bool(tail, "direct", node->options.direct);
    g_string_append_printf(tail, "\"writeback\":%s},\"file\":", writeback ? "true" : "false");
    json_append_string(tail, node->filename, -1);
    g_string_append_c(tail, '}');
    return (NodeEntry){.head = g_string_free(head, FALSE),
                       .tail = g_string_free(tail, FALSE),
                       .file = last->file ? block_file_ref(last->file) : NULL};
}

static DiskEntry disk_entry(const BlockAttachment *attachment)
{
    GString *head = g_string_new(NULL), *tail = g_string_new(",\"qdev\":");

    g_string_append_printf(head,
                           "{\"io-status\":\"%s\",\"device\":\"\",\"locked\":false,\"removable\":false,\"inserted\":",
                           attachment->io_status);
    object_append_path(attachment->node->user, tail);
    g_string_append(tail, ",\"type\":\"unknown\"}");
    return (DiskEntry){.head = g_string_free(head, FALSE),
                       .tail = g_string_free(tail, FALSE),
                       .node = node_entry(attachment->node, attachment->writeback)};
}

static void node_entry_clear(NodeEntry *entry)
{
    g_free(entry->head);
    g_free(entry->tail);
    block_file_unref(entry->file);
}

BlockList *block_list_new(Vm *vm)
{
    GPtrArray *nodes = vm_block_nodes(vm)->all, *disks = vm_disks(vm);
    BlockList *list = g_new0(BlockList, 1);

    g_atomic_ref_count_init(&list->refs);
    list->n_nodes = nodes->len;
    list->n_disks = disks->len;
    list->nodes = g_new(NodeEntry, MAX(nodes->len, 1));
    list->disks = g_new(DiskEntry, MAX(disks->len, 1));
    /* The newest comes first. */
    for (guint i = 0; i < nodes->len; i++)
        list->nodes[i] = node_entry(nodes->pdata[nodes->len - 1 - i], TRUE);
    for (guint i = 0; i < disks->len; i++)
        list->disks[i] = disk_entry(disks->pdata[i]);
    return list;
}

BlockList *block_list_ref(BlockList *list)
{
    g_atomic_ref_count_inc(&list->refs);
    return list;
}

void block_list_unref(BlockList *list)
{
    if (!list || !g_atomic_ref_count_dec(&list->refs))
        return;
    for (guint i = 0; i < list->n_nodes; i++)
        node_entry_clear(&list->nodes[i]);
    for (guint i = 0; i < list->n_disks; i++) {
        node_entry_clear(&list->disks[i].node);
        g_free(list->disks[i].head);
        g_free(list->disks[i].tail);
    }
    g_free(list->nodes);
    g_free(list->disks);
    g_free(list);
}

static void append_node(const NodeEntry *entry, GString *out)
{
    g_string_append(out, entry->head);
    json_append_uint(out, entry->file ? block_file_actual_size(entry->file) : 0);
    g_string_append(out, entry->tail);
}

void block_list_append_disks(const BlockList *list, GString *out)
{
    g_string_append_c(out, '[');
    for (guint i = 0; i < list->n_disks; i++) {
        const DiskEntry *disk = &list->disks[i];
        g_string_append(out, i ? "," : "");
        g_string_append(out, disk->head);
        append_node(&disk->node, out);
        g_string_append(out, disk->tail);
    }
    g_string_append_c(out, ']');
}

void block_list_append_nodes(const BlockList *list, GString *out)
{
    g_string_append_c(out, '[');
    for (guint i = 0; i < list->n_nodes; i++) {
        g_string_append(out, i ? "," : "");
        append_node(&list->nodes[i], out);
    }
    g_string_append_c(out, ']');
}
