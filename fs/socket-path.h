/* SPDX-License-Identifier: MIT */
/* Where the companion socket listens. */
#pragma once

#include <glib.h>

/* asked: what --qmp says, or NULL. NULL is nowhere: asked for ("none"), or for want of a folder that
 * only this user can enter. Sockets that killed daemons left in the usual folder are removed. */
char *socket_path(const char *asked);
