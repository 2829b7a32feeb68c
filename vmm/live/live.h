/* SPDX-License-Identifier: MIT */
/*
 * A running QEMU as a source. One thread, the live thread, speaks to it, keeps what it said, and publishes.
 */
#pragma once

#include "objmodel/source.h"
#include "vmm/live/link.h"

typedef struct LiveOptions {
    const char *target;   /* the path of a QMP socket, or HOST:PORT */
    gint64 release_us;    /* see LiveLinkOptions */
    gint64 ttl_us;        /* how long a value counts as current; 0: it is always asked for */
    gint64 timeout_us;    /* without any sign of life */
    double duty;          /* the share of QEMU's main loop that may be used, 0 to 1 */
    gboolean secrets;     /* they are shown */
    gboolean read_write;  /* properties may be set */
    gboolean all_queries; /* query/ has all that take no argument */
} LiveOptions;

/* Connects, and waits until the whole structure is known. */
Source *live_source_new(const LiveOptions *options, GError **error);
gboolean source_is_live(const Source *source);

/* ---- for the companion socket; before anything listens ---- */

/* Hears the target's events, on the live thread: message is the whole event, compact. */
typedef void (*LiveEventFunc)(const char *name, JsonSlice message, void *opaque);
void live_source_set_event_listener(Source *source, LiveEventFunc func, void *opaque);
/* The context of the live thread, for what has to be done there; and its link, for there only. */
GMainContext *live_source_context(Source *source);
LiveLink *live_source_link(Source *source);
/* The version that the target says it has. */
void live_source_version(Source *source, QmpVersion *ret);
