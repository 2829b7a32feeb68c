/* SPDX-License-Identifier: MIT */
/*
 * What is wanted of a running QEMU and not yet asked for, in the order in which it will be: equal wants are one, what
 * somebody waits for comes first, and nobody waits for ever. It knows neither requests nor what they cost. The
 * scheduler's own, on the live thread.
 */
#pragma once

#include "vmm/live/want.h"

/* In the order of their hurry. */
enum { LIVE_LANE_URGENT, LIVE_LANE_MANY, LIVE_LANE_IDLE, N_LIVE_LANES };

/* One want, of all who have it. */
typedef struct LiveEntry {
    GList link;    /* in its lane */
    GQueue *lane;  /* NULL: it was taken */
    LiveWant want; /* owns its strings */
    char *id;      /* what equal ones have in common */
    GArray *waiters;
} LiveEntry;

typedef struct LiveQueue {
    GQueue lanes[N_LIVE_LANES]; /* of LiveEntry */
    guint turn;                 /* whose it is */
    GHashTable *entries;        /* by id: those that others may join, waiting or taken */
} LiveQueue;

void live_queue_init(LiveQueue *queue);
/* Nothing waits in it any more. */
void live_queue_clear(LiveQueue *queue);

/* All of want is copied. Whoever wants the same is told with the others. */
void live_queue_add(LiveQueue *queue, const LiveWant *want, LiveWanted wanted, void *opaque);
gboolean live_queue_is_empty(const LiveQueue *queue);
/* Whether somebody waits for something that is in it. */
gboolean live_queue_is_urgent(const LiveQueue *queue);

/* The one whose turn it is; NULL: it is empty. idle: what nobody waits for may have a turn before what somebody does.
 */
LiveEntry *live_queue_first(const LiveQueue *queue, gboolean idle);
/* That one had its turn. */
void live_queue_turn(LiveQueue *queue);
/* Takes one out; returns the next of the same lane, or NULL. */
LiveEntry *live_queue_take(LiveQueue *queue, LiveEntry *entry);
/* Puts one that was taken back, before all others. */
void live_queue_put_back(LiveQueue *queue, LiveEntry *entry);
/* Nobody joins it any more. */
void live_queue_part(LiveQueue *queue, LiveEntry *entry);
/* One that was taken: tells those who wait for it, and frees it. */
void live_queue_end(LiveQueue *queue, LiveEntry *entry, const GError *error);
