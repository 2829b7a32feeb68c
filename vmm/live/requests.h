/* SPDX-License-Identifier: MIT */
/*
 * The requests of a link: those that wait until it is up, those that are under way, and those that are to be refused.
 * Each is answered once, whatever becomes of the connection. The link's own, on the live thread.
 */
#pragma once

#include "qmp/peer.h"

typedef struct LiveRequests {
    const char *target; /* of whom, for messages */
    GQueue requests;    /* Request: waiting, or sent */
    GQueue refused;     /* Request: to be failed by the source below */
    GSource *refuser;
    void (*answered)(void *opaque); /* after each reply */
    void *opaque;
} LiveRequests;

void live_requests_init(LiveRequests *requests, const char *target, void (*answered)(void *opaque), void *opaque);
/* Replies that are missing are never called. */
void live_requests_clear(LiveRequests *requests);
gboolean live_requests_is_empty(const LiveRequests *requests);

/* See live_link_send_with(). It waits. */
void live_requests_add(LiveRequests *requests, const char *command, JsonSlice arguments, GArray *fds,
                       QmpPeerReply reply, void *opaque);
/* The same, but it fails, for that reason, as soon as nobody is within a callback. */
void live_requests_refuse(LiveRequests *requests, GArray *fds, QmpPeerReply reply, void *opaque, const GError *error);
/* Sends those that wait, in order. */
void live_requests_send(LiveRequests *requests, QmpPeer *peer);
/* All fail: the connection they were sent over is closed, or there will be none. */
void live_requests_fail(LiveRequests *requests, const GError *error);
