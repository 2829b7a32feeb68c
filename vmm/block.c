/* SPDX-License-Identifier: MIT */
/* Block nodes, and the statistics of disks as records that move. */
#include "vmm/block.h"

#include <string.h>

#include "vmm/views.h"
#include "vmm/vm-private.h"

/* ---- nodes ---- */

static BlockNode *node_add(Vm *vm, const char *name, guint64 size, BlockNode *file)
{
    BlockNode *node = g_new0(BlockNode, 1);
    node->name = g_strdup(name);
    node->size = size;
    node->file = file;
    node->stats = block_stats_new(file != NULL);
    node->refs = 1;
    g_hash_table_insert(vm_block_nodes(vm), node->name, node);
    return node;
}

BlockNode *block_node_new(Vm *vm, const char *name, guint64 size)
{
    return node_add(vm, name, size, NULL);
}

BlockNode *block_node_new_raw(Vm *vm, const char *name, BlockNode *file)
{
    file->refs++;
    return node_add(vm, name, file->size, file);
}

BlockNode *block_node_find(Vm *vm, const char *name)
{
    return g_hash_table_lookup(vm_block_nodes(vm), name);
}

void block_node_unref(BlockNode *node)
{
    if (!node || --node->refs > 0)
        return;
    block_node_unref(node->file);
    block_stats_unref(node->stats);
    g_free(node->name);
    g_free(node);
}

void block_attach(Vm *vm, BlockNode *node, Object *disk)
{
    node->refs++;
    node->user = disk;
    g_ptr_array_add(vm_disks(vm), node);
    vm_disks_changed(vm);
}

void block_detach(Vm *vm, BlockNode *node)
{
    node->user = NULL;
    g_ptr_array_remove(vm_disks(vm), node);
    vm_disks_changed(vm);
    block_node_unref(node);
}

/* ---- what is shown ---- */

/* One disk's entry of query-blockstats, at any moment and on any thread. */
typedef struct DiskSampler {
    Sampler base;
    guint n;
    struct {
        BlockStats *stats;
        char *name; /* JSON */
    } levels[2];    /* the root node, and what it stands on */
    char *qdev;     /* JSON */
} DiskSampler;

static void append_level(const DiskSampler *sampler, guint level, GString *out)
{
    if (level + 1 < MIN(sampler->n, G_N_ELEMENTS(sampler->levels))) {
        g_string_append(out, "\"parent\":{");
        append_level(sampler, level + 1, out);
        g_string_append(out, "},");
    }
    g_string_append(out, "\"stats\":");
    block_stats_append(sampler->levels[level].stats, out);
    g_string_append(out, ",\"node-name\":");
    g_string_append(out, sampler->levels[level].name);
}

static void disk_sampler_fill(Sampler *base, GString *out)
{
    const DiskSampler *sampler = (const DiskSampler *)base;

    g_string_append(out, "{\"device\":\"\",");
    append_level(sampler, 0, out);
    g_string_append(out, ",\"qdev\":");
    g_string_append(out, sampler->qdev);
    g_string_append_c(out, '}');
}

static void disk_sampler_free(Sampler *base)
{
    DiskSampler *sampler = (DiskSampler *)base;
    for (guint i = 0; i < sampler->n; i++) {
        block_stats_unref(sampler->levels[i].stats);
        g_free(sampler->levels[i].name);
    }
    g_free(sampler->qdev);
    g_free(sampler);
}

static char *json_string(const char *text)
{
    GString *json = g_string_new(NULL);
    json_append_string(json, text, -1);
    return g_string_free(json, FALSE);
}

static Sampler *disk_sampler_new(const BlockNode *node)
{
    DiskSampler *sampler = g_new0(DiskSampler, 1);
    g_autofree char *path = object_path(node->user);

    g_atomic_ref_count_init(&sampler->base.refs);
    sampler->base.fill = disk_sampler_fill;
    sampler->base.free = disk_sampler_free;
    sampler->qdev = json_string(path);
    for (; node && sampler->n < G_N_ELEMENTS(sampler->levels); node = node->file) {
        sampler->levels[sampler->n].stats = block_stats_ref(node->stats);
        sampler->levels[sampler->n].name = json_string(node->name);
        sampler->n++;
    }
    return &sampler->base;
}

Node *block_view_new(Vm *vm, const Node *previous, guint64 stamp)
{
    GPtrArray *disks = vm_disks(vm);
    g_autofree ViewEntry *entries = g_new0(ViewEntry, disks->len);
    Node *view;

    for (guint i = 0; i < disks->len; i++) {
        ViewEntry *entry = &entries[i];
        GString *text = g_string_new(NULL);

        entry->sampler = disk_sampler_new(disks->pdata[i]);
        entry->sampler->fill(entry->sampler, text);
        entry->bytes = g_string_free_to_bytes(text);
        entry->text.text = g_bytes_get_data(entry->bytes, &entry->text.length);
    }
    view = view_list_new(VIEW_BLOCKSTATS, entries, disks->len, previous, stamp);
    for (guint i = 0; i < disks->len; i++) {
        sampler_unref(entries[i].sampler);
        g_bytes_unref(entries[i].bytes);
    }
    return view;
}
