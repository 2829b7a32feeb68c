/* SPDX-License-Identifier: MIT */
/* Symlinks. Called from item.c and read.c by any thread. */
#include "fs/link.h"

#include <limits.h>
#include <string.h>

#include "objmodel/name.h"

/* The longest text of a symlink, and the longest value of which the target cannot exceed it. */
enum { TARGET_MAX = PATH_MAX - 1, SURELY_SHORT = 512 };

gboolean link_is_symlink(const Node *dir, guint slot, guint depth)
{
    if (!node_slot_is_link(dir, slot))
        return FALSE;
    if (node_slot_value(dir, slot).length <= SURELY_SHORT && depth <= SURELY_SHORT)
        return TRUE;
    g_autofree char *target = link_target(dir, slot, depth);
    return strlen(target) <= TARGET_MAX;
}

char *link_target(const Node *dir, guint slot, guint depth)
{
    gsize length;
    g_autofree char *path = json_string_dup(node_slot_value(dir, slot), &length);
    GString *target = g_string_new(NULL);
    for (guint i = 0; i < depth; i++)
        g_string_append(target, i + 1 < depth ? "../" : "..");
    for (const char *part = path, *end = path + length; part < end;) {
        const char *slash = memchr(part, '/', (gsize)(end - part));
        const char *stop = slash ? slash : end;
        if (stop > part) {
            g_autofree char *name = file_name_encode(part, (gsize)(stop - part));
            if (target->len > 0)
                g_string_append_c(target, '/');
            g_string_append(target, name);
        }
        part = stop + 1;
    }
    if (target->len == 0)
        g_string_append_c(target, '.');
    return g_string_free(target, FALSE);
}
