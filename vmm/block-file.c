/* SPDX-License-Identifier: MIT */
/*
 * See block-file.h. With O_DIRECT the kernel wants requests aligned, by how much depends on the file system. What is
 * not goes through a second descriptor, and so through the page cache, which the kernel keeps coherent.
 */
#include "vmm/block-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objmodel/error.h"

enum { SECTOR = 512 };

struct BlockFile {
    gatomicrefcount refs;
    int fd;
    int unaligned_fd; /* of requests that O_DIRECT does not take; -1: there are none */
    guint64 size;
    BlockFileOptions options;
    _Atomic guint64 actual_size;
    _Atomic guint64 discards_ok, discards_failed, discard_bytes_ok;
};

static gboolean fail(const char *path, const char *why, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Could not open '%s': %s", path, why);
    return FALSE;
}

/* Never waits for the other end of a pipe. */
static int open_as(const char *path, const BlockFileOptions *options, gboolean direct)
{
    return open(path, (options->read_only ? O_RDONLY : O_RDWR) | (direct ? O_DIRECT : 0) | O_CLOEXEC | O_NONBLOCK);
}

static gboolean open_both(BlockFile *file, const char *path, GError **error)
{
    struct stat stat;

    file->fd = open_as(path, &file->options, FALSE);
    if (file->fd < 0 && file->options.auto_read_only && (errno == EACCES || errno == EPERM || errno == EROFS)) {
        file->options.read_only = TRUE;
        file->fd = open_as(path, &file->options, FALSE);
    }
    if (file->fd < 0)
        return fail(path, g_strerror(errno), error);
    if (fstat(file->fd, &stat) < 0)
        return fail(path, g_strerror(errno), error);
    if (S_ISDIR(stat.st_mode))
        return fail(path, g_strerror(EISDIR), error);
    if (!S_ISREG(stat.st_mode)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "'file' driver requires '%s' to be a regular file",
                    path);
        return FALSE;
    }
    file->size = ((guint64)stat.st_size + SECTOR - 1) / SECTOR * SECTOR;
    atomic_store(&file->actual_size, (guint64)stat.st_blocks * SECTOR);
    if (!file->options.direct)
        return TRUE;
    file->unaligned_fd = file->fd;
    file->fd = open_as(path, &file->options, TRUE);
    if (file->fd >= 0)
        return TRUE;
    return fail(path, errno == EINVAL ? "filesystem does not support O_DIRECT" : g_strerror(errno), error);
}

BlockFile *block_file_open(const char *path, const BlockFileOptions *options, GError **error)
{
    BlockFile *file = g_new0(BlockFile, 1);

    g_atomic_ref_count_init(&file->refs);
    file->fd = file->unaligned_fd = -1;
    file->options = *options;
    if (open_both(file, path, error))
        return file;
    block_file_unref(file);
    return NULL;
}

BlockFile *block_file_ref(BlockFile *file)
{
    g_atomic_ref_count_inc(&file->refs);
    return file;
}

void block_file_unref(BlockFile *file)
{
    if (!file || !g_atomic_ref_count_dec(&file->refs))
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->unaligned_fd >= 0)
        close(file->unaligned_fd);
    g_free(file);
}

guint64 block_file_size(const BlockFile *file)
{
    return file->size;
}

gboolean block_file_is_read_only(const BlockFile *file)
{
    return file->options.read_only;
}

/* ---- requests ---- */

static gboolean is_aligned(guint64 offset, guint64 bytes, const void *buffer, guint to)
{
    return (offset | bytes | (guintptr)buffer) % to == 0;
}

/* The descriptor for the first attempt; O_DIRECT may still refuse it with EINVAL. */
static int descriptor(const BlockFile *file, guint64 offset, guint64 bytes, const void *buffer)
{
    return file->unaligned_fd >= 0 && !is_aligned(offset, bytes, buffer, SECTOR) ? file->unaligned_fd : file->fd;
}

/* Whether EINVAL was for the alignment, so that the other descriptor is to be tried. */
static gboolean try_unaligned(const BlockFile *file, int *fd)
{
    if (errno != EINVAL || file->unaligned_fd < 0 || *fd == file->unaligned_fd)
        return FALSE;
    *fd = file->unaligned_fd;
    return TRUE;
}

static void note_actual_size(BlockFile *file)
{
    struct stat stat;
    if (fstat(file->fd, &stat) == 0)
        atomic_store_explicit(&file->actual_size, (guint64)stat.st_blocks * SECTOR, memory_order_relaxed);
}

int block_file_read(BlockFile *file, guint64 offset, guint64 bytes, void *buffer)
{
    int fd = descriptor(file, offset, bytes, buffer);
    guint64 done = 0;

    while (done < bytes) {
        gssize n = pread(fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && (errno == EINTR || try_unaligned(file, &fd)))
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        done += (guint64)n;
    }
    memset((char *)buffer + done, 0, bytes - done);
    return 0;
}

int block_file_write(BlockFile *file, guint64 offset, guint64 bytes, const void *buffer)
{
    int fd = descriptor(file, offset, bytes, buffer);
    int error = 0;
    guint64 done = 0;

    while (done < bytes && !error) {
        gssize n = pwrite(fd, (const char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && (errno == EINTR || try_unaligned(file, &fd)))
            continue;
        if (n < 0)
            error = errno;
        else if (n == 0)
            error = ENOSPC;
        else
            done += (guint64)n;
    }
    note_actual_size(file);
    return error;
}

int block_file_flush(BlockFile *file)
{
    if (file->options.no_flush || fdatasync(file->fd) == 0)
        return 0;
    return errno;
}

/* A file system that cannot is no failure: a discard is advice. */
int block_file_discard(BlockFile *file, guint64 offset, guint64 bytes)
{
    if (!file->options.discard)
        return 0;
    if (fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) == 0) {
        atomic_fetch_add(&file->discards_ok, 1);
        atomic_fetch_add(&file->discard_bytes_ok, bytes);
        note_actual_size(file);
        return 0;
    }
    atomic_fetch_add(&file->discards_failed, 1);
    return errno == EOPNOTSUPP ? 0 : errno;
}

/* ---- what is known ---- */

guint64 block_file_actual_size(const BlockFile *file)
{
    return atomic_load(&file->actual_size);
}

BlockDiscards block_file_discards(const BlockFile *file)
{
    return (BlockDiscards){.ok = atomic_load(&file->discards_ok),
                           .failed = atomic_load(&file->discards_failed),
                           .bytes_ok = atomic_load(&file->discard_bytes_ok)};
}
