/* SPDX-License-Identifier: MIT */
/*
 * Files: open, read, release. OPEN decides freshness: it alone always reaches us. The page
 * cache of a node id holds one version for ever, so an OPEN of the newest version is answered
 * with keep_cache and costs nothing else; an OPEN of an outdated one is answered ESTALE, upon
 * which the kernel looks the name up again (retries.h). What moves by itself is read past the
 * cache, from the handle.
 */
#include "fs/file.h"

#include <errno.h>

#include "fs/fetch.h"
#include "fs/operations.h"
#include "fs/pollers.h"
#include "fs/retries.h"
#include "fs/write.h"

static void handle_free(Fs *fs, OpenHandle *base)
{
    Handle *handle = (Handle *)base;
    inode_closed(fs->inodes, base);
    node_unref(handle->dir);
    content_unref(handle->content);
    write_buffer_free(handle->writes);
    poller_free(fs->pollers, handle->poller);
    g_mutex_clear(&handle->lock);
    g_free(handle);
}

static Handle *handle_new(Fs *fs, Inode *inode, const Item *item, const struct fuse_file_info *fi)
{
    Handle *handle = g_new0(Handle, 1);
    *handle = (Handle){.base = {.inode = inode, .free = handle_free}, .dir = node_ref(item->dir), .item = *item};
    g_mutex_init(&handle->lock);
    gsize size;
    if (item->special && item->special->stream) {
        handle->poller = poller_new(fs->pollers, &size);
    } else if (item_moves(item) && !item_unreadable(item)) {
        handle->content = content_new(item);
        const char *bytes = content_bytes(handle->content, &size);
        inode_sampled(fs->inodes, inode, bytes, size);
    } else {
        size = item_size(item);
    }
    if ((fi->flags & O_ACCMODE) != O_RDONLY)
        handle->writes = write_buffer_new((fi->flags & O_APPEND) != 0);
    inode_opened(fs->inodes, &handle->base, size);
    return handle;
}

/* Which version an OPEN gets. FALSE: it is to be looked up again. *ret_cached: the node id is
 * of just this version. *ret_dir keeps what item borrows from. */
static gboolean open_item(Fs *fs, fuse_req_t req, const Inode *inode, gboolean writing, Item *ret, gboolean *ret_cached,
                          Node **ret_dir)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    g_autoptr(Node) looked_up = NULL;
    pid_t thread = fuse_req_ctx(req)->pid;
    gboolean found = inode_item(fs, inode, snapshot, ret);
    gboolean second = retries_take(fs->retries, thread, inode->ino, &looked_up);
    gboolean writer = writing && found && ret->version && item_can_be_written(ret);
    if (writer && inode->version != VERSION_OF_WRITERS && !second) {
        retries_expect(fs->retries, thread, inode->ino, TRUE);
        return FALSE;
    }
    *ret_cached = found && ret->version == inode->version;
    if (!*ret_cached && looked_up && !writer) {
        Item item;
        *ret_cached = item_find(fs, looked_up, inode->parent->depth, inode->name, &item) && item.ino == inode->ino &&
                      item.version == inode->version;
        if (*ret_cached) {
            *ret = item;
            found = TRUE;
        }
    }
    if (!found || (!*ret_cached && !second && !writer)) {
        if (found)
            retries_expect(fs->retries, thread, inode->ino, FALSE);
        return FALSE;
    }
    item_sample(ret, ret_dir);
    return TRUE;
}

static void open_answer(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, size_t size)
{
    (void)size;
    Fs *fs = fs_of(req);
    Inode *inode = inode_from_id(fs, id);
    gboolean writing = (fi->flags & O_ACCMODE) != O_RDONLY, reading = (fi->flags & O_ACCMODE) != O_WRONLY;
    g_autoptr(Node) dir = NULL;
    Item item;
    gboolean cached;
    if (!open_item(fs, req, inode, writing, &item, &cached, &dir)) {
        fuse_reply_err(req, ESTALE);
        return;
    }
    int unreadable = reading ? item_unreadable(&item) : 0;
    if (unreadable || (writing && !item_can_be_written(&item))) {
        fuse_reply_err(req, unreadable ? unreadable : EACCES);
        return;
    }
    Handle *handle = handle_new(fs, inode, &item, fi);
    fi->fh = (guintptr)handle;
    fi->direct_io = writing || !cached || item_moves(&item);
    fi->keep_cache = !fi->direct_io;
    fi->noflush = !writing;
    if (fuse_reply_open(req, fi) == -ENOENT)
        handle_free(fs, &handle->base); /* the caller was interrupted: no RELEASE will come */
}

/* Replies: open, err (ESTALE; EIO or EACCES of what cannot be read or written; of a fetch: its
 * error). Parked where the source must be asked. */
void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    Fs *fs = fs_of(req);
    /* The second OPEN of one open(2): what it needs was fetched for the first. */
    if (retries_expected(fs->retries, fuse_req_ctx(req)->pid, inode_from_id(fs, id)->ino))
        open_answer(req, id, fi, 0);
    else
        fetch_then(req, id, fi, 0, SOURCE_PROPERTY, open_answer);
}

/* With the handle's lock held: a moving value read from its start once more is sampled anew,
 * as in sysfs. Returns an errno: where its object is gone, or it has no value now. */
static int handle_sample(Fs *fs, Handle *handle)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    g_autoptr(Node) now = NULL;
    Item item;
    if (!inode_item(fs, handle->base.inode, snapshot, &item))
        return ENODEV;
    item_sample(&item, &now);
    int unreadable = item_unreadable(&item);
    if (unreadable)
        return unreadable;
    content_unref(handle->content);
    handle->content = content_new(&item);
    return 0;
}

/* A read from the start, of what moves and was read before. */
static void reread_answer(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, size_t size)
{
    (void)id;
    Handle *handle = handle_of(fi);
    g_mutex_lock(&handle->lock);
    int error = handle_sample(fs_of(req), handle);
    /* As soon as the reply is written, the handle may be released by another worker. */
    g_autoptr(Content) content = content_ref(handle->content);
    g_mutex_unlock(&handle->lock);
    if (error)
        fuse_reply_err(req, error);
    else
        content_reply(req, content, size, 0);
}

/* Replies: buf, err (ENODEV, EIO; of a fetch: its error). Parked only where a moving value, which is read past the
 * cache, is read anew: buffered READs are readahead. */
void op_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    Fs *fs = fs_of(req);
    Handle *handle = handle_of(fi);
    if (handle->poller) {
        poller_read(fs->pollers, handle->poller, req, size, offset);
        return;
    }
    g_mutex_lock(&handle->lock);
    if (!handle->content)
        handle->content = content_new(&handle->item);
    gboolean anew = item_moves(&handle->item) && offset == 0 && handle->reads > 0;
    handle->reads++;
    g_autoptr(Content) content = content_ref(handle->content);
    g_mutex_unlock(&handle->lock);
    if (anew)
        fetch_then(req, id, fi, size, SOURCE_PROPERTY, reread_answer);
    else
        content_reply(req, content, size, offset);
}

/* Replies: err. */
void op_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    (void)id;
    handle_free(fs_of(req), &handle_of(fi)->base);
    fuse_reply_err(req, 0);
}
