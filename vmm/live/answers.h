/* SPDX-License-Identifier: MIT */
/*
 * What a running QEMU returns for commands without arguments, and the views made of it: cpu-definitions/, blockstats/,
 * query/ and vm/. An answer is constant for one process of the target, or counts for the ttl. The live thread changes
 * them, and holds the lock while it does; whoever holds it may look.
 */
#pragma once

#include "vmm/views.h"

typedef struct LiveAnswers LiveAnswers;

LiveAnswers *live_answers_new(GMutex *lock, gboolean all_queries);
void live_answers_free(LiveAnswers *answers);

/* ---- with the lock, or on the live thread ---- */

/*
 * The commands that a path outside of the object tree needs, and that have not answered since `since` (monotonic):
 * their names, borrowed. path is from the mount's root, tree: all below is wanted, property as in SourceOps.
 */
GPtrArray *live_answers_missing(const LiveAnswers *answers, const char *path, const char *property, gboolean tree,
                                gint64 since);

/* Likewise, those that names in the views, and what vm/ tells, depend on: what is to be known of a target whose
 * names are answered without asking. all: also what takes long. */
GPtrArray *live_answers_names_missing(const LiveAnswers *answers, gboolean all, gint64 since);

/* ---- the live thread ---- */

/* value absent: the command failed, error tells why. */
void live_answers_take(LiveAnswers *answers, const char *command, JsonSlice value, const char *error, gint64 now);
/* An answer counts no more. */
void live_answers_outdate(LiveAnswers *answers, const char *command);
/* None does: it may be another process. */
void live_answers_outdate_all(LiveAnswers *answers);
/* Whether the target has a command, as query-commands told. */
gboolean live_answers_has_command(const LiveAnswers *answers, const char *command);
/* A member of an answer, a string; new memory, or NULL. */
char *live_answers_string(const LiveAnswers *answers, const char *command, const char *member);

/* The views as nodes, made anew where something changed (not VIEW_QOM, VIEW_VM). Borrowed; NULL: nothing is there. */
const Node *live_answers_node(LiveAnswers *answers, View view, guint64 stamp);
