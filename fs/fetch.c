/* SPDX-License-Identifier: MIT */
/* Fetches: a parked request, and the source's answer that ends it. */
#include "fs/fetch.h"

#include "fs/error-number.h"
#include "fs/inode.h"
#include "fs/last-errors.h"
#include "fs/parking.h"

typedef struct Fetch {
    fuse_ino_t id;
    struct fuse_file_info fi;
    size_t size;
    FetchAnswer answer;
} Fetch;

/* What the source is given: its answer may come when the request is long answered. */
typedef struct FetchTicket {
    Parking *parking;
    guint64 parked;
} FetchTicket;

static void fetch_answer(fuse_req_t req, const GError *error, void *data)
{
    Fetch *fetch = data;
    Fs *fs = fs_of(req);
    last_errors_set(fs->fetch_errors, inode_from_id(fs, fetch->id)->ino, error);
    if (error)
        fuse_reply_err(req, errno_from_error(error));
    else
        fetch->answer(req, fetch->id, &fetch->fi, fetch->size);
}

static void fetch_done(const GError *error, void *opaque)
{
    FetchTicket *ticket = opaque;
    parking_end(ticket->parking, ticket->parked, error);
    parking_unref(ticket->parking);
    g_free(ticket);
}

void fetch_then(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, size_t size, SourceScope scope,
                FetchAnswer answer)
{
    Fs *fs = fs_of(req);
    Source *source = fs->source;
    if (!source->ops->fetch) {
        answer(req, id, fi, size);
        return;
    }
    /* A property's file needs its property; a special file what its directory stands for. */
    const Inode *inode = inode_from_id(fs, id);
    gboolean property = scope == SOURCE_PROPERTY && inode->kind == ITEM_FILE;
    g_autofree char *path = inode_path(inode->kind == ITEM_DIR ? inode : inode->parent);
    const char *name = property ? inode->name : NULL;
    if (inode->kind == ITEM_SPECIAL)
        scope = SOURCE_SUBTREE;
    if (!source->ops->wants_fetch(source, path, name, scope)) {
        last_errors_set(fs->fetch_errors, inode->ino, NULL);
        answer(req, id, fi, size);
        return;
    }
    Fetch *fetch = g_new(Fetch, 1);
    *fetch = (Fetch){.id = id, .fi = *fi, .size = size, .answer = answer};
    FetchTicket *ticket = g_new(FetchTicket, 1);
    ticket->parking = parking_ref(fs->parking);
    ticket->parked = parking_park(fs, req, fetch_answer, fetch, g_free);
    source->ops->fetch(source, path, name, scope, fetch_done, ticket);
}
