/* SPDX-License-Identifier: MIT */
/* See permits.h. */
#include "vmm/share/permits.h"

#include "qmp/message.h"

struct Permits {
    GHashTable *names; /* permitted; or NULL: all but refused[] */
};

/* What ends the VM for all others by a single word, and what is another language, in which all else can be said. */
static const char *const refused[] = {"quit", "human-monitor-command", NULL};

Permits *permits_new(const char *list)
{
    Permits *permits = g_new0(Permits, 1);
    g_auto(GStrv) names = list != NULL ? g_strsplit(list, ":", -1) : NULL;

    if (names != NULL) {
        permits->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        /* No session begins without it. */
        g_hash_table_add(permits->names, g_strdup("qmp_capabilities"));
    }
    for (char **name = names; name != NULL && *name != NULL; name++) {
        g_hash_table_add(permits->names, g_strdup(*name));
    }
    return permits;
}

void permits_free(Permits *permits)
{
    if (permits != NULL) {
        g_clear_pointer(&permits->names, g_hash_table_unref);
        g_free(permits);
    }
}

gboolean permits_has(const Permits *permits, const char *command)
{
    return permits->names != NULL ? g_hash_table_contains(permits->names, command) : !g_strv_contains(refused, command);
}

gboolean permits_refuse(const char *command, GError **error)
{
    g_autofree char *shown = qmp_shown(command);

    g_set_error(error, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND, "'%s' is not permitted here: see --share of qomfs",
                shown);
    return FALSE;
}

gboolean command_takes_fds(const char *command)
{
    static const char *const names[] = {"getfd", "add-fd", NULL};

    return g_strv_contains(names, command);
}
