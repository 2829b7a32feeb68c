/* SPDX-License-Identifier: MIT */
/*
 * A QMP client that waits: for tools and tests. It sends requests as short as they can be
 * (QEMU reads them byte by byte), may have many under way, and takes replies of any length
 * up to the limit. One thread.
 */
#pragma once

#include "qmp/message.h"

typedef struct QmpClient QmpClient;

/* target: the path of a socket, else HOST:PORT. Connects, waits for the greeting and
 * negotiates without out-of-band execution. timeout_ms counts from the last sign of life of the
 * other side, here and below. */
QmpClient *qmp_client_new(const char *target, guint timeout_ms, GError **error);
void qmp_client_free(QmpClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpClient, qmp_client_free)

/* The version that the greeting had. */
void qmp_client_version(const QmpClient *client, guint *ret_major, guint *ret_minor, guint *ret_micro);

/* Whoever wants events: message is the whole event, compact. Called from within the functions below. */
void qmp_client_on_event(QmpClient *client, void (*event)(JsonSlice message, void *opaque), void *opaque);

/* Sends a request, without waiting for its reply. arguments: an object, or absent. */
gboolean qmp_client_send(QmpClient *client, const char *command, JsonSlice arguments, GError **error);
/* Waits for the reply to the oldest request that has none yet. *ret_value is its return value,
 * good until the next call; FALSE with the error that it was (QMP_ERROR), or where the
 * connection failed (G_IO_ERROR). */
gboolean qmp_client_receive(QmpClient *client, JsonSlice *ret_value, GError **error);
/* Both. */
gboolean qmp_client_call(QmpClient *client, const char *command, JsonSlice arguments, JsonSlice *ret_value,
                         GError **error);
/* Reads what comes within the time, for those who wait for events. FALSE where the connection failed. */
gboolean qmp_client_wait(QmpClient *client, guint timeout_ms, GError **error);
