/* SPDX-License-Identifier: MIT */
/*
 * Items: what stands at a name of a directory. A directory is a node; in it stand the
 * special files, a file or symlink for each slot, and a directory for each child (a file where
 * the child is a value). An item borrows from the node it was found in. Any thread.
 */
#pragma once

#include <sys/stat.h>

#include "fs/special.h"
#include "objmodel/node.h"

typedef enum ItemKind {
    ITEM_SPECIAL, /* a row of the table of special files, as a file */
    ITEM_FILE,    /* a slot */
    ITEM_LINK,    /* a symlink: a slot, or a special file */
    ITEM_DIR,     /* a child */
} ItemKind;

typedef struct Item {
    const Fs *fs;
    ItemKind kind;
    const Node *dir; /* where it stands; of a file in a folder: the value's node */
    guint depth;     /* of dir, below its view's root */
    const char *name;
    guint64 ino;
    guint64 version; /* of its content: a stamp; 0 where it moves, and for directories */
    guint slot;      /* files, and links where special is NULL */
    const Node *child;
    const SpecialFile *special;
} Item;

gboolean item_find(const Fs *fs, const Node *dir, guint depth, const char *name, Item *ret);

/* Goes through a directory in the order listed, from an ordinal on. */
typedef struct ItemIter {
    const Fs *fs;
    const Node *dir;
    guint depth;
    guint ordinal;
    ChildrenIter children;
} ItemIter;
ItemIter item_iter(const Fs *fs, const Node *dir, guint depth, guint ordinal);
/* The next one that is listed; iter->ordinal is then that of the one behind it. */
gboolean item_next(ItemIter *iter, Item *ret);

/* Whether its content moves by itself: it is then read past the kernel's cache. */
gboolean item_moves(const Item *item);
gboolean item_can_be_written(const Item *item);
/* Where its value moves by itself: fixes the value of this moment, if it has one now. *ret_now keeps what
 * the item then borrows from. */
void item_sample(Item *item, Node **ret_now);
/* Bytes of its content; 0 for directories, and something for what cannot be read. */
gsize item_size(const Item *item);
/* Its content: what read(2) or readlink(2) give; nothing for directories. */
void item_append_content(const Item *item, GString *out);
/* The same in pieces, which borrow from item->dir. */
void item_content(const Item *item, Pieces *out);
/* Why it cannot be read, as an errno; 0 where it can. */
int item_unreadable(const Item *item);

/* The attributes of an item (of one that moves, without size and time), and of a directory itself. */
void item_stat(const Item *item, struct stat *ret);
void item_stat_dir(const Fs *fs, const Node *dir, struct stat *ret);
/* Adds the size of a content and when it changed. */
void item_stat_content(gsize size, guint64 stamp, struct stat *ret);
