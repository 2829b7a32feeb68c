/* SPDX-License-Identifier: MIT */
/* See listener.h. */
#include "qmp/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Many clients may connect before the monitor thread gets to accept them. */
#define BACKLOG 4096
/* How long another server that starts in the same folder may take. */
#define LOCK_PATIENCE_MS 2000

struct QmpListener {
    char *path;
    int fd;
    dev_t dev; /* of the file that we made */
    ino_t ino;
};

static gboolean G_GNUC_PRINTF(3, 4) listener_fail(GError **error, int code, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    if (code != 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(code), "%s: %s", message, g_strerror(code));
    } else {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, message);
    }
    return FALSE;
}

/* ---- the folder ---- */

static gboolean folder_is_safe(const struct stat *status)
{
    gboolean others_write = (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;

    /* In a sticky folder others can add files, but not rename or remove ours. */
    return (status->st_uid == geteuid() || status->st_uid == 0) && (!others_write || (status->st_mode & S_ISVTX));
}

/* Returns a descriptor of the folder, locked against other servers that start in it; -1 on error. */
static int folder_open(const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    struct stat status;
    int fd;

    if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
        listener_fail(error, errno, "cannot make the folder '%s'", folder);
        return -1;
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0) {
        listener_fail(error, errno, "cannot open the folder '%s'", folder);
        goto fail;
    }
    if (!folder_is_safe(&status)) {
        listener_fail(error, 0, "the folder '%s' is no place for a socket: others can replace files in it", folder);
        goto fail;
    }
    for (guint waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += 10) {
        if (errno != EWOULDBLOCK || waited >= LOCK_PATIENCE_MS) {
            listener_fail(error, errno, "cannot lock the folder '%s'", folder);
            goto fail;
        }
        g_usleep(10 * 1000);
    }
    return fd;

fail:
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* ---- the socket ---- */

/* Whether somebody listens there. */
static gboolean socket_is_live(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    gboolean live = fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN);

    if (fd >= 0) {
        close(fd);
    }
    return live;
}

/* Removes a socket that nobody listens on. Anything else is left alone, and an error. */
static gboolean socket_remove_stale(const struct sockaddr_un *address, GError **error)
{
    const char *path = address->sun_path;
    struct stat status;

    if (lstat(path, &status) < 0) {
        return errno == ENOENT || listener_fail(error, errno, "cannot look at '%s'", path);
    }
    if (!S_ISSOCK(status.st_mode)) {
        return listener_fail(error, 0, "cannot listen at '%s': a file that is no socket is there", path);
    }
    if (status.st_uid != geteuid()) {
        return listener_fail(error, 0, "cannot listen at '%s': another user's socket is there", path);
    }
    if (socket_is_live(address)) {
        return listener_fail(error, 0, "cannot listen at '%s': another server listens there", path);
    }
    return unlink(path) == 0 || errno == ENOENT || listener_fail(error, errno, "cannot remove '%s'", path);
}

/* Under the folder's lock. */
static gboolean listener_bind(QmpListener *listener, const struct sockaddr_un *address, GError **error)
{
    struct stat status;

    if (!socket_remove_stale(address, error)) {
        return FALSE;
    }
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the socket becomes that of the file, so that it is never open to others. */
    if (listener->fd < 0 || fchmod(listener->fd, 0600) < 0 ||
        bind(listener->fd, (const struct sockaddr *)address, sizeof *address) < 0 ||
        lstat(listener->path, &status) < 0 || listen(listener->fd, BACKLOG) < 0) {
        return listener_fail(error, errno, "cannot listen at '%s'", listener->path);
    }
    listener->dev = status.st_dev;
    listener->ino = status.st_ino;
    return TRUE;
}

QmpListener *qmp_listener_new(const char *path, GError **error)
{
    g_autoptr(QmpListener) listener = g_new0(QmpListener, 1);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gboolean bound;
    int folder;

    listener->fd = -1;
    listener->path = g_strdup(path);
    if (strlen(path) >= sizeof address.sun_path) {
        listener_fail(error, 0, "cannot listen at '%s': a socket's path has at most %zu bytes", path,
                      sizeof address.sun_path - 1);
        return NULL;
    }
    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    folder = folder_open(path, error);
    if (folder < 0) {
        return NULL;
    }
    bound = listener_bind(listener, &address, error);
    close(folder);
    return bound ? g_steal_pointer(&listener) : NULL;
}

void qmp_listener_free(QmpListener *listener)
{
    struct stat status;

    if (listener == NULL) {
        return;
    }
    if (listener->ino != 0 && lstat(listener->path, &status) == 0 && status.st_dev == listener->dev &&
        status.st_ino == listener->ino) {
        unlink(listener->path);
    }
    if (listener->fd >= 0) {
        close(listener->fd);
    }
    g_free(listener->path);
    g_free(listener);
}

int qmp_listener_fd(const QmpListener *listener)
{
    return listener->fd;
}

void qmp_listener_set_backlog(QmpListener *listener, int backlog)
{
    listen(listener->fd, backlog); /* it listens already: that cannot fail */
}

int qmp_listener_accept(QmpListener *listener)
{
    return accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
