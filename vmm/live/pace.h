/* SPDX-License-Identifier: MIT */
/*
 * What requests cost a running QEMU's main loop, and from that how much one may ask for and when the next may be sent.
 * It knows no requests, only numbers, all times in microseconds on one clock that its caller keeps. The scheduler's
 * own, on the live thread.
 */
#pragma once

#include <glib.h>

/* A request asks for no more properties than these, or for one object. */
#define LIVE_BATCH_MAX 400

/* What requests took of a main loop whose thread can be seen, until that is known for sure. */
typedef struct LiveBill {
    guint requests, cost; /* cost: of the last one */
    gboolean urgent;
    double used, paid; /* what is known, and what is paid for */
    gint64 began, due; /* due: when to settle it */
} LiveBill;

typedef struct LivePace {
    double duty;           /* the share of the main loop's time, 0 to 1 */
    gint64 timeout_us;     /* after so long without a word the target counts as silent */
    double credit_us;      /* may be negative */
    double idle_credit_us; /* the same for what nobody waits for */
    gint64 credited_at;
    gint64 main_ns; /* of the target's main loop, when last looked at */
    LiveBill bill;
    double us_per_property;
} LivePace;

/* A request that was answered. */
typedef struct LiveSpent {
    guint cost;        /* properties in the answer */
    gsize bytes;       /* of the request */
    gint64 sent_at;    /* when it was sent */
    gint64 began_at;   /* when the target could begin with it at the earliest */
    gboolean urgent;   /* somebody waited for it */
    gboolean measured; /* nothing but the target had to be waited for */
} LiveSpent;

void live_pace_init(LivePace *pace, double duty, gint64 timeout_us, gint64 now);
/* Properties that one request may ask for. */
guint live_pace_batch(const LivePace *pace);
/* How long to wait until something may be sent; 0: now. urgent: somebody waits for it. */
gint64 live_pace_delay(LivePace *pace, gboolean urgent, gint64 now);
/* Whether what nobody waits for may have a turn. */
gboolean live_pace_has_idle(const LivePace *pace);

/* main_ns: CPU time of the target's main loop so far; -1: it cannot be seen. */

/* A request is to be sent, and none is under way: what the main loop did since the last one was not for us. */
void live_pace_begin(LivePace *pace, gint64 main_ns, gint64 now);
void live_pace_answered(LivePace *pace, const LiveSpent *spent, gint64 main_ns, gint64 now);
/* To be called once it is due (0: nothing is). */
gint64 live_pace_due(const LivePace *pace);
void live_pace_settle(LivePace *pace, gint64 main_ns, gint64 now);
