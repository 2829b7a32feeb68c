/* SPDX-License-Identifier: MIT */
/*
 * vmm/block-disk.c, block-loop.c and block-file.c: requests of each kind, what becomes of errors, who may use a disk.
 * What disks of a VM do is tests/qmp/disks.py's.
 */
#include "vmm/block-disk.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 65536

/* ---- a disk to ask, in a loop of this thread ---- */

typedef struct Fixture {
    char *path;
    GMainContext *context;
    BlockLoop *loop;
    BlockStats *stats;
    BlockDisk *disk;
    guint failures, accesses;
    BlockOnError action;
    int error;
    gint unused; /* atomic */
} Fixture;

static void failed(BlockDisk *disk G_GNUC_UNUSED, BlockOp op G_GNUC_UNUSED, BlockOnError action, int error,
                   gpointer opaque)
{
    Fixture *f = opaque;
    f->failures++;
    f->action = action;
    f->error = error;
}

static void first_access(BlockDisk *disk G_GNUC_UNUSED, gpointer opaque)
{
    ((Fixture *)opaque)->accesses++;
}

static void unused(BlockDisk *disk G_GNUC_UNUSED, gpointer opaque)
{
    g_atomic_int_inc(&((Fixture *)opaque)->unused);
}

static const BlockDiskOps ops = {failed, first_access, unused};

static void set_up(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    static const BlockStatsOptions accounting = {.account_invalid = TRUE, .account_failed = TRUE};
    g_autofree char *content = g_malloc(SIZE);
    int fd = g_file_open_tmp("block-XXXXXX", &f->path, NULL);

    memset(content, 'x', SIZE);
    g_assert_cmpint(write(fd, content, SIZE), ==, SIZE);
    close(fd);
    f->context = g_main_context_new();
    f->loop = block_loop_new(f->context);
    f->stats = block_stats_new(&accounting);
}

static void make_disk(Fixture *f, const BlockFileOptions *options, BlockTarget target)
{
    g_autoptr(GError) error = NULL;

    if (options) {
        target.file = block_file_open(f->path, options, &error);
        g_assert_no_error(error);
    }
    target.size = target.size ? target.size : SIZE;
    f->disk = block_disk_new(f->loop, &target, f->stats, &ops, f);
    block_file_unref(target.file);
    g_assert_true(block_disk_use(f->disk));
}

static void tear_down(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    if (f->disk) {
        g_assert_false(block_disk_close(f->disk)); /* there is a user */
        g_assert_false(block_disk_use(f->disk));
        g_assert_cmpint(g_atomic_int_get(&f->unused), ==, 0);
        block_disk_release(f->disk);
        g_assert_cmpint(g_atomic_int_get(&f->unused), ==, 1);
        while (g_main_context_iteration(f->context, FALSE))
            ;
        block_disk_unref(f->disk);
    }
    block_stats_unref(f->stats);
    block_loop_unref(f->loop);
    g_main_context_unref(f->context);
    g_unlink(f->path);
    g_free(f->path);
}

typedef struct Waited {
    BlockRequest request;
    gboolean done;
} Waited;

static void note_done(BlockRequest *request)
{
    ((Waited *)request)->done = TRUE;
}

static void submit(Fixture *f, Waited *waited, BlockOp op, guint64 offset, guint64 bytes, void *buffer)
{
    waited->done = FALSE;
    waited->request = (BlockRequest){.op = op, .offset = offset, .bytes = bytes, .buffer = buffer, .done = note_done};
    block_disk_submit(f->disk, &waited->request);
    g_assert_false(waited->done); /* never from within */
}

static int run(Fixture *f, BlockOp op, guint64 offset, guint64 bytes, void *buffer)
{
    Waited waited;

    submit(f, &waited, op, offset, bytes, buffer);
    while (!waited.done)
        g_main_context_iteration(f->context, TRUE);
    return waited.request.error;
}

/* ---- requests ---- */

static void test_each_kind(Fixture *f, gconstpointer data)
{
    const BlockFileOptions options = {.discard = TRUE, .direct = data != NULL};
    char *buffer = NULL;
    g_autofree char *content = NULL;
    g_autoptr(GError) error = NULL;
    struct stat stat_before, stat_after;

    g_assert_cmpint(posix_memalign((void **)&buffer, 4096, 8192), ==, 0);
    make_disk(f, &options, (BlockTarget){0});
    g_assert_cmpint(run(f, BLOCK_READ, 4096, 8192, buffer), ==, 0);
    g_assert_cmpint(f->accesses, ==, 1);
    g_assert_cmpint(buffer[0], ==, 'x');
    memset(buffer, 'w', 8192);
    g_assert_cmpint(run(f, BLOCK_WRITE, 8192, 8192, buffer), ==, 0);
    g_assert_cmpint(run(f, BLOCK_WRITE, 512, 512, buffer + 512), ==, 0); /* not aligned to pages */
    g_assert_cmpint(run(f, BLOCK_FLUSH, 0, 0, NULL), ==, 0);
    stat(f->path, &stat_before);
    g_assert_cmpint(run(f, BLOCK_UNMAP, 32768, 16384, NULL), ==, 0);
    stat(f->path, &stat_after);
    g_assert_true(g_file_get_contents(f->path, &content, NULL, &error));
    g_assert_cmpmem(content + 8192, 8192, buffer, 8192);
    g_assert_cmpint(content[511], ==, 'x');
    g_assert_cmpint(content[512], ==, 'w');
    g_assert_cmpint(content[1023], ==, 'w');
    g_assert_cmpint(content[1024], ==, 'x');
    g_assert_cmpint(content[32767], ==, 'x');
    g_assert_cmpint(content[32768], ==, 0);
    g_assert_cmpint(content[49152], ==, 'x');
    g_assert_cmpint(stat_after.st_size, ==, SIZE);
    g_assert_cmpint(stat_after.st_blocks, <, stat_before.st_blocks);
    g_assert_cmpuint(block_stats_sums(f->stats).operations, ==, 3);
    g_assert_cmpuint(block_stats_sums(f->stats).bytes, ==, 8192 + 8192 + 512);
    g_assert_cmpuint(block_stats_sums(f->stats).highest_offset, ==, 16384);
    g_assert_cmpint(f->accesses, ==, 1);
    free(buffer);
}

static void test_discards(void)
{
    g_autofree char *path = NULL;
    g_autofree char *content = NULL;
    int fd = g_file_open_tmp("block-XXXXXX", &path, NULL);
    BlockFile *ignoring, *unmapping;

    g_assert_cmpint(write(fd, "0123456789", 10), ==, 10);
    close(fd);
    ignoring = block_file_open(path, &(BlockFileOptions){0}, NULL);
    unmapping = block_file_open(path, &(BlockFileOptions){.discard = TRUE}, NULL);
    g_assert_cmpuint(block_file_size(ignoring), ==, 512); /* rounded up */
    g_assert_cmpint(block_file_discard(ignoring, 0, 512), ==, 0);
    g_assert_true(g_file_get_contents(path, &content, NULL, NULL));
    g_assert_cmpint(content[0], ==, '0');
    g_clear_pointer(&content, g_free);
    g_assert_cmpuint(block_file_discards(ignoring).ok, ==, 0);
    g_assert_cmpint(block_file_discard(unmapping, 0, 512), ==, 0);
    g_assert_cmpuint(block_file_discards(unmapping).ok, ==, 1);
    g_assert_cmpuint(block_file_discards(unmapping).bytes_ok, ==, 512);
    g_assert_true(g_file_get_contents(path, &content, NULL, NULL));
    g_assert_cmpint(content[0], ==, 0);
    block_file_unref(ignoring);
    block_file_unref(unmapping);
    g_unlink(path);
}

static void test_read_only(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(GError) error = NULL;
    BlockFile *file;

    g_assert_cmpint(g_chmod(f->path, 0444), ==, 0);
    file = block_file_open(f->path, &(BlockFileOptions){.auto_read_only = TRUE}, &error);
    g_assert_no_error(error);
    g_assert_cmpint(block_file_is_read_only(file), ==, geteuid() != 0);
    block_file_unref(file);
    file = block_file_open(f->path, &(BlockFileOptions){.read_only = TRUE}, &error);
    g_assert_no_error(error);
    g_assert_true(block_file_is_read_only(file));
    g_assert_cmpint(block_file_write(file, 0, 512, f), ==, EBADF);
    block_file_unref(file);
}

static void test_cut_short(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    char buffer[1024];

    make_disk(f, &(BlockFileOptions){0}, (BlockTarget){0});
    g_assert_cmpint(truncate(f->path, 700), ==, 0);
    g_assert_cmpint(run(f, BLOCK_READ, 0, 1024, buffer), ==, 0);
    g_assert_cmpint(buffer[699], ==, 'x');
    g_assert_cmpint(buffer[700], ==, 0);
    g_assert_cmpint(buffer[1023], ==, 0);
}

static void test_invalid(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    char buffer[1024];
    const struct {
        guint64 offset, bytes;
    } requests[] = {{SIZE, 512}, {SIZE - 512, 1024}, {1, 512}, {0, 100}, {0, 0}, {G_MAXUINT64 - 511, 512}};

    make_disk(f, NULL, (BlockTarget){0});
    for (guint i = 0; i < G_N_ELEMENTS(requests); i++)
        g_assert_cmpint(run(f, BLOCK_WRITE, requests[i].offset, requests[i].bytes, buffer), ==, EINVAL);
    g_assert_cmpuint(block_stats_sums(f->stats).operations, ==, 0);
    g_assert_cmpuint(block_stats_sums(f->stats).failed, ==, 0);
    g_assert_cmpint(f->failures, ==, 0);
    g_assert_cmpint(f->accesses, ==, 1);
}

/* ---- errors ---- */

static void test_report(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    char buffer[512];

    make_disk(f, NULL, (BlockTarget){.read_only = TRUE, .on_write_error = BLOCK_ON_ERROR_ENOSPC});
    g_assert_cmpint(run(f, BLOCK_WRITE, 0, 512, buffer), ==, EPERM);
    g_assert_cmpint(f->failures, ==, 1);
    g_assert_cmpint(f->action, ==, BLOCK_ON_ERROR_REPORT);
    g_assert_cmpint(f->error, ==, EPERM);
    g_assert_cmpuint(block_stats_sums(f->stats).failed, ==, 1);
}

static void test_ignore(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    char buffer[512];

    make_disk(f, NULL, (BlockTarget){.read_only = TRUE, .on_write_error = BLOCK_ON_ERROR_IGNORE});
    g_assert_cmpint(run(f, BLOCK_WRITE, 0, 512, buffer), ==, 0);
    g_assert_cmpint(f->action, ==, BLOCK_ON_ERROR_IGNORE);
    g_assert_cmpuint(block_stats_sums(f->stats).failed, ==, 0);
    g_assert_cmpuint(block_stats_sums(f->stats).operations, ==, 1);
}

static void test_stop(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    char buffer[512];
    Waited first, second;

    make_disk(f, NULL, (BlockTarget){.read_only = TRUE, .on_write_error = BLOCK_ON_ERROR_STOP});
    submit(f, &first, BLOCK_WRITE, 0, 512, buffer);
    submit(f, &second, BLOCK_WRITE, 512, 512, buffer);
    while (f->failures < 2)
        g_main_context_iteration(f->context, TRUE);
    g_assert_false(first.done || second.done);
    g_assert_true(block_disk_is_paused(f->disk));
    block_disk_set_paused(f->disk, FALSE); /* both are tried again, and fail again */
    while (f->failures < 4)
        g_main_context_iteration(f->context, TRUE);
    g_assert_false(first.done || second.done);
    g_assert_false(block_disk_close(f->disk)); /* they end with the disk */
    while (!first.done || !second.done)
        g_main_context_iteration(f->context, TRUE);
    g_assert_cmpint(first.request.error, ==, ECANCELED);
    g_assert_cmpuint(block_stats_sums(f->stats).failed, ==, 0);
}

static void test_latency(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    char buffers[3][512];
    Waited requests[3];

    make_disk(f, NULL, (BlockTarget){.latency_ns = 20000000});
    for (guint i = 0; i < 3; i++)
        submit(f, &requests[i], BLOCK_READ, 0, 512, buffers[i]);
    while (!requests[2].done)
        g_main_context_iteration(f->context, TRUE);
    for (guint i = 0; i < 3; i++) {
        g_assert_true(requests[i].done);
        g_assert_cmpint(requests[i].request.took_ns, >=, 20000000);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, func) g_test_add("/block-disk/" name, Fixture, NULL, set_up, func, tear_down)
    ADD("each-kind", test_each_kind);
    g_test_add("/block-disk/each-kind-direct", Fixture, "direct", set_up, test_each_kind, tear_down);
    ADD("read-only", test_read_only);
    ADD("cut-short", test_cut_short);
    ADD("invalid", test_invalid);
    ADD("report", test_report);
    ADD("ignore", test_ignore);
    ADD("stop", test_stop);
    ADD("latency", test_latency);
    g_test_add_func("/block-disk/discards", test_discards);
    return g_test_run();
}
