/* SPDX-License-Identifier: MIT */
/*
 * The table of inodes. Two kinds of references are counted apart: `lookups`, which the kernel
 * takes by an answered LOOKUP or READDIRPLUS and gives back by FORGET, and `refs`, which we
 * hold: each inode one of its parent, each handle one of its inode. An inode stays while it
 * has either. Everything that is counted is under the table's one lock; what is constant is
 * read without.
 */
#include "fs/inode.h"

#include <string.h>
#include <time.h>

struct InodeTable {
    GMutex lock;
    GHashTable *inodes; /* a set of Inode, by number and version */
    Inode *root;
    GQueue handles; /* of OpenHandle, by their links */
};

static guint inode_hash(gconstpointer key)
{
    const Inode *inode = key;
    guint64 mixed = (inode->ino * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15)) ^ inode->version;
    return (guint)(mixed ^ mixed >> 32);
}

static gboolean inode_equal(gconstpointer a, gconstpointer b)
{
    const Inode *left = a, *right = b;
    return left->ino == right->ino && left->version == right->version;
}

InodeTable *inode_table_new(guint64 root_ino)
{
    InodeTable *table = g_new0(InodeTable, 1);
    g_mutex_init(&table->lock);
    table->inodes = g_hash_table_new(inode_hash, inode_equal);
    table->root = g_new0(Inode, 1);
    *table->root = (Inode){.ino = root_ino, .kind = ITEM_DIR, .name = g_strdup(""), .lookups = 1, .refs = 1};
    g_hash_table_add(table->inodes, table->root);
    return table;
}

static void inode_free(gpointer data)
{
    Inode *inode = data;
    g_free(inode->name);
    g_free(inode);
}

void inode_table_free(InodeTable *table)
{
    if (!table)
        return;
    /* The mount is gone, and with it all that the kernel held. */
    GHashTableIter iter;
    gpointer inode;
    g_hash_table_iter_init(&iter, table->inodes);
    while (g_hash_table_iter_next(&iter, &inode, NULL)) {
        g_hash_table_iter_steal(&iter);
        inode_free(inode);
    }
    g_hash_table_unref(table->inodes);
    g_mutex_clear(&table->lock);
    g_free(table);
}

Inode *inode_from_id(const Fs *fs, fuse_ino_t id)
{
    return id == FUSE_ROOT_ID ? fs->inodes->root : (Inode *)(gpointer)id;
}

fuse_ino_t inode_id(const Fs *fs, const Inode *inode)
{
    return inode == fs->inodes->root ? FUSE_ROOT_ID : (fuse_ino_t)inode;
}

/* With the lock held: frees it, and its parents, where nobody holds them. */
static void inode_release(InodeTable *table, Inode *inode)
{
    while (inode && inode->lookups == 0 && inode->refs == 0) {
        Inode *parent = inode->parent;
        g_hash_table_remove(table->inodes, inode);
        inode_free(inode);
        inode = parent;
        if (inode)
            inode->refs--;
    }
}

Inode *inode_look_up(InodeTable *table, Inode *parent, const Item *item, gsize size)
{
    Inode key = {.ino = item->ino, .version = item->version};
    g_mutex_lock(&table->lock);
    Inode *inode = g_hash_table_lookup(table->inodes, &key);
    if (!inode) {
        inode = g_new0(Inode, 1);
        *inode = (Inode){.ino = item->ino,
                         .version = item->version,
                         .kind = item->kind,
                         .parent = parent,
                         .name = g_strdup(item->name),
                         .size = size,
                         .depth = parent == table->root ? 0 : parent->depth + 1};
        parent->refs++;
        g_hash_table_add(table->inodes, inode);
    }
    inode->lookups++;
    g_mutex_unlock(&table->lock);
    return inode;
}

void inode_forget(InodeTable *table, Inode *inode, guint64 lookups)
{
    g_mutex_lock(&table->lock);
    inode->lookups -= MIN(lookups, inode->lookups);
    inode_release(table, inode);
    g_mutex_unlock(&table->lock);
}

Inode *inode_find(InodeTable *table, guint64 ino, guint64 version)
{
    Inode key = {.ino = ino, .version = version};
    g_mutex_lock(&table->lock);
    Inode *inode = g_hash_table_lookup(table->inodes, &key);
    if (inode)
        inode->refs++;
    g_mutex_unlock(&table->lock);
    return inode;
}

void inode_unref(InodeTable *table, Inode *inode)
{
    if (!inode)
        return;
    g_mutex_lock(&table->lock);
    inode->refs--;
    inode_release(table, inode);
    g_mutex_unlock(&table->lock);
}

/* With the lock held. */
static void handle_begin(InodeTable *table, OpenHandle *handle)
{
    handle->link.data = handle;
    g_queue_push_tail_link(&table->handles, &handle->link);
    handle->inode->refs++;
}

/* With the lock held. */
static void handle_end(InodeTable *table, OpenHandle *handle)
{
    g_queue_unlink(&table->handles, &handle->link);
    handle->inode->refs--;
    inode_release(table, handle->inode);
}

void inode_opened(InodeTable *table, OpenHandle *handle, gsize size)
{
    g_mutex_lock(&table->lock);
    handle_begin(table, handle);
    handle->inode->opens++;
    handle->inode->size = size;
    g_mutex_unlock(&table->lock);
}

void inode_closed(InodeTable *table, OpenHandle *handle)
{
    g_mutex_lock(&table->lock);
    handle->inode->opens--;
    handle_end(table, handle);
    g_mutex_unlock(&table->lock);
}

void inode_free_handles(Fs *fs)
{
    for (GList *link; (link = fs->inodes->handles.head);) {
        OpenHandle *handle = link->data;
        handle->free(fs, handle);
    }
}

gboolean inode_is_open(InodeTable *table, const Inode *inode, gsize *ret_size, guint64 *ret_stamp)
{
    g_mutex_lock(&table->lock);
    gboolean open = inode->opens > 0;
    *ret_size = inode->size;
    *ret_stamp = inode->version ? inode->version : inode->moved;
    g_mutex_unlock(&table->lock);
    return open;
}

/* Tells one sample from the next; nobody's secret depends on it. */
static guint64 sample_hash(const char *bytes, gsize length)
{
    guint64 hash = length, word = 0;
    for (; length >= sizeof(word); bytes += sizeof(word), length -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    word = 0;
    if (length > 0)
        memcpy(&word, bytes, length);
    hash = (hash ^ word) * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

guint64 inode_sampled(InodeTable *table, Inode *inode, const char *bytes, gsize length)
{
    guint64 hash = sample_hash(bytes, length);
    g_mutex_lock(&table->lock);
    if (!inode->moved || inode->sampled != hash) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        guint64 stamp = (guint64)now.tv_sec * G_GUINT64_CONSTANT(1000000000) + (guint64)now.tv_nsec;
        inode->moved = MAX(stamp, inode->moved + 1);
        inode->sampled = hash;
    }
    guint64 moved = inode->moved;
    g_mutex_unlock(&table->lock);
    return moved;
}

gboolean inode_listing_open(InodeTable *table, OpenHandle *handle, guint64 names_stamp, gboolean *ret_keep)
{
    Inode *inode = handle->inode;
    g_mutex_lock(&table->lock);
    gboolean keep = inode->listed == names_stamp;
    gboolean cached = keep || inode->listers == 0;
    if (cached) {
        inode->listed = names_stamp;
        inode->listers++;
    }
    handle_begin(table, handle);
    g_mutex_unlock(&table->lock);
    *ret_keep = keep;
    return cached;
}

void inode_listing_close(InodeTable *table, OpenHandle *handle, gboolean cached)
{
    g_mutex_lock(&table->lock);
    handle->inode->listers -= cached ? 1 : 0;
    handle_end(table, handle);
    g_mutex_unlock(&table->lock);
}

const Node *inode_node(const Inode *dir, const Snapshot *snapshot)
{
    if (!dir->parent)
        return snapshot->root;
    const Node *parent = inode_node(dir->parent, snapshot);
    const Node *node = parent ? children_find(parent->children, dir->name) : NULL;
    return node && node->id == dir->ino ? node : NULL;
}

gboolean inode_item(const Fs *fs, const Inode *inode, const Snapshot *snapshot, Item *ret)
{
    const Node *dir = inode->parent ? inode_node(inode->parent, snapshot) : NULL;
    Item item;
    if (!dir || !item_find(fs, dir, inode->parent->depth, inode->name, &item) || item.ino != inode->ino)
        return FALSE;
    *ret = item;
    return TRUE;
}

char *inode_path(const Inode *inode)
{
    if (!inode->parent)
        return g_strdup("");
    g_autofree char *parent = inode_path(inode->parent);
    return *parent ? g_strconcat(parent, "/", inode->name, NULL) : g_strdup(inode->name);
}
