/* SPDX-License-Identifier: MIT */
/*
 * See link.h. An attempt goes through the same steps each time: connect, be greeted and negotiate (peer.c), ask once
 * for each process what it is, make a private monitor where it has such, and be UP. Whatever ends it goes through
 * link_lose(). There is one timer, since the three things that it is for exclude each other: the time that an
 * attempt may take, the pause before the next one, and idle time before the socket is released.
 */
#include "vmm/live/link.h"

#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#include "objmodel/error.h"
#include "vmm/live/connect.h"
#include "vmm/live/diagnosis.h"
#include "vmm/live/private-monitor.h"
#include "vmm/live/process.h"
#include "vmm/live/requests.h"

/* Who says nothing for so long is reported; a QEMU that can answer does so within milliseconds. */
#define ATTEMPT_US ((gint64)1800 * 1000)
/* How long replies under way are waited for at the end. */
#define SETTLE_MS 1000
#define PAUSE_MIN_US ((gint64)100 * 1000)
#define PAUSE_MAX_US ((gint64)2000 * 1000)

struct LiveLink {
    LiveLinkEvents events;
    void *opaque;
    LiveLinkWatch watch; /* or NULL */
    void *watch_opaque;
    char *target;
    gint64 release_us;

    LiveLinkState state;
    GError *error; /* while AWAY */
    GSource *timer;
    gint64 pause_us;        /* before the next attempt */
    GCancellable *cancel;   /* of the connecting under way, or NULL */
    QmpPeer *given;         /* over the target's socket, or NULL */
    QmpPeer *own;           /* over a private monitor, or NULL */
    PrivateMonitor *making; /* or NULL */
    char *own_id;
    guint64 last_number; /* of an id of a private monitor */

    LiveProcess process; /* that of the current attempt */
    LiveProcess before;  /* the one that was last UP */
    gboolean known;      /* what process it was when last UP is told by `before` */
    gboolean checked;    /* the two below, of that process */
    gboolean has_private;

    QmpVersion version; /* of the one that was last UP */
    char *package;
    guint64 received; /* over connections that are gone */

    LiveRequests requests;
    guint holds;
};

static void link_attempt(LiveLink *link);
static void link_lose(LiveLink *link, const GError *error);

/* ---- the timer ---- */

static void link_set_timer(LiveLink *link, gint64 delay_us, GSourceFunc function)
{
    if (link->timer != NULL) {
        g_source_destroy(link->timer);
        g_clear_pointer(&link->timer, g_source_unref);
    }
    if (function != NULL) {
        link->timer = g_timeout_source_new((guint)MAX(delay_us / 1000, 0));
        g_source_set_callback(link->timer, function, link, NULL);
        g_source_attach(link->timer, g_main_context_get_thread_default());
    }
}

/* ---- releasing ---- */

static void link_set_state(LiveLink *link, LiveLinkState state, gboolean new_process)
{
    link->state = state;
    if (link->watch != NULL) {
        link->watch(link, state, new_process, link->watch_opaque);
    }
    link->events.changed(link, state, new_process, link->error, link->opaque);
}

static void close_peer(LiveLink *link, QmpPeer **peer)
{
    if (*peer != NULL) {
        link->received += qmp_peer_received(*peer);
        g_clear_pointer(peer, qmp_peer_free);
    }
}

static gboolean link_release(gpointer data)
{
    LiveLink *link = data;

    link_set_timer(link, 0, NULL);
    close_peer(link, &link->given);
    link_set_state(link, LIVE_LINK_RELEASED, FALSE);
    return G_SOURCE_REMOVE;
}

/* Whether it holds a socket that others may want, and nobody needs it. Then it is let go of after a while. */
static void link_update_release(LiveLink *link)
{
    if (link->state != LIVE_LINK_UP) {
        return;
    }
    if (link->own == NULL && link->release_us >= 0 && link->holds == 0 && live_requests_is_empty(&link->requests)) {
        link_set_timer(link, link->release_us, link_release);
    } else {
        link_set_timer(link, 0, NULL);
    }
}

/* ---- sending ---- */

static QmpPeer *link_peer(const LiveLink *link)
{
    return link->own != NULL ? link->own : link->given;
}

static void link_answered(void *opaque)
{
    link_update_release(opaque);
}

void live_link_send_with(LiveLink *link, const char *command, JsonSlice arguments, GArray *fds, QmpPeerReply reply,
                         void *opaque)
{
    if (link->state == LIVE_LINK_AWAY) {
        live_requests_refuse(&link->requests, fds, reply, opaque, link->error);
        return;
    }
    live_requests_add(&link->requests, command, arguments, fds, reply, opaque);
    if (link->state == LIVE_LINK_UP) {
        live_requests_send(&link->requests, link_peer(link));
        link_update_release(link);
    } else if (link->state == LIVE_LINK_RELEASED) {
        link_attempt(link);
    }
}

void live_link_send(LiveLink *link, const char *command, JsonSlice arguments, QmpPeerReply reply, void *opaque)
{
    live_link_send_with(link, command, arguments, NULL, reply, opaque);
}

/* ---- losing it ---- */

static gboolean link_retry(gpointer data)
{
    link_attempt(data);
    return G_SOURCE_REMOVE;
}

/* It is AWAY now. What waited for UP fails. */
static void link_set_away(LiveLink *link, const GError *error)
{
    if (link->error != error) {
        g_clear_error(&link->error);
        link->error = g_error_copy(error);
    }
    link->state = LIVE_LINK_AWAY;
    live_requests_fail(&link->requests, link->error);
    link_set_state(link, LIVE_LINK_AWAY, FALSE);
}

/* Nothing is left of the connection, if there was one: it begins anew, after a while. */
static void link_lose(LiveLink *link, const GError *error)
{
    if (link->cancel != NULL) {
        g_cancellable_cancel(link->cancel);
        g_clear_object(&link->cancel);
    }
    close_peer(link, &link->own);
    close_peer(link, &link->given);
    g_clear_pointer(&link->making, private_monitor_free);
    link_set_timer(link, link->pause_us, link_retry);
    link->pause_us = MIN(link->pause_us * 2, PAUSE_MAX_US);
    link_set_away(link, error);
}

/* The attempt takes too long. One that is connected stays so: the greeting comes when whoever holds the monitor leaves,
 * or when a stopped QEMU goes on. */
static gboolean attempt_overdue(gpointer data)
{
    LiveLink *link = data;
    g_autoptr(GError) error = NULL;

    link_set_timer(link, 0, NULL);
    if (link->given == NULL) {
        error = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "cannot attach to '%s': nobody answers there",
                            link->target);
        link_lose(link, error);
        return G_SOURCE_REMOVE;
    }
    link->process = live_process_of(qmp_peer_fd(link->given), NULL);
    if (qmp_peer_is_greeted(link->given)) {
        diagnose_stuck(link->target, &link->process, &error);
    } else {
        diagnose_silence(link->target, &link->process, &error);
    }
    link_set_away(link, error);
    return G_SOURCE_REMOVE;
}

/* ---- being up ---- */

static void link_up(LiveLink *link)
{
    const QmpVersion *version = qmp_peer_version(link_peer(link));
    gboolean is_same = link->known && live_process_is_same(&link->before, &link->process);

    g_free(link->package);
    link->package = g_strdup(version->package);
    link->version = *version;
    link->version.package = link->package;
    link->before = link->process;
    link->known = TRUE;
    link->pause_us = PAUSE_MIN_US;
    link_set_timer(link, 0, NULL);
    g_clear_error(&link->error);
    link->state = LIVE_LINK_UP;
    /* First of all the owner: what it learns about the process decides what it sends. */
    link_set_state(link, LIVE_LINK_UP, !is_same);
    if (link->state == LIVE_LINK_UP) {
        live_requests_send(&link->requests, link_peer(link));
    }
    link_update_release(link);
}

/* ---- a private monitor ---- */

static void own_ready(QmpPeer *peer, void *opaque)
{
    LiveLink *link = opaque;

    (void)peer;
    close_peer(link, &link->given);
    link_up(link);
}

static void peer_event(QmpPeer *peer, const char *name, JsonSlice message, void *opaque)
{
    LiveLink *link = opaque;

    /* What comes before is the past of nothing: the owner looks at everything when it is UP. */
    if (link->state == LIVE_LINK_UP && peer == link_peer(link)) {
        link->events.event(link, name, message, link->opaque);
    }
}

static void peer_closed(QmpPeer *peer, const GError *error, void *opaque)
{
    LiveLink *link = opaque;
    g_autoptr(GError) shown = NULL;

    if (*qmp_peer_first_text(peer) != '\0' && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA)) {
        diagnose_text(link->target, qmp_peer_first_text(peer), &shown);
    } else {
        shown = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the connection to '%s' is gone: %s",
                            link->target, error->message);
    }
    link_lose(link, shown);
}

static void monitor_made(int fd, const GError *error, void *opaque)
{
    static const QmpPeerEvents events = {own_ready, peer_event, peer_closed};
    LiveLink *link = opaque;

    link->making = NULL;
    if (fd >= 0) {
        link->own = qmp_peer_new(fd, &events, link);
    } else if (error->domain == QMP_ERROR) {
        /* Not now (before a machine is there, say): the given one does as well. */
        link_up(link);
    }
}

static void link_make_private(LiveLink *link)
{
    g_free(link->own_id);
    link->own_id = live_link_new_id(link);
    link->making = private_monitor_make(link->given, link->own_id, monitor_made, link);
}

/* ---- what it is ---- */

static void link_checked(LiveLink *link)
{
    link->checked = TRUE;
    if (link->has_private && live_target_is_path(link->target)) {
        link_make_private(link);
    } else {
        link_up(link);
    }
}

static void machine_listed(JsonSlice value, const GError *error, void *opaque)
{
    LiveLink *link = opaque;
    g_autoptr(GError) shown = NULL;

    (void)value;
    if (g_error_matches(error, QMP_ERROR, QMP_ERROR_DEVICE_NOT_FOUND)) {
        diagnose_no_machine(link->target, &shown);
        link_lose(link, shown);
    } else if (error == NULL || error->domain == QMP_ERROR) {
        link_checked(link);
    }
}

static void types_listed(JsonSlice value, const GError *error, void *opaque)
{
    LiveLink *link = opaque;

    /* "[]", or an error of those that do not know the command. */
    link->has_private = error == NULL && value.length > 2;
}

static void send_text(LiveLink *link, const char *command, const char *arguments, QmpPeerReply reply)
{
    qmp_peer_send(link->given, command, (JsonSlice){arguments, strlen(arguments)}, NULL, 0, reply, link);
}

static void given_ready(QmpPeer *peer, void *opaque)
{
    LiveLink *link = opaque;

    link->process = live_process_of(qmp_peer_fd(peer), live_target_is_path(link->target) ? link->target : NULL);
    if (link->checked && link->known && live_process_is_same(&link->before, &link->process)) {
        link_checked(link);
        return;
    }
    link->checked = FALSE;
    send_text(link, "qom-list-types", "{\"implements\":\"monitor-qmp\"}", types_listed);
    send_text(link, "qom-list", "{\"path\":\"/machine\"}", machine_listed);
}

/* ---- connecting ---- */

static void link_connected(int fd, const GError *error, void *opaque)
{
    static const QmpPeerEvents events = {given_ready, peer_event, peer_closed};
    LiveLink *link = opaque;

    g_clear_object(&link->cancel);
    if (fd < 0) {
        link_lose(link, error);
        return;
    }
    link->given = qmp_peer_new(fd, &events, link);
}

static void link_attempt(LiveLink *link)
{
    g_autoptr(GCancellable) cancel = g_cancellable_new();

    link->cancel = g_object_ref(cancel);
    link_set_timer(link, ATTEMPT_US, attempt_overdue);
    if (link->state == LIVE_LINK_RELEASED) {
        link_set_state(link, LIVE_LINK_CONNECTING, FALSE);
    }
    live_connect(link->target, cancel, link_connected, link);
}

static gboolean link_begin(gpointer data)
{
    link_attempt(data);
    return G_SOURCE_REMOVE;
}

/* ---- life ---- */

LiveLink *live_link_new(const LiveLinkOptions *options, const LiveLinkEvents *events, void *opaque)
{
    LiveLink *link = g_new0(LiveLink, 1);

    link->events = *events;
    link->opaque = opaque;
    link->target = g_strdup(options->target);
    link->release_us = options->release_us;
    link->state = LIVE_LINK_CONNECTING;
    link->pause_us = PAUSE_MIN_US;
    link->version.package = "";
    live_requests_init(&link->requests, link->target, link_answered, link);
    /* Its owner has to have it first. */
    link_set_timer(link, 0, link_begin);
    return link;
}

void live_link_free(LiveLink *link)
{
    if (link == NULL) {
        return;
    }
    link_set_timer(link, 0, NULL);
    if (link->cancel != NULL) {
        g_cancellable_cancel(link->cancel);
        g_object_unref(link->cancel);
    }
    if (link->own != NULL) {
        /* A monitor that is closed while it executes a command is never deleted by QEMU 11.1. */
        qmp_peer_settle(link->own, SETTLE_MS);
    }
    qmp_peer_free(link->own);
    qmp_peer_free(link->given);
    private_monitor_free(link->making);
    live_requests_clear(&link->requests);
    g_clear_error(&link->error);
    g_free(link->own_id);
    g_free(link->package);
    g_free(link->target);
    g_free(link);
}

LiveLinkState live_link_state(const LiveLink *link)
{
    return link->state;
}

const QmpVersion *live_link_version(const LiveLink *link)
{
    return &link->version;
}

const char *live_link_private_id(const LiveLink *link)
{
    return link->own != NULL && link->state == LIVE_LINK_UP ? link->own_id : NULL;
}

gint64 live_link_main_ns(const LiveLink *link)
{
    return live_process_main_ns(&link->process);
}

guint64 live_link_received(const LiveLink *link)
{
    return link->received + (link->own != NULL ? qmp_peer_received(link->own) : 0) +
           (link->given != NULL ? qmp_peer_received(link->given) : 0);
}

/* ---- for sharing it ---- */

void live_link_set_watch(LiveLink *link, LiveLinkWatch watch, void *opaque)
{
    link->watch = watch;
    link->watch_opaque = opaque;
}

void live_link_hold(LiveLink *link, gboolean hold)
{
    link->holds = hold ? link->holds + 1 : link->holds - 1;
    if (hold && link->state == LIVE_LINK_RELEASED) {
        link_attempt(link);
    }
    link_update_release(link);
}

char *live_link_new_id(LiveLink *link)
{
    return g_strdup_printf("qomfs-%d-%" G_GUINT64_FORMAT, (int)getpid(), ++link->last_number);
}

QmpPeer *live_link_peer(const LiveLink *link)
{
    return link->state == LIVE_LINK_UP ? link_peer(link) : NULL;
}
