/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes: what is known of a property beside its value. Those of a symlink stand
 * on its directory, with the link's name behind a dot, for the kernel has no user.* on
 * symlinks. Any other name is EOPNOTSUPP, upon which ls(1) stops asking for each file.
 */
#include <errno.h>
#include <linux/limits.h>
#include <string.h>

#include "fs/inode.h"
#include "fs/operations.h"
#include "fs/last-errors.h"
#include "objmodel/name.h"

#define PREFIX "user.qom."

/* What an attribute is asked of: a property, or a directory where slot is -1. */
typedef struct Subject {
    Fs *fs;
    const Node *node;
    int slot;
} Subject;

static gboolean append_text(GString *out, const char *text)
{
    if (text)
        g_string_append(out, text);
    return text != NULL;
}

/* A value as its file shows it, but for the newline. */
static gboolean append_value(GString *out, JsonSlice value)
{
    if (!value.length)
        return FALSE;
    value_append_file(value, out);
    g_string_truncate(out, out->len - 1);
    return TRUE;
}

static gboolean get_type(const Subject *subject, GString *out)
{
    if (subject->slot < 0)
        return append_value(out, node_type(subject->node));
    return append_text(out, node_slot_info(subject->node, (guint)subject->slot)->type);
}

static gboolean get_description(const Subject *subject, GString *out)
{
    return subject->slot >= 0 && append_text(out, node_slot_info(subject->node, (guint)subject->slot)->description);
}

static gboolean get_default(const Subject *subject, GString *out)
{
    const char *json = subject->slot < 0 ? NULL : node_slot_info(subject->node, (guint)subject->slot)->default_value;
    return json && append_value(out, (JsonSlice){json, strlen(json)});
}

/* Why it could not be asked for or written last, or cannot be read. */
static gboolean get_error(const Subject *subject, GString *out)
{
    if (subject->slot < 0)
        return FALSE;
    guint slot = (guint)subject->slot;
    guint64 ino = node_slot_ino(subject->node, slot);
    g_autofree char *fetched = last_errors_get(subject->fs->fetch_errors, ino);
    g_autofree char *written = last_errors_get(subject->fs->write_errors, ino);
    if (fetched)
        return append_text(out, fetched);
    if (written)
        return append_text(out, written);
    if (node_slot_info(subject->node, slot)->flags & SLOT_SECRET)
        return append_text(out, "a secret is not shown");
    /* Of a file in a folder only a sample tells whether there is a value. */
    g_autoptr(Node) now = subject->node->kind == NODE_VALUE ? node_sample(subject->node) : node_ref(subject->node);
    if (node_slot_value(now, slot).length)
        return FALSE;
    const char *reason = node_slot_error(now, slot);
    return append_text(out, reason ? reason : "the source gave no value");
}

/* The whole name of what has too long a one for a file. */
static gboolean get_name(const Subject *subject, GString *out)
{
    const Node *node = subject->node;
    const char *file_name = subject->slot < 0 ? node->name : node_slot_info(node, (guint)subject->slot)->name;
    g_autofree char *undone = file_name_decode(file_name, NULL);
    if (undone || node->kind != NODE_OBJECT)
        return FALSE;
    if (subject->slot < 0)
        return append_value(out, node->json_name);
    return append_value(out, json_member(node_slot_entry(node, (guint)subject->slot), "name"));
}

static const struct Attribute {
    const char *name;
    gboolean (*get)(const Subject *subject, GString *out);
} attributes[] = {
    {"type", get_type}, {"description", get_description}, {"default", get_default}, {"error", get_error},
    {"name", get_name},
};

/* Calls get for the attribute with this name, without the prefix, of what the inode is. */
static gboolean get_attribute(Fs *fs, const Inode *inode, const Node *node, int slot, const char *name, GString *out)
{
    for (guint i = 0; i < G_N_ELEMENTS(attributes); i++) {
        gsize length = strlen(attributes[i].name);
        if (strncmp(attributes[i].name, name, length))
            continue;
        if (!name[length])
            return attributes[i].get(&(Subject){fs, node, slot}, out);
        int link = inode->kind == ITEM_DIR && name[length] == '.' ? node_find_slot(node, &name[length + 1]) : -1;
        if (link >= 0 && node_slot_is_link(node, (guint)link))
            return attributes[i].get(&(Subject){fs, node, link}, out);
    }
    return FALSE;
}

/* What an inode is by now: the directory's node, or the node and slot of a file. FALSE: it has
 * no attributes. */
static gboolean inode_subject(const Fs *fs, const Inode *inode, const Snapshot *snapshot, const Node **ret_node,
                              int *ret_slot)
{
    Item item;
    *ret_slot = -1;
    if (inode->kind == ITEM_DIR) {
        *ret_node = inode_node(inode, snapshot);
        return *ret_node != NULL;
    }
    if (!inode_item(fs, inode, snapshot, &item) || item.kind != ITEM_FILE)
        return FALSE;
    *ret_node = item.dir;
    *ret_slot = (int)item.slot;
    return TRUE;
}

/* Replies: xattr or buf, err (ERANGE), for text that was asked for with this much room. */
static void reply_sized(fuse_req_t req, const GString *text, size_t size)
{
    if (size == 0)
        fuse_reply_xattr(req, text->len);
    else if (text->len > size)
        fuse_reply_err(req, ERANGE);
    else
        fuse_reply_buf(req, text->str, text->len);
}

/* Replies: xattr, buf, err (EOPNOTSUPP, ENODATA, ERANGE). */
void op_getxattr(fuse_req_t req, fuse_ino_t id, const char *name, size_t size)
{
    Fs *fs = fs_of(req);
    const Inode *inode = inode_from_id(fs, id);
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    g_autoptr(GString) value = g_string_new(NULL);
    const Node *node;
    int slot;
    if (!g_str_has_prefix(name, "user."))
        fuse_reply_err(req, EOPNOTSUPP);
    else if (!g_str_has_prefix(name, PREFIX) || !inode_subject(fs, inode, snapshot, &node, &slot) ||
             !get_attribute(fs, inode, node, slot, name + strlen(PREFIX), value))
        fuse_reply_err(req, ENODATA);
    else
        reply_sized(req, value, size);
}

/* Appends the names of what there is of a subject, NUL-terminated; not what the kernel could not
 * ask for, nor more than it takes. */
static void list_attributes(const Subject *subject, const char *suffix, GString *out)
{
    g_autoptr(GString) value = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(attributes); i++) {
        g_string_truncate(value, 0);
        if (!attributes[i].get(subject, value))
            continue;
        g_autofree char *name = g_strconcat(PREFIX, attributes[i].name, suffix ? "." : NULL, suffix, NULL);
        gsize size = strlen(name) + 1;
        if (size <= XATTR_NAME_MAX + 1 && value->len <= XATTR_SIZE_MAX && out->len + size <= XATTR_LIST_MAX)
            g_string_append_len(out, name, (gssize)size);
    }
}

/* Replies: xattr, buf, err (ERANGE). */
void op_listxattr(fuse_req_t req, fuse_ino_t id, size_t size)
{
    Fs *fs = fs_of(req);
    const Inode *inode = inode_from_id(fs, id);
    g_autoptr(Snapshot) snapshot = snapshots_current(fs->snapshots);
    g_autoptr(GString) names = g_string_new(NULL);
    const Node *node;
    int slot;
    if (inode_subject(fs, inode, snapshot, &node, &slot)) {
        list_attributes(&(Subject){fs, node, slot}, NULL, names);
        for (guint link = 0; slot < 0 && link < node_slot_count(node); link++)
            if (node_slot_is_link(node, link))
                list_attributes(&(Subject){fs, node, (int)link}, node_slot_info(node, link)->name, names);
    }
    reply_sized(req, names, size);
}
