/* SPDX-License-Identifier: MIT */
/* Special files: what stands in directories without being a property. One row each. */
#pragma once

#include "fs/context.h"
#include "objmodel/node.h"

struct SpecialFile {
    const char *name;
    const char *help;
    /* Number added to the directory's to give the inode number. */
    guint ino_offset;
    gboolean (*listed)(const Fs *fs, const Node *dir);
    gboolean (*moves)(const Node *dir);
    guint64 (*version)(const Node *dir);
    gsize (*size)(const Node *dir);
    void (*append)(const Node *dir, GString *out);
};

extern const struct SpecialFile special_files[];
extern const guint n_special_files;
