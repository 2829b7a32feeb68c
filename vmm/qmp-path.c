/* SPDX-License-Identifier: MIT */
/*
 * See qmp-path.h. Nodes do not know their parents, so that versions can share them: an
 * object's own path is noted on the way down. Only where a path went through a link, or was
 * partial, the object has to be looked for.
 */
#include "vmm/qmp-path.h"

#include <string.h>

#include "objmodel/name.h"
#include "objmodel/path.h"

void qmp_path_append(GString *json_path, const Node *node)
{
    g_string_append_c(json_path, '/');
    g_string_append_len(json_path, node->json_name.text + 1, (gssize)node->json_name.length - 2);
}

/* Nearly all names are their own file names, and need no memory. */
static const Node *find_child(const Node *node, const char *name, gsize length)
{
    char plain[FILE_NAME_MAX + 1];
    g_autofree char *encoded = NULL;

    if (file_name_is_plain(name, length)) {
        memcpy(plain, name, length);
        plain[length] = '\0';
    } else {
        encoded = file_name_encode(name, length);
    }
    return children_find(node->children, encoded != NULL ? encoded : plain);
}

/* Follows an absolute path through children only; NULL where that does not lead on. */
static const Node *walk_children(const Node *root, const char *path, GString *json_path)
{
    const Node *node = root;

    while (node != NULL && *path != '\0') {
        gsize length = strcspn(path, "/");

        if (length > 0) {
            node = find_child(node, path, length);
            if (node != NULL && json_path != NULL) {
                qmp_path_append(json_path, node);
            }
        }
        path += length + (path[length] == '/');
    }
    return node;
}

/* Appends the path from `from` to `wanted`; FALSE where that is not below it. */
static gboolean find_path(const Node *from, const Node *wanted, GString *json_path)
{
    ChildrenIter iter = children_iter(from->children, 0);
    const Node *child;
    gsize length = json_path->len;

    if (from == wanted) {
        return TRUE;
    }
    while ((child = children_next(&iter)) != NULL) {
        qmp_path_append(json_path, child);
        if (find_path(child, wanted, json_path)) {
            return TRUE;
        }
        g_string_truncate(json_path, length);
    }
    return FALSE;
}

const Node *qmp_path_resolve(const Node *root, const char *path, GString *json_path, GError **error)
{
    gsize length = json_path != NULL ? json_path->len : 0;
    const Node *node = path[0] == '/' ? walk_children(root, path, json_path) : NULL;

    if (node != NULL) {
        return node;
    }
    node = path_resolve(root, path, error);
    if (node != NULL && json_path != NULL) {
        g_string_truncate(json_path, length);
        find_path(root, node, json_path);
    }
    return node;
}

/* ---- in file names ---- */

static void append_file_name(GString *file_path, const Node *node)
{
    g_string_append_c(file_path, '/');
    g_string_append(file_path, node->name);
}

/* Appends the path from `from` to `wanted`; FALSE where that is not below it. */
static gboolean locate(const Node *from, const Node *wanted, GString *file_path)
{
    ChildrenIter iter = children_iter(from->children, 0);
    const Node *child;
    gsize length = file_path->len;

    if (from == wanted) {
        return TRUE;
    }
    while ((child = children_next(&iter)) != NULL) {
        append_file_name(file_path, child);
        if (locate(child, wanted, file_path)) {
            return TRUE;
        }
        g_string_truncate(file_path, length);
    }
    return FALSE;
}

gboolean qmp_path_locate(const Node *root, const char *path, GString *file_path)
{
    const Node *node = root, *child = root;
    gsize start = file_path->len;

    for (const char *at = path; path[0] == '/' && *at != '\0' && child != NULL;) {
        gsize length = strcspn(at, "/");

        child = length > 0 ? find_child(node, at, length) : node;
        if (length > 0 && child != NULL) {
            append_file_name(file_path, child);
            node = child;
        }
        at += length + (at[length] == '/');
    }
    if (path[0] == '/' && child != NULL) {
        return TRUE;
    }
    node = path_resolve(root, path, NULL);
    if (node == NULL) {
        return FALSE;
    }
    g_string_truncate(file_path, start);
    return locate(root, node, file_path);
}
