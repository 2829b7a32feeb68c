/* SPDX-License-Identifier: MIT */
/* Disks and the block nodes that they are attached to: beginning, failing and ending; and their statistics as records
 * that move. */
#include "vmm/block.h"

#include <errno.h>
#include <string.h>

#include "vmm/device.h"
#include "vmm/devices.h"
#include "vmm/views.h"
#include "vmm/vm-private.h"

/* ---- who may write where ---- */

/* How a node is used by what stands on it. */
static char *describe_use(const BlockAttachment *attachment, const Object *disk, const BlockNode *root,
                          const BlockNode *shared)
{
    const BlockNode *above = root;
    g_autofree char *path = object_path(attachment ? attachment->node->user : disk);

    if (root == shared)
        return g_strdup_printf("block device '%s' (uses node '%s' as 'root' child)", path, shared->name);
    while (above->on != shared)
        above = above->on;
    return g_strdup_printf("node '%s' (uses node '%s' as 'file' child)", above->name, shared->name);
}

/* The first node that both have; or NULL. */
static const BlockNode *shared_node(const BlockNode *mine, const BlockNode *theirs)
{
    for (; mine; mine = mine->on)
        for (const BlockNode *node = theirs; node; node = node->on)
            if (node == mine)
                return mine;
    return NULL;
}

static gboolean check_writers(Vm *vm, const BlockNode *node, const Object *disk, GError **error)
{
    GPtrArray *disks = vm_disks(vm);

    for (guint i = 0; i < disks->len; i++) {
        const BlockAttachment *other = disks->pdata[i];
        const BlockNode *shared = shared_node(node, other->node);
        g_autofree char *theirs = NULL, *mine = NULL;

        if (!shared || (node->options.read_only && other->node->options.read_only))
            continue;
        theirs = describe_use(other, NULL, other->node, shared);
        mine = describe_use(NULL, disk, node, shared);
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_IN_USE,
                    "Permission conflict on node '%s': permissions 'write' are both required by %s and unshared by %s.",
                    shared->name, theirs, mine);
        return FALSE;
    }
    return TRUE;
}

/* ---- what disks tell; see BlockDiskOps ---- */

typedef struct Failure {
    BlockDisk *disk;
    BlockOp op;
    BlockOnError action;
    int error;
} Failure;

static BlockAttachment *find_attachment(Vm *vm, const BlockDisk *disk)
{
    GPtrArray *disks = vm_disks(vm);

    for (guint i = 0; i < disks->len; i++) {
        BlockAttachment *attachment = disks->pdata[i];
        if (attachment->disk == disk)
            return attachment;
    }
    return NULL;
}

/* As BLOCK_IO_ERROR has it. */
static void tell_failure(Vm *vm, const BlockAttachment *attachment, const Failure *failure)
{
    static const char *const actions[] = {
        [BLOCK_ON_ERROR_REPORT] = "report", [BLOCK_ON_ERROR_IGNORE] = "ignore", [BLOCK_ON_ERROR_STOP] = "stop"};
    g_autoptr(GString) data = g_string_new("{\"device\":\"\",\"node-name\":");

    json_append_string(data, attachment->node->name, -1);
    g_string_append(data, ",\"qom-path\":");
    object_append_path(attachment->node->user, data);
    g_string_append_printf(data, ",\"operation\":\"%s\",\"action\":\"%s\"",
                           failure->op == BLOCK_READ ? "read" : "write", actions[failure->action]);
    if (failure->action == BLOCK_ON_ERROR_STOP)
        g_string_append_printf(data, ",\"nospace\":%s", failure->error == ENOSPC ? "true" : "false");
    g_string_append(data, ",\"reason\":");
    json_append_string(data, g_strerror(failure->error), -1);
    g_string_append_c(data, '}');
    vm_event(vm, "BLOCK_IO_ERROR", data->str);
}

static void run_failure(Vm *vm, gpointer data)
{
    Failure *failure = data;
    BlockAttachment *attachment = find_attachment(vm, failure->disk);

    if (attachment)
        tell_failure(vm, attachment, failure);
    if (attachment && failure->action == BLOCK_ON_ERROR_STOP) {
        attachment->io_status = failure->error == ENOSPC ? "nospace" : "failed";
        vm_disks_changed(vm);
        vm_stop_for_error(vm);
    }
    block_disk_unref(failure->disk);
    g_free(failure);
}

static void disk_failed(BlockDisk *disk, BlockOp op, BlockOnError action, int error, gpointer vm)
{
    Failure *failure = g_new(Failure, 1);

    *failure = (Failure){.disk = block_disk_ref(disk), .op = op, .action = action, .error = error};
    vm_call(vm, run_failure, NULL, failure);
}

/* Many disks may begin at once; they are looked at together. */
static void run_first_access(Vm *vm, gpointer data G_GNUC_UNUSED)
{
    if (g_atomic_int_compare_and_exchange(vm_first_accesses(vm), 1, 0))
        vm_disks_changed(vm);
}

static void disk_first_access(BlockDisk *disk G_GNUC_UNUSED, gpointer vm)
{
    if (g_atomic_int_compare_and_exchange(vm_first_accesses(vm), 0, 1))
        vm_call(vm, run_first_access, NULL, NULL);
}

/* data: the disk, which may be gone by now, and another one in its place. */
static void run_unused(Vm *vm, gpointer data)
{
    BlockAttachment *attachment = find_attachment(vm, data);

    if (!attachment || !block_disk_is_closed(attachment->disk))
        return;
    attachment->is_unused = TRUE;
    if (attachment->quiesced && block_disk_close(attachment->disk))
        attachment->quiesced(vm, attachment->device);
}

static void disk_unused(BlockDisk *disk, gpointer vm)
{
    vm_call(vm, run_unused, NULL, disk);
}

static const BlockDiskOps disk_ops = {.failed = disk_failed, .first_access = disk_first_access, .unused = disk_unused};

/* ---- beginning and ending ---- */

/* Where a node's content is, in the end. */
static BlockTarget find_target(const BlockNode *node)
{
    BlockTarget target = {.size = node->size, .read_only = node->options.read_only};

    for (; node->on; node = node->on)
        target.offset += node->options.offset;
    target.file = node->file;
    target.latency_ns = node->options.latency_ns;
    return target;
}

BlockAttachment *block_attach(Vm *vm, BlockNode *node, Object *disk, const BlockDiskOptions *options, GError **error)
{
    BlockTarget target = find_target(node);
    g_autoptr(BlockStats) stats = NULL;
    BlockAttachment *attachment;

    if (!options->share_rw && !check_writers(vm, node, disk, error))
        return NULL;
    target.write_through = !options->writeback;
    target.on_read_error = options->on_read_error;
    target.on_write_error = options->on_write_error;
    stats = block_stats_new(&options->stats);
    attachment = g_new0(BlockAttachment, 1);
    attachment->node = block_node_ref(node);
    attachment->writeback = options->writeback;
    attachment->io_status = "ok";
    attachment->disk = block_disk_new(options->loop, &target, stats, &disk_ops, vm);
    block_disk_set_paused(attachment->disk, !vm_is_running(vm));
    node->user = disk;
    g_ptr_array_add(vm_disks(vm), attachment);
    vm_disks_changed(vm);
    return attachment;
}

/* What was written stays with the nodes. */
static void keep_highest(BlockNode *node, guint64 highest)
{
    for (; node && highest; node = node->on) {
        node->highest = MAX(node->highest, highest);
        highest += node->options.offset;
    }
}

void block_detach(Vm *vm, BlockAttachment *attachment)
{
    block_disk_close(attachment->disk);
    keep_highest(attachment->node, block_stats_sums(block_disk_stats(attachment->disk)).highest_offset);
    attachment->node->user = NULL;
    g_ptr_array_remove(vm_disks(vm), attachment);
    vm_disks_changed(vm);
    block_node_unref(attachment->node);
    block_disk_unref(attachment->disk);
    g_free(attachment);
}

static BlockAttachment *attachment_of(Vm *vm, const Object *device)
{
    GPtrArray *disks = vm_disks(vm);

    for (guint i = 0; device && i < disks->len; i++) {
        BlockAttachment *attachment = disks->pdata[i];
        if (attachment->node->user == device || attachment->node->user->parent == device)
            return attachment;
    }
    return NULL;
}

gboolean block_quiesce(Vm *vm, Object *device, BlockQuiesced quiesced)
{
    BlockAttachment *attachment = attachment_of(vm, device);

    if (!attachment || block_disk_close(attachment->disk))
        return TRUE;
    attachment->quiesced = quiesced;
    attachment->device = device;
    return FALSE;
}

gboolean block_is_quiescing(Vm *vm, const Object *device)
{
    const BlockAttachment *attachment = attachment_of(vm, device);
    return attachment && attachment->quiesced;
}

void block_set_paused(Vm *vm, gboolean paused)
{
    GPtrArray *disks = vm_disks(vm);

    for (guint i = 0; i < disks->len; i++) {
        BlockAttachment *attachment = disks->pdata[i];
        block_disk_set_paused(attachment->disk, paused);
        if (!paused && strcmp(attachment->io_status, "ok") != 0) {
            attachment->io_status = "ok";
            vm_disks_changed(vm);
        }
    }
}

void block_end_all(Vm *vm)
{
    GMainContext *context = g_main_context_get_thread_default();
    GPtrArray *disks = vm_disks(vm);

    for (guint i = 0; i < disks->len; i++) {
        BlockAttachment *attachment = disks->pdata[i];
        gboolean was_used = attachment->quiesced != NULL;

        attachment->quiesced = NULL;
        /* Not before its loop has told so is it done with the VM. */
        if (!block_disk_close(attachment->disk) || was_used)
            while (!attachment->is_unused)
                g_main_context_iteration(context, TRUE);
    }
    /* What disks told before. */
    while (g_main_context_iteration(context, FALSE))
        ;
}

BlockDisk *block_disk_of(Vm *vm, const char *name)
{
    Object *object = *name == '/' ? object_resolve(vm_root(vm), name, NULL) : object_child(vm_peripheral(vm), name);
    const BlockAttachment *attachment = attachment_of(vm, object);

    return attachment ? attachment->disk : NULL;
}

/* ---- what is shown ---- */

enum { MAX_LEVELS = 4 };

/* A node, to those who show it. */
typedef struct Level {
    char *name;           /* JSON */
    guint64 before, kept; /* see block_reading_append_node() */
    BlockFile *file;      /* or NULL */
} Level;

/* One disk's entry of query-blockstats, at any moment and on any thread. */
typedef struct DiskSampler {
    Sampler base;
    BlockStats *stats;
    gboolean idle; /* whether it has an idle time */
    char *qdev;    /* JSON */
    guint n;
    Level levels[MAX_LEVELS]; /* the root node, and what it stands on */
} DiskSampler;

static void append_file(const BlockFile *file, GString *out)
{
    BlockDiscards discards = block_file_discards(file);

    g_string_append_printf(out,
                           ",\"driver-specific\":{\"discard-bytes-ok\":%" G_GUINT64_FORMAT
                           ",\"discard-nb-ok\":%" G_GUINT64_FORMAT
                           ",\"driver\":\"file\",\"discard-nb-failed\":%" G_GUINT64_FORMAT "}",
                           discards.bytes_ok, discards.ok, discards.failed);
}

static void append_level(const DiskSampler *sampler, const BlockReading *reading, guint i, GString *out)
{
    const Level *level = &sampler->levels[i];

    if (i + 1 < sampler->n) {
        g_string_append(out, "\"parent\":{");
        append_level(sampler, reading, i + 1, out);
        g_string_append(out, "},");
    }
    g_string_append(out, "\"stats\":");
    if (i == 0)
        block_reading_append(reading, sampler->idle, out);
    else
        block_reading_append_node(reading, level->before, level->kept, out);
    g_string_append(out, ",\"node-name\":");
    g_string_append(out, level->name);
    if (level->file)
        append_file(level->file, out);
}

static void disk_sampler_fill(Sampler *base, GString *out)
{
    const DiskSampler *sampler = (const DiskSampler *)base;
    g_autoptr(BlockReading) reading = block_stats_read(sampler->stats);

    g_string_append(out, "{\"device\":\"\",");
    append_level(sampler, reading, 0, out);
    g_string_append(out, ",\"qdev\":");
    g_string_append(out, sampler->qdev);
    g_string_append_c(out, '}');
}

static void disk_sampler_free(Sampler *base)
{
    DiskSampler *sampler = (DiskSampler *)base;
    for (guint i = 0; i < sampler->n; i++) {
        g_free(sampler->levels[i].name);
        block_file_unref(sampler->levels[i].file);
    }
    block_stats_unref(sampler->stats);
    g_free(sampler->qdev);
    g_free(sampler);
}

static char *json_string(const char *text)
{
    GString *json = g_string_new(NULL);
    json_append_string(json, text, -1);
    return g_string_free(json, FALSE);
}

static Sampler *disk_sampler_new(const BlockAttachment *attachment)
{
    DiskSampler *sampler = g_new0(DiskSampler, 1);
    const Object *user = attachment->node->user;
    g_autofree char *path = object_is_a(user, "virtio-device") ? object_path(user) : g_strdup(device_id(user));
    guint64 before = 0;

    g_atomic_ref_count_init(&sampler->base.refs);
    sampler->base.fill = disk_sampler_fill;
    sampler->base.free = disk_sampler_free;
    sampler->qdev = json_string(path ? path : "");
    sampler->stats = block_stats_ref(block_disk_stats(attachment->disk));
    sampler->idle = block_stats_accessed(sampler->stats);
    for (const BlockNode *node = attachment->node; node && sampler->n < MAX_LEVELS; node = node->on) {
        sampler->levels[sampler->n++] = (Level){.name = json_string(node->name),
                                                .before = before,
                                                .kept = node->highest,
                                                .file = node->file ? block_file_ref(node->file) : NULL};
        before += node->options.offset;
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
