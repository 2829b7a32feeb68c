/* SPDX-License-Identifier: MIT */
/*
 * See share.h. A hook or a handler on the monitor thread makes a Message, which runs on the live thread; in what
 * order they are sent, in that order they run.
 */
#include "vmm/share/share.h"

#include <unistd.h>

#include "objmodel/error.h"
#include "qmp/registry.h"
#include "qmp/stream.h"
#include "vmm/live/private-monitor.h"
#include "vmm/share/client.h"
#include "vmm/share/multiplexer.h"
#include "vmm/share/permits.h"

/* Each takes a descriptor of QEMU's, which usually may have 1024. */
#define PRIVATE_CLIENTS_MAX 256

struct Share {
    Permits *permits;   /* constant */
    QmpCommand command; /* constant: what all commands of the target are, for the registry */
    Multiplexer *multiplexer;
    GMainContext *context; /* the live thread's; constant once it is attached, as the link is, which is that thread's */
    LiveLink *link;
    gint is_private; /* atomic: whether new clients get a monitor of their own */

    /* The live thread's. */
    GPtrArray *clients; /* ShareClient */
    GPtrArray *makings; /* Making */
};

typedef struct Message {
    Share *share;
    void (*run)(struct Message *message); /* takes call and fds */
    guint64 client;
    int fd; /* or -1 */
    QmpCall *call;
    GArray *fds;
} Message;

/* ---- from thread to thread ---- */

static gboolean message_run(gpointer data)
{
    Message *message = data;

    message->run(message);
    return G_SOURCE_REMOVE;
}

/* What was not taken is ended, also where the message never ran. */
static void message_free(gpointer data)
{
    Message *message = data;

    if (message->call != NULL) {
        qmp_call_fail_new(message->call, OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the server ends");
    }
    qmp_fds_free(message->fds);
    if (message->fd >= 0) {
        close(message->fd);
    }
    g_free(message);
}

static void share_post(Share *share, Message content)
{
    Message *message = g_memdup2(&content, sizeof content);

    message->share = share;
    g_main_context_invoke_full(share->context, G_PRIORITY_DEFAULT, message_run, message, message_free);
}

/* ---- private monitors ---- */

/* A client whose monitor is being made. */
typedef struct Making {
    Share *share;
    int fd;
    PrivateMonitor *monitor;
} Making;

static void making_free(gpointer data)
{
    Making *making = data;

    private_monitor_free(making->monitor);
    if (making->fd >= 0) {
        close(making->fd);
    }
    g_free(making);
}

static void client_ended(ShareClient *client, void *opaque)
{
    Share *share = opaque;

    g_ptr_array_remove_fast(share->clients, client);
}

/* Where there is none, its connection is closed, which is all that can be said before a greeting. */
static void monitor_made(int fd, const GError *error, void *opaque)
{
    Making *making = opaque;
    Share *share = making->share;

    (void)error;
    making->monitor = NULL;
    if (fd >= 0) {
        g_ptr_array_add(share->clients, share_client_new(making->fd, fd, share->permits, client_ended, share));
        making->fd = -1;
    }
    g_ptr_array_remove_fast(share->makings, making);
}

static void run_adopt(Message *message)
{
    Share *share = message->share;
    QmpPeer *peer = share->link != NULL ? live_link_peer(share->link) : NULL;
    g_autofree char *id = NULL;
    Making *making;

    if (peer == NULL || live_link_private_id(share->link) == NULL ||
        share->clients->len + share->makings->len >= PRIVATE_CLIENTS_MAX) {
        return;
    }
    id = live_link_new_id(share->link);
    making = g_new0(Making, 1);
    making->share = share;
    making->fd = message->fd;
    message->fd = -1;
    g_ptr_array_add(share->makings, making);
    making->monitor = private_monitor_make(peer, id, monitor_made, making);
}

/* ---- the multiplexer ---- */

static void run_command(Message *message)
{
    Share *share = message->share;

    multiplexer_send(share->multiplexer, share->link, g_steal_pointer(&message->call), g_steal_pointer(&message->fds));
}

/* While there are clients the socket is held: they are told of events. */
static void run_join(Message *message)
{
    multiplexer_join(message->share->multiplexer, message->client);
    live_link_hold(message->share->link, TRUE);
}

static void run_leave(Message *message)
{
    multiplexer_leave(message->share->multiplexer, message->share->link, message->client);
    live_link_hold(message->share->link, FALSE);
}

/* ---- the monitor thread ---- */

static gboolean share_adopt(int fd, void *opaque)
{
    Share *share = opaque;

    if (!g_atomic_int_get(&share->is_private)) {
        return FALSE;
    }
    share_post(share, (Message){.run = run_adopt, .fd = fd});
    return TRUE;
}

static void share_joined(guint64 client, void *opaque)
{
    share_post(opaque, (Message){.run = run_join, .client = client, .fd = -1});
}

static void share_left(guint64 client, void *opaque)
{
    share_post(opaque, (Message){.run = run_leave, .client = client, .fd = -1});
}

static void handle_any(QmpCall *call, const void *args)
{
    Share *share = qmp_call_context(call);
    const char *command = qmp_call_command(call);
    g_autoptr(GError) error = NULL;

    (void)args;
    if (!permits_has(share->permits, command)) {
        permits_refuse(command, &error);
        qmp_call_fail(call, error);
    } else if (!multiplexer_answer(share->multiplexer, call)) {
        GArray *fds = command_takes_fds(command) ? qmp_call_take_fds(call) : NULL;

        share_post(share, (Message){.run = run_command, .call = call, .fds = fds, .fd = -1});
    }
}

QmpRegistry *share_registry(Share *share, const QmpVersion *version)
{
    QmpRegistry *registry = qmp_registry_new_bare(version, NULL);

    /* The first of the built-in ones is qmp_capabilities; the others are the target's. */
    qmp_registry_add_one(registry, qmp_builtin_commands, registry);
    /* One connection is executed in order: nothing overtakes. */
    qmp_registry_leave_out_oob(registry);
    qmp_registry_set_otherwise(registry, &share->command, share);
    return registry;
}

QmpClientHooks share_hooks(Share *share)
{
    return (QmpClientHooks){share_adopt, share_joined, share_left, share};
}

/* ---- life ---- */

Share *share_new(const char *permitted)
{
    Share *share = g_new0(Share, 1);

    share->permits = permits_new(permitted);
    share->command = (QmpCommand){.name = "", .handler = handle_any, .flags = QMP_COMMAND_OPEN_ARGS};
    share->multiplexer = multiplexer_new();
    share->clients = g_ptr_array_new();
    share->makings = g_ptr_array_new_with_free_func(making_free);
    return share;
}

void share_free(Share *share)
{
    if (share == NULL) {
        return;
    }
    g_ptr_array_set_free_func(share->clients, (GDestroyNotify)share_client_free);
    g_ptr_array_unref(share->clients);
    g_ptr_array_unref(share->makings);
    multiplexer_free(share->multiplexer);
    permits_free(share->permits);
    if (share->context != NULL) {
        g_main_context_unref(share->context);
    }
    g_free(share);
}

/* ---- the link ---- */

static void link_changed(LiveLink *link, LiveLinkState state, gboolean new_process, void *opaque)
{
    Share *share = opaque;

    if (state == LIVE_LINK_UP) {
        g_atomic_int_set(&share->is_private, live_link_private_id(link) != NULL);
    }
    if (new_process) {
        multiplexer_forget(share->multiplexer);
    }
}

static void run_attach(Message *message)
{
    Share *share = message->share;

    live_link_set_watch(share->link, link_changed, share);
    link_changed(share->link, live_link_state(share->link), FALSE, share);
}

void share_attach(Share *share, GMainContext *context, LiveLink *link)
{
    share->context = g_main_context_ref(context);
    share->link = link;
    share_post(share, (Message){.run = run_attach, .fd = -1});
}

gboolean share_permits(const Share *share, const char *command)
{
    return permits_has(share->permits, command);
}
