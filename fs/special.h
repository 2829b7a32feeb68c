/* SPDX-License-Identifier: MIT */
/* Special files: what stands in directories without being a property. One row each. */
#pragma once

#include "fs/context.h"
#include "objmodel/node.h"

typedef struct SpecialFile SpecialFile;
struct SpecialFile {
    const char *name;
    const char *help;
    guint ino_offset; /* added to the directory's number; below NODE_INOS */
    gboolean symlink;
    gboolean stream; /* it grows while it is open: read through pollers.c */
    gboolean (*exists)(const Fs *fs, const Node *dir);
    gboolean (*listed)(const Fs *fs);                            /* NULL: where it exists */
    guint64 (*version)(const Node *dir);                         /* of its content; 0: it moves by itself */
    gsize (*size)(const Fs *fs, const Node *dir);                /* NULL: what content gives */
    void (*content)(const Fs *fs, const Node *dir, Pieces *out); /* borrows from dir; of a symlink: the target */
};

extern const SpecialFile special_files[];
extern const guint n_special_files;
