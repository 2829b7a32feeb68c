/* SPDX-License-Identifier: MIT */
/*
 * The source of fresh-mount: a small tree that changes as it is told. qom/ has pair/front and
 * pair/back (with n and text), many (300 properties), wide (2,000 children), come (where
 * objects come and go), moving (a and b, equal, and one higher each time that they are looked
 * at), and late, whose values have to be fetched.
 *
 * Its main loop runs on a thread of its own and owns the tree. Functions that say so are for
 * that thread only: from a GSource on fresh->context.
 */
#pragma once

#include "objmodel/source.h"

typedef struct Fresh {
    Source source; /* first: ops are given this */
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
    gint delay_ms, current_ms; /* atomic: what fetching takes (-1: for ever), how long it lasts */
    gint64 current_until;      /* atomic, on the monotonic clock */

    /* The main loop's own. */
    Node *root;
    Node *qom;
    guint64 guests; /* objects that were ever added */
    GSource *storm; /* or NULL */
    guint storm_us;
    guint64 storm_count;
    GQueue fetches; /* of Fetch, that are under way */
    guint64 fetched;
} Fresh;

/* Its main loop runs already. Ended by its ops->free. */
Fresh *fresh_new(void);

/* The main loop: a stamp for the changes to come; the changes, FALSE where there is no such
 * thing; and what makes them seen, which returns the generation. Paths are below qom/. */
guint64 fresh_stamp(Fresh *fresh);
gboolean fresh_set_value(Fresh *fresh, const char *path, const char *property, const char *value, guint64 stamp);
gboolean fresh_add(Fresh *fresh, const char *path, const char *name, guint64 stamp);
gboolean fresh_delete(Fresh *fresh, const char *path, guint64 stamp);
guint64 fresh_publish(Fresh *fresh, guint64 stamp);

/*
 * The main loop: from now on it changes that often by itself, many things at once. In pair/,
 * front/n and back/n are always the same, back/text is of any length and begins with that
 * number; objects come to come/ and go.
 */
void fresh_storm_begin(Fresh *fresh, guint us);
void fresh_storm_end(Fresh *fresh);
