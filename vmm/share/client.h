/* SPDX-License-Identifier: MIT */
/*
 * A client with a private monitor of its own: what it asks for is read, checked and written anew; what the monitor says
 * passes as it is, greeting, events and replies. The live thread's.
 */
#pragma once

#include "vmm/share/permits.h"

typedef struct ShareClient ShareClient;

/* Takes over both sockets: the client's, and our end of its monitor. `ended` is called once it is gone, with all that
 * was its. */
ShareClient *share_client_new(int client_fd, int monitor_fd, const Permits *permits,
                              void (*ended)(ShareClient *client, void *opaque), void *opaque);
/* Ends it, without telling; its context does not run any more. */
void share_client_free(ShareClient *client);
