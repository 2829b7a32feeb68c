/* SPDX-License-Identifier: MIT */
/* Lists whose values move: when records stay, and what they then show. */
#include <string.h>

#include "vmm/live/moving.h"

static Node *take(LiveMoving *moving, const char *json, const Node *previous, guint64 stamp)
{
    g_autoptr(GBytes) bytes = g_bytes_new(json, strlen(json));
    JsonSlice list;

    list.text = g_bytes_get_data(bytes, &list.length);
    return live_moving_node(moving, VIEW_BLOCKSTATS, bytes, list, previous, stamp);
}

static void assert_tree(const Node *node, const char *wanted)
{
    g_autoptr(GString) text = g_string_new(NULL);

    node_append_tree(node, text);
    g_assert_cmpstr(text->str, ==, wanted);
}

#define DISK(id, count) "{\"qdev\":\"" id "\",\"stats\":{\"wr_bytes\":" count ",\"timed_stats\":[]}}"

static void test_values(void)
{
    g_autoptr(LiveMoving) moving = live_moving_new();
    Node *first = take(moving, "[" DISK("a", "1") "]", NULL, 1);
    Node *second = take(moving, "[" DISK("a", "23456") "]", first, 2);
    const Node *disk = children_find(second->children, "a");

    g_assert_true(second == first);
    g_assert_true(second->tree_moving);
    g_assert_true(node_slot_info(disk, 0)->flags & SLOT_MOVING);
    assert_tree(second, "[" DISK("a", "23456") "]");
    node_unref(first);
    node_unref(second);
}

/* What comes, goes or has other members makes records anew, of the same objects. */
static void test_records(void)
{
    static const char *const others[] = {
        "[" DISK("a", "2") "," DISK("b", "3") "]",
        "[" DISK("b", "2") "]",
        "[]",
        "[{\"qdev\":\"a\",\"stats\":{\"rd_bytes\":2,\"timed_stats\":[]}}]",
        "[{\"qdev\":\"a\",\"stats\":{\"wr_bytes\":2}}]",
        "[{\"qdev\":\"a\",\"stats\":5}]",
        "[{\"qdev\":\"a\",\"device\":\"x\",\"stats\":{\"wr_bytes\":1,\"timed_stats\":[]}}]",
    };

    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autoptr(LiveMoving) moving = live_moving_new();
        Node *first = take(moving, "[" DISK("a", "1") "]", NULL, 1);
        Node *second = take(moving, others[i], first, 2);
        const Node *before = children_find(first->children, "a"), *after = children_find(second->children, "a");

        g_assert_true(second != first);
        g_assert_true(after == NULL || after->id == before->id);
        assert_tree(second, others[i]);
        /* A node of before goes on by itself. */
        assert_tree(first, "[" DISK("a", "1") "]");
        node_unref(first);
        node_unref(second);
    }
}

static void test_odd(void)
{
    g_autoptr(LiveMoving) moving = live_moving_new();
    Node *node = take(moving, "[1,\"x\"," DISK("a", "1") ",null]", NULL, 1);

    assert_tree(node, "[" DISK("a", "1") "]");
    node_unref(node);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live-moving/values", test_values);
    g_test_add_func("/live-moving/records", test_records);
    g_test_add_func("/live-moving/odd", test_odd);
    return g_test_run();
}
