/* SPDX-License-Identifier: MIT */
/*
 * The mount point. A dead mount is told by the mount table and statvfs(3): stat(2) may still
 * succeed from what the kernel has cached, and libfuse would mount on top of a live one.
 * Called by main.c before there are threads.
 */
#include "fs/mount-point.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define FS_TYPE "fuse.qomfs"

/* Milliseconds after which a mount that has not answered is taken for one that will not. */
enum { ANSWER_MS = 3000 };

static gboolean fail(GError **error, const char *path, const char *reason)
{
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot mount on '%s': %s", path, reason);
    return FALSE;
}

/* The absolute path, without looking at what is mounted on its last component: that may be dead. */
static char *absolute_path(const char *path, GError **error)
{
    g_autofree char *here = getcwd(NULL, 0);
    if (path[0] != '/' && !here) {
        fail(error, path, g_strerror(errno));
        return NULL;
    }
    g_autofree char *canonical = g_canonicalize_filename(path, here);
    g_autofree char *parent = g_path_get_dirname(canonical);
    g_autofree char *base = g_path_get_basename(canonical);
    g_autofree char *link = g_file_read_link(canonical, NULL);
    char real[PATH_MAX];
    if (!realpath(link ? canonical : parent, real)) {
        fail(error, path, g_strerror(errno));
        return NULL;
    }
    return link || !strcmp(canonical, "/") ? g_strdup(real) : g_build_filename(real, base, NULL);
}

/* Whether the topmost mount at the path is one of qomfs. */
static gboolean is_own_mount(const char *path)
{
    FILE *table = setmntent("/proc/self/mounts", "re");
    gboolean own = FALSE;
    if (!table)
        return FALSE;
    for (struct mntent *entry; (entry = getmntent(table));)
        if (!strcmp(entry->mnt_dir, path))
            own = !strcmp(entry->mnt_type, FS_TYPE);
    endmntent(table);
    return own;
}

/* A dead mount is busy as long as somebody has a file of it open: it is detached, not unmounted. */
static gboolean clear_dead_mount(const char *path)
{
    if (umount2(path, MNT_DETACH) == 0)
        return TRUE;
    const char *const argv[] = {"fusermount3", "-u", "-z", "-q", "--", path, NULL};
    int status;
    return g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL) &&
           g_spawn_check_wait_status(status, NULL);
}

static gboolean is_empty(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    return !dir || !g_dir_read_name(dir);
}

/* Whoever mounts on a directory holds a lock on it meanwhile. Opened before that, it is the
 * directory below the mount that the lock is on, for all who come. */
static int lock_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
        continue;
    return fd;
}

typedef enum Answer { ANSWER_ALIVE, ANSWER_DEAD, ANSWER_NONE } Answer;

/* Whether the daemon of a mount answers. It may be stopped, and whoever asks it then waits for it:
 * so a child asks. */
static Answer ask_mount(const char *path)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ANSWER_NONE;
    child = fork();
    if (child == 0) {
        struct statvfs fs;
        char answer =
            statvfs(path, &fs) < 0 && (errno == ENOTCONN || errno == ECONNABORTED) ? ANSWER_DEAD : ANSWER_ALIVE;
        _exit(write(ends[1], &answer, 1) == 1 ? 0 : 1);
    }
    char answer = ANSWER_NONE;
    struct pollfd told = {.fd = ends[0], .events = POLLIN};
    close(ends[1]);
    if (poll(&told, 1, ANSWER_MS) <= 0 || read(ends[0], &answer, 1) != 1)
        answer = ANSWER_NONE;
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, answer == ANSWER_NONE ? WNOHANG : 0);
    }
    return (Answer)answer;
}

/* Clears away a dead mount; refuses a live one. */
static gboolean check_own_mount(const char *path, GError **error)
{
    if (!is_own_mount(path))
        return TRUE;
    Answer answer = ask_mount(path);
    if (answer == ANSWER_ALIVE)
        return fail(error, path, "qomfs is mounted there already");
    if (answer == ANSWER_NONE)
        return fail(error, path, "qomfs is mounted there already, and does not answer");
    return clear_dead_mount(path) ||
           fail(error, path, "a qomfs that was killed left its mount there, and it cannot be taken away");
}

static gboolean check_directory(const char *path, gboolean allow_nonempty, GError **error)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return fail(error, path, g_strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fail(error, path, "it is not a directory");
    if (!allow_nonempty && !is_empty(path))
        return fail(error, path, "the directory is not empty (-o nonempty hides what is in it)");
    if (access("/dev/fuse", F_OK) < 0)
        return fail(error, path, "there is no /dev/fuse (modprobe fuse, or pass the device into the container)");
    return TRUE;
}

gboolean mount_point_prepare(MountPoint *ret, const char *path, gboolean allow_nonempty, GError **error)
{
    MountPoint made = {.path = absolute_path(path, error), .lock = -1};
    if (!made.path)
        return FALSE;
    gboolean ok = check_own_mount(made.path, error);
    if (ok) {
        made.lock = lock_directory(made.path);
        /* Another start may have mounted while this one waited. */
        ok = check_own_mount(made.path, error) && check_directory(made.path, allow_nonempty, error);
    }
    if (!ok) {
        mount_point_clear(&made);
        return FALSE;
    }
    *ret = made;
    return TRUE;
}

void mount_point_unlock(MountPoint *mount_point)
{
    if (mount_point->lock < 0)
        return;
    flock(mount_point->lock, LOCK_UN);
    close(mount_point->lock);
    mount_point->lock = -1;
}

void mount_point_clear(MountPoint *mount_point)
{
    mount_point_unlock(mount_point);
    g_clear_pointer(&mount_point->path, g_free);
}
