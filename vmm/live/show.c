/* SPDX-License-Identifier: MIT */
/*
 * What is published: the views made of what is known, and vm/, which says how far that is to be trusted. Whatever did
 * not change is the same node as before, and where nothing did, nothing is published. The live thread.
 */
#include "vmm/live/core.h"

static char *iso_time(gint64 monotonic)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autoptr(GDateTime) then = g_date_time_add(now, monotonic - g_get_monotonic_time());

    g_autofree char *seconds = g_date_time_format(then, "%Y-%m-%dT%H:%M:%S");

    return g_strdup_printf("%s.%03dZ", seconds, g_date_time_get_microsecond(then) / 1000);
}

void live_show_fetched(LiveSource *live, gint64 from, gint64 to)
{
    g_autofree char *first = iso_time(from), *last = iso_time(to);

    g_free(live->fetched);
    live->fetched = g_strdup_printf("%s/%s", first, last);
}

static Node *vm_node(LiveSource *live, guint64 generation, guint64 stamp)
{
    const QmpVersion *version = live_link_version(live->link);
    g_autofree char *name = live_answers_string(live->answers, "query-name", "name");
    g_autofree char *uuid = live_answers_string(live->answers, "query-uuid", "UUID");
    g_autofree char *status = live_answers_string(live->answers, "query-status", "status");
    g_autofree char *number = g_strdup_printf("%u.%u.%u", version->major, version->minor, version->micro);
    VmView vm = {.name = name,
                 .uuid = uuid,
                 .status = status,
                 .version = number,
                 .source = "live",
                 .generation = generation,
                 .connected = live->connected,
                 .stale_since = live->stale_since != NULL ? live->stale_since : "",
                 .fetched = live->fetched != NULL ? live->fetched : ""};

    return view_vm_new(&vm, live->root != NULL ? views_get(live->root, VIEW_VM) : NULL, stamp);
}

void live_show(LiveSource *live)
{
    const Node *before = live->root != NULL ? views_get(live->root, VIEW_VM) : NULL;
    guint64 stamp = snapshots_next_stamp(live->base.snapshots, 0);
    guint64 generation = snapshots_next_generation(live->base.snapshots);
    Node *nodes[N_VIEWS] = {NULL};
    g_autoptr(Node) vm = NULL;
    gboolean changed = live->root == NULL;

    for (View view = 0; view < N_VIEWS; view++) {
        if (view == VIEW_VM) {
            continue;
        }
        nodes[view] = (Node *)(view == VIEW_QOM ? live_tree_node(&live->tree, stamp)
                                                : live_answers_node(live->answers, view, stamp));
        changed = changed || (nodes[view] != NULL && nodes[view] != views_get(live->root, view));
    }
    if (!changed) {
        vm = vm_node(live, generation - 1, stamp);
        changed = vm != before;
        g_clear_pointer(&vm, node_unref);
    }
    if (!changed || nodes[VIEW_QOM] == NULL) {
        return;
    }
    nodes[VIEW_VM] = vm = vm_node(live, generation, stamp);
    Node *root = views_root_new(nodes, live->root, stamp);
    node_unref(live->root);
    live->root = root;
    snapshots_publish(live->base.snapshots, root, stamp);
}

void live_show_connected(LiveSource *live, gboolean connected)
{
    if (live->connected == connected) {
        return;
    }
    g_atomic_int_set(&live->connected, connected);
    g_clear_pointer(&live->stale_since, g_free);
    if (!connected) {
        live->stale_since = iso_time(g_get_monotonic_time());
    }
    live_show(live);
}
