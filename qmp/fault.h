/* SPDX-License-Identifier: MIT */
/*
 * How a server misbehaves on purpose, for tests of its clients: somebody is asked of each reply and each event
 * whether something is to go wrong with it. What goes wrong for one client does not touch the others.
 */
#pragma once

#include <glib.h>

typedef enum QmpFaultKind {
    QMP_FAULT_NONE,
    QMP_FAULT_DELAY,   /* it comes so much later */
    QMP_FAULT_HANG,    /* it never comes, and the client's next requests wait behind it; an event is lost */
    QMP_FAULT_CLOSE,   /* the connection is closed in its place */
    QMP_FAULT_CUT,     /* after so many bytes of it the connection is closed */
    QMP_FAULT_GARBAGE, /* in its place comes what is no JSON */
    QMP_FAULT_ERROR,   /* the command is not executed, and fails */
} QmpFaultKind;

typedef struct QmpFault {
    QmpFaultKind kind;
    gint64 delay_us;
    gsize bytes;
    GError *error; /* owned */
} QmpFault;

/* The name that the greeting has here, beside those of the commands. */
#define QMP_FAULT_GREETING "greeting"

typedef struct QmpFaultHooks {
    /* What is to happen to a command that was just received; *ret is QMP_FAULT_NONE before. Any thread. */
    void (*command)(const char *name, QmpFault *ret, void *opaque);
    /* To an event: QMP_FAULT_NONE, QMP_FAULT_DELAY or QMP_FAULT_HANG. Any thread. */
    void (*event)(const char *name, QmpFault *ret, void *opaque);
    void *opaque;
} QmpFaultHooks;
