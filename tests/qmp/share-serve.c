/* SPDX-License-Identifier: MIT */
/*
 * What --share serves, without a mount: `share-serve TARGET SOCKET [PERMITTED]` shares the QEMU at TARGET on SOCKET. It
 * prints "private" or "shared" when it serves, and ends when its standard input does.
 */
#include <gio/gio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vmm/share/share.h"

typedef struct Serving {
    const char *target;
    const char *socket;
    GMainContext *context;
    GMainLoop *loop;
    Share *share;
    QmpServer *server; /* once it is UP for the first time */
    LiveLink *link;
} Serving;

static void changed(LiveLink *link, LiveLinkState state, gboolean new_process, const GError *error, void *opaque)
{
    Serving *serving = opaque;
    QmpClientHooks hooks = share_hooks(serving->share);
    g_autoptr(QmpRegistry) registry = NULL;
    g_autoptr(GError) problem = NULL;

    (void)new_process;
    if (error != NULL) {
        fprintf(stderr, "%s\n", error->message);
    }
    if (state == LIVE_LINK_UP && serving->server == NULL) {
        registry = share_registry(serving->share, live_link_version(link));
        serving->server = qmp_server_new(serving->socket, registry, &problem);
        if (serving->server == NULL) {
            fprintf(stderr, "%s\n", problem->message);
            g_main_loop_quit(serving->loop);
            return;
        }
        qmp_server_set_client_hooks(serving->server, &hooks);
        qmp_server_start(serving->server);
        printf("%s\n", live_link_private_id(link) != NULL ? "private" : "shared");
        fflush(stdout);
    }
}

static void told(LiveLink *link, const char *name, JsonSlice message, void *opaque)
{
    Serving *serving = opaque;

    (void)link;
    (void)name;
    if (serving->server != NULL) {
        qmp_server_pass_event(serving->server, message);
    }
}

static gpointer live_thread(gpointer data)
{
    static const LiveLinkEvents events = {changed, told};
    Serving *serving = data;

    g_main_context_push_thread_default(serving->context);
    serving->link =
        live_link_new(&(LiveLinkOptions){.target = serving->target, .release_us = 300000}, &events, serving);
    share_attach(serving->share, serving->context, serving->link);
    g_main_loop_run(serving->loop);
    g_main_context_pop_thread_default(serving->context);
    return NULL;
}

static gboolean stop(gpointer data)
{
    g_main_loop_quit(((Serving *)data)->loop);
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
    Serving serving = {0};
    GThread *thread;
    char byte;

    if (argc < 3) {
        fprintf(stderr, "usage: share-serve TARGET SOCKET [PERMITTED]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    serving.target = argv[1];
    serving.socket = argv[2];
    serving.share = share_new(argv[3]);
    serving.context = g_main_context_new();
    serving.loop = g_main_loop_new(serving.context, FALSE);
    thread = g_thread_new("live", live_thread, &serving);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    g_main_context_invoke(serving.context, stop, &serving);
    g_thread_join(thread);
    qmp_server_free(serving.server);
    live_link_free(serving.link);
    share_free(serving.share);
    g_main_loop_unref(serving.loop);
    g_main_context_unref(serving.context);
    return 0;
}
