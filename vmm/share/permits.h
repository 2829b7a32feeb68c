/* SPDX-License-Identifier: MIT */
/* Which commands are let through, and which take descriptors. Constant; any thread. */
#pragma once

#include <glib.h>

typedef struct Permits Permits;

/* list: names separated by ':'; NULL: all but what is refused by default. */
Permits *permits_new(const char *list);
void permits_free(Permits *permits);
gboolean permits_has(const Permits *permits, const char *command);
/* Sets the error that a client gets for a command that is not among them. Returns FALSE. */
gboolean permits_refuse(const char *command, GError **error);

/* Whether descriptors that come with a command are for it. */
gboolean command_takes_fds(const char *command);
