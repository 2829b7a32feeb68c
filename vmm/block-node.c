/* SPDX-License-Identifier: MIT */
/* Block nodes: coming and going. What a client may say of them is in block-options.c. */
#include <string.h>

#include "vmm/block.h"
#include "vmm/vm-private.h"

#define DEFAULT_SIZE (G_GUINT64_CONSTANT(1) << 30) /* of null-co */

enum { SECTOR_SIZE = 512, MAX_NODE_NAME = 31 };

const char *const block_driver_names[] = {"null-co", "file", "raw", NULL};

void block_node_options_clear(BlockNodeOptions *options)
{
    g_free(options->node_name);
    g_free(options->options);
    g_free(options->filename);
    *options = (BlockNodeOptions){0};
}

BlockNode *block_node_find(Vm *vm, const char *name)
{
    return g_hash_table_lookup(vm_block_nodes(vm)->by_name, name);
}

BlockNode *block_node_ref(BlockNode *node)
{
    node->refs++;
    return node;
}

void block_node_unref(BlockNode *node)
{
    BlockNodes *nodes;

    if (!node || --node->refs > 0)
        return;
    nodes = vm_block_nodes(node->vm);
    if (node->name) {
        g_hash_table_remove(nodes->by_name, node->name);
        g_ptr_array_remove(nodes->all, node);
        vm_disks_changed(node->vm);
    }
    block_node_unref(node->on);
    block_file_unref(node->file);
    block_node_options_clear(&node->options);
    g_free(node->filename);
    g_free(node->name);
    g_free(node);
}

static gboolean fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean fail(GError **error, const char *format, ...)
{
    va_list args;
    g_autofree char *message = NULL;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error_literal(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, message);
    return FALSE;
}

static gboolean is_name(const char *name)
{
    if (!g_ascii_isalpha(*name))
        return FALSE;
    for (; *name; name++)
        if (!g_ascii_isalnum(*name) && !strchr("-._", *name))
            return FALSE;
    return TRUE;
}

static gboolean check_name(Vm *vm, const char *name, GError **error)
{
    if (!is_name(name))
        return fail(error, "Invalid node-name: '%s'", name);
    if (block_node_find(vm, name))
        return fail(error, "Duplicate nodes with node-name='%s'", name);
    if (strlen(name) > MAX_NODE_NAME)
        return fail(error, "Node name too long");
    return TRUE;
}

/* ---- the drivers ---- */

static gboolean open_null(BlockNode *node, GError **error G_GNUC_UNUSED)
{
    node->size = node->options.size ? node->options.size : DEFAULT_SIZE;
    node->filename = strcmp(node->options.options, "{\"driver\":\"null-co\"}") == 0
                         ? g_strdup("null-co://")
                         : g_strdup_printf("json:%s", node->options.options);
    return TRUE;
}

static gboolean open_file(BlockNode *node, GError **error)
{
    const BlockFileOptions options = {.direct = node->options.direct,
                                      .no_flush = node->options.no_flush,
                                      .read_only = node->options.read_only,
                                      .auto_read_only = node->options.auto_read_only,
                                      .discard = node->options.discard};

    node->file = block_file_open(node->options.filename, &options, error);
    if (!node->file)
        return FALSE;
    node->options.read_only = block_file_is_read_only(node->file);
    node->size = block_file_size(node->file);
    node->filename = g_strdup(node->options.filename);
    return TRUE;
}

static gboolean open_raw(BlockNode *node, GError **error)
{
    BlockNodeOptions *options = &node->options;
    guint64 below = node->on->size;
    gboolean is_part = options->offset || options->size;

    if (options->size % SECTOR_SIZE)
        return fail(error, "Specified size is not multiple of %d", SECTOR_SIZE);
    if (options->offset > below)
        return fail(error,
                    "Offset (%" G_GUINT64_FORMAT
                    ") cannot be greater than size of the containing file (%" G_GUINT64_FORMAT ")",
                    options->offset, below);
    if (options->size > below - options->offset)
        return fail(error,
                    "The sum of offset (%" G_GUINT64_FORMAT ") and size (%" G_GUINT64_FORMAT
                    ") has to be smaller or equal to the  actual size of the containing file (%" G_GUINT64_FORMAT ")",
                    options->offset, options->size, below);
    node->size = (options->size ? options->size : below - options->offset) / SECTOR_SIZE * SECTOR_SIZE;
    options->read_only |= node->on->options.read_only;
    node->filename = is_part || g_str_has_prefix(node->on->filename, "json:")
                         ? g_strdup_printf("json:%.*s,\"file\":%s}", (int)strlen(options->options) - 1,
                                           options->options, node->on->options.options)
                         : g_strdup(node->on->filename);
    return TRUE;
}

static gboolean (*const drivers[N_BLOCK_DRIVERS])(BlockNode *node, GError **error) = {
    [BLOCK_DRIVER_NULL_CO] = open_null, [BLOCK_DRIVER_FILE] = open_file, [BLOCK_DRIVER_RAW] = open_raw};

/* What a node is called that nobody gave a name. */
static char *make_name(Vm *vm)
{
    BlockNodes *nodes = vm_block_nodes(vm);
    char *name;

    do
        name = g_strdup_printf("#block%03u", nodes->next_name++);
    while (block_node_find(vm, name));
    return name;
}

BlockNode *block_node_new(Vm *vm, BlockNodeOptions *options, BlockNode *on, GError **error)
{
    BlockNodes *nodes = vm_block_nodes(vm);
    BlockNode *node;

    if (options->node_name && !check_name(vm, options->node_name, error))
        return NULL;
    node = g_new0(BlockNode, 1);
    node->vm = vm;
    node->refs = 1;
    node->options = *options;
    *options = (BlockNodeOptions){0};
    node->on = on ? block_node_ref(on) : NULL;
    if (!drivers[node->options.driver](node, error)) {
        block_node_unref(node);
        return NULL;
    }
    node->name = node->options.node_name ? g_strdup(node->options.node_name) : make_name(vm);
    g_hash_table_insert(nodes->by_name, node->name, node);
    g_ptr_array_add(nodes->all, node);
    vm_disks_changed(vm);
    return node;
}

void block_nodes_remove_all(Vm *vm)
{
    GPtrArray *all = vm_block_nodes(vm)->all;

    for (guint i = all->len; i-- > 0;) {
        BlockNode *node = i < all->len ? all->pdata[i] : NULL;
        if (node && node->is_clients) {
            node->is_clients = FALSE;
            block_node_unref(node);
        }
    }
}

gboolean blockdev_del(Vm *vm, const char *name, GError **error)
{
    BlockNode *node = block_node_find(vm, name);

    if (!node)
        return fail(error, "Failed to find node with node-name='%s'", name);
    if (node->user)
        return fail(error, "Node %s is in use", name);
    if (!node->is_clients)
        return fail(error, "Node %s is not owned by the monitor", name);
    if (node->refs > 1)
        return fail(error, "Block device %s is in use", name);
    node->is_clients = FALSE;
    block_node_unref(node);
    return TRUE;
}
