/* SPDX-License-Identifier: MIT */
/*
 * The dump reader: what it accepts makes a tree that can be written, resolved and asked, and an object tree gives the
 * bytes that it was read from, as far as these were compact.
 */
#include <string.h>

#include "fuzz.h"
#include "vmm/dump.h"
#include "vmm/views.h"

static void use_node(const Node *node)
{
    ChildrenIter iter = children_iter(node->children, 0);
    const Node *child;

    for (guint slot = 0; slot < node_slot_count(node); slot++) {
        JsonSlice value = node_slot_value(node, slot);
        g_autoptr(GString) file = g_string_new(NULL);

        g_assert_cmpint(node_find_slot(node, node_slot_info(node, slot)->name), ==, slot);
        if (value.length > 0) {
            value_append_file(value, file);
            g_assert_cmpuint(file->len, ==, value_file_size(value));
        }
    }
    while ((child = children_next(&iter)) != NULL) {
        g_assert_true(children_find(node->children, child->name) == child);
        use_node(child);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const DumpOptions options = {.file_name = "fuzz", .secrets = TRUE};
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) tree = NULL;
    Snapshot *snapshot;
    Source *source;

    (void)dump_recognise((const char *)data, size);
    source = dump_source_new((const char *)data, size, &options, &error);
    if (source == NULL) {
        g_assert_nonnull(error);
        return 0;
    }
    snapshot = snapshots_current(source->snapshots);
    use_node(snapshot->root);
    tree = g_string_new(NULL);
    node_append_tree(snapshot->root, tree);
    g_assert_cmpuint(tree->len, ==, node_tree_size(snapshot->root));
    {
        g_autofree char *compact = json_compact(tree->str, tree->len, JSON_READER_STRICT, NULL, &error);

        g_assert_no_error(error);
        g_assert_cmpstr(compact, ==, tree->str);
    }
    snapshot_unref(snapshot);
    source->ops->free(source);
    return 0;
}
