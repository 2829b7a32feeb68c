/* SPDX-License-Identifier: MIT */
/* What builtin.c and session.c need of a registry beside command.h. */
#pragma once

#include "qmp/command.h"

/* The built-in commands; their context is the registry. */
extern const QmpCommand qmp_builtin_commands[];

/* What qmp_capabilities takes, before and after negotiation. */
typedef struct QmpCapabilitiesArgs {
    JsonSlice enable; /* an array, or absent */
} QmpCapabilitiesArgs;
extern const QmpArg qmp_capabilities_args[];

/* A registry without the built-in commands, which says `hint` of all commands that it lacks. */
QmpRegistry *qmp_registry_new_bare(const QmpVersion *version, const char *hint);
/* Why a command was not found; NULL: it is simply not there. */
const char *qmp_registry_hint(const QmpRegistry *registry);

guint qmp_registry_count(const QmpRegistry *registry);
const QmpCommand *qmp_registry_nth(const QmpRegistry *registry, guint i);
/* What query-qmp-schema returns. It is made at the first call, so that nothing may be
 * added afterwards. */
const char *qmp_registry_schema(QmpRegistry *registry);
