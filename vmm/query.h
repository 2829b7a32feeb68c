/* SPDX-License-Identifier: MIT */
/*
 * Queries: commands that return something, change nothing and can be asked without an argument. One
 * row is both the QMP command and the file of query/. What a query answers comes from the snapshot, from
 * what is constant, or from atomics: its function is called on any thread, several at once, and must
 * not wait.
 */
#pragma once

#include "vmm/qmp-context.h"

typedef struct Query Query;

typedef struct QueryInput {
    const Query *query;
    const Snapshot *snapshot; /* the newest */
    Vm *vm;                   /* NULL: a dump */
    const void *args;         /* as the row's table fills it; for a file: all are absent */
} QueryInput;

struct Query {
    const char *command; /* "query-status" */
    /* Appends the return value; or FALSE with the reason, whatever was appended. */
    gboolean (*answer)(const QueryInput *in, GString *out, GError **error);
    const QmpArg *args; /* all optional; NULL: none */
    gsize args_size;
    const QmpType *ret; /* NULL: vmm/data/queries.json has it */
    QmpCommandFlags flags;
    gboolean no_file; /* a view of its own shows it */
    const char *view; /* that one; NULL: query/ */
};

/* ---- the tables, which end with { 0 } ---- */

extern const Query queries_vm[];    /* need what vm/ shows */
extern const Query queries_cpu[];   /* need the CPU definitions */
extern const Query queries_block[]; /* need the block statistics */
/* All others need a VM. */
extern const Query queries_machine[], queries_memory[], queries_devices[], queries_options[], queries_pci[],
    queries_block_nodes[];
/* Those with a constant answer in vmm/data/queries.json. */
const Query *queries_constant(void);

/* ---- as QMP commands ---- */

/* The commands made of rows; they must outlive the registry they are in. */
typedef struct QueryCommands QueryCommands;
QueryCommands *query_commands_new(QmpContext *context);
void query_commands_free(QueryCommands *commands);
void query_commands_add(QueryCommands *commands, QmpRegistry *registry, const Query *query);
void query_commands_add_table(QueryCommands *commands, QmpRegistry *registry, const Query *table);
/* All tables that need a VM. */
void query_commands_add_vm(QueryCommands *commands, QmpRegistry *registry);

/* One for each file in query/, of a source that has no rows; its answer is that file's. */
void query_commands_add_files(QueryCommands *commands, QmpRegistry *registry, const Node *folder);

/* ---- as files ---- */

/* query/ of the built-in VM. */
Node *query_view_new(Vm *vm, guint64 stamp);
