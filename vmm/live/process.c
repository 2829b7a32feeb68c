/* SPDX-License-Identifier: MIT */
/* See process.h. Any thread. */
#include "vmm/live/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* /proc/PID/stat: "PID (NAME) STATE ...", the start is field 22. The name may hold anything, ')' too. */
static gboolean read_stat(gint64 pid, LiveProcess *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/stat", pid), *text = NULL;
    g_auto(GStrv) fields = NULL;
    char *open, *close;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return FALSE;
    }
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (open == NULL || close == NULL || close < open || close[1] != ' ') {
        return FALSE;
    }
    fields = g_strsplit(close + 2, " ", 21);
    if (g_strv_length(fields) < 20) {
        return FALSE;
    }
    *close = '\0';
    g_strlcpy(process->name, open + 1, sizeof process->name);
    process->state = fields[0][0];
    return g_ascii_string_to_unsigned(fields[19], 10, 0, G_MAXUINT64, &process->start, NULL);
}

LiveProcess live_process_of(int fd, const char *path)
{
    LiveProcess process = {0};
    struct stat status;
    struct ucred credentials;
    socklen_t size = sizeof credentials;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 && credentials.pid > 0 &&
        read_stat(credentials.pid, &process)) {
        process.pid = credentials.pid;
    }
    if (path != NULL && stat(path, &status) == 0) {
        process.device = status.st_dev;
        process.socket = status.st_ino;
    }
    return process;
}

/* The credentials are those of who called listen(): a manager may have done that, for one QEMU after the other. */
static gboolean is_qemu(const LiveProcess *process)
{
    return process->pid > 0 && (g_str_has_prefix(process->name, "qemu") || g_str_has_prefix(process->name, "kvm"));
}

gboolean live_process_is_same(const LiveProcess *a, const LiveProcess *b)
{
    return is_qemu(a) && is_qemu(b) && a->pid == b->pid && a->start == b->start && a->device == b->device &&
           a->socket == b->socket;
}

gint64 live_process_main_ns(const LiveProcess *process)
{
    g_autofree char *path = NULL;
    char text[64];
    gint64 ns;
    gssize length;
    int fd;

    if (!is_qemu(process)) {
        return -1;
    }
    path =
        g_strdup_printf("/proc/%" G_GINT64_FORMAT "/task/%" G_GINT64_FORMAT "/schedstat", process->pid, process->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) {
        return -1;
    }
    text[length] = '\0';
    ns = g_ascii_strtoll(text, NULL, 10);
    return ns > 0 ? ns : -1;
}
