/* SPDX-License-Identifier: MIT */
/* Connecting without waiting, to the path of a socket or to HOST:PORT. */
#pragma once

#include <gio/gio.h>

/* Whether a target is a path; else it is HOST:PORT. */
gboolean live_target_is_path(const char *target);

/* fd: connected, and the callee's; or -1 with an error in words for a user. */
typedef void (*LiveConnected)(int fd, const GError *error, void *opaque);

/* `connected` is called once, possibly before this returns, on the thread of its GMainContext; not any more once
 * `cancel` is cancelled. */
void live_connect(const char *target, GCancellable *cancel, LiveConnected connected, void *opaque);
