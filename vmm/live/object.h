/* SPDX-License-Identifier: MIT */
/*
 * What is known of a running QEMU's object tree: one LiveObject for each object, with what it said of its
 * properties and when. The live thread alone changes it, and holds the tree's lock while it does; whoever holds
 * the lock may look.
 */
#pragma once

#include "objmodel/node.h"

typedef struct LiveProperty {
    char *name;
    char *type;
    char *value; /* compact JSON; NULL: not known, or it cannot be read */
    gsize length;
    char *error; /* why it cannot be read, where the target said so */
    gint64 at;   /* when it was last asked for by itself; 0: never */
    gboolean secret;
} LiveProperty;

typedef struct LiveObject {
    struct LiveObject *parent; /* NULL: the root */
    char *path;                /* as QOM has it */
    char *key;                 /* in the mount: file names, below the view */
    char *name;
    char *type;            /* as its parent says */
    GPtrArray *properties; /* of LiveProperty, children left out: type first, then by name */
    GPtrArray *children;   /* of LiveObject, by name */
    gint64 named_at;       /* when its properties and children were last listed; 0: never */
    gint64 valued_at;      /* when it last told all values at once */
    gboolean secretive;    /* some of its values are not to be read */
    gboolean goes;         /* the target said so: what is listed there from now on is another one */

    /* The live thread's own. */
    char *replies[2]; /* what qom-list and qom-list-get said last, to know the same again; NULL: nothing */
    gsize reply_lengths[2];
    Node *node;     /* the newest */
    gboolean dirty; /* it, or something below, differs from its node */
} LiveObject;

typedef struct LiveTree {
    GMutex lock;
    LiveObject *root;
    GHashTable *by_key; /* LiveObject by key */
    ShapePool *shapes;
    gboolean secrets;  /* they are shown */
    gboolean writable; /* properties may be written */
} LiveTree;

void live_tree_init(LiveTree *tree);
void live_tree_clear(LiveTree *tree);

/* The lock is held, or it is the live thread. */
LiveObject *live_tree_find(const LiveTree *tree, const char *key);
/* By its file name, or by its name; or NULL. */
LiveProperty *live_object_property(const LiveObject *object, const char *file_name);

/*
 * What the target said, at that time (monotonic): the return value of qom-list, the properties of one object of
 * qom-list-get, one value of qom-get (value absent: error says why). The live thread, without the lock.
 */
void live_tree_take_names(LiveTree *tree, LiveObject *object, JsonSlice list, gint64 now);
void live_tree_take_object(LiveTree *tree, LiveObject *object, JsonSlice list, gint64 now);
void live_tree_take_value(LiveTree *tree, LiveObject *object, const char *property, JsonSlice value, const char *error,
                          gint64 now);
/* It is there no longer; the root stays. */
void live_tree_remove(LiveTree *tree, LiveObject *object);
/* The target said that the object with this path of its goes; it stays until it is looked at. */
void live_tree_goes(LiveTree *tree, const char *path);
/* Nothing that is known is current any more. */
void live_tree_outdate(LiveTree *tree);

/* The tree as nodes, NULL where nothing is known yet: made anew where it is dirty. Owned by the tree. */
const Node *live_tree_node(LiveTree *tree, guint64 stamp);
