/* SPDX-License-Identifier: MIT */
/* The table of special files. Called from item.c by any thread. */
#include "fs/special.h"

#include <string.h>

/* ---- .tree.json ---- */

static gboolean has_tree(const Fs *fs, const Node *dir)
{
    (void)fs;
    return dir->kind != NODE_FOLDER;
}

static gboolean tree_listed(const Fs *fs)
{
    return !fs->options->hide_tree;
}

static guint64 tree_version(const Node *dir)
{
    return dir->tree_moving ? 0 : dir->tree_stamp;
}

static void tree_content(const Fs *fs, const Node *dir, Pieces *out)
{
    (void)fs;
    node_tree_pieces(dir, out);
    pieces_add(out, "\n", 1);
}

static gsize tree_size(const Fs *fs, const Node *dir)
{
    (void)fs;
    if (!dir->tree_moving)
        return node_tree_size(dir) + 1;
    g_autoptr(GString) content = g_string_sized_new(node_tree_size(dir));
    node_append_tree(dir, content);
    return content->len + 1;
}

/* ---- events ---- */

static gboolean is_root(const Node *dir)
{
    return dir->kind == NODE_MAP;
}

static gboolean events_exist(const Fs *fs, const Node *dir)
{
    return is_root(dir) && fs->options->events;
}

static guint64 moves(const Node *dir)
{
    (void)dir;
    return 0;
}

static gsize events_size(const Fs *fs, const Node *dir)
{
    (void)dir;
    guint64 start = event_log_start(fs->options->events);
    return event_log_end(fs->options->events) - start;
}

/* ---- qmp ---- */

static gboolean qmp_exists(const Fs *fs, const Node *dir)
{
    return is_root(dir) && fs->options->qmp;
}

static guint64 qmp_version(const Node *dir)
{
    return dir->names_stamp;
}

static void qmp_content(const Fs *fs, const Node *dir, Pieces *out)
{
    (void)dir;
    pieces_add(out, fs->options->qmp, strlen(fs->options->qmp));
}

const SpecialFile special_files[] = {
    {.name = ".tree.json",
     .help = "this directory and all below it as JSON, in one read",
     .ino_offset = 1,
     .exists = has_tree,
     .listed = tree_listed,
     .version = tree_version,
     .size = tree_size,
     .content = tree_content},
    {.name = "events",
     .help = "a growing log of events, one JSON object a line",
     .ino_offset = 2,
     .stream = TRUE,
     .exists = events_exist,
     .version = moves,
     .size = events_size},
    {.name = "qmp",
     .help = "a link to the companion QMP socket",
     .ino_offset = 3,
     .symlink = TRUE,
     .exists = qmp_exists,
     .version = qmp_version,
     .content = qmp_content},
};
const guint n_special_files = G_N_ELEMENTS(special_files);
