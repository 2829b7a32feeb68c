/* SPDX-License-Identifier: MIT */
/*
 * Nodes: what a snapshot is made of. A node is one object, record or list at one
 * moment. It never changes once it is made; a change makes a new node, which shares
 * with the one before whatever stayed the same. Any thread may read one that it holds
 * a reference to, without a lock.
 *
 * What a node stores is the JSON of its properties as it is to be shown, and an index
 * of where the values stand in it (docs/architecture.md says what decided this). A
 * property's file is a slice of that text, a .tree.json a row of such texts. The names
 * and types of the properties stand once, in a Shape, for all nodes that have the same.
 */
#pragma once

#include <glib.h>

#include "objmodel/json.h"
#include "objmodel/pieces.h"

/* ---- shapes: which properties there are ---- */

typedef enum SlotFlags {
    SLOT_LINK = 1 << 0,     /* link<T>: a symlink where the value is the path of an object */
    SLOT_WRITABLE = 1 << 1, /* the source may accept a new value */
    SLOT_SECRET = 1 << 2,   /* hidden: it has no value here, and its file reads EACCES */
    SLOT_MOVING = 1 << 3,   /* the value moves by itself: see Sampler */
} SlotFlags;

/* One property of an object, or one member of a record. */
typedef struct SlotInfo {
    const char *name;          /* as a file name, see file_name_encode() */
    const char *type;          /* QOM's type string; NULL in a record */
    const char *description;   /* or NULL */
    const char *default_value; /* compact JSON, or NULL */
    SlotFlags flags;
} SlotInfo;

/* A list of SlotInfo, shared by all nodes that have the same. Immutable. */
typedef struct Shape Shape;

/* Copies the strings. Names must be distinct. */
Shape *shape_new(const SlotInfo *infos, guint n);
Shape *shape_ref(Shape *shape);
void shape_unref(Shape *shape);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Shape, shape_unref)

guint shape_count(const Shape *shape);
const SlotInfo *shape_info(const Shape *shape, guint slot);
/* The slot with this (file) name, or -1. */
int shape_find(const Shape *shape, const char *name);

/* A set of shapes, so that equal lists give the same shape. One thread. */
typedef struct ShapePool ShapePool;
ShapePool *shape_pool_new(void);
void shape_pool_free(ShapePool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ShapePool, shape_pool_free)
/* Returns a new reference. */
Shape *shape_pool_get(ShapePool *pool, const SlotInfo *infos, guint n);

/* ---- samplers: values that move by themselves ---- */

/*
 * Writes a node's own text (see NodeSpec.text) with the values of this very moment: the
 * same slots in the same order. Called by any thread, several at once, at any time while
 * a node that refers to it lives: it reads atomics, never a live object.
 */
typedef struct Sampler Sampler;
struct Sampler {
    gatomicrefcount refs;
    void (*fill)(Sampler *sampler, GString *out);
    /* Of a NODE_VALUE, or NULL: fill may then write nothing where there is no value at this moment, and this
     * says why: new memory. */
    char *(*reason)(Sampler *sampler);
    void (*free)(Sampler *sampler); /* frees the sampler itself */
};
Sampler *sampler_ref(Sampler *sampler);
void sampler_unref(Sampler *sampler);

/* ---- nodes ---- */

typedef enum NodeKind {
    NODE_OBJECT, /* {"name":...,"children":[...],"properties":[...]} */
    NODE_RECORD, /* the text as it is, {...}; children are parts of it, shown as directories */
    NODE_LIST,   /* [child,child,...] */
    NODE_MAP,    /* {"name":child,...} */
    NODE_VALUE,  /* the text as it is, one JSON value: a file in the folder it is a child of */
    NODE_FOLDER, /* nothing: its children are values, each read by itself, and stand in no tree's JSON */
} NodeKind;

typedef struct Node Node;
typedef struct Children Children;

/* Inode numbers of a node itself. */
enum { NODE_INOS = 4 };

/* Where one property stands in its node's text. */
typedef struct NodeSlot {
    guint32 entry;  /* the '{' of an object's property, the name of a record's member */
    guint32 value;  /* where the value begins */
    guint32 length; /* of the value; 0 where it cannot be read or is hidden */
} NodeSlot;

struct Node {
    gatomicrefcount refs;
    NodeKind kind;

    /* Who it is: the same in all versions of one object, and never reused. Inode numbers: `id` is
     * the directory's, up to id + NODE_INOS - 1 those of its special files; then the slots'. */
    guint64 id;
    char *name;          /* as a file name; of a view's root: the view's */
    JsonSlice json_name; /* objects only: the name with its quotes; of the root of an object tree: "/" */

    /* What it has. */
    Shape *shape;
    JsonSlice text; /* object: its property entries, separated by commas; record, value: all of it */
    NodeSlot *slots;
    Children *children; /* never NULL */
    Sampler *sampler;   /* or NULL: the slots with SLOT_MOVING are read through it */

    /* When it changed: stamps, see Snapshots. */
    guint64 stamp;       /* its own text or names last changed */
    guint64 names_stamp; /* a property or child last came or went */
    guint64 tree_stamp;  /* anything in the subtree last changed */

    gsize tree_size;      /* bytes of node_append_tree(); of the last sample where it moves */
    gboolean tree_moving; /* something in the subtree moves by itself */

    /* Private to node.c. The arrays are shared by versions (g_atomic_rc_box). */
    GBytes *bytes; /* owner of text */
    const struct RecordLayout *layout;
    guint64 *slot_stamps; /* NULL: all as `born` */
    guint64 *slot_inos;   /* NULL: id + NODE_INOS + slot */
    char **slot_errors;   /* why a slot has no value; NULL: nothing is known */
    guint64 born;
    char *rendered; /* atomic: the subtree's JSON, tree_size bytes, once it was wanted twice; or NULL */
    gint renders;   /* atomic: how often it was wanted until then */
};

/* What a new node is made of; all is borrowed but where it says otherwise. */
typedef struct NodeSpec {
    NodeKind kind;
    const char *name;    /* as a file name */
    JsonSlice json_name; /* where absent, made from name */
    Shape *shape;        /* NULL: no slots */
    GBytes *bytes;       /* owner of text */
    JsonSlice text;
    const NodeSlot *slots;             /* array of shape_count() */
    const char *const *slot_errors;    /* array of shape_count() strings or NULLs; or NULL: no reasons are known */
    Children *children;                /* NULL: none */
    Sampler *sampler;                  /* or NULL */
    const struct RecordLayout *layout; /* records only */
    const Node *previous;              /* the same object in the snapshot before; NULL: a new object */
    guint64 stamp;                     /* of the snapshot that is being made */
} NodeSpec;

/* Never fails. Where nothing differs from previous, returns a reference to that one. */
Node *node_new(const NodeSpec *spec);
Node *node_ref(const Node *node);
void node_unref(Node *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Node, node_unref)

/* The same node with other children. */
Node *node_with_children(const Node *node, Children *children, guint64 stamp);

/* ---- reading a node ---- */

guint node_slot_count(const Node *node);
int node_find_slot(const Node *node, const char *name);
const SlotInfo *node_slot_info(const Node *node, guint slot);
/* The value as JSON; absent where it cannot be read. */
JsonSlice node_slot_value(const Node *node, guint slot);
/* The property's whole entry, {"name":...}; objects only. */
JsonSlice node_slot_entry(const Node *node, guint slot);
/* Why it has no value, or NULL where nothing is known. */
const char *node_slot_error(const Node *node, guint slot);
guint64 node_slot_stamp(const Node *node, guint slot);
guint64 node_slot_ino(const Node *node, guint slot);
/* Whether the value is to be shown as a symlink: a link that is set. */
gboolean node_slot_is_link(const Node *node, guint slot);
/* The type name of an object (its property "type"), or an absent slice. */
JsonSlice node_type(const Node *node);

/* For a node with a sampler: the same node with the values of this moment. Otherwise a
 * new reference to the node itself. */
Node *node_sample(const Node *node);

/* Bytes that a file of this value holds: text of a string, else the JSON; a newline. */
gsize value_file_size(JsonSlice value);
void value_append_file(JsonSlice value, GString *out);

/* The subtree's JSON, without a newline. Moving values are sampled, each node's at once. */
void node_append_tree(const Node *node, GString *out);
/* The same in pieces, which borrow from the node: it must live as long as they do. */
void node_tree_pieces(const Node *node, Pieces *out);
/* Its size; where the subtree moves, that of the last publication. */
gsize node_tree_size(const Node *node);

/* ---- children: a list, in the order shown ---- */

Children *children_new(Node *const *nodes, guint n);
Children *children_ref(const Children *children);
void children_unref(Children *children);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Children, children_unref)

/* A list in which old_child gave place to new_child. old_child NULL: new_child is appended;
 * new_child NULL: old_child is left out. Copies one pointer for each 64 children, where the
 * ids grow along the list (as they do where it was only ever appended to): 2 us among a
 * thousand, 29 us among 100,000 (tests/bench/model-bench). */
Children *children_with(const Children *children, const Node *old_child, Node *new_child);

guint children_count(const Children *children);
/* The child with this (file) name, borrowed; or NULL. */
const Node *children_find(const Children *children, const char *name);

typedef struct ChildrenIter {
    const Children *children;
    guint chunk, index;
} ChildrenIter;
/* Starts at the child of that ordinal. */
ChildrenIter children_iter(const Children *children, guint ordinal);
/* Borrowed; NULL at the end. */
const Node *children_next(ChildrenIter *iter);

/* Compares two lists: calls `found` for each child that came (old NULL), went (new NULL),
 * or is not the very same node. What both share is passed over by the chunk. */
typedef void (*ChildrenDiffFunc)(const Node *old_child, const Node *new_child, void *opaque);
void children_diff(const Children *old_list, const Children *new_list, ChildrenDiffFunc found, void *opaque);
