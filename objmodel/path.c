/* SPDX-License-Identifier: MIT */
/* Paths: resolved component by component; a partial one is tried from every object. */
#include "objmodel/path.h"

#include <string.h>

#include "objmodel/error.h"
#include "objmodel/name.h"

/* Links may point at each other in circles, or each twice through the one before, though no path of a VM does:
 * so many are followed in one path, those inside links' own paths included. */
enum { LINKS_MAX = 64 };

static const Node *resolve_parts(const Node *root, const Node *from, char **parts, guint *links);

/* The object that a link points at, or NULL. */
static const Node *resolve_link(const Node *root, const Node *node, guint slot, guint *links)
{
    if (!node_slot_is_link(node, slot) || (*links)++ >= LINKS_MAX)
        return NULL;
    g_autofree char *target = json_string_dup(node_slot_value(node, slot), NULL);
    g_auto(GStrv) parts = g_strsplit(target, "/", 0);
    return resolve_parts(root, root, parts, links);
}

static const Node *resolve_part(const Node *root, const Node *from, const char *part, guint *links)
{
    g_autofree char *name = file_name_encode(part, strlen(part));
    const Node *child = children_find(from->children, name);
    if (child)
        return child;
    int slot = node_find_slot(from, name);
    return slot < 0 ? NULL : resolve_link(root, from, (guint)slot, links);
}

static const Node *resolve_parts(const Node *root, const Node *from, char **parts, guint *links)
{
    for (; from && *parts; parts++)
        if (**parts)
            from = resolve_part(root, from, *parts, links);
    return from;
}

typedef struct Search {
    const Node *root;
    char **parts;
    const Node *found;
    gboolean ambiguous;
} Search;

static void search_from(Search *search, const Node *from)
{
    guint links = 0;
    const Node *found = resolve_parts(search->root, from, search->parts, &links);
    if (found && search->found)
        search->ambiguous = TRUE;
    if (found)
        search->found = found;
    ChildrenIter iter = children_iter(from->children, 0);
    for (const Node *child; !search->ambiguous && (child = children_next(&iter));)
        search_from(search, child);
}

const Node *path_resolve(const Node *root, const char *path, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", 0);
    Search search = {.root = root, .parts = parts};
    guint links = 0;
    if (path[0] == '/')
        search.found = resolve_parts(root, root, parts, &links);
    else
        search_from(&search, root);
    if (search.ambiguous) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_AMBIGUOUS, "Path '%s' is ambiguous", path);
        return NULL;
    }
    if (!search.found)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "Device '%s' not found", path);
    return search.found;
}
