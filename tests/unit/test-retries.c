/* SPDX-License-Identifier: MIT */
/* fs/retries.c: who is expected to open anew, and what it then gets. */
#include "fs/retries.h"
#include "nodes.h"

static Node *dir_new(void)
{
    return node_new(&(NodeSpec){.kind = NODE_LIST, .name = "dir", .stamp = 1});
}

static void test_not_expected(void)
{
    Retries *retries = retries_new();
    g_autoptr(Node) dir = dir_new();
    Node *found = dir;

    g_assert_false(retries_expected(retries, 1, 10));
    retries_looked_up(retries, 1, 10, dir);
    g_assert_false(retries_take(retries, 1, 10, &found));
    g_assert_true(found == dir); /* untouched */
    retries_free(retries);
    retries_free(NULL);
}

static void test_expected(void)
{
    Retries *retries = retries_new();
    g_autoptr(Node) first = dir_new(), second = dir_new();
    g_autoptr(Node) found = NULL;

    retries_expect(retries, 1, 10, FALSE);
    g_assert_true(retries_expected(retries, 1, 10));
    g_assert_false(retries_expected(retries, 2, 10));
    g_assert_false(retries_expected(retries, 1, 11));
    retries_looked_up(retries, 1, 10, first);
    retries_looked_up(retries, 1, 10, second); /* the newest counts */
    retries_looked_up(retries, 2, 10, first);  /* another thread, */
    retries_looked_up(retries, 1, 11, first);  /* another file */
    g_assert_false(retries_take(retries, 2, 10, &found));
    g_assert_false(retries_take(retries, 1, 11, &found));
    g_assert_null(found);
    g_assert_true(retries_take(retries, 1, 10, &found));
    g_assert_true(found == second);
    g_assert_false(retries_expected(retries, 1, 10));
    g_assert_false(retries_take(retries, 1, 10, &found)); /* once */
    g_assert_true(found == second);
    retries_free(retries);
}

/* It opens without having looked the name up: nothing was found. */
static void test_no_lookup(void)
{
    Retries *retries = retries_new();
    g_autoptr(Node) dir = dir_new();
    Node *found = dir;

    retries_expect(retries, 1, 10, FALSE);
    g_assert_true(retries_take(retries, 1, 10, &found));
    g_assert_null(found);
    retries_free(retries);
}

/* Answered ESTALE once more: what the first look-up found counts no longer. */
static void test_expected_again(void)
{
    Retries *retries = retries_new();
    g_autoptr(Node) dir = dir_new();
    Node *found = dir;

    retries_expect(retries, 1, 10, FALSE);
    retries_looked_up(retries, 1, 10, dir);
    retries_expect(retries, 1, 10, FALSE);
    g_assert_true(retries_take(retries, 1, 10, &found));
    g_assert_null(found);
    retries_free(retries);
}

/* Many threads and files; those that never come back do not pile up. */
static void test_many(void)
{
    Retries *retries = retries_new();
    g_autoptr(Node) dir = dir_new();
    guint left = 0;

    for (guint i = 0; i < 1000; i++)
        retries_expect(retries, (pid_t)(i % 10 + 1), i, FALSE);
    for (guint i = 0; i < 1000; i++) {
        g_autoptr(Node) found = NULL;
        retries_looked_up(retries, (pid_t)(i % 10 + 1), i, dir);
        g_assert_true(retries_take(retries, (pid_t)(i % 10 + 1), i, &found));
        g_assert_true(found == dir);
    }
    for (guint i = 0; i < 100000; i++)
        retries_expect(retries, 1, i, FALSE);
    for (guint i = 0; i < 100000; i++)
        left += retries_expected(retries, 1, i) ? 1 : 0;
    g_assert_cmpuint(left, >, 0);
    g_assert_cmpuint(left, <=, 4096);
    g_assert_true(retries_expected(retries, 1, 99999)); /* the newest is among them */
    retries_looked_up(retries, 1, 99999, dir);
    retries_free(retries); /* with what it holds */
}

static gpointer retry_often(gpointer opaque)
{
    static gint threads;
    pid_t thread = g_atomic_int_add(&threads, 1) + 1;
    g_autoptr(Node) dir = dir_new();

    for (guint i = 0; i < 2000; i++) {
        g_autoptr(Node) found = NULL;
        retries_expect(opaque, thread, i, FALSE);
        retries_looked_up(opaque, thread, i, dir);
        g_assert_true(retries_take(opaque, thread, i, &found));
        g_assert_true(found == dir);
    }
    return NULL;
}

static void test_threads(void)
{
    Retries *retries = retries_new();
    GThread *threads[3];

    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("opener", retry_often, retries);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    retries_free(retries);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/retries/not-expected", test_not_expected);
    g_test_add_func("/retries/expected", test_expected);
    g_test_add_func("/retries/no-lookup", test_no_lookup);
    g_test_add_func("/retries/expected-again", test_expected_again);
    g_test_add_func("/retries/many", test_many);
    g_test_add_func("/retries/threads", test_threads);
    return g_test_run();
}
