/* SPDX-License-Identifier: MIT */
/*
 * Block nodes: what disks keep their data in. A node may stand on another one, its parent to query-blockstats.
 * Clients make and remove them (blockdev-add, blockdev-del); a node lives as long as a client, a node or a disk has it.
 * The main loop, but for what says otherwise.
 */
#pragma once

#include "vmm/block-disk.h"
#include "vmm/vm.h"

typedef enum BlockDriver { BLOCK_DRIVER_NULL_CO, BLOCK_DRIVER_FILE, BLOCK_DRIVER_RAW, N_BLOCK_DRIVERS } BlockDriver;
extern const char *const block_driver_names[]; /* "null-co", ...; ended by NULL */

/* What a node is made with. */
typedef struct BlockNodeOptions {
    BlockDriver driver;
    char *node_name; /* NULL: one is made up */
    gboolean direct, no_flush, read_only, auto_read_only, discard;
    const char *detect_zeroes; /* "off", "on", "unmap" */
    char *options;             /* those that say what its content is: JSON */
    guint64 size;              /* null-co, raw (0: all that there is) */
    guint64 offset;            /* raw */
    gint64 latency_ns;         /* null-co */
    char *filename;            /* file */
} BlockNodeOptions;

typedef struct BlockNode {
    Vm *vm;
    char *name;
    BlockNodeOptions options;
    guint64 size;         /* bytes */
    BlockFile *file;      /* of a file's node; or NULL */
    struct BlockNode *on; /* what it stands on, or NULL; a reference */
    char *filename;       /* as query-block has it */
    gboolean is_clients;  /* blockdev-del may remove it */
    guint64 highest;      /* wr_highest_offset of what disks there were */
    Object *user;         /* the disk that it is the root node of; or NULL */
    guint refs;
} BlockNode;

/* A new node with one reference; what it stands on is referenced. Takes what options own. */
BlockNode *block_node_new(Vm *vm, BlockNodeOptions *options, BlockNode *on, GError **error);
void block_node_options_clear(BlockNodeOptions *options);
BlockNode *block_node_find(Vm *vm, const char *name);
BlockNode *block_node_ref(BlockNode *node);
void block_node_unref(BlockNode *node);

/* The end of the VM. */
void block_nodes_remove_all(Vm *vm);

/* arguments: those of blockdev-add, as JSON. Errors are QEMU's; a failure leaves nothing behind. */
gboolean blockdev_add(Vm *vm, JsonSlice arguments, GError **error);
gboolean blockdev_del(Vm *vm, const char *name, GError **error);

/* ---- disks ---- */

typedef struct BlockAttachment {
    BlockNode *node;
    BlockDisk *disk;
    gboolean writeback;
    const char *io_status;                    /* "ok", "failed", "nospace" */
    void (*quiesced)(Vm *vm, Object *device); /* see block_quiesce() */
    Object *device;
    gboolean is_unused; /* it is closed, and its last user let go */
} BlockAttachment;

typedef struct BlockDiskOptions {
    BlockLoop *loop; /* where its I/O is done */
    BlockStatsOptions stats;
    BlockOnError on_read_error, on_write_error;
    gboolean writeback, share_rw;
} BlockDiskOptions;

/* The disk that a node belongs to begins or ends; shown in blockstats/. NULL where others write to it. */
BlockAttachment *block_attach(Vm *vm, BlockNode *node, Object *disk, const BlockDiskOptions *options, GError **error);
void block_detach(Vm *vm, BlockAttachment *attachment);
/* The disk at work of a device ("disk0", a path, or one inside it); NULL: it is none. */
BlockDisk *block_disk_of(Vm *vm, const char *name);

/* All disks stop, or go on. */
void block_set_paused(Vm *vm, gboolean paused);
/* Lets all disks come to their end, on the main loop's thread when it no longer runs. */
void block_end_all(Vm *vm);

/* A device goes: its disk, if it is one, takes no more requests. TRUE: those that there were are done; else the
 * function will be called, in a job of its own, when they are. */
typedef void (*BlockQuiesced)(Vm *vm, Object *device);
gboolean block_quiesce(Vm *vm, Object *device, BlockQuiesced then);
/* Whether that has begun. */
gboolean block_is_quiescing(Vm *vm, const Object *device);

/* The view of all disks' statistics. previous: the one before, or NULL. */
Node *block_view_new(Vm *vm, const Node *previous, guint64 stamp);
