/* SPDX-License-Identifier: MIT */
/* fs/mount-point.c: what can be mounted on, what is refused, and the lock. Real mounts: mount/cases/mount-point.py. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "fs/mount-point.h"

/* A folder of the test's own, its path free of symlinks. */
static char *folder;

static char *make(const char *name)
{
    char *path = g_build_filename(folder, name, NULL);

    g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
    return path;
}

static gboolean lacks_fuse(void)
{
    if (access("/dev/fuse", F_OK) == 0)
        return FALSE;
    g_test_skip("there is no /dev/fuse");
    return TRUE;
}

static void check_error(const char *path, const char *says)
{
    g_autoptr(GError) error = NULL;
    MountPoint mount_point = {.path = (char *)"untouched", .lock = 77};

    g_assert_false(mount_point_prepare(&mount_point, path, FALSE, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, path));
    if (!strstr(error->message, says))
        g_assert_cmpstr(error->message, ==, says);
    g_assert_cmpstr(mount_point.path, ==, "untouched");
    g_assert_cmpint(mount_point.lock, ==, 77);
}

static void check_ok(const char *path, gboolean allow_nonempty, const char *expected)
{
    g_autoptr(GError) error = NULL;
    MountPoint mount_point;

    g_assert_true(mount_point_prepare(&mount_point, path, allow_nonempty, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(mount_point.path, ==, expected);
    mount_point_clear(&mount_point);
    g_assert_null(mount_point.path);
    g_assert_cmpint(mount_point.lock, ==, -1);
    mount_point_clear(&mount_point);
}

static void test_refused(void)
{
    g_autofree char *file = g_build_filename(folder, "file", NULL), *below = g_build_filename(file, "x", NULL),
                    *nobody = g_build_filename(folder, "nobody", NULL),
                    *deep = g_build_filename(folder, "nobody", "x", NULL),
                    *dangling = g_build_filename(folder, "dangling", NULL);

    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    g_assert_cmpint(symlink("nobody", dangling), ==, 0);
    check_error(nobody, "No such file or directory");
    check_error(deep, "No such file or directory");
    check_error(dangling, "No such file or directory");
    check_error(file, "it is not a directory");
    check_error(below, "Not a directory");
    check_error("/dev/null", "it is not a directory");
    g_unlink(file);
    g_unlink(dangling);
}

static void test_not_empty(void)
{
    g_autofree char *full = make("full"), *file = g_build_filename(full, ".hidden", NULL);

    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    check_error(full, "the directory is not empty");
    if (!lacks_fuse())
        check_ok(full, TRUE, full);
    g_unlink(file);
    g_rmdir(full);
}

/* However it is named, the path is the one that the kernel's table of mounts will have. */
static void test_paths(void)
{
    g_autofree char *before = g_get_current_dir(), *dir = make("dir"), *inner = make("dir/inner"),
                    *link = g_build_filename(folder, "link", NULL),
                    *through = g_build_filename(folder, "link", "inner", NULL),
                    *slashes = g_strconcat(folder, "//dir/./inner//", NULL),
                    *upward = g_build_filename(folder, "dir", "..", "dir", "inner", NULL);

    if (!lacks_fuse()) {
        g_assert_cmpint(symlink("dir", link), ==, 0);
        check_ok(inner, FALSE, inner);
        check_ok(slashes, FALSE, inner);
        check_ok(upward, FALSE, inner);
        check_ok(through, FALSE, inner);
        check_ok(link, TRUE, dir); /* a link itself is followed as well */
        g_assert_cmpint(chdir(dir), ==, 0);
        check_ok("inner", FALSE, inner);
        check_ok("../link/inner", FALSE, inner);
        check_ok(".", TRUE, dir);
        g_assert_cmpint(chdir(before), ==, 0);
        g_unlink(link);
    }
    g_rmdir(inner);
    g_rmdir(dir);
}

/* Whether somebody holds the lock of a directory. */
static gboolean is_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gboolean locked = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;

    close(fd);
    return locked;
}

static void test_lock(void)
{
    g_autofree char *dir = make("locked");
    MountPoint mount_point;

    if (!lacks_fuse()) {
        g_assert_false(is_locked(dir));
        g_assert_true(mount_point_prepare(&mount_point, dir, FALSE, NULL));
        g_assert_true(is_locked(dir));
        g_assert_true(fcntl(mount_point.lock, F_GETFD) & FD_CLOEXEC);
        mount_point_unlock(&mount_point);
        g_assert_false(is_locked(dir));
        mount_point_unlock(&mount_point); /* once more does nothing */
        mount_point_clear(&mount_point);
        g_assert_true(mount_point_prepare(&mount_point, dir, FALSE, NULL));
        mount_point_clear(&mount_point); /* lets go as well */
        g_assert_false(is_locked(dir));
    }
    g_rmdir(dir);
}

/* One that was refused leaves no lock behind. */
static void test_no_lock_after_refusal(void)
{
    g_autofree char *full = make("refused"), *inner = make("refused/x");

    check_error(full, "not empty");
    g_assert_false(is_locked(full));
    g_rmdir(inner);
    g_rmdir(full);
}

typedef struct Start {
    const char *path;
    gint ready; /* atomic */
} Start;

static gpointer prepare(gpointer opaque)
{
    Start *start = opaque;
    MountPoint mount_point;

    g_assert_true(mount_point_prepare(&mount_point, start->path, FALSE, NULL));
    g_atomic_int_set(&start->ready, 1);
    mount_point_clear(&mount_point);
    return NULL;
}

/* The second start waits until the first lets go. */
static void test_second_waits(void)
{
    g_autofree char *dir = make("waiting");
    MountPoint mount_point;

    if (!lacks_fuse()) {
        Start start = {.path = dir};
        g_assert_true(mount_point_prepare(&mount_point, dir, FALSE, NULL));
        GThread *second = g_thread_new("second", prepare, &start);
        g_usleep(50000);
        g_assert_cmpint(g_atomic_int_get(&start.ready), ==, 0);
        mount_point_unlock(&mount_point);
        g_thread_join(second);
        g_assert_cmpint(g_atomic_int_get(&start.ready), ==, 1);
        mount_point_clear(&mount_point);
    }
    g_rmdir(dir);
}

int main(int argc, char **argv)
{
    g_autofree char *made = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    made = g_dir_make_tmp("qomfs-mount-point-XXXXXX", NULL);
    g_assert_nonnull(made);
    folder = realpath(made, NULL);
    g_test_add_func("/mount-point/refused", test_refused);
    g_test_add_func("/mount-point/not-empty", test_not_empty);
    g_test_add_func("/mount-point/paths", test_paths);
    g_test_add_func("/mount-point/lock", test_lock);
    g_test_add_func("/mount-point/no-lock-after-refusal", test_no_lock_after_refusal);
    g_test_add_func("/mount-point/second-waits", test_second_waits);
    status = g_test_run();
    g_rmdir(folder);
    free(folder);
    return status;
}
