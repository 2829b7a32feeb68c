/* SPDX-License-Identifier: MIT */
/*
 * QMP messages: requests are read strictly, replies, errors, events and the greeting
 * are written. The one table that gives errors their QMP class is in message.c. Any thread.
 */
#pragma once

#include "objmodel/json.h"

#define QMP_ERROR (qmp_error_quark())
GQuark qmp_error_quark(void);

/* The classes of the protocol, for what has no OBJMODEL_ERROR. */
typedef enum QmpError {
    QMP_ERROR_GENERIC,
    QMP_ERROR_COMMAND_NOT_FOUND,
    QMP_ERROR_DEVICE_NOT_ACTIVE,
    QMP_ERROR_DEVICE_NOT_FOUND,
} QmpError;

/* What a server says it is. */
typedef struct QmpVersion {
    guint major, minor, micro;
    const char *package; /* "" or a distributor's name */
} QmpVersion;

/* A request. The slices are parts of `text`. */
typedef struct QmpRequest {
    char *text;
    char *command;
    JsonSlice arguments; /* an object, or absent */
    JsonSlice id;        /* any value, or absent */
    gboolean oob;        /* exec-oob */
} QmpRequest;

/* A text from outside as an error shows it: what is long is cut, at a whole character. */
char *qmp_shown(const char *text);

/* Reads one message. On failure the request has an id (where the message was JSON and had
 * one), for the error reply, and nothing else that counts. Clear it in either case. */
gboolean qmp_request_parse(QmpRequest *request, JsonSlice message, GError **error);
void qmp_request_clear(QmpRequest *request);

/* All of these append one message and its end of line, or part of one. */
void qmp_append_greeting(GString *out, const QmpVersion *version, gboolean oob);
/* {"major":...}, as query-version and the greeting have it. */
void qmp_append_version(GString *out, const QmpVersion *version);
/* A successful reply: the beginning, (the return value,) the end. */
void qmp_append_return(GString *out);
void qmp_append_return_end(GString *out, JsonSlice id);
void qmp_append_error(GString *out, const GError *error, JsonSlice id);
/* data: an object, or absent. time_us: microseconds since the epoch. */
void qmp_append_event(GString *out, const char *name, JsonSlice data, gint64 time_us);

/* An error reply of a peer as a GError: GenericError and unknown classes become
 * QMP_ERROR_GENERIC. error_object: the reply's member "error". */
void qmp_error_from(GError **error, JsonSlice error_object);
