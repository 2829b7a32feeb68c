/* SPDX-License-Identifier: MIT */
/* See private-monitor.h. */
#include "vmm/live/private-monitor.h"

#include <errno.h>
#include <gio/gio.h>
#include <sys/socket.h>
#include <unistd.h>

struct PrivateMonitor {
    QmpPeer *peer;
    char *id;
    int ours;
    int theirs;
    guint step;
    GError *error;
    PrivateMonitorMade made;
    void *opaque;
};

/* One after the other; where one fails, what the one before it has made is undone. '@' stands for the id. QEMU makes
 * the chardev of the descriptor that it was handed, and takes its name away with that. */
static const struct {
    const char *command, *arguments;
    const char *undo, *undo_arguments;
} steps[] = {
    {"getfd", "{\"fdname\":\"@\"}", "closefd", "{\"fdname\":\"@\"}"},
    {"chardev-add",
     "{\"id\":\"@\",\"backend\":{\"type\":\"socket\",\"data\":{\"addr\":{\"type\":\"fd\",\"data\":{\"str\":\"@\"}},"
     "\"server\":false}}}",
     "chardev-remove", "{\"id\":\"@\"}"},
    {"object-add", "{\"qom-type\":\"monitor-qmp\",\"id\":\"@\",\"chardev\":\"@\",\"close-action\":\"delete\"}", NULL,
     NULL},
};

static void step_done(JsonSlice value, const GError *error, void *opaque);

static void monitor_send(PrivateMonitor *monitor, const char *command, const char *arguments, const int *fds,
                         guint n_fds)
{
    GString *text = g_string_new(arguments);

    g_string_replace(text, "@", monitor->id, 0);
    qmp_peer_send(monitor->peer, command, (JsonSlice){text->str, text->len}, fds, n_fds, step_done, monitor);
    g_string_free(text, TRUE);
}

static void monitor_step(PrivateMonitor *monitor)
{
    monitor_send(monitor, steps[monitor->step].command, steps[monitor->step].arguments, &monitor->theirs,
                 monitor->step == 0 ? 1 : 0);
}

static void monitor_end(PrivateMonitor *monitor)
{
    PrivateMonitorMade made = monitor->made;
    void *opaque = monitor->opaque;
    g_autoptr(GError) error = g_steal_pointer(&monitor->error);
    int fd = -1;

    if (error == NULL) {
        fd = monitor->ours;
        monitor->ours = -1;
    }
    private_monitor_free(monitor);
    made(fd, error, opaque);
}

/* The reply to a step, or to what undoes one. */
static void step_done(JsonSlice value, const GError *error, void *opaque)
{
    PrivateMonitor *monitor = opaque;
    gboolean may_undo = error != NULL && error->domain == QMP_ERROR && monitor->error == NULL && monitor->step > 0;

    (void)value;
    if (error != NULL && monitor->error == NULL) {
        monitor->error = g_error_copy(error);
    }
    if (may_undo) {
        monitor_send(monitor, steps[monitor->step - 1].undo, steps[monitor->step - 1].undo_arguments, NULL, 0);
    } else if (monitor->error == NULL && ++monitor->step < G_N_ELEMENTS(steps)) {
        monitor_step(monitor);
    } else {
        monitor_end(monitor);
    }
}

PrivateMonitor *private_monitor_make(QmpPeer *peer, const char *id, PrivateMonitorMade made, void *opaque)
{
    PrivateMonitor *monitor = g_new0(PrivateMonitor, 1);
    int ends[2] = {-1, -1};

    monitor->peer = peer;
    monitor->id = g_strdup(id);
    monitor->made = made;
    monitor->opaque = opaque;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
        /* QEMU then says that it got no descriptor, which is true, and as good a reason as ours. */
        ends[0] = ends[1] = -1;
    }
    monitor->ours = ends[0];
    monitor->theirs = ends[1];
    monitor_step(monitor);
    return monitor;
}

void private_monitor_free(PrivateMonitor *monitor)
{
    if (monitor == NULL) {
        return;
    }
    if (monitor->ours >= 0) {
        close(monitor->ours);
    }
    if (monitor->theirs >= 0) {
        close(monitor->theirs);
    }
    g_clear_error(&monitor->error);
    g_free(monitor->id);
    g_free(monitor);
}
