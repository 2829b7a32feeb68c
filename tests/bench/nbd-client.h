/* SPDX-License-Identifier: MIT */
/*
 * As much of an NBD client as it takes to read: the fixed newstyle handshake, NBD_OPT_GO, NBD_CMD_READ with simple
 * replies (doc/proto.md of github.com/NetworkBlockDevice/nbd). One thread, one request at a time.
 */
#pragma once

#include <glib.h>

typedef struct NbdClient {
    int fd;
    guint64 size; /* of the export, in bytes */
    guint64 handle;
} NbdClient;

/* socket: a path. FALSE with errno; EPROTO where the other side is no NBD server that has this export. */
gboolean nbd_client_open(NbdClient *client, const char *socket, const char *export);
void nbd_client_close(NbdClient *client);
/* FALSE with errno. */
gboolean nbd_client_read(NbdClient *client, guint64 offset, void *buffer, guint32 length);
