/* SPDX-License-Identifier: MIT */
/* File descriptors that a caller has left open, or closed. */
#pragma once

#include <glib.h>

/* Opens /dev/null for those of 0, 1 and 2 that are closed: what we open must not take their places. */
void descriptors_fill_standard(void);

/* Those beyond 2 that are open now: the caller's. A daemon does not keep them, but the source may
 * be one of them (/dev/fd/3). */
GArray *descriptors_inherited(void);
void descriptors_close(GArray *descriptors);
