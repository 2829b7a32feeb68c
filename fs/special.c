/* SPDX-License-Identifier: MIT */
/* The table of special files. Called from item.c by any thread. */
#include "fs/item.h"
#include "fs/special.h"

static gboolean tree_listed(const Fs *fs, const Node *dir)
{
    (void)dir;
    return !fs->options->hide_tree;
}

static gboolean tree_moves(const Node *dir)
{
    return dir->tree_moving;
}

static guint64 tree_version(const Node *dir)
{
    return dir->tree_stamp;
}

static void tree_append(const Node *dir, GString *out)
{
    node_append_tree(dir, out);
    g_string_append_c(out, '\n');
}

static gsize tree_size(const Node *dir)
{
    if (!dir->tree_moving)
        return node_tree_size(dir) + 1;
    g_autoptr(GString) content = g_string_sized_new(node_tree_size(dir));
    tree_append(dir, content);
    return content->len;
}

const SpecialFile special_files[] = {
    {.name = ".tree.json",
     .help = "this directory and all below it as JSON, in one read",
     .ino_offset = 1,
     .listed = tree_listed,
     .moves = tree_moves,
     .version = tree_version,
     .size = tree_size,
     .append = tree_append},
};
const guint n_special_files = G_N_ELEMENTS(special_files);
