/* SPDX-License-Identifier: MIT */
/*
 * model-bench [--json] [DUMP]...: what the parts of objmodel cost by themselves, without a mount:
 * a publication, in trees of several sizes (it must not depend on that), and for each dump
 * checking its JSON, loading it whole, and writing its tree as .tree.json does.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objmodel/snapshot.h"
#include "tests/bench/series.h"
#include "tests/mount/fresh-tree.h"
#include "vmm/dump.h"

enum {
    PUBLICATIONS = 2000,
    OBJECTS_MIN = 100,
    OBJECTS_MAX = 100000,
    PASSES = 10,
};

static gboolean json;

static const GOptionEntry options[] = {
    {"json", 0, 0, G_OPTION_ARG_NONE, &json, "lines of JSON", NULL},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

/* ---- publications ---- */

static Node *object(guint number, Children *children)
{
    g_autofree char *name = g_strdup_printf("object[%u]", number);
    const FreshProperty properties[] = {
        {.name = "type", .type = "string", .value = "\"object\""},
        {.name = "n", .type = "uint64", .value = "0"},
        {.name = "size", .type = "uint64", .value = "18446744073709551615"},
    };
    return fresh_object(name, properties, G_N_ELEMENTS(properties), children, NULL, 1);
}

/* An object in a directory of n, below two others. */
static Node *wide_tree(guint n)
{
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_unref);
    for (guint i = 0; i < n; i++)
        g_ptr_array_add(nodes, object(i, NULL));
    g_autoptr(Children) children = children_new((Node *const *)nodes->pdata, n);
    g_autoptr(Node) parent = object(0, children);
    g_autoptr(Children) parents = children_new(&parent, 1);
    return object(0, parents);
}

static Node *set_n(const Node *node, guint64 stamp, gpointer value)
{
    return fresh_with_value(node, 1, value, stamp);
}

static Series *time_publications(guint n)
{
    g_autofree char *name = g_strdup_printf("of %u objects", n);
    Series *series = series_new(name);
    g_autoptr(Snapshots) snapshots = snapshots_new();
    g_autoptr(Node) root = wide_tree(n);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    snapshots_publish(snapshots, root, snapshots_next_stamp(snapshots, 0));
    for (guint i = 0; i < PUBLICATIONS; i++) {
        char path[64], value[16];
        snprintf(path, sizeof path, "object[0]/object[%d]", g_rand_int_range(random, 0, (gint32)n));
        snprintf(value, sizeof value, "%u", 100000 + i);
        guint64 begin = clock_ns();
        guint64 stamp = snapshots_next_stamp(snapshots, 0);
        Node *changed = fresh_edit(root, path, set_n, value, stamp);
        snapshots_publish(snapshots, changed, stamp);
        node_unref(root);
        root = changed;
        series_add(series, clock_ns() - begin);
    }
    return series;
}

static void bench_publications(void)
{
    g_autoptr(GPtrArray) series = g_ptr_array_new_with_free_func((GDestroyNotify)series_free);
    Row row = {.title = "publishing one change of a tree"};
    for (guint n = OBJECTS_MIN; n <= OBJECTS_MAX; n *= 10)
        g_ptr_array_insert(series, 0, time_publications(n));
    row_print(&row, (Series *const *)series->pdata, series->len, json);
}

/* ---- dumps ---- */

static void show_speed(const char *what, const char *path, gsize bytes, guint64 ns)
{
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *title = g_strdup_printf("%s %s", what, name);
    figure_print(title, (double)bytes / 1e6 / ((double)ns / 1e9), 0, "MB/s", json);
}

/* The best of some passes of each. */
static gboolean bench_dump(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize length, tree_length = 0;
    guint64 check = G_MAXUINT64, load = G_MAXUINT64, write = G_MAXUINT64;

    if (!g_file_get_contents(path, &text, &length, &error)) {
        fprintf(stderr, "model-bench: %s\n", error->message);
        return FALSE;
    }
    for (guint i = 0; i < PASSES; i++) {
        guint64 begin = clock_ns();
        g_autofree char *compact = json_compact(text, length, JSON_READER_STRICT, NULL, &error);
        guint64 checked = clock_ns();
        DumpOptions dump_options = {.file_name = path};
        Source *source = compact ? dump_source_new(text, length, &dump_options, &error) : NULL;
        guint64 loaded = clock_ns();
        if (!source) {
            fprintf(stderr, "model-bench: '%s': %s\n", path, error->message);
            return FALSE;
        }
        check = MIN(check, checked - begin);
        load = MIN(load, loaded - checked);

        g_autoptr(Snapshot) snapshot = snapshots_current(source->snapshots);
        GString *tree = g_string_sized_new(node_tree_size(snapshot->root) + 1);
        begin = clock_ns();
        node_append_tree(snapshot->root, tree);
        write = MIN(write, clock_ns() - begin);
        tree_length = tree->len;
        g_string_free(tree, TRUE);
        source->ops->free(source);
    }
    show_speed("checking the JSON of", path, length, check);
    show_speed("loading", path, length, load);
    show_speed("writing the tree of", path, tree_length, write);
    return TRUE;
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("[DUMP]...");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "model-bench: %s\n", error->message);
        return 2;
    }
    bench_publications();
    for (int i = 1; i < argc; i++)
        if (!bench_dump(argv[i]))
            return 1;
    return 0;
}
