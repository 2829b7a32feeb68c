/* SPDX-License-Identifier: MIT */
/*
 * Commands: one is one row of a table and one function. A registry is the set of what a
 * server offers; its order is that of query-commands. A call is one command being executed.
 *
 * Registries are filled by one thread before the server starts, and constant from then on.
 * A handler runs on the monitor thread, or where the request was large on a worker, and must not wait; it
 * replies exactly once, with qmp_call_return() or qmp_call_fail(), at once or later and then on any thread.
 */
#pragma once

#include "qmp/args.h"
#include "qmp/message.h"

/* ---- calls ---- */

typedef struct QmpCall QmpCall;

/* What was given to qmp_registry_add() with the table that has the command; and the command's own `data`. */
void *qmp_call_context(QmpCall *call);
const void *qmp_call_data(QmpCall *call);
/* All arguments as the client sent them (compact); absent where it sent none. Lives as
 * long as the call. */
JsonSlice qmp_call_arguments(QmpCall *call);
/* The command that the client named; lives as long as the call. */
const char *qmp_call_command(QmpCall *call);
/* Which client it is of: see QmpClientHooks. */
guint64 qmp_call_client(QmpCall *call);
/* From its handler, on the monitor thread: the descriptors (int) that came for it, now the caller's; NULL: none. */
GArray *qmp_call_take_fds(QmpCall *call);
/* Where the return value is to be appended, whole, before qmp_call_return(). Nothing
 * appended: the return value is {}. */
GString *qmp_call_result(QmpCall *call);

/* The reply. The call, and the args that its handler got, are gone afterwards. */
void qmp_call_return(QmpCall *call);
void qmp_call_fail(QmpCall *call, const GError *error);
void qmp_call_fail_new(QmpCall *call, GQuark domain, int code, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* From a handler whose answer may take long: a worker goes on with it, by this function. The call is the worker's
 * from now on. */
void qmp_call_hand_over(QmpCall *call, void (*handler)(QmpCall *call, const void *args));

/* From any thread, for a call whose handler has not replied: the monitor thread goes on with it, by this function. */
void qmp_call_resume(QmpCall *call, void (*handler)(QmpCall *call, const void *args));

/* ---- commands and events ---- */

typedef enum QmpCommandFlags {
    QMP_COMMAND_OOB = 1 << 0,        /* may be executed out of band */
    QMP_COMMAND_OPEN_ARGS = 1 << 1,  /* takes arguments beside those of the table */
    QMP_COMMAND_DEPRECATED = 1 << 2, /* the schema says that clients should not use it any more */
} QmpCommandFlags;

typedef struct QmpCommand {
    const char *name;
    /* args: the struct that the table fills; lives as long as the call. */
    void (*handler)(QmpCall *call, const void *args);
    const QmpArg *args; /* ends with { 0 }; NULL: none */
    gsize args_size;
    const QmpType *arg_type; /* for the schema; NULL: as the table says */
    const QmpType *ret;      /* NULL: {} */
    QmpCommandFlags flags;
    const void *data; /* the handler's own, where one handler serves many commands */
} QmpCommand;

typedef struct QmpEvent {
    const char *name;
    const QmpType *data; /* NULL: none */
    guint interval_ms;   /* at most one in so many milliseconds is sent, the last of them; 0: all */
    const char *about;   /* a member of the data: those that differ in it are held back apart; or NULL */
} QmpEvent;

/* ---- registries ---- */

typedef struct QmpRegistry QmpRegistry;

/* Has what every server offers: qmp_capabilities, query-version, query-commands,
 * query-qmp-schema. */
QmpRegistry *qmp_registry_new(const QmpVersion *version);
QmpRegistry *qmp_registry_ref(QmpRegistry *registry);
void qmp_registry_unref(QmpRegistry *registry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QmpRegistry, qmp_registry_unref)

/* Tables end with { 0 } and must outlive the registry. */
void qmp_registry_add(QmpRegistry *registry, const QmpCommand *table, void *context);
void qmp_registry_add_one(QmpRegistry *registry, const QmpCommand *command, void *context);
void qmp_registry_add_events(QmpRegistry *registry, const QmpEvent *table);

/* Before the server starts: commands and events with one of these names (NULL-ended, copied) are left out, those
 * that are added later too; out-of-band execution is not offered. So a server can be as an older one was. */
void qmp_registry_leave_out(QmpRegistry *registry, const char *const *names);
void qmp_registry_leave_out_oob(QmpRegistry *registry);
gboolean qmp_registry_has_oob(const QmpRegistry *registry);

/* The command that is executed for names that no table has. Must outlive the registry. */
void qmp_registry_set_otherwise(QmpRegistry *registry, const QmpCommand *command, void *context);

const QmpVersion *qmp_registry_version(const QmpRegistry *registry);
/* The command, and its context; NULL where it is not offered. */
const QmpCommand *qmp_registry_find(const QmpRegistry *registry, const char *name, void **ret_context);
/* What query-commands returns. */
void qmp_registry_append_names(const QmpRegistry *registry, GString *out);
/* NULL where no table has it. */
const QmpEvent *qmp_registry_find_event(const QmpRegistry *registry, const char *name);
