/* SPDX-License-Identifier: MIT */
/* See block-disk.h. What is not atomic belongs to the loop. */
#include "vmm/block-disk.h"

#include <errno.h>
#include <string.h>

enum { SECTOR_SIZE = 512 };

/* Users, and whether there may be more. */
#define CLOSED (1 << 30)

struct BlockDisk {
    gatomicrefcount refs;
    BlockLoop *loop;
    BlockTarget target;
    BlockStats *stats;
    const BlockDiskOps *ops;
    gpointer opaque;

    gint users;           /* atomic: their number, and CLOSED */
    gint paused;          /* atomic */
    gint telling;         /* atomic: `tell` is on its way */
    BlockTask tell;       /* the watchers, that something changed */
    GPtrArray *watchers;  /* BlockWatch */
    BlockRequest *parked; /* they wait for the VM to go on */
};

BlockDisk *block_disk_ref(BlockDisk *disk)
{
    g_atomic_ref_count_inc(&disk->refs);
    return disk;
}

void block_disk_unref(BlockDisk *disk)
{
    if (!disk || !g_atomic_ref_count_dec(&disk->refs))
        return;
    g_ptr_array_unref(disk->watchers);
    block_file_unref(disk->target.file);
    block_stats_unref(disk->stats);
    block_loop_unref(disk->loop);
    g_free(disk);
}

BlockLoop *block_disk_loop(const BlockDisk *disk)
{
    return disk->loop;
}

BlockStats *block_disk_stats(const BlockDisk *disk)
{
    return disk->stats;
}

guint64 block_disk_size(const BlockDisk *disk)
{
    return disk->target.size;
}

/* ---- telling those who use it ---- */

static void submit_parked(BlockDisk *disk)
{
    BlockRequest *request = g_steal_pointer(&disk->parked), *next;

    for (; request; request = next) {
        next = (BlockRequest *)request->task.next;
        request->error = ECANCELED;
        if (block_disk_is_closed(disk))
            block_loop_post(disk->loop, &request->task);
        else
            block_disk_submit(disk, request);
    }
}

static void tell_watchers(BlockTask *task)
{
    BlockDisk *disk = (BlockDisk *)((char *)task - G_STRUCT_OFFSET(BlockDisk, tell));

    g_atomic_int_set(&disk->telling, 0);
    if (!block_disk_is_paused(disk) || block_disk_is_closed(disk))
        submit_parked(disk);
    /* One that is told may go. */
    for (guint i = disk->watchers->len; i-- > 0;) {
        if (i < disk->watchers->len) {
            const BlockWatch *watch = disk->watchers->pdata[i];
            watch->changed(watch->opaque);
        }
    }
    block_disk_unref(disk);
}

static void tell(BlockDisk *disk)
{
    if (!g_atomic_int_compare_and_exchange(&disk->telling, 0, 1))
        return;
    block_disk_ref(disk);
    block_loop_post(disk->loop, &disk->tell);
}

void block_disk_watch(BlockDisk *disk, BlockWatch *watch)
{
    g_ptr_array_add(disk->watchers, watch);
}

void block_disk_unwatch(BlockDisk *disk, BlockWatch *watch)
{
    g_ptr_array_remove(disk->watchers, watch);
}

void block_disk_set_paused(BlockDisk *disk, gboolean paused)
{
    g_atomic_int_set(&disk->paused, paused);
    tell(disk);
}

gboolean block_disk_is_paused(const BlockDisk *disk)
{
    return g_atomic_int_get(&disk->paused);
}

/* ---- users ---- */

gboolean block_disk_is_closed(const BlockDisk *disk)
{
    return (g_atomic_int_get(&disk->users) & CLOSED) != 0;
}

gboolean block_disk_use(BlockDisk *disk)
{
    if (!(g_atomic_int_add(&disk->users, 1) & CLOSED))
        return TRUE;
    block_disk_release(disk);
    return FALSE;
}

void block_disk_release(BlockDisk *disk)
{
    if (g_atomic_int_add(&disk->users, -1) == CLOSED + 1)
        disk->ops->unused(disk, disk->opaque);
}

gboolean block_disk_close(BlockDisk *disk)
{
    gint before = (gint)g_atomic_int_or((guint *)&disk->users, CLOSED);

    if ((before & ~CLOSED) == 0)
        return TRUE;
    tell(disk);
    return FALSE;
}

/* ---- requests ---- */

static BlockOnError on_error(const BlockDisk *disk, const BlockRequest *request)
{
    BlockOnError action = request->op == BLOCK_READ ? disk->target.on_read_error : disk->target.on_write_error;

    if (action == BLOCK_ON_ERROR_ENOSPC)
        return request->error == ENOSPC ? BLOCK_ON_ERROR_STOP : BLOCK_ON_ERROR_REPORT;
    return action;
}

/* It stays until the VM goes on. Only one of those that fail at once stops it; the order is kept. */
static void park(BlockDisk *disk, BlockRequest *request)
{
    BlockRequest **place = &disk->parked;

    while (*place)
        place = (BlockRequest **)&(*place)->task.next;
    request->task.next = NULL;
    *place = request;
}

/* TRUE: it is not done yet. */
static gboolean handle_error(BlockDisk *disk, BlockRequest *request, gint64 now)
{
    BlockOnError action = on_error(disk, request);

    if (action == BLOCK_ON_ERROR_REPORT)
        block_stats_failed(disk->stats, request->op, request->took_ns, now);
    disk->ops->failed(disk, request->op, action, request->error, disk->opaque);
    if (action == BLOCK_ON_ERROR_IGNORE)
        request->error = 0;
    if (action != BLOCK_ON_ERROR_STOP)
        return FALSE;
    g_atomic_int_set(&disk->paused, TRUE);
    park(disk, request);
    return TRUE;
}

static void count(BlockDisk *disk, BlockRequest *request, gint64 now)
{
    block_stats_done(disk->stats, request->op, request->offset, request->bytes, request->took_ns, now);
}

static void request_done(BlockTask *task)
{
    BlockRequest *request = (BlockRequest *)task;
    BlockDisk *disk = request->disk;
    gboolean is_first = !block_stats_accessed(disk->stats);
    gint64 now = block_now_ns();

    request->took_ns = now - request->start_ns;
    if (request->error && request->error != ECANCELED && handle_error(disk, request, now))
        return;
    if (!request->error)
        count(disk, request, now);
    if (is_first && block_stats_accessed(disk->stats))
        disk->ops->first_access(disk, disk->opaque);
    request->done(request);
}

/* It was counted when it came. */
static void invalid_done(BlockTask *task)
{
    BlockRequest *request = (BlockRequest *)task;
    request->done(request);
}

/* On a thread of the loop's. */
static void work(BlockTask *task)
{
    BlockRequest *request = (BlockRequest *)task;
    const BlockTarget *target = &request->disk->target;
    guint64 offset = target->offset + request->offset;

    switch (request->op) {
    case BLOCK_READ:
        request->error = block_file_read(target->file, offset, request->bytes, request->buffer);
        break;
    case BLOCK_WRITE:
        request->error = block_file_write(target->file, offset, request->bytes, request->buffer);
        if (!request->error && target->write_through)
            request->error = block_file_flush(target->file);
        break;
    case BLOCK_FLUSH:
        request->error = block_file_flush(target->file);
        break;
    default:
        request->error = block_file_discard(target->file, offset, request->bytes);
        break;
    }
}

static gboolean is_valid(const BlockDisk *disk, const BlockRequest *request)
{
    guint64 size = disk->target.size;

    if (request->op == BLOCK_FLUSH)
        return TRUE;
    return (request->offset | request->bytes) % SECTOR_SIZE == 0 && request->bytes > 0 && request->offset <= size &&
           request->bytes <= size - request->offset;
}

void block_disk_submit(BlockDisk *disk, BlockRequest *request)
{
    gboolean writes = request->op == BLOCK_WRITE || request->op == BLOCK_UNMAP;

    request->disk = disk;
    request->error = 0;
    request->start_ns = block_now_ns();
    request->task.work = work;
    request->task.done = request_done;
    if (!is_valid(disk, request)) {
        gboolean is_first = !block_stats_accessed(disk->stats);

        block_stats_invalid(disk->stats, request->op, request->start_ns);
        if (is_first && block_stats_accessed(disk->stats))
            disk->ops->first_access(disk, disk->opaque);
        request->error = EINVAL;
        request->task.done = invalid_done;
        block_loop_post(disk->loop, &request->task);
    } else if (writes && disk->target.read_only) {
        request->error = EPERM;
        block_loop_post(disk->loop, &request->task);
    } else if (disk->target.file) {
        block_loop_work(disk->loop, &request->task);
    } else {
        if (request->op == BLOCK_READ)
            memset(request->buffer, 0, request->bytes);
        if (disk->target.latency_ns)
            block_loop_post_at(disk->loop, &request->task, request->start_ns + disk->target.latency_ns);
        else
            block_loop_post(disk->loop, &request->task);
    }
}

BlockDisk *block_disk_new(BlockLoop *loop, const BlockTarget *target, BlockStats *stats, const BlockDiskOps *ops,
                          gpointer opaque)
{
    BlockDisk *disk = g_new0(BlockDisk, 1);

    g_atomic_ref_count_init(&disk->refs);
    disk->loop = block_loop_ref(loop);
    disk->target = *target;
    if (target->file)
        block_file_ref(target->file);
    disk->stats = block_stats_ref(stats);
    disk->ops = ops;
    disk->opaque = opaque;
    disk->tell.done = tell_watchers;
    disk->watchers = g_ptr_array_new();
    return disk;
}
