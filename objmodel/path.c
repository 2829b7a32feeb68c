/* SPDX-License-Identifier: MIT */
/* Paths: resolved component by component; a partial one is tried from every object. */
#include "objmodel/path.h"

#include <string.h>

#include "objmodel/error.h"
#include "objmodel/name.h"

/* Links may point at each other in circles, or each twice through the one before, though no path of a VM does:
 * so many are followed in one path, those inside links' own paths included. */
enum { LINKS_MAX = 64 };

void path_parts_init(PathParts *parts, const char *path, char *(*name)(const char *text, gsize length))
{
    *parts = (PathParts){.rest = path, .name = name, .names = g_ptr_array_new_with_free_func(g_free)};
}

void path_parts_clear(PathParts *parts)
{
    g_clear_pointer(&parts->names, g_ptr_array_unref);
}

const char *path_parts_get(PathParts *parts, guint i)
{
    while (parts->names->len <= i) {
        gsize length;

        parts->rest += strspn(parts->rest, "/");
        length = strcspn(parts->rest, "/");
        if (length == 0)
            return NULL;
        g_ptr_array_add(parts->names, parts->name(parts->rest, length));
        parts->rest += length;
    }
    return parts->names->pdata[i];
}

static const Node *resolve_parts(const Node *root, const Node *from, PathParts *parts, guint *links);

/* The object that a link points at, or NULL. */
static const Node *resolve_link(const Node *root, const Node *node, guint slot, guint *links)
{
    if (!node_slot_is_link(node, slot) || (*links)++ >= LINKS_MAX)
        return NULL;
    g_autofree char *target = json_string_dup(node_slot_value(node, slot), NULL);
    g_auto(PathParts) parts;
    path_parts_init(&parts, target, file_name_encode);
    return resolve_parts(root, root, &parts, links);
}

static const Node *resolve_part(const Node *root, const Node *from, const char *name, guint *links)
{
    const Node *child = children_find(from->children, name);
    if (child)
        return child;
    int slot = node_find_slot(from, name);
    return slot < 0 ? NULL : resolve_link(root, from, (guint)slot, links);
}

static const Node *resolve_parts(const Node *root, const Node *from, PathParts *parts, guint *links)
{
    const char *name;
    for (guint i = 0; from && (name = path_parts_get(parts, i)); i++)
        from = resolve_part(root, from, name, links);
    return from;
}

typedef struct Search {
    const Node *root;
    PathParts parts;
    const Node *found;
    gboolean ambiguous;
} Search;

static void search_from(Search *search, const Node *from)
{
    guint links = 0;
    const Node *found = resolve_parts(search->root, from, &search->parts, &links);
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
    Search search = {.root = root};
    guint links = 0;
    path_parts_init(&search.parts, path, file_name_encode);
    if (path[0] == '/')
        search.found = resolve_parts(root, root, &search.parts, &links);
    else
        search_from(&search, root);
    path_parts_clear(&search.parts);
    if (search.ambiguous) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_AMBIGUOUS, "Path '%s' is ambiguous", path);
        return NULL;
    }
    if (!search.found)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "Device '%s' not found", path);
    return search.found;
}
