/* SPDX-License-Identifier: MIT */
/*
 * Inodes: what the kernel knows of us. A node id is the address of an Inode.
 *
 * A directory has one as long as its object lives. A file has one for each version of its
 * content, all with the same inode number: so the page cache of a node id never needs to
 * change, and an open file shows one version to its end. What moves by itself has one.
 */
#pragma once

#include "fs/item.h"

typedef struct Inode Inode;

/* The version of the inode that is written through: no content's. The kernel lets a WRITE past the
 * end of a file grow it, and whoever reads the page cache of the same node id would see NULs behind the
 * value. So writers have a node id of their own. */
#define VERSION_OF_WRITERS 1

struct Inode {
    /* Constant. */
    guint64 ino;     /* st_ino */
    guint64 version; /* 0: of a directory, or moving; VERSION_OF_WRITERS */
    ItemKind kind;
    Inode *parent; /* a reference; NULL: the root */
    char *name;
    guint depth; /* directories: below the view's root */

    /* Counted by the table, under its lock. */
    guint64 lookups; /* references that the kernel holds */
    guint refs;      /* references that we hold: handles, and inodes below */
    guint opens;     /* handles of a file */
    guint64 sampled; /* of a moving file: the hash of what was seen last, */
    guint64 moved;   /* and when that was seen first; 0: nothing was */
    gsize size;      /* of this version; of a moving file, of what was opened last */

    guint64 listed; /* directories: which names (names_stamp) the kernel's cached listing has */
    guint listers;  /* handles of a directory that may add to that listing */
};

/* A handle of the kernel's, at the beginning of what file.c and directory.c keep for theirs. */
typedef struct OpenHandle OpenHandle;
struct OpenHandle {
    Inode *inode;
    void (*free)(Fs *fs, OpenHandle *handle);
    GList link; /* in the table's list of all handles */
};

InodeTable *inode_table_new(guint64 root_ino);
void inode_table_free(InodeTable *table);

Inode *inode_from_id(const Fs *fs, fuse_ino_t id);
fuse_ino_t inode_id(const Fs *fs, const Inode *inode);

/* The inode of an item of this size in a directory, counted as one lookup of the kernel's. */
Inode *inode_look_up(InodeTable *table, Inode *parent, const Item *item, gsize size);
void inode_forget(InodeTable *table, Inode *inode, guint64 lookups);

/* The inode with this number and version if there is one: a new reference, or NULL. */
Inode *inode_find(InodeTable *table, guint64 ino, guint64 version);
void inode_unref(InodeTable *table, Inode *inode);

/* A handle of a file begins, and ends. `size` of what was opened. */
void inode_opened(InodeTable *table, OpenHandle *handle, gsize size);
void inode_closed(InodeTable *table, OpenHandle *handle);
/* Its size and when it changed; and whether it is open. */
gboolean inode_is_open(InodeTable *table, const Inode *inode, gsize *ret_size, guint64 *ret_stamp);
/* Notes a sample of a moving file. Returns when it was first seen like this: its mtime. */
guint64 inode_sampled(InodeTable *table, Inode *inode, const char *bytes, gsize length);

/* A directory is opened to list these names. Returns whether the kernel may cache what it
 * reads: not while another handle may add other names to the same listing. *ret_keep: whether
 * the listing that it has is still good. */
gboolean inode_listing_open(InodeTable *table, OpenHandle *handle, guint64 names_stamp, gboolean *ret_keep);
void inode_listing_close(InodeTable *table, OpenHandle *handle, gboolean cached);
/* Frees the handles that are left when the mount is gone: no RELEASE comes for them. */
void inode_free_handles(Fs *fs);

/* The directory's node in this snapshot, borrowed; NULL where the object is gone. */
const Node *inode_node(const Inode *dir, const Snapshot *snapshot);
/* What a file, link or directory is in this snapshot: FALSE where it is gone (another object
 * of the same name does not count). The root has no item. */
gboolean inode_item(const Fs *fs, const Inode *inode, const Snapshot *snapshot, Item *ret);
/* Its path from the mount's root, "" for that. */
char *inode_path(const Inode *inode);
