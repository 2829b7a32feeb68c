/* SPDX-License-Identifier: MIT */
/*
 * Lists whose values move by themselves (block statistics): their records are made once, and read through samplers that
 * have what the target said last, for as long as the list has the same records with the same members. The live
 * thread, but for the samplers.
 */
#pragma once

#include "vmm/views.h"

typedef struct LiveMoving LiveMoving;

LiveMoving *live_moving_new(void);
void live_moving_free(LiveMoving *moving);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LiveMoving, live_moving_free)

/* The view of this list, an array in bytes. previous: what it gave before, or NULL; which then may be the same node. */
Node *live_moving_node(LiveMoving *moving, View view, GBytes *bytes, JsonSlice list, const Node *previous,
                       guint64 stamp);
