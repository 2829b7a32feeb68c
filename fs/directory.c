/* SPDX-License-Identifier: MIT */
/*
 * Directories. A handle lists the names of one moment, that of its opendir, so an offset (the
 * ordinal of the next name) stays what it is; the node ids and attributes that READDIRPLUS
 * hands out with them are those of the newest snapshot, for the kernel keeps them.
 */
#include <errno.h>

#include "fs/fetch.h"
#include "fs/lookup.h"
#include "fs/operations.h"

typedef struct DirHandle {
    OpenHandle base; /* begun by inode_listing_open() */
    Node *node;
    gboolean cached;
} DirHandle;

/* Offsets: what has been listed up to there. */
enum { OFFSET_DOT = 1, OFFSET_DOTDOT, OFFSET_ITEMS = OFFSET_DOTDOT };

static DirHandle *dir_handle(const struct fuse_file_info *fi)
{
    return (DirHandle *)(gpointer)(guintptr)fi->fh;
}

static void dir_handle_free(Fs *fs, OpenHandle *base)
{
    DirHandle *handle = (DirHandle *)base;
    inode_listing_close(fs->inodes, base, handle->cached);
    node_unref(handle->node);
    g_free(handle);
}

static void opendir_answer(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, size_t size)
{
    (void)size;
    Fs *fs = fs_of(req);
    Inode *inode = inode_from_id(fs, id);
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    const Node *node = inode_node(inode, snapshot);
    if (!node) {
        fuse_reply_err(req, ESTALE);
        return;
    }
    DirHandle *handle = g_new(DirHandle, 1);
    gboolean keep;
    *handle = (DirHandle){.base = {.inode = inode, .free = dir_handle_free}, .node = node_ref(node)};
    handle->cached = inode_listing_open(fs->inodes, &handle->base, node->names_stamp, &keep);
    fi->cache_readdir = handle->cached;
    fi->keep_cache = handle->cached && keep;
    fi->fh = (guintptr)handle;
    if (fuse_reply_open(req, fi) == -ENOENT)
        dir_handle_free(fs, &handle->base); /* the caller was interrupted: no RELEASEDIR will come */
}

/* Replies: open, err (ESTALE; of a fetch: its error). Parked where the source must be asked. */
void op_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    fetch_then(req, id, fi, 0, SOURCE_NODE, opendir_answer);
}

/* Replies: err. */
void op_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    (void)id;
    dir_handle_free(fs_of(req), &dir_handle(fi)->base);
    fuse_reply_err(req, 0);
}

/* ---- listing ---- */

/* Tries before names are listed without what would be outdated at once. */
enum { TRIES = 4 };

typedef struct Listing {
    fuse_req_t req;
    Fs *fs;
    const DirHandle *handle;
    const Node *newest; /* the directory's node now, sampled; NULL: the object is gone */
    gboolean plus;
    gboolean attributes; /* plus: with node ids and attributes that the kernel may keep */
    char *buffer;
    size_t size, used;
    GPtrArray *looked_up; /* of Inode: counted as looked up */
} Listing;

/* Adds an entry if it fits; the kernel continues at `next`. */
static gboolean listing_add(Listing *listing, const char *name, const struct fuse_entry_param *entry, off_t next)
{
    char *at = listing->buffer + listing->used;
    size_t left = listing->size - listing->used;
    size_t needed = listing->plus ? fuse_add_direntry_plus(listing->req, at, left, name, entry, next)
                                  : fuse_add_direntry(listing->req, at, left, name, &entry->attr, next);
    if (needed > left)
        return FALSE;
    listing->used += needed;
    return TRUE;
}

static gboolean listing_fits(const Listing *listing, const char *name)
{
    size_t needed = listing->plus ? fuse_add_direntry_plus(listing->req, NULL, 0, name, NULL, 0)
                                  : fuse_add_direntry(listing->req, NULL, 0, name, NULL, 0);
    return listing->used + needed <= listing->size;
}

/* What the kernel may know of an item without having looked it up: number and type. */
static struct fuse_entry_param listing_bare_entry(const Item *item)
{
    static const mode_t types[] = {
        [ITEM_SPECIAL] = S_IFREG, [ITEM_FILE] = S_IFREG, [ITEM_LINK] = S_IFLNK, [ITEM_DIR] = S_IFDIR};
    return (struct fuse_entry_param){.attr = {.st_ino = item->ino, .st_mode = types[item->kind]}};
}

static gboolean listing_add_item(Listing *listing, const Item *item, off_t next)
{
    struct fuse_entry_param entry = listing_bare_entry(item);
    Item now;
    if (!listing_fits(listing, item->name))
        return FALSE;
    if (listing->attributes && listing->newest &&
        item_find(listing->fs, listing->newest, listing->handle->base.inode->depth, item->name, &now)) {
        lookup_entry(listing->fs, listing->handle->base.inode, &now, FALSE, &entry);
        g_ptr_array_add(listing->looked_up, inode_from_id(listing->fs, entry.ino));
    }
    return listing_add(listing, item->name, &entry, next);
}

static gboolean listing_add_dot(Listing *listing, const char *name, const Inode *inode, off_t next)
{
    struct fuse_entry_param entry = {.attr = {.st_ino = inode->ino, .st_mode = S_IFDIR}};
    return listing_add(listing, name, &entry, next);
}

static void listing_fill(Listing *listing, off_t offset)
{
    const Inode *inode = listing->handle->base.inode;
    if (offset < OFFSET_DOT && !listing_add_dot(listing, ".", inode, OFFSET_DOT))
        return;
    if (offset < OFFSET_DOTDOT && !listing_add_dot(listing, "..", inode->parent ? inode->parent : inode, OFFSET_DOTDOT))
        return;
    guint ordinal = offset > OFFSET_ITEMS ? (guint)(offset - OFFSET_ITEMS) : 0;
    ItemIter iter = item_iter(listing->fs, listing->handle->node, inode->depth, ordinal);
    Item item;
    while (item_next(&iter, &item))
        if (!listing_add_item(listing, &item, OFFSET_ITEMS + (off_t)iter.ordinal))
            return;
}

/* Takes back what was counted for an answer that is not given. */
static void listing_reset(Listing *listing)
{
    for (guint i = 0; i < listing->looked_up->len; i++)
        inode_forget(listing->fs->inodes, g_ptr_array_index(listing->looked_up, i), 1);
    g_ptr_array_set_size(listing->looked_up, 0);
    listing->used = 0;
}

/* Fills in from one snapshot; FALSE where it was replaced meanwhile, see op_lookup(). */
static gboolean listing_try(Listing *listing, off_t offset)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(listing->fs->snapshots);
    const Node *node = inode_node(listing->handle->base.inode, snapshot);
    g_autoptr(Node) newest = node ? node_sample(node) : NULL;
    listing->newest = newest;
    listing_fill(listing, offset);
    listing->newest = NULL;
    g_autoptr(Snapshot) after = snapshots_current(listing->fs->snapshots);
    return after == snapshot || listing->looked_up->len == 0;
}

static void list(fuse_req_t req, size_t size, off_t offset, struct fuse_file_info *fi, gboolean plus)
{
    Listing listing = {.req = req, .fs = fs_of(req), .handle = dir_handle(fi), .size = size, .plus = plus};
    g_autofree char *buffer = listing.buffer = g_malloc(size);
    listing.looked_up = g_ptr_array_new();
    for (guint try = 0; try < TRIES; try++) {
        listing_reset(&listing);
        listing.attributes = plus && try + 1 < TRIES;
        if (listing_try(&listing, offset))
            break;
    }
    g_ptr_array_unref(listing.looked_up);
    fuse_reply_buf(req, buffer, listing.used);
}

/* Replies: buf. */
void op_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)id;
    list(req, size, offset, fi, FALSE);
}

/* Replies: buf. */
void op_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)id;
    list(req, size, offset, fi, TRUE);
}
