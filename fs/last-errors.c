/* SPDX-License-Identifier: MIT */
/* See last-errors.h. */
#include "fs/last-errors.h"

/* Files whose last error is remembered. */
enum { ERRORS_MAX = 1024 };

struct LastErrors {
    GMutex lock;
    GHashTable *messages; /* guint64 ino -> string */
};

LastErrors *last_errors_new(void)
{
    LastErrors *errors = g_new0(LastErrors, 1);
    g_mutex_init(&errors->lock);
    errors->messages = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    return errors;
}

void last_errors_free(LastErrors *errors)
{
    if (!errors)
        return;
    g_hash_table_unref(errors->messages);
    g_mutex_clear(&errors->lock);
    g_free(errors);
}

char *last_errors_get(LastErrors *errors, guint64 ino)
{
    g_mutex_lock(&errors->lock);
    char *message = g_strdup(g_hash_table_lookup(errors->messages, &ino));
    g_mutex_unlock(&errors->lock);
    return message;
}

void last_errors_set(LastErrors *errors, guint64 ino, const GError *error)
{
    g_mutex_lock(&errors->lock);
    if (error) {
        if (g_hash_table_size(errors->messages) >= ERRORS_MAX)
            g_hash_table_remove_all(errors->messages);
        g_hash_table_insert(errors->messages, g_memdup2(&ino, sizeof(ino)), g_strdup(error->message));
    } else {
        g_hash_table_remove(errors->messages, &ino);
    }
    g_mutex_unlock(&errors->lock);
}
