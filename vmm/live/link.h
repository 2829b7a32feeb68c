/* SPDX-License-Identifier: MIT */
/*
 * The link to a running QEMU: which monitor of its we speak to, and when. It makes itself a private monitor
 * where the target can, so that the given socket stays free for others; elsewhere it holds the socket while
 * in use, lets go of it when idle, and takes it again when it is needed. It connects again by itself when a
 * target went away. Everything on the live thread (see peer.h). It decides nothing about what is asked, and
 * nobody but the scheduler sends requests through it.
 */
#pragma once

#include "qmp/peer.h"

typedef struct LiveLink LiveLink;

typedef enum LiveLinkState {
    LIVE_LINK_CONNECTING, /* the first time, or again after it went away: not yet up */
    LIVE_LINK_UP,         /* requests are answered */
    LIVE_LINK_RELEASED,   /* idle: the socket was let go; the next request takes it again */
    LIVE_LINK_AWAY,       /* nobody answers there; it tries again, ever more seldom (0.1 to 2 s) */
} LiveLinkState;

typedef struct LiveLinkOptions {
    const char *target; /* the path of a socket, or HOST:PORT */
    gint64 release_us;  /* idle time after which a socket is let go that is not private; -1: never */
} LiveLinkOptions;

typedef struct LiveLinkEvents {
    /* The state is another one. error: why it is AWAY, in words for a user (what it is, or can be, and what to
     * do), else NULL. new_process: UP, and it is not known to be the process that it was before, so
     * nothing that was learnt of it counts any more. */
    void (*changed)(LiveLink *link, LiveLinkState state, gboolean new_process, const GError *error, void *opaque);
    /* An event of the target's; see QmpPeerEvents. */
    void (*event)(LiveLink *link, const char *name, JsonSlice message, void *opaque);
} LiveLinkEvents;

/* Begins to connect at once. The first attempt that fails is told as AWAY, within two seconds of silence. */
LiveLink *live_link_new(const LiveLinkOptions *options, const LiveLinkEvents *events, void *opaque);
/* Closes it; a private monitor is gone then. Replies that are missing are never called. Not from within a callback. */
void live_link_free(LiveLink *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LiveLink, live_link_free)

LiveLinkState live_link_state(const LiveLink *link);
const QmpVersion *live_link_version(const LiveLink *link);
/* Whether it speaks through a monitor of its own, and the id of that one (NULL: not). */
const char *live_link_private_id(const LiveLink *link);
/* Bytes received so far, over all connections: a sign of progress. */
guint64 live_link_received(const LiveLink *link);

/* CPU time that the target's main loop has used so far; -1: it cannot be seen from here. */
gint64 live_link_main_ns(const LiveLink *link);

/* Sends a request as soon as it is UP: taken again at once where it is RELEASED; fails at once (later, in the
 * callback) with OBJMODEL_ERROR_UNAVAILABLE (of one that is silent: _TIMED_OUT) where it is AWAY, and likewise where
 * the connection goes meanwhile. Errors of QMP_ERROR are the target's. See qmp_peer_send(). */
void live_link_send(LiveLink *link, const char *command, JsonSlice arguments, QmpPeerReply reply, void *opaque);

/* ---- for sharing it (--share) ---- */

/* The same with descriptors (int), which are taken over; or NULL. */
void live_link_send_with(LiveLink *link, const char *command, JsonSlice arguments, GArray *fds, QmpPeerReply reply,
                         void *opaque);
/* Somebody else who is told of each change, before the owner; NULL: nobody. */
typedef void (*LiveLinkWatch)(LiveLink *link, LiveLinkState state, gboolean new_process, void *opaque);
void live_link_set_watch(LiveLink *link, LiveLinkWatch watch, void *opaque);
/* While it is held, a socket is not released however idle; counted. */
void live_link_hold(LiveLink *link, gboolean hold);
/* The peer behind it, to make more private monitors with; NULL where it is not UP. It goes when the link does, or
 * is not UP any more. */
QmpPeer *live_link_peer(const LiveLink *link);
/* An id for such a monitor, not used before: "qomfs-PID-N". */
char *live_link_new_id(LiveLink *link);
