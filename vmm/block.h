/* SPDX-License-Identifier: MIT */
/*
 * Block nodes: what disks keep their data in. A node may stand on another one, its parent to
 * query-blockstats. The main loop, but for what says otherwise.
 */
#pragma once

#include "vmm/block-stats.h"
#include "vmm/vm.h"

typedef struct BlockNode {
    char *name;
    guint64 size; /* bytes */
    BlockStats *stats;
    struct BlockNode *file; /* what it stands on, or NULL; a reference */
    Object *user;           /* the disk that it is the root node of; or NULL */
    guint refs;
} BlockNode;

/* A node without data ("null-co"); what is read are zeros. The VM keeps it. */
BlockNode *block_node_new(Vm *vm, const char *name, guint64 size);
/* A node that stands on another and shows the same ("raw"). */
BlockNode *block_node_new_raw(Vm *vm, const char *name, BlockNode *file);
BlockNode *block_node_find(Vm *vm, const char *name);
void block_node_unref(BlockNode *node);

/* The disk that a node belongs to begins or ends; shown in blockstats/. */
void block_attach(Vm *vm, BlockNode *node, Object *disk);
void block_detach(Vm *vm, BlockNode *node);

/* The view of all disks' statistics. previous: the one before, or NULL. */
Node *block_view_new(Vm *vm, const Node *previous, guint64 stamp);
