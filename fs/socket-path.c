/* SPDX-License-Identifier: MIT */
/* Where the companion socket listens. Called by main.c. */
#include "fs/socket-path.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".sock"

/* The usual folder: only its owner can enter it. */
static char *usual_folder(void)
{
    const char *runtime = getuid() == 0 ? "/run" : g_getenv("XDG_RUNTIME_DIR");
    return runtime && *runtime == '/' ? g_build_filename(runtime, "qomfs", NULL) : NULL;
}

/* Whether a name in the folder is of a socket whose process is gone: PID.sock. */
static gboolean is_left_over(const char *name)
{
    char *end;
    gint64 pid = g_ascii_strtoll(name, &end, 10);
    return pid > 0 && pid <= G_MAXINT && end != name && !strcmp(end, SUFFIX) && kill((pid_t)pid, 0) < 0 &&
           errno == ESRCH;
}

static void remove_left_over(const char *folder)
{
    g_autoptr(GDir) sockets = g_dir_open(folder, 0, NULL);
    for (const char *name; sockets && (name = g_dir_read_name(sockets));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (is_left_over(name))
            unlink(path);
    }
}

char *socket_path(const char *asked)
{
    if (asked)
        return strcmp(asked, "none") ? g_canonicalize_filename(asked, NULL) : NULL;
    g_autofree char *folder = usual_folder();
    g_autofree char *name = g_strdup_printf("%ld" SUFFIX, (long)getpid());
    if (!folder)
        return NULL;
    remove_left_over(folder);
    return g_build_filename(folder, name, NULL);
}
