/* SPDX-License-Identifier: MIT */
/* Handles: open files. Shared by file.c and write.c. */
#pragma once

#include "fs/content.h"
#include "fs/inode.h"

typedef struct WriteBuffer WriteBuffer;
typedef struct Poller Poller;

typedef struct Handle {
    OpenHandle base; /* begun by inode_opened() */
    /* Constant. */
    Node *dir; /* the directory's node of the version that is shown */
    Item item; /* in it */

    GMutex lock;         /* for what follows */
    Content *content;    /* NULL: not needed yet */
    guint reads;         /* of a moving file, since it was sampled */
    WriteBuffer *writes; /* NULL: not open for writing; write.c's own */
    Poller *poller;      /* NULL: not a stream; pollers.c's own */
} Handle;

static inline Handle *handle_of(const struct fuse_file_info *fi)
{
    return (Handle *)(gpointer)(guintptr)fi->fh;
}
