/* SPDX-License-Identifier: MIT */
/* What the files of live objects (object.c, object-props.c) share with each other alone. */
#pragma once

#include "objmodel/object.h"

/* A value that stands beside the instance. */
typedef struct Stored {
    guint prop;     /* which row */
    char *json;     /* a value; NULL for a link */
    Object *target; /* a link */
} Stored;

/* Who refers to an object. */
#define OBJECT_USER_ALIAS G_MAXUINT
typedef struct ObjectUser {
    Object *object;
    guint prop; /* its link; OBJECT_USER_ALIAS: it has aliases of our properties */
} ObjectUser;

struct ObjectExtra {
    GPtrArray *own;      /* Property *, the rows that only this object has */
    GArray *stored;      /* Stored, by row */
    GArray *users;       /* ObjectUser */
    GHashTable *by_name; /* name -> child, where there are many */
    GHashTable *numbers; /* "name[" -> the lowest number that may be free */
    GPtrArray *removed;  /* nodes of children that went since the last publication */
    Shape *shape;        /* with the own rows; NULL: to be made */
    Shared *shared;
};

ObjectExtra *object_need_extra(Object *object);
void object_extra_free(ObjectExtra *extra);

/* The row of that name (the class's, then its own), or -1. */
int object_find_prop(const Object *object, const char *name);
/* A child or property of this name went: where it has a number, that is free again. */
void object_release_name(Object *parent, const char *name);
/* Clears all links that point at the object, and what stands for its properties. */
void object_clear_users(Object *object);
/* Withdraws the object from the users of all that it points at. */
void object_drop_links(Object *object);
