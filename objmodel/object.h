/* SPDX-License-Identifier: MIT */
/*
 * Live objects: mutable, and owned by one thread, the VM's main loop. Nothing else ever touches
 * them; what others see of them is published (publish.h). Whatever changes is marked, so that
 * publishing costs what changed.
 *
 * A child holds a reference of its parent's. A link holds none: when the object that it points
 * at leaves the tree, the link is cleared. An object is freed with its last reference, in or out
 * of the tree.
 */
#pragma once

#include "objmodel/error.h"
#include "objmodel/type.h"

typedef struct ObjectExtra ObjectExtra;

/* What a type's struct begins with. Read name, parent and class; the rest is private to
 * object.c and publish.c. */
struct Object {
    Class *class;
    Object *parent;
    char *name; /* as a child, verbatim; NULL where it has no parent */

    Object *first_child, *last_child;
    Object *next, *previous; /* children of one parent, in the order added */
    guint n_children;

    guint refs;
    guint8 marks;                       /* ObjectMark */
    gboolean is_complete : 1;           /* see object_complete() */
    Object *first_marked, *last_marked; /* children of which something must be published */
    Object *next_marked;
    ObjectExtra *extra; /* what few objects have; or NULL */
    Node *node;         /* as it was published last; NULL before */
};

typedef enum ObjectMark {
    OBJECT_MARK_TEXT = 1 << 0,     /* a property changed */
    OBJECT_MARK_CHILDREN = 1 << 1, /* a child came or went */
    OBJECT_MARK_QUEUED = 1 << 2,   /* it stands in its parent's list of marked children */
} ObjectMark;

/* ---- life ---- */

/* A new object with one reference, which is the caller's. */
Object *object_new(Class *class);
Object *object_ref(Object *object);
void object_unref(Object *object);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Object, object_unref)

/* All its properties are set and it has its place in the tree: calls the type's `complete`.
 * From now on PROP_INITIAL properties cannot be set. */
gboolean object_complete(Object *object, GError **error);

gboolean object_is_a(const Object *object, const char *type_name);

/* ---- the tree ---- */

/* Gives the object a place. A name that ends in "[*]" gets the lowest number that is free.
 * FALSE with OBJMODEL_ERROR_EXISTS where the name is taken by a child or property. */
gboolean object_add_child(Object *parent, const char *name, Object *child, GError **error);
/* The same of a new object, where the name cannot be taken. The result is borrowed. */
Object *object_new_child(Object *parent, const char *name, Class *class);
/* Takes it out of the tree, its children first; links to them are cleared. Drops the parent's
 * reference. Does nothing where it has no parent. */
void object_unparent(Object *object);

/* The name that is meant by one that may end in "[*]": with the lowest free number instead. New memory. */
char *object_free_name(Object *parent, const char *name);

/* The child of this name, borrowed; or NULL. */
Object *object_child(const Object *parent, const char *name);
/* New memory: "/" for an object without a parent. */
char *object_path(const Object *object);
/* Appends the path as a JSON string. */
void object_append_path(const Object *object, GString *out);
/* The object that a path (absolute or partial, through links) leads to, borrowed; or NULL with
 * OBJMODEL_ERROR_NOT_FOUND or _AMBIGUOUS. */
Object *object_resolve(Object *root, const char *path, GError **error);

/* ---- properties ---- */

/* Appends the value as JSON. A child's value is its path. */
gboolean object_get(Object *object, const char *name, GString *out, GError **error);
/* Sets a property as a client may. On failure nothing has changed. */
gboolean object_set(Object *object, const char *name, JsonSlice value, GError **error);
/* Sets any property that has a field, a link, or a stored value, as the VM itself does; it must
 * exist and the value must fit: a mistake ends the program. `json` is compact. */
void object_assign(Object *object, const char *name, const char *json);
/* The same of a link; NULL clears it. */
void object_assign_link(Object *object, const char *name, Object *target);
/* What a link points at, borrowed; NULL where it is not set or there is no such link. */
Object *object_linked(Object *object, const char *name);

/* Sets the link field that a PROP_LINK row describes. */
void object_set_link(Object *object, Object **field, Object *target);
/* Sets the field of PROP_ALIAS rows: whenever target changes, object does too. */
void object_set_alias_target(Object *object, Object **field, Object *target);

/* Gives this object a property of its own, shown after those of its type. type, name and help are copied;
 * stored kinds only: a link (target names a type) or JSON. */
void object_add_link(Object *object, const char *name, const char *target, Object *value);
void object_add_value(Object *object, const char *name, const char *type, const char *json);
/* Takes it away again; TRUE where there was one. */
gboolean object_remove_property(Object *object, const char *name);

/* A field was changed in place: it is to be published. */
void object_changed(Object *object);

/* ---- values that move by themselves ---- */

/* What the functions of moving properties read: atomics, in memory of their own that lives as
 * long as a snapshot refers to it. Begins a struct of the type's. */
struct Shared {
    gatomicrefcount refs;
    void (*free)(Shared *shared);
    /* Or NULL: what the functions are given instead, new each time, so that all values of an object are of one
     * moment. Any thread. */
    Shared *(*moment)(const Shared *shared);
};
Shared *shared_ref(Shared *shared);
void shared_unref(Shared *shared);
/* What to give to the functions of moving properties; a new reference. */
Shared *shared_moment(Shared *shared);

/* Takes a reference; before the object is published for the first time. */
void object_set_shared(Object *object, Shared *shared);

/* ---- for publish.c ---- */

/* All its rows: those of the class, then its own. */
guint object_prop_count(const Object *object);
const Property *object_prop(const Object *object, guint index);
gboolean object_append_value(Object *object, guint index, GString *out, GError **error);
gboolean object_has_own_props(const Object *object);
/* The shape that was made for it; NULL where there is none, or its own properties changed. */
Shape **object_own_shape(Object *object);
Shared *object_shared(const Object *object);
/* Nodes of children that went since the last publication; NULL where none did. */
GPtrArray *object_removed_nodes(Object *object);
