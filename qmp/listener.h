/* SPDX-License-Identifier: MIT */
/*
 * The UNIX socket that a server listens on: only its owner can connect, nobody else can
 * put another one in its place, what a killed server left behind is replaced, and one that
 * is in use is not. One thread.
 */
#pragma once

#include <glib.h>

typedef struct QmpListener QmpListener;

/* The path's folder is made (mode 0700) where it is missing; it must belong to us or root,
 * and others must not be able to replace files in it. */
QmpListener *qmp_listener_new(const char *path, GError **error);
/* Closes it and removes the file, if that is still ours. */
void qmp_listener_free(QmpListener *listener);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpListener, qmp_listener_free)

int qmp_listener_fd(const QmpListener *listener);
/* How many clients may wait for being accepted. */
void qmp_listener_set_backlog(QmpListener *listener, int backlog);
/* A client's descriptor, non-blocking; -1 with errno. */
int qmp_listener_accept(QmpListener *listener);
