/* SPDX-License-Identifier: MIT */
/*
 * A source: where a tree comes from, as the mount and the QMP server see it. It
 * publishes snapshots; what is more is asked for through the functions below.
 */
#pragma once

#include "objmodel/snapshot.h"

typedef struct Source Source;

/* How a request ended: error is NULL (and what was asked for is published) or borrowed.
 * Called exactly once, on any thread, possibly before the request function returns. */
typedef void (*SourceDone)(const GError *error, void *opaque);

typedef enum SourceScope {
    SOURCE_PROPERTY, /* one property of the node */
    SOURCE_NODE, /* the node: its own properties, the names of its children; with any property named, all their values
                    too */
    SOURCE_SUBTREE, /* the node and all below */
} SourceScope;

typedef struct SourceOps {
    /* Makes a part of the tree current. path is from the mount's root, in file names
     * ("qom/machine"; "" is the root itself). NULL: what is published always is current. */
    void (*fetch)(Source *source, const char *path, const char *property, SourceScope scope, SourceDone done,
                  void *opaque);
    /* Whether such a fetch has anything to do; a quick answer without waiting. */
    gboolean (*wants_fetch)(Source *source, const char *path, const char *property, SourceScope scope);
    /* When a fetch last made progress, on the monotonic clock: deadlines count from then. May be NULL. */
    gint64 (*progress)(Source *source);
    /* Somebody looks: what is published is to be kept current for a while. Quick, any thread. May be NULL. */
    void (*used)(Source *source);
    /* Sets a property of an object to a JSON value (compact, checked). NULL: read-only.
     * Done is called when the change is published, or has failed and changed nothing. */
    void (*set)(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done, void *opaque);
    /* Ends it: no request is under way any more. */
    void (*free)(Source *source);
} SourceOps;

struct Source {
    const SourceOps *ops;
    Snapshots *snapshots; /* has a first one by the time that the source is handed out */
    guint property_mode;  /* permission bits of a property's file that can be written */
    guint read_only_mode; /* of all other files; directories get the x bits added */
    double names_valid;   /* seconds after which `used` wants to hear of who looks at a name again; 0: it does not */
};
