/* SPDX-License-Identifier: MIT */
/* Filling in what the kernel is told of an item; for LOOKUP and READDIRPLUS. */
#pragma once

#include "fs/inode.h"

/* The entry of an item in a directory; its inode is counted as looked up. writer: for who is to
 * write to it, see VERSION_OF_WRITERS. */
void lookup_entry(Fs *fs, Inode *parent, const Item *item, gboolean writer, struct fuse_entry_param *ret);
