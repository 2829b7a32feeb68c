/* SPDX-License-Identifier: MIT */
/*
 * The views: what stands under the mount's root, made from whatever a source has. All three
 * sources build their snapshots with these functions, so that a view looks the same
 * wherever it comes from. They keep nothing; any thread, one at a time for one tree.
 */
#pragma once

#include "objmodel/node.h"

typedef enum View {
    VIEW_QOM,             /* the object tree */
    VIEW_CPU_DEFINITIONS, /* a list of records, as query-cpu-definitions returns it */
    VIEW_BLOCKSTATS,      /* a list of records, as query-blockstats returns it */
    VIEW_QUERY,           /* a folder: what argument-less query-* commands return, a file for each */
    VIEW_VM,              /* a record: the VM itself */
    N_VIEWS,
} View;

/* The name of its directory, and of its member in the root's JSON (where VIEW_QUERY is left out). */
const char *view_name(View view);
/* Where a path (from the mount's root, in file names) is below that view: what follows the view's name and a '/', or
 * ""; NULL: it is somewhere else. */
const char *view_path(View view, const char *path);
/* The view whose member in the root's JSON has this name, or -1. */
int view_find(const char *name);

/* One entry of a list view: its JSON, an object, and optionally a sampler that writes that
 * JSON anew (the entry then moves). All is borrowed. */
typedef struct ViewEntry {
    GBytes *bytes; /* owner of text */
    JsonSlice text;
    Sampler *sampler; /* or NULL */
} ViewEntry;

/*
 * A list view (VIEW_CPU_DEFINITIONS, VIEW_BLOCKSTATS) of these entries. A definition's
 * directory has its `name`. A disk's is the component under /machine/peripheral that its
 * `qdev` goes through; else `qdev` where that has no '/', `device`, `node-name`; else its
 * index. A name that was there before gets ".2", ".3" and so on. previous: the view in the
 * snapshot before, or NULL; an entry goes on the one that had its name.
 */
Node *view_list_new(View view, const ViewEntry *entries, guint n, const Node *previous, guint64 stamp);

/* The entries (ViewEntry) of a JSON array inside `bytes`; elements that are no objects are left out. */
GArray *view_entries(GBytes *bytes, JsonSlice array);
/* The same list of such an array. */
Node *view_list_from_json(View view, GBytes *bytes, JsonSlice array, const Node *previous, guint64 stamp);

/*
 * One file of query/: what a command without arguments returns. Exactly one of these:
 *   text      the return value, compact JSON: constant until the source says otherwise. Sizes are exact, and
 *             the kernel caches it by its version;
 *   sampler   writes the return value of this moment; or nothing, and then `reason` says why not. It is asked
 *             at each open, on any thread, and must not wait;
 *   error     why the command fails, in words: EIO, and `user.qom.error`;
 *   neither   it is not known yet (EIO too): the source's fetch of this file, which comes with each open for as
 *             long as its wants_fetch says so, puts a text or an error in its place with view_query_set().
 * Such a fetch has the path "query", the property "NAME.json" (view_query_file_name()) and the scope
 * SOURCE_PROPERTY; that of the directory (SOURCE_NODE) and those of the root's .tree.json (SOURCE_SUBTREE of "")
 * want no file. All is borrowed.
 */
typedef struct ViewQuery {
    const char *command; /* "query-status" */
    GBytes *bytes;       /* owner of text */
    JsonSlice text;
    Sampler *sampler;
    const char *error;
} ViewQuery;

/* "query-status" -> "status.json"; a command that does not begin with "query-" keeps all of its name. */
char *view_query_file_name(const char *command);
/* The folder, in this order; commands must be distinct. previous: as above. */
Node *view_query_new(const ViewQuery *queries, guint n, const Node *previous, guint64 stamp);
/* The same folder with another answer in the place of that command's, which must be there. */
Node *view_query_set(const Node *folder, const ViewQuery *query, guint64 stamp);

/* What vm/ shows. NULL strings are shown as empty ones. */
typedef struct VmView {
    const char *name;
    const char *uuid;
    const char *status;  /* as in query-status: "running", "paused", ... */
    const char *version; /* of the (real or modelled) QEMU: "11.1.0" */
    const char *source;  /* "model", "live", "dump" */
    guint64 generation;  /* of the snapshot that is being made */
    gboolean connected;  /* what is shown is current */
    /* Of a running QEMU alone; NULL: there are no such files. */
    const char *stale_since; /* when it was lost, ISO 8601; "": it is there */
    const char *fetched;     /* between when and when what is shown was asked for, an ISO 8601 interval */
} VmView;

Node *view_vm_new(const VmView *vm, const Node *previous, guint64 stamp);

/* The mount's root. nodes: one for each view, borrowed; NULL: the source lacks it, so it is
 * an empty list (VIEW_QUERY: an empty folder). previous: the root of the snapshot before, or NULL. */
Node *views_root_new(Node *const nodes[N_VIEWS], const Node *previous, guint64 stamp);

/* That view in a root, borrowed. */
const Node *views_get(const Node *root, View view);
