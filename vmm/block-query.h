/* SPDX-License-Identifier: MIT */
/*
 * The answers of query-block and query-named-block-nodes. What they need is kept aside whenever nodes or disks change,
 * so that any thread can answer without the main loop.
 */
#pragma once

#include "vmm/vm.h"

typedef struct BlockList BlockList;

/* The main loop: what there is now. */
BlockList *block_list_new(Vm *vm);
BlockList *block_list_ref(BlockList *list);
void block_list_unref(BlockList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockList, block_list_unref)

/* Any thread: appends a list of BlockInfo, of BlockDeviceInfo. */
void block_list_append_disks(const BlockList *list, GString *out);
void block_list_append_nodes(const BlockList *list, GString *out);

/* Any thread: the newest list; a new reference. */
BlockList *vm_block_list(Vm *vm);
