/* SPDX-License-Identifier: MIT */
/*
 * The QMP server: a UNIX socket, and a thread of its own (the monitor) that serves all its
 * clients. None of them can hold up another: nothing is waited for, everybody gets a small
 * turn, and who does not read is dropped in the end. The main loop of the VM has no part in it.
 */
#pragma once

#include "qmp/command.h"
#include "qmp/fault.h"

/* A client that is so many bytes behind with reading is dropped; the message that is
 * being sent does not count. */
#define QMP_BACKLOG_MAX ((gsize)64 << 20)
/* So many clients at once; more wait until one leaves. */
#define QMP_CLIENTS_MAX 4096

typedef struct QmpServer QmpServer;

/* path NULL: no socket, the events alone. Listens from now on, but serves only after
 * qmp_server_start(), so that a daemon can fork in between. */
QmpServer *qmp_server_new(const char *path, QmpRegistry *registry, GError **error);
void qmp_server_start(QmpServer *server);
/* Sends what can be sent at once, and ends it. Calls under way are forgotten: their
 * handlers may still reply. */
void qmp_server_free(QmpServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpServer, qmp_server_free)

/* Before the start: `sink` gets the text of events, whole lines, on the monitor thread. */
void qmp_server_set_event_sink(QmpServer *server, void (*sink)(const char *text, gsize length, void *opaque),
                               void *opaque);

/* Before the start: what goes wrong on purpose. hooks: copied; its functions are called as long as the server lives. */
void qmp_server_set_faults(QmpServer *server, const QmpFaultHooks *hooks);
/* Before the start: one client at a time, as QEMU's socket has it: others connect and are not greeted until the
 * one before has left; and very few of them. */
void qmp_server_set_exclusive(QmpServer *server);

/* Before the start: `offer` is asked, on the monitor thread, which registry a client that connects is to have;
 * whoever offers it keeps it until the server is gone. */
void qmp_server_set_offer(QmpServer *server, QmpRegistry *(*offer)(void *opaque), void *opaque);

/* Before the start: who wants to know of clients. Called on the monitor thread. hooks: copied. With them,
 * descriptors that clients send are taken (see qmp_call_take_fds()), else they are not. */
typedef struct QmpClientHooks {
    /* Somebody has connected. TRUE: the socket is the callee's, and the server knows nothing of that client. */
    gboolean (*adopt)(int fd, void *opaque);
    void (*joined)(guint64 client, void *opaque);
    void (*left)(guint64 client, void *opaque);
    void *opaque;
} QmpClientHooks;
void qmp_server_set_client_hooks(QmpServer *server, const QmpClientHooks *hooks);

/* Any thread: an event as somebody else has told it, a whole message without its end of line. */
void qmp_server_pass_event(QmpServer *server, JsonSlice message);
/* Any thread, from qmp_server_new() on. See qmp_events_emit(). */
void qmp_server_emit(QmpServer *server, const char *event, JsonSlice data, gint64 time_us);
