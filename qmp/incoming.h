/* SPDX-License-Identifier: MIT */
/*
 * What a QMP server says, cut into messages and their members: what a client reads. Both clients, the one that
 * waits (client.c) and the one that does not (peer.c), read through it. One thread.
 */
#pragma once

#include "qmp/message.h"

typedef struct QmpIncoming QmpIncoming;

/* max_bytes of one message; up to QMP_MESSAGE_BYTES_MAX its tokens are limited too (see framing.h). */
QmpIncoming *qmp_incoming_new(gsize max_bytes);
void qmp_incoming_free(QmpIncoming *incoming);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpIncoming, qmp_incoming_free)

void qmp_incoming_add(QmpIncoming *incoming, const char *bytes, gsize n);

/* One message: those of its members that count, absent where it lacks them. Good until the next call. */
typedef struct QmpServerMessage {
    JsonSlice greeting; /* QMP */
    JsonSlice value;    /* return */
    JsonSlice problem;  /* error */
    JsonSlice id;
    JsonSlice event; /* the event's name, a string; then the message is no reply */
    JsonSlice raw;   /* all of it, as it came */
} QmpServerMessage;

/* The next whole message; *ret_got FALSE: there is none yet. FALSE where what came is no QMP. */
gboolean qmp_incoming_next(QmpIncoming *incoming, QmpServerMessage *ret_message, gboolean *ret_got, GError **error);

/* What a greeting says; all zero where it says nothing. ret_package: new memory, or NULL where that does not count. */
void qmp_greeting_read(JsonSlice greeting, QmpVersion *ret_version, char **ret_package);
