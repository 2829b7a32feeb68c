/* SPDX-License-Identifier: MIT */
/* objmodel/snapshot.c: versions and their stamps, watchers, who waits for them, and readers in other threads. */
#include <time.h>

#include "nodes.h"
#include "objmodel/snapshot.h"

static Node *root_new(const char *name)
{
    return node_new(&(NodeSpec){.kind = NODE_MAP, .name = name, .stamp = 1});
}

static guint64 publish(Snapshots *snapshots)
{
    g_autoptr(Node) root = root_new("root");
    guint64 stamp = snapshots_next_stamp(snapshots, 0);

    snapshots_publish(snapshots, root, stamp);
    return stamp;
}

static void test_publish(void)
{
    g_autoptr(Snapshots) snapshots = snapshots_new();
    Node *first_root = root_new("first");
    g_autoptr(Node) second_root = root_new("second");

    g_assert_null(snapshots_current(snapshots));
    g_assert_cmpuint(snapshots_next_generation(snapshots), ==, 1);
    snapshots_publish(snapshots, first_root, 100);
    node_unref(first_root); /* the snapshot has its own reference */
    g_assert_cmpuint(snapshots_next_generation(snapshots), ==, 2);
    g_assert_cmpuint(snapshots_next_generation(snapshots), ==, 2);
    g_autoptr(Snapshot) first = snapshots_current(snapshots);
    snapshots_publish(snapshots, second_root, 200);
    g_autoptr(Snapshot) second = snapshots_current(snapshots), again = snapshots_current(snapshots);

    g_assert_true(again == second);
    g_assert_cmpuint(first->generation, ==, 1);
    g_assert_cmpuint(first->stamp, ==, 100);
    g_assert_cmpstr(first->root->name, ==, "first");
    g_assert_cmpuint(second->generation, ==, 2);
    g_assert_cmpuint(second->stamp, ==, 200);
    g_assert_true(second->root == second_root);
}

static guint64 wall_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (guint64)now.tv_sec * G_GUINT64_CONSTANT(1000000000) + (guint64)now.tv_nsec;
}

static void test_stamps_are_times(void)
{
    g_autoptr(Snapshots) snapshots = snapshots_new();
    guint64 before = wall_clock(), stamp = snapshots_next_stamp(snapshots, 0), after = wall_clock();

    g_assert_cmpuint(stamp, >=, before);
    g_assert_cmpuint(stamp, <=, after);
}

static void test_stamps_increase(void)
{
    g_autoptr(Snapshots) snapshots = snapshots_new();
    guint64 last = 0;

    for (guint i = 0; i < 10000; i++) {
        guint64 stamp = snapshots_next_stamp(snapshots, 0);
        g_assert_cmpuint(stamp, >, last);
        last = stamp;
    }
    /* From here on the clock is behind what was given, as if it had been set back. */
    guint64 future = wall_clock() + G_GUINT64_CONSTANT(1000000000) * 3600;
    g_assert_cmpuint(snapshots_next_stamp(snapshots, future), ==, future);
    g_assert_cmpuint(snapshots_next_stamp(snapshots, 0), ==, future + 1);
    g_assert_cmpuint(snapshots_next_stamp(snapshots, future), ==, future + 2);
    g_assert_cmpuint(snapshots_next_stamp(snapshots, 1), ==, future + 3);
    g_assert_cmpuint(snapshots_next_stamp(snapshots, future + 100), ==, future + 100);
    g_assert_cmpuint(snapshots_next_stamp(snapshots, future + 100), ==, future + 101);
}

/* ---- watchers ---- */

typedef struct Seen {
    guint calls;
    guint64 generation, stamp;
} Seen;

static void seen_published(Snapshot *snapshot, void *opaque)
{
    Seen *seen = opaque;

    seen->calls++;
    seen->generation = snapshot->generation;
    seen->stamp = snapshot->stamp;
}

static void test_watchers(void)
{
    g_autoptr(Snapshots) snapshots = snapshots_new();
    Seen a = {0}, b = {0};
    SnapshotWatcher *watch_a = snapshots_watch(snapshots, seen_published, &a);

    g_assert_cmpuint(a.calls, ==, 0);
    g_assert_cmpuint(publish(snapshots), ==, a.stamp);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmpuint(a.generation, ==, 1);
    SnapshotWatcher *watch_b = snapshots_watch(snapshots, seen_published, &b);
    g_assert_cmpuint(b.calls, ==, 0); /* what was there before is not told */
    publish(snapshots);
    g_assert_cmpuint(a.generation, ==, 2);
    g_assert_cmpuint(b.generation, ==, 2);
    snapshots_unwatch(snapshots, watch_a);
    publish(snapshots);
    g_assert_cmpuint(a.calls, ==, 2);
    g_assert_cmpuint(b.calls, ==, 2);
    snapshots_unwatch(snapshots, watch_b);
    publish(snapshots);
    g_assert_cmpuint(b.calls, ==, 2);
}

/* ---- waiting ---- */

static GString *order; /* the letters of those who were called */

typedef struct Caller {
    char letter;
} Caller;

static void called(void *opaque)
{
    g_string_append_c(order, ((Caller *)opaque)->letter);
}

static void published_nothing(Snapshot *snapshot G_GNUC_UNUSED, void *opaque G_GNUC_UNUSED)
{
}

static Caller callers[] = {{'a'}, {'b'}, {'c'}, {'d'}, {'e'}};

static void check_called(const char *expected)
{
    g_assert_cmpstr(order->str, ==, expected);
}

static void test_settled_at_once(void)
{
    g_autoptr(Snapshots) snapshots = snapshots_new();

    g_string_truncate(order, 0);
    publish(snapshots);
    snapshots_when_settled(snapshots, 1, called, &callers[0]); /* nobody watches */
    check_called("a");
    SnapshotWatcher *watcher = snapshots_watch(snapshots, published_nothing, NULL);
    snapshots_when_settled(snapshots, 1, called, &callers[1]); /* it came after that one */
    check_called("ab");
    publish(snapshots);
    snapshots_when_settled(snapshots, 2, called, &callers[2]);
    check_called("ab");
    snapshots_when_settled(snapshots, 1, called, &callers[3]);
    check_called("abd");
    snapshots_settled(snapshots, watcher, 2);
    check_called("abdc");
    snapshots_when_settled(snapshots, 2, called, &callers[4]);
    check_called("abdce");
}

static void test_settled_later(void)
{
    g_autoptr(Snapshots) snapshots = snapshots_new();
    SnapshotWatcher *one = snapshots_watch(snapshots, published_nothing, NULL);
    SnapshotWatcher *two = snapshots_watch(snapshots, published_nothing, NULL);

    g_string_truncate(order, 0);
    for (guint i = 0; i < 3; i++)
        publish(snapshots);
    snapshots_when_settled(snapshots, 3, called, &callers[0]);
    snapshots_when_settled(snapshots, 1, called, &callers[1]);
    snapshots_when_settled(snapshots, 2, called, &callers[2]);
    snapshots_when_settled(snapshots, 1, called, &callers[3]);
    snapshots_settled(snapshots, one, 3);
    check_called(""); /* two has not */
    snapshots_settled(snapshots, two, 1);
    check_called("bd"); /* in the order they came */
    snapshots_settled(snapshots, two, 0);
    snapshots_settled(snapshots, one, 1); /* never back */
    check_called("bd");
    snapshots_settled(snapshots, two, 3);
    check_called("bdac");
}

static void test_unwatch_settles(void)
{
    Snapshots *snapshots = snapshots_new();
    SnapshotWatcher *one = snapshots_watch(snapshots, published_nothing, NULL);
    SnapshotWatcher *two = snapshots_watch(snapshots, published_nothing, NULL);

    g_string_truncate(order, 0);
    publish(snapshots);
    snapshots_when_settled(snapshots, 1, called, &callers[0]);
    snapshots_settled(snapshots, one, 1);
    check_called("");
    snapshots_unwatch(snapshots, two);
    check_called("a");
    publish(snapshots);
    snapshots_when_settled(snapshots, 2, called, &callers[1]);
    check_called("a");
    snapshots_free(snapshots); /* nobody is left to wait for */
    check_called("ab");
    snapshots_free(NULL);
}

typedef struct Chain {
    Snapshots *snapshots;
    guint left;
} Chain;

static void chain_called(void *opaque)
{
    Chain *chain = opaque;

    g_string_append_c(order, 'x');
    if (chain->left-- > 1)
        snapshots_when_settled(chain->snapshots, 1, chain_called, chain);
}

/* Who is called may call back. */
static void test_call_from_done(void)
{
    g_autoptr(Snapshots) snapshots = snapshots_new();
    SnapshotWatcher *watcher = snapshots_watch(snapshots, published_nothing, NULL);
    Chain chain = {snapshots, 3};

    g_string_truncate(order, 0);
    publish(snapshots);
    snapshots_when_settled(snapshots, 1, chain_called, &chain);
    check_called("");
    snapshots_settled(snapshots, watcher, 1);
    check_called("xxx");
}

/* ---- threads ---- */

enum { ROUNDS = 500 };

typedef struct Shop {
    Snapshots *snapshots;
    SnapshotWatcher *watcher;
    GAsyncQueue *published; /* generations, for the settling thread */
    gint done;              /* atomic: how many were called */
} Shop;

static gpointer read_often(gpointer opaque)
{
    Shop *shop = opaque;
    guint64 generation = 0, stamp = 0;

    while (generation < ROUNDS) {
        g_autoptr(Snapshot) now = snapshots_current(shop->snapshots);
        if (!now)
            continue;
        g_assert_cmpuint(now->generation, >=, generation);
        if (now->generation > generation)
            g_assert_cmpuint(now->stamp, >, stamp);
        generation = now->generation;
        stamp = now->stamp;
        g_autofree char *name = g_strdup_printf("%" G_GUINT64_FORMAT, generation);
        g_assert_cmpstr(now->root->name, ==, name);
    }
    return NULL;
}

static void queue_generation(Snapshot *snapshot, void *opaque)
{
    g_async_queue_push(((Shop *)opaque)->published, GUINT_TO_POINTER((guint)snapshot->generation));
}

static gpointer settle(gpointer opaque)
{
    Shop *shop = opaque;
    guint generation = 0;

    while (generation < ROUNDS) {
        generation = GPOINTER_TO_UINT(g_async_queue_pop(shop->published));
        snapshots_settled(shop->snapshots, shop->watcher, generation);
    }
    return NULL;
}

static void count_done(void *opaque)
{
    g_atomic_int_inc(&((Shop *)opaque)->done);
}

static void test_threads(void)
{
    Shop shop = {.snapshots = snapshots_new(), .published = g_async_queue_new()};
    GThread *threads[3];

    shop.watcher = snapshots_watch(shop.snapshots, queue_generation, &shop);
    for (guint i = 0; i < 2; i++)
        threads[i] = g_thread_new("reader", read_often, &shop);
    threads[2] = g_thread_new("settler", settle, &shop);
    for (guint i = 1; i <= ROUNDS; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);
        g_autoptr(Node) root = root_new(name);
        snapshots_publish(shop.snapshots, root, snapshots_next_stamp(shop.snapshots, 0));
        snapshots_when_settled(shop.snapshots, i, count_done, &shop);
        if (i % 50 == 0)
            g_usleep(100);
    }
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    g_assert_cmpint(g_atomic_int_get(&shop.done), ==, ROUNDS);
    snapshots_unwatch(shop.snapshots, shop.watcher);
    snapshots_free(shop.snapshots);
    g_async_queue_unref(shop.published);
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    order = g_string_new(NULL);
    g_test_add_func("/snapshot/publish", test_publish);
    g_test_add_func("/snapshot/stamps-are-times", test_stamps_are_times);
    g_test_add_func("/snapshot/stamps-increase", test_stamps_increase);
    g_test_add_func("/snapshot/watchers", test_watchers);
    g_test_add_func("/snapshot/settled-at-once", test_settled_at_once);
    g_test_add_func("/snapshot/settled-later", test_settled_later);
    g_test_add_func("/snapshot/unwatch-settles", test_unwatch_settles);
    g_test_add_func("/snapshot/call-from-done", test_call_from_done);
    g_test_add_func("/snapshot/threads", test_threads);
    status = g_test_run();
    g_string_free(order, TRUE);
    return status;
}
