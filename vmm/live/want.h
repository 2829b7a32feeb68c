/* SPDX-License-Identifier: MIT */
/* One thing that a running QEMU is to be asked for. */
#pragma once

#include "objmodel/json.h"

typedef enum LiveWantKind {
    LIVE_NAMES,    /* qom-list: what properties and children an object has */
    LIVE_OBJECT,   /* qom-list-get: the same with all values; several go into one request */
    LIVE_PROPERTY, /* qom-get: one value */
    LIVE_COMMAND,  /* any other command */
} LiveWantKind;

typedef struct LiveWant {
    LiveWantKind kind;
    const char *key;     /* of the object, see LiveObject */
    const char *path;    /* of the object */
    const char *name;    /* of the property, or the command */
    JsonSlice arguments; /* commands: an object, or absent */
    guint cost;          /* properties that the answer will hold, as far as is known */
    gboolean urgent;     /* somebody waits for it */
    gboolean many;       /* with very many others: who waits for less is served in between */
    gboolean alone; /* never merged with an equal one: it changes something, and who wants it hears the target's no */
} LiveWant;

/* How a want ended. error: NULL where the target answered, be it that it cannot (but see `alone`); else
 * OBJMODEL_ERROR_TIMED_OUT or _UNAVAILABLE. */
typedef void (*LiveWanted)(const GError *error, void *opaque);
