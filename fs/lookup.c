/* SPDX-License-Identifier: MIT */
/*
 * Names and attributes: answered at once from the newest snapshot, never parked: a LOOKUP
 * that waits blocks its whole directory.
 */
#include "fs/lookup.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "fs/operations.h"
#include "fs/retries.h"

/* Tries before an answer that is about to be outdated is given all the same, uncached. */
enum { TRIES = 4 };

static double attr_timeout(const Item *item)
{
    return item_moves(item) ? 0 : fs_keep(item->fs);
}

/* Size and time of what moves, by what it is just now. */
static void stat_moving(Fs *fs, Inode *inode, const Item *item, struct stat *ret)
{
    if (item->special && item->special->stream) {
        item_stat_content(item_size(item), event_log_mtime(fs->options->events), ret);
        return;
    }
    g_autoptr(GString) content = g_string_new(NULL);
    item_append_content(item, content);
    item_stat_content(content->len, inode_sampled(fs->inodes, inode, content->str, content->len), ret);
}

void lookup_entry(Fs *fs, Inode *parent, const Item *item, gboolean writer, struct fuse_entry_param *ret)
{
    *ret = (struct fuse_entry_param){.generation = 1, .attr_timeout = attr_timeout(item), .entry_timeout = fs_keep(fs)};
    item_stat(item, &ret->attr);
    Item looked_up = *item;
    if (writer) {
        looked_up.version = VERSION_OF_WRITERS;
        ret->attr_timeout = ret->entry_timeout = 0; /* for this one open(2) */
    }
    Inode *inode = inode_look_up(fs->inodes, parent, &looked_up, (gsize)ret->attr.st_size);
    if (item_moves(item))
        stat_moving(fs, inode, item, &ret->attr);
    ret->ino = inode_id(fs, inode);
}

/* Replies: entry, err (ENOENT).
 *
 * The notifier invalidates the names of inodes that are in the table. One that is put there
 * from a snapshot that was replaced meanwhile would be missed: so the newest is looked at
 * again afterwards. What is replaced later, the notifier finds, and the kernel makes it wait
 * until this answer has been taken in. */
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    Fs *fs = fs_of(req);
    Inode *dir = inode_from_id(fs, parent);
    pid_t thread = fuse_req_ctx(req)->pid;
    struct fuse_entry_param entry = {0};
    if (fs->source->ops->used)
        fs->source->ops->used(fs->source);
    for (guint try = 0; try < TRIES; try++) {
        g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
        const Node *node = inode_node(dir, snapshot);
        Item item;
        if (entry.ino)
            inode_forget(fs->inodes, inode_from_id(fs, entry.ino), 1);
        if (!node || !item_find(fs, node, dir->depth, name, &item)) {
            fuse_reply_err(req, ENOENT);
            return;
        }
        gboolean writer = item.version && retries_expect_writer(fs->retries, thread, item.ino);
        lookup_entry(fs, dir, &item, writer, &entry);
        g_autoptr(Snapshot) newest = snapshots_current(fs->snapshots);
        if (try + 1 == TRIES)
            entry.entry_timeout = 0; /* the attributes of a version stay what they are */
        if (newest == snapshot || try + 1 == TRIES) {
            retries_looked_up(fs->retries, thread, item.ino, node);
            break;
        }
    }
    fuse_reply_entry(req, &entry);
}

/* Replies: none. */
void op_forget(fuse_req_t req, fuse_ino_t id, uint64_t lookups)
{
    Fs *fs = fs_of(req);
    inode_forget(fs->inodes, inode_from_id(fs, id), lookups);
    fuse_reply_none(req);
}

/* Replies: none. */
void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    Fs *fs = fs_of(req);
    for (size_t i = 0; i < count; i++)
        inode_forget(fs->inodes, inode_from_id(fs, forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(req);
}

/* The attributes of an inode. Those of a version stay what they are, whether it is the newest or
 * not: the kernel may ask for them at any time between LOOKUP and OPEN. FALSE where what moves, or
 * a directory, is gone. */
static gboolean inode_stat(Fs *fs, Inode *inode, struct stat *ret, double *ret_timeout)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    *ret_timeout = fs_keep(fs);
    if (!inode->parent) {
        item_stat_dir(fs, snapshot->root, ret);
        return TRUE;
    }
    Item item;
    gsize size;
    guint64 stamp;
    gboolean found = inode_item(fs, inode, snapshot, &item);
    gboolean open = inode_is_open(fs->inodes, inode, &size, &stamp);
    gboolean writers = inode->version == VERSION_OF_WRITERS;
    gboolean current = found && (item.version == inode->version || writers);
    if (current) {
        item_stat(&item, ret);
        *ret_timeout = writers ? 0 : attr_timeout(&item);
        if (open && item_moves(&item) && !(item.special && item.special->stream))
            item_stat_content(size, stamp, ret); /* what was opened last */
        else if (item_moves(&item))
            stat_moving(fs, inode, &item, ret);
        return TRUE;
    }
    if (!open && inode->version == 0)
        return FALSE;
    *ret = (struct stat){.st_ino = inode->ino,
                         .st_nlink = 1,
                         .st_mode = (inode->kind == ITEM_LINK ? S_IFLNK | 0777 : S_IFREG | fs->source->read_only_mode),
                         .st_uid = fs->options->uid,
                         .st_gid = fs->options->gid};
    if (found && item.kind == inode->kind)
        item_stat(&item, ret); /* the modes of now */
    item_stat_content(size, stamp, ret);
    return TRUE;
}

/* Replies: attr, err (ESTALE: the kernel looks the name up again). */
void op_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    (void)fi;
    Fs *fs = fs_of(req);
    struct stat st;
    double timeout;
    if (inode_stat(fs, inode_from_id(fs, id), &st, &timeout))
        fuse_reply_attr(req, &st, timeout);
    else
        fuse_reply_err(req, ESTALE);
}

/* Whether an inode is of a file that can be written. */
static gboolean inode_can_be_written(Fs *fs, const Inode *inode)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    Item item;
    return inode->kind == ITEM_FILE && inode_item(fs, inode, snapshot, &item) && item_can_be_written(&item);
}

/* Replies: attr, err (EPERM, EACCES, ESTALE).
 *
 * What `>` and truncate(2) cut is answered with the size that is, for it is not the value. Times
 * may be "set" for the sake of touch(1), and stay as they are. */
void op_setattr(fuse_req_t req, fuse_ino_t id, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    (void)attr;
    Fs *fs = fs_of(req);
    if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
        fuse_reply_err(req, EPERM);
    else if ((to_set & FUSE_SET_ATTR_SIZE) && !inode_can_be_written(fs, inode_from_id(fs, id)))
        fuse_reply_err(req, EACCES);
    else
        op_getattr(req, id, fi);
}

/* Replies: readlink, err (ESTALE). */
void op_readlink(fuse_req_t req, fuse_ino_t id)
{
    Fs *fs = fs_of(req);
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    g_autoptr(GString) target = g_string_new(NULL);
    Item item;
    const Inode *inode = inode_from_id(fs, id);
    /* The kernel keeps the target for as long as it knows the node id, which is of one version. */
    if (!inode_item(fs, inode, snapshot, &item) || item.kind != ITEM_LINK || item.version != inode->version) {
        fuse_reply_err(req, ESTALE);
        return;
    }
    item_append_content(&item, target);
    fuse_reply_readlink(req, target->str);
}

/* Replies: statfs. */
void op_statfs(fuse_req_t req, fuse_ino_t id)
{
    (void)id;
    struct statvfs st = {.f_bsize = 4096, .f_frsize = 512, .f_namemax = 255};
    fuse_reply_statfs(req, &st);
}
