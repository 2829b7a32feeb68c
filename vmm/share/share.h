/* SPDX-License-Identifier: MIT */
/*
 * --share: all of QMP of a running QEMU, for any number of clients. Where the target has private monitors each client
 * gets one (client.h), elsewhere all go through the one connection (multiplexer.h). docs/share.md says what users see.
 *
 * The hooks and the registry are for the QMP server, on its monitor thread; all work is done on the live thread, and
 * what the two tell each other goes through that one's GMainContext. Who is served how is decided as each connects.
 */
#pragma once

#include "qmp/server.h"
#include "vmm/live/link.h"

typedef struct Share Share;

/* permitted: commands, separated by ':'; NULL: all but those that end the process or are a shell by themselves. */
Share *share_new(const char *permitted);
/* Once the server is gone, and the link (whose requests of ours are answered never). */
void share_free(Share *share);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Share, share_free)

/* Before anything else: what is shared, and the context of its thread, the live thread. */
void share_attach(Share *share, GMainContext *context, LiveLink *link);

/* Whether the command is let through. Any thread. */
gboolean share_permits(const Share *share, const char *command);
/* The commands of the multiplexer: all that the target has; the owner may add some of its own. */
QmpRegistry *share_registry(Share *share, const QmpVersion *version);
/* For qmp_server_set_client_hooks(). */
QmpClientHooks share_hooks(Share *share);
