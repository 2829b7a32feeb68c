/* SPDX-License-Identifier: MIT */
/*
 * Records: nodes made from a plain JSON object, such as an entry of query-blockstats.
 * Its members are files; some are directories in turn, and the members of one can stand
 * beside those of the whole.
 */
#pragma once

#include "objmodel/node.h"

typedef struct RecordLayout {
    const char *flatten;       /* a member whose own members stand beside the others, or NULL */
    const char *const *nested; /* members that are directories of this same layout; NULL-ended, or NULL */
    gboolean moving;           /* the values move: records are made with a sampler */
} RecordLayout;

/* Writes where the members stand that are slots, in order, to slots (room for n); returns how many
 * there are. For node.c, which looks anew where a sampler has written. */
guint record_index(JsonSlice text, const RecordLayout *layout, NodeSlot *slots, guint n);

/*
 * A record named `name` (a file name) whose text is `text`, a compact JSON object inside
 * bytes`. Where a member of `flatten` has the name of another one, the later of the two stands as `NAME.2`.
 * sampler (or NULL) writes the whole text anew. previous: as in NodeSpec.
 */
Node *record_new(const char *name, GBytes *bytes, JsonSlice text, const RecordLayout *layout, Sampler *sampler,
                 const Node *previous, guint64 stamp);
