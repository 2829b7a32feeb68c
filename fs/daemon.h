/* SPDX-License-Identifier: MIT */
/* Going into the background: the command returns when the mount answers, and not before. */
#pragma once

#include <glib.h>

/*
 * Forks. The child goes on; the parent waits in here until the child calls daemon_ready() or
 * ends, and then exits itself: with status 0 if what is mounted at the path answers it, else with
 * the child's. To be called before there are threads. The child's messages go to the same
 * stderr until it is ready.
 */
void daemon_begin(const char *mount_point);

/* In the child: lets the parent go, and leaves the terminal and its directory. */
void daemon_ready(void);
