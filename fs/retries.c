/* SPDX-License-Identifier: MIT */
/* Retries: nearly always empty, which is told without the lock. */
#include "fs/retries.h"

/* A caller that is killed between ESTALE and its second OPEN leaves an entry; past this
 * many all are dropped, at the worst for a few open(2) that fail with ESTALE. */
enum { EXPECTED_MAX = 4096 };

typedef struct Expected {
    guint64 ino;
    pid_t thread;
    gboolean writer;
    Node *dir; /* owned, or NULL */
} Expected;

struct Retries {
    GMutex lock;
    GHashTable *expected; /* a set of Expected */
    gint count;           /* of them, atomic */
};

static guint expected_hash(gconstpointer key)
{
    const Expected *expected = key;
    return (guint)expected->ino * 31 + (guint)expected->thread;
}

static gboolean expected_equal(gconstpointer a, gconstpointer b)
{
    const Expected *left = a, *right = b;
    return left->ino == right->ino && left->thread == right->thread;
}

static void expected_free(gpointer data)
{
    Expected *expected = data;
    node_unref(expected->dir);
    g_free(expected);
}

Retries *retries_new(void)
{
    Retries *retries = g_new0(Retries, 1);
    g_mutex_init(&retries->lock);
    retries->expected = g_hash_table_new_full(expected_hash, expected_equal, expected_free, NULL);
    return retries;
}

void retries_free(Retries *retries)
{
    if (!retries)
        return;
    g_hash_table_unref(retries->expected);
    g_mutex_clear(&retries->lock);
    g_free(retries);
}

/* With the lock held, after each change. */
static void retries_count(Retries *retries)
{
    g_atomic_int_set(&retries->count, (gint)g_hash_table_size(retries->expected));
}

void retries_expect(Retries *retries, pid_t thread, guint64 ino, gboolean writer)
{
    Expected *expected = g_new(Expected, 1);
    *expected = (Expected){.ino = ino, .thread = thread, .writer = writer};
    g_mutex_lock(&retries->lock);
    if (g_hash_table_size(retries->expected) >= EXPECTED_MAX)
        g_hash_table_remove_all(retries->expected);
    g_hash_table_add(retries->expected, expected);
    retries_count(retries);
    g_mutex_unlock(&retries->lock);
}

void retries_looked_up(Retries *retries, pid_t thread, guint64 ino, const Node *dir)
{
    if (g_atomic_int_get(&retries->count) == 0)
        return;
    Expected key = {.ino = ino, .thread = thread};
    g_autoptr(Node) before = NULL;
    g_mutex_lock(&retries->lock);
    Expected *expected = g_hash_table_lookup(retries->expected, &key);
    if (expected) {
        before = expected->dir;
        expected->dir = node_ref(dir);
    }
    g_mutex_unlock(&retries->lock);
}

/* What is expected of the thread, as bits; 0: nothing. */
static guint retries_look(Retries *retries, pid_t thread, guint64 ino)
{
    enum { EXPECTED = 1, WRITER = 2 };
    if (g_atomic_int_get(&retries->count) == 0)
        return 0;
    Expected key = {.ino = ino, .thread = thread};
    g_mutex_lock(&retries->lock);
    const Expected *expected = g_hash_table_lookup(retries->expected, &key);
    guint found = expected ? EXPECTED | (expected->writer ? WRITER : 0) : 0;
    g_mutex_unlock(&retries->lock);
    return found;
}

gboolean retries_expected(Retries *retries, pid_t thread, guint64 ino)
{
    return retries_look(retries, thread, ino) != 0;
}

gboolean retries_expect_writer(Retries *retries, pid_t thread, guint64 ino)
{
    return retries_look(retries, thread, ino) > 1;
}

gboolean retries_take(Retries *retries, pid_t thread, guint64 ino, Node **ret_dir)
{
    if (g_atomic_int_get(&retries->count) == 0)
        return FALSE;
    Expected key = {.ino = ino, .thread = thread};
    g_mutex_lock(&retries->lock);
    Expected *expected = g_hash_table_lookup(retries->expected, &key);
    if (expected) {
        g_hash_table_steal(retries->expected, expected);
        retries_count(retries);
    }
    g_mutex_unlock(&retries->lock);
    if (!expected)
        return FALSE;
    *ret_dir = g_steal_pointer(&expected->dir);
    expected_free(expected);
    return TRUE;
}
