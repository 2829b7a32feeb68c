/* SPDX-License-Identifier: MIT */
/* Symlinks. Called from item.c and read.c by any thread. */
#include "fs/link.h"

#include <string.h>

#include "objmodel/name.h"

char *link_target(const Node *dir, guint slot, guint depth)
{
    g_autofree char *path = json_string_dup(node_slot_value(dir, slot), NULL);
    g_auto(GStrv) parts = g_strsplit(path, "/", 0);
    GString *target = g_string_new(NULL);
    for (guint i = 0; i < depth; i++)
        g_string_append(target, i + 1 < depth ? "../" : "..");
    for (char **part = parts; *part; part++) {
        if (!**part)
            continue;
        g_autofree char *name = file_name_encode(*part, strlen(*part));
        if (target->len > 0)
            g_string_append_c(target, '/');
        g_string_append(target, name);
    }
    if (target->len == 0)
        g_string_append_c(target, '.');
    return g_string_free(target, FALSE);
}
