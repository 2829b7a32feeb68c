/* SPDX-License-Identifier: MIT */
/* Items: from a node and a name to attributes and content. */
#include "fs/item.h"

#include <errno.h>
#include <string.h>

#include "fs/link.h"
#include "fs/special.h"

/* ---- finding ---- */

/* What all items of a directory have in common. */
static Item item_in(const Fs *fs, const Node *dir, guint depth)
{
    return (Item){.fs = fs, .dir = dir, .depth = depth};
}

static Item item_special(Item item, const SpecialFile *special)
{
    item.kind = special->symlink ? ITEM_LINK : ITEM_SPECIAL;
    item.name = special->name;
    item.ino = item.dir->id + special->ino_offset;
    item.version = special->version(item.dir);
    item.special = special;
    return item;
}

static Item item_slot(Item item, guint slot)
{
    const SlotInfo *info = node_slot_info(item.dir, slot);
    item.kind = link_is_symlink(item.dir, slot, item.depth) ? ITEM_LINK : ITEM_FILE;
    item.name = info->name;
    item.ino = node_slot_ino(item.dir, slot);
    item.version = info->flags & SLOT_MOVING ? 0 : node_slot_stamp(item.dir, slot);
    item.slot = slot;
    return item;
}

/* A directory; or where the child is a value, the file that shows it. */
static Item item_child(Item item, const Node *child)
{
    if (child->kind == NODE_VALUE) {
        item.dir = child;
        return item_slot(item, 0);
    }
    item.kind = ITEM_DIR;
    item.name = child->name;
    item.ino = child->id;
    item.child = child;
    return item;
}

gboolean item_find(const Fs *fs, const Node *dir, guint depth, const char *name, Item *ret)
{
    Item item = item_in(fs, dir, depth);
    for (guint i = 0; i < n_special_files; i++)
        if (!strcmp(special_files[i].name, name) && special_files[i].exists(fs, dir)) {
            *ret = item_special(item, &special_files[i]);
            return TRUE;
        }
    int slot = node_find_slot(dir, name);
    const Node *child = slot < 0 ? children_find(dir->children, name) : NULL;
    if (slot >= 0)
        *ret = item_slot(item, (guint)slot);
    else if (child)
        *ret = item_child(item, child);
    return slot >= 0 || child;
}

ItemIter item_iter(const Fs *fs, const Node *dir, guint depth, guint ordinal)
{
    guint before_children = n_special_files + node_slot_count(dir);
    return (ItemIter){.fs = fs,
                      .dir = dir,
                      .depth = depth,
                      .ordinal = ordinal,
                      .children =
                          children_iter(dir->children, ordinal > before_children ? ordinal - before_children : 0)};
}

gboolean item_next(ItemIter *iter, Item *ret)
{
    Item item = item_in(iter->fs, iter->dir, iter->depth);
    while (iter->ordinal < n_special_files) {
        const SpecialFile *special = &special_files[iter->ordinal++];
        if (special->exists(iter->fs, iter->dir) && (!special->listed || special->listed(iter->fs))) {
            *ret = item_special(item, special);
            return TRUE;
        }
    }
    if (iter->ordinal < n_special_files + node_slot_count(iter->dir)) {
        *ret = item_slot(item, iter->ordinal++ - n_special_files);
        return TRUE;
    }
    const Node *child = children_next(&iter->children);
    if (!child)
        return FALSE;
    iter->ordinal++;
    *ret = item_child(item, child);
    return TRUE;
}

/* ---- content ---- */

/* tar(1) takes a file without bytes as read, and would not report the others. */
enum { SIZE_OF_UNREADABLE = 1 };

gboolean item_moves(const Item *item)
{
    return item->kind != ITEM_DIR && item->version == 0;
}

gboolean item_can_be_written(const Item *item)
{
    return item->kind == ITEM_FILE && item->fs->source->ops->set &&
           (node_slot_info(item->dir, item->slot)->flags & SLOT_WRITABLE);
}

int item_unreadable(const Item *item)
{
    if (item->kind != ITEM_FILE)
        return 0;
    if (node_slot_info(item->dir, item->slot)->flags & SLOT_SECRET)
        return EACCES;
    return node_slot_value(item->dir, item->slot).length ? 0 : EIO;
}

/* The value of a file: of this moment where it moves; *ret_now keeps it alive. */
static JsonSlice item_value(const Item *item, Node **ret_now)
{
    *ret_now = item_moves(item) ? node_sample(item->dir) : node_ref(item->dir);
    return node_slot_value(*ret_now, item->slot);
}

void item_sample(Item *item, Node **ret_now)
{
    if (item->kind == ITEM_FILE)
        item_value(item, ret_now);
    else
        *ret_now = node_ref(item->dir);
    item->dir = *ret_now;
}

/* Whether it shows JSON whatever the value is: the text of a string too. */
static gboolean item_shows_json(const Item *item)
{
    return item->dir->kind == NODE_VALUE;
}

gsize item_size(const Item *item)
{
    g_autoptr(Node) now = NULL;
    g_autoptr(GString) target = NULL;
    if (item->kind == ITEM_DIR)
        return 0;
    if (item_unreadable(item))
        return SIZE_OF_UNREADABLE;
    if (item->kind == ITEM_FILE)
        return item_shows_json(item) ? item_value(item, &now).length + 1 : value_file_size(item_value(item, &now));
    if (item->special && item->special->size)
        return item->special->size(item->fs, item->dir);
    target = g_string_new(NULL);
    item_append_content(item, target);
    return target->len;
}

void item_content(const Item *item, Pieces *out)
{
    g_autoptr(Node) now = NULL;
    g_autofree char *target = NULL;
    if (item->special) {
        item->special->content(item->fs, item->dir, out);
    } else if (item->kind == ITEM_FILE && item_shows_json(item)) {
        json_append_slice(out->own, item_value(item, &now));
        g_string_append_c(out->own, '\n');
    } else if (item->kind == ITEM_FILE) {
        value_append_file(item_value(item, &now), out->own);
    } else if (item->kind == ITEM_LINK) {
        target = link_target(item->dir, item->slot, item->depth);
        g_string_append(out->own, target);
    }
    pieces_settle(out);
}

void item_append_content(const Item *item, GString *out)
{
    Pieces pieces = pieces_in(out);
    item_content(item, &pieces);
}

/* ---- attributes ---- */

static struct timespec stamp_time(guint64 stamp)
{
    return (struct timespec){.tv_sec = (time_t)(stamp / G_GUINT64_CONSTANT(1000000000)),
                             .tv_nsec = (long)(stamp % G_GUINT64_CONSTANT(1000000000))};
}

static void stat_set_time(struct stat *st, struct timespec time)
{
    st->st_mtim = st->st_ctim = st->st_atim = time;
}

void item_stat_content(gsize size, guint64 stamp, struct stat *ret)
{
    ret->st_size = (off_t)size;
    ret->st_blocks = (blkcnt_t)((size + 511) / 512);
    ret->st_blksize = 4096;
    stat_set_time(ret, stamp_time(stamp));
}

static void stat_set_owner(const Fs *fs, mode_t type, guint mode, struct stat *st)
{
    st->st_mode = type | (mode & ~fs->options->umask);
    st->st_uid = fs->options->uid;
    st->st_gid = fs->options->gid;
}

void item_stat_dir(const Fs *fs, const Node *dir, struct stat *ret)
{
    guint dirs = dir->kind == NODE_FOLDER ? 0 : children_count(dir->children);
    *ret = (struct stat){.st_ino = dir->id, .st_nlink = 2 + dirs, .st_blksize = 4096};
    /* Who may read a directory may enter it. */
    guint read = fs->source->read_only_mode;
    stat_set_owner(fs, S_IFDIR, read | (read & 0444) >> 2, ret);
    stat_set_time(ret, stamp_time(dir->stamp));
}

void item_stat(const Item *item, struct stat *ret)
{
    const Fs *fs = item->fs;
    if (item->kind == ITEM_DIR) {
        item_stat_dir(fs, item->child, ret);
        return;
    }
    *ret = (struct stat){.st_ino = item->ino, .st_nlink = 1};
    if (item->kind == ITEM_LINK) {
        stat_set_owner(fs, S_IFLNK, 0777, ret);
        ret->st_mode = S_IFLNK | 0777;
    } else {
        gboolean writable = item_can_be_written(item);
        stat_set_owner(fs, S_IFREG, writable ? fs->source->property_mode : fs->source->read_only_mode, ret);
    }
    if (!item_moves(item))
        item_stat_content(item_size(item), item->version, ret);
}
