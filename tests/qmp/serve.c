/* SPDX-License-Identifier: MIT */
/*
 * Serves what qomfs would mount at a QMP socket, without a mount: for tests and measurements of the socket alone.
 * Ends by SIGTERM, or by `quit`.
 *
 *     serve SOURCE SOCKET      SOURCE as for qomfs: model, a configuration, a dump
 */
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "vmm/companion.h"
#include "vmm/model.h"
#include "vmm/open.h"

static GMainLoop *loop;

static void quit(void *opaque G_GNUC_UNUSED)
{
    g_main_loop_quit(loop);
}

static gboolean end(gpointer data G_GNUC_UNUSED)
{
    g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

/* Serves until it is to end. */
static gboolean serve(Source *source, const char *path, GError **error)
{
    CompanionOptions options = {.path = path, .quit = quit};
    g_autoptr(Companion) companion = companion_new(source, model_source_vm(source), &options, error);

    if (companion == NULL) {
        return FALSE;
    }
    companion_start(companion);
    g_main_loop_run(loop);
    return TRUE;
}

int main(int argc, char **argv)
{
    static const OpenOptions options = {0};
    g_autoptr(GError) error = NULL;
    Source *source;
    gboolean ok;

    if (argc != 3) {
        fprintf(stderr, "usage: serve SOURCE SOCKET\n");
        return 2;
    }
    loop = g_main_loop_new(NULL, FALSE);
    g_unix_signal_add(SIGTERM, end, NULL);
    source = source_open(argv[1], &options, &error);
    ok = source != NULL && serve(source, argv[2], &error);
    if (!ok) {
        fprintf(stderr, "serve: %s\n", error->message);
    }
    if (source != NULL) {
        source->ops->free(source);
    }
    g_main_loop_unref(loop);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
