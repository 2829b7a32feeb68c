/* SPDX-License-Identifier: MIT */
/* See connect.h. */
#include "vmm/live/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

gboolean live_target_is_path(const char *target)
{
    struct stat status;

    return strchr(target, '/') != NULL || strchr(target, ':') == NULL || stat(target, &status) == 0;
}

/* ---- a path ---- */

/* What a user can do about it. */
static const char *advice(int code)
{
    switch (code) {
    case ENOENT:
        return "; is QEMU running, with -qmp unix:PATH,server=on,wait=off?";
    case ECONNREFUSED:
        return ": nobody listens there; the QEMU that made it has ended";
    case EAGAIN:
        return ": other clients hold this monitor and wait for it, and its queue is full; QEMU serves one at a time";
    case EACCES:
    case EPERM:
        return "; who may use the monitor is who started QEMU, and root";
    default:
        return "";
    }
}

static int connect_path(const char *path, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd, code;

    if (strlen(path) >= sizeof address.sun_path) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FILENAME_TOO_LONG,
                    "cannot attach to '%s': the path of a socket has at most %zu bytes", path,
                    sizeof address.sun_path - 1);
        return -1;
    }
    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        return fd;
    }
    code = errno;
    if (fd >= 0) {
        close(fd);
    }
    g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(code), "cannot attach to '%s': %s%s", path,
                code == EAGAIN ? "busy" : g_strerror(code), advice(code));
    return -1;
}

/* ---- HOST:PORT ---- */

typedef struct Attempt {
    char *target;
    GCancellable *cancel;
    LiveConnected connected;
    void *opaque;
} Attempt;

static void attempt_free(Attempt *attempt)
{
    g_free(attempt->target);
    g_object_unref(attempt->cancel);
    g_free(attempt);
}

static void host_connected(GObject *client, GAsyncResult *result, gpointer data)
{
    Attempt *attempt = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(GSocketConnection) connection =
        g_socket_client_connect_to_host_finish(G_SOCKET_CLIENT(client), result, &error);
    int fd = -1;

    if (!g_cancellable_is_cancelled(attempt->cancel)) {
        if (connection != NULL) {
            /* A descriptor of our own: GIO's closes with the connection. */
            fd = fcntl(g_socket_get_fd(g_socket_connection_get_socket(connection)), F_DUPFD_CLOEXEC, 0);
        }
        if (connection != NULL && fd < 0) {
            error = g_error_new(G_IO_ERROR, G_IO_ERROR_FAILED, "%s", g_strerror(errno));
        }
        g_prefix_error(&error, "cannot attach to '%s': ", attempt->target);
        attempt->connected(fd, error, attempt->opaque);
    }
    attempt_free(attempt);
}

/* ---- both ---- */

void live_connect(const char *target, GCancellable *cancel, LiveConnected connected, void *opaque)
{
    if (live_target_is_path(target)) {
        g_autoptr(GError) error = NULL;
        int fd = connect_path(target, &error);

        connected(fd, error, opaque);
    } else {
        g_autoptr(GSocketClient) client = g_socket_client_new();
        Attempt *attempt = g_new(Attempt, 1);

        *attempt = (Attempt){g_strdup(target), g_object_ref(cancel), connected, opaque};
        g_socket_client_connect_to_host_async(client, target, 0, cancel, host_connected, attempt);
    }
}
