/* SPDX-License-Identifier: MIT */
/* The process at the other end of a socket, so far as the kernel tells: who it is, and whether it is stopped. */
#pragma once

#include <glib.h>

typedef struct LiveProcess {
    gint64 pid;             /* 0: not known */
    guint64 start;          /* when it began, in the kernel's ticks; with pid it is unique */
    guint64 device, socket; /* of the socket's file: whoever listens for others makes a new one for each */
    char name[32];          /* as the kernel has it, "qemu-system-x86" */
    char state;             /* as in /proc: 'T' is stopped */
} LiveProcess;

/* fd: connected; path: of its socket, or NULL. */
LiveProcess live_process_of(int fd, const char *path);
/* Whether both are known, and the same QEMU. */
gboolean live_process_is_same(const LiveProcess *a, const LiveProcess *b);
/* CPU time that its main thread, which runs a QEMU's main loop, has used; -1: not known. */
gint64 live_process_main_ns(const LiveProcess *process);
