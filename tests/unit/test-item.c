/* SPDX-License-Identifier: MIT */
/* fs/item.c: what stands at a name, the order of a listing, content, sizes, modes and times. */
#include <errno.h>

#include "fs/item.h"
#include "nodes.h"

static ShapePool *shapes;

/* ---- a directory with everything ---- */

static void clock_fill(Sampler *sampler G_GNUC_UNUSED, GString *out)
{
    g_string_append(out, "{\"name\":\"text\",\"value\":\"a\\nb\"},{\"name\":\"number\",\"value\":42},"
                         "{\"name\":\"link\",\"value\":\"/a/b\"},{\"name\":\"unset\",\"value\":\"\"},"
                         "{\"name\":\"secret\"},{\"name\":\"broken\"},{\"name\":\"time\",\"value\":1234567}");
}

static void clock_free(Sampler *sampler)
{
    g_free(sampler);
}

static const Prop props[] = {{.name = "text", .value = "\"a\\nb\"", .flags = SLOT_WRITABLE},
                             {.name = "number", .type = "int", .value = "42"},
                             {.name = "link", .type = "link<x>", .value = "\"/a/b\"", .flags = SLOT_WRITABLE},
                             {.name = "unset", .type = "link<x>", .value = "\"\""},
                             {.name = "secret", .flags = SLOT_SECRET},
                             {.name = "broken", .error = "no"},
                             {.name = "time", .type = "int", .value = "0", .flags = SLOT_MOVING},
                             {0}};

static Node *dir_new(void)
{
    Sampler *clock = g_new0(Sampler, 1);
    g_autoptr(Children) children = children_of(object_node(shapes, "a", NULL, NULL, NULL, NULL, 1),
                                               object_node(shapes, "x/y", NULL, NULL, NULL, NULL, 1), NULL);
    Node *node;

    g_atomic_ref_count_init(&clock->refs);
    clock->fill = clock_fill;
    clock->free = clock_free;
    node = object_node(shapes, "dir", props, children, clock, NULL, G_GUINT64_CONSTANT(1500000000000000007));
    sampler_unref(clock);
    return node;
}

static void set_nothing(Source *source G_GNUC_UNUSED, const char *path G_GNUC_UNUSED,
                        const char *property G_GNUC_UNUSED, JsonSlice value G_GNUC_UNUSED, SourceDone done,
                        void *opaque)
{
    done(NULL, opaque);
}

static const SourceOps read_only_ops = {0};
static const SourceOps writable_ops = {.set = set_nothing};
static Source read_only = {.ops = &read_only_ops, .property_mode = 0644, .read_only_mode = 0444};
static Source writable = {.ops = &writable_ops, .property_mode = 0644, .read_only_mode = 0444};
static FsOptions options = {.uid = 17, .gid = 18};
static const Fs fs = {.source = &writable, .options = &options};

static Item find(const Fs *where, const Node *dir, guint depth, const char *name)
{
    Item item;

    g_assert_true(item_find(where, dir, depth, name, &item));
    g_assert_cmpstr(item.name, ==, name);
    g_assert_true(item.dir == dir);
    g_assert_cmpuint(item.depth, ==, depth);
    return item;
}

static void check_content(const Item *item, const char *expected)
{
    g_autoptr(GString) out = g_string_new(NULL);

    item_append_content(item, out);
    g_assert_cmpstr(out->str, ==, expected);
    g_assert_cmpuint(item_size(item), ==, strlen(expected));
}

/* ---- a folder ---- */

static void now_fill(Sampler *sampler G_GNUC_UNUSED, GString *out)
{
    static int count;

    if (++count == 1)
        g_string_append_printf(out, "\"%d\"", count);
}

static void test_folder(void)
{
    Sampler *now = g_new0(Sampler, 1);
    SlotInfo infos[] = {{.name = "a.json"}, {.name = "now.json", .flags = SLOT_MOVING}, {.name = "none.json"}};
    g_autoptr(GBytes) bytes = g_bytes_new_static("\"x\"", 3);
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_unref);
    g_autoptr(Children) children = NULL;
    g_autoptr(Node) folder = NULL, sampled = NULL, again = NULL;
    struct stat st;
    Item item;

    g_atomic_ref_count_init(&now->refs);
    now->fill = now_fill;
    now->free = clock_free;
    for (guint i = 0; i < G_N_ELEMENTS(infos); i++) {
        g_autoptr(Shape) shape = shape_new(&infos[i], 1);
        NodeSlot slot = {.length = i == 0 ? 3 : 0};

        g_ptr_array_add(nodes,
                        node_new(&(NodeSpec){.kind = NODE_VALUE,
                                             .name = infos[i].name,
                                             .shape = shape,
                                             .bytes = i == 0 ? bytes : NULL,
                                             .text = {i == 0 ? g_bytes_get_data(bytes, NULL) : NULL, slot.length},
                                             .slots = &slot,
                                             .sampler = i == 1 ? now : NULL,
                                             .stamp = 1}));
    }
    sampler_unref(now);
    children = children_new((Node *const *)nodes->pdata, nodes->len);
    folder = node_new(&(NodeSpec){.kind = NODE_FOLDER, .name = "f", .children = children, .stamp = 1});

    /* It has files, and no .tree.json. */
    g_assert_false(item_find(&fs, folder, 1, ".tree.json", &item));
    ItemIter iter = item_iter(&fs, folder, 1, 0);
    for (guint i = 0; i < G_N_ELEMENTS(infos); i++) {
        g_assert_true(item_next(&iter, &item));
        g_assert_cmpstr(item.name, ==, infos[i].name);
        g_assert_cmpint(item.kind, ==, ITEM_FILE);
    }
    g_assert_false(item_next(&iter, &item));
    item_stat_dir(&fs, folder, &st);
    g_assert_cmpuint(st.st_nlink, ==, 2);

    /* JSON it is, of a string too. */
    g_assert_true(item_find(&fs, folder, 1, "a.json", &item));
    check_content(&item, "\"x\"\n");
    g_assert_false(item_moves(&item));
    g_assert_false(item_can_be_written(&item));
    g_assert_cmpint(item_unreadable(&item), ==, 0);

    /* What is asked anew: a sample tells whether there is something. */
    g_assert_true(item_find(&fs, folder, 1, "now.json", &item));
    g_assert_true(item_moves(&item));
    item_sample(&item, &sampled);
    g_assert_cmpint(item_unreadable(&item), ==, 0);
    check_content(&item, "\"1\"\n"); /* which stays */
    g_assert_true(item_find(&fs, folder, 1, "now.json", &item));
    item_sample(&item, &again);
    g_assert_cmpint(item_unreadable(&item), ==, EIO);

    g_assert_true(item_find(&fs, folder, 1, "none.json", &item));
    g_assert_cmpint(item_unreadable(&item), ==, EIO);
    g_assert_cmpuint(item_size(&item), ==, 1);
}

/* ---- the tests ---- */

static void test_find(void)
{
    static const struct {
        const char *name;
        ItemKind kind;
    } rows[] = {{"text", ITEM_FILE},   {"number", ITEM_FILE},       {"link", ITEM_LINK}, {"unset", ITEM_FILE},
                {"secret", ITEM_FILE}, {"broken", ITEM_FILE},       {"time", ITEM_FILE}, {"a", ITEM_DIR},
                {"x%2Fy", ITEM_DIR},   {".tree.json", ITEM_SPECIAL}};
    static const char *const nobody[] = {"", ".", "..", "Text", "x/y", "events", "qmp", ".tree", "texts"};
    g_autoptr(Node) dir = dir_new();
    g_autoptr(GHashTable) inos = g_hash_table_new(g_int64_hash, g_int64_equal);
    Item items[G_N_ELEMENTS(rows)], none = {.name = "untouched"};

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        items[i] = find(&fs, dir, 2, rows[i].name);
        g_assert_cmpint(items[i].kind, ==, rows[i].kind);
        g_assert_true(g_hash_table_add(inos, &items[i].ino));
    }
    g_assert_false(g_hash_table_contains(inos, &dir->id));
    for (guint i = 0; i < G_N_ELEMENTS(nobody); i++)
        g_assert_false(item_find(&fs, dir, 2, nobody[i], &none));
    g_assert_cmpstr(none.name, ==, "untouched");
}

static void check_listing(const Fs *where, const Node *dir, const char *expected)
{
    g_autoptr(GString) names = g_string_new(NULL);
    g_autoptr(GArray) ordinals = g_array_new(FALSE, FALSE, sizeof(guint));
    ItemIter iter = item_iter(where, dir, 1, 0);
    Item item;
    gsize skipped = 0;

    while (item_next(&iter, &item)) {
        Item found = find(where, dir, 1, item.name);
        g_assert_cmpuint(found.ino, ==, item.ino);
        g_assert_cmpint(found.kind, ==, item.kind);
        g_string_append_printf(names, "%s ", item.name);
        g_array_append_val(ordinals, iter.ordinal);
    }
    g_assert_false(item_next(&iter, &item));
    g_assert_cmpstr(names->str, ==, expected);
    /* It goes on behind each item. */
    for (guint i = 0; i < ordinals->len; i++) {
        g_autoptr(GString) rest = g_string_new(NULL);
        iter = item_iter(where, dir, 1, g_array_index(ordinals, guint, i));
        while (item_next(&iter, &item))
            g_string_append_printf(rest, "%s ", item.name);
        skipped = (gsize)(strchr(expected + skipped, ' ') + 1 - expected);
        g_assert_cmpstr(rest->str, ==, expected + skipped);
    }
    iter = item_iter(where, dir, 1, 1000000);
    g_assert_false(item_next(&iter, &item));
}

static void test_listing(void)
{
    g_autoptr(Node) dir = dir_new(), root = node_new(&(NodeSpec){.kind = NODE_MAP, .name = "", .stamp = 1});
    g_autoptr(Node) empty = node_new(&(NodeSpec){.kind = NODE_LIST, .name = "l", .stamp = 1});
    g_autoptr(EventLog) log = event_log_new(100);
    FsOptions hiding = {.hide_tree = TRUE}, full = {.events = log, .qmp = "/run/s"};
    const Fs hiding_fs = {.source = &writable, .options = &hiding}, full_fs = {.source = &writable, .options = &full};

    check_listing(&fs, dir, ".tree.json text number link unset secret broken time a x%2Fy ");
    check_listing(&hiding_fs, dir, "text number link unset secret broken time a x%2Fy ");
    find(&hiding_fs, dir, 1, ".tree.json"); /* it can be opened still */
    check_listing(&fs, empty, ".tree.json ");
    check_listing(&fs, root, ".tree.json ");
    check_listing(&full_fs, root, ".tree.json events qmp ");
    check_listing(&full_fs, empty, ".tree.json ");
}

static void test_content(void)
{
    g_autoptr(Node) dir = dir_new();
    g_autoptr(EventLog) log = event_log_new(100);
    g_autoptr(Node) root = node_new(&(NodeSpec){.kind = NODE_MAP, .name = "", .stamp = 1});
    FsOptions full = {.events = log, .qmp = "/run/qomfs/1.sock"};
    const Fs full_fs = {.source = &writable, .options = &full};
    Item item;

    item = find(&fs, dir, 2, "text");
    check_content(&item, "a\nb\n");
    item = find(&fs, dir, 2, "number");
    check_content(&item, "42\n");
    item = find(&fs, dir, 2, "link");
    check_content(&item, "../../a/b");
    item = find(&fs, dir, 0, "link");
    check_content(&item, "a/b");
    item = find(&fs, dir, 2, "unset");
    check_content(&item, "\n");
    item = find(&fs, dir, 2, "time");
    check_content(&item, "1234567\n"); /* of this moment, not as it was published */
    g_assert_true(item_moves(&item));
    item = find(&fs, children_find(dir->children, "a"), 3, ".tree.json");
    check_content(&item, "{\"name\":\"a\",\"children\":[],\"properties\":[]}\n");
    g_assert_false(item_moves(&item));
    item = find(&fs, dir, 2, ".tree.json");
    g_assert_true(item_moves(&item));
    item = find(&fs, dir, 2, "a");
    g_assert_cmpuint(item_size(&item), ==, 0);
    g_assert_false(item_moves(&item));
    item = find(&full_fs, root, 0, "qmp");
    g_assert_cmpint(item.kind, ==, ITEM_LINK);
    check_content(&item, "/run/qomfs/1.sock");
    item = find(&full_fs, root, 0, "events");
    g_assert_cmpint(item.kind, ==, ITEM_SPECIAL);
    g_assert_cmpuint(item_size(&item), ==, 0);
    event_log_append(log, "{}\n", 3);
    g_assert_cmpuint(item_size(&item), ==, 3);
    g_assert_true(item_moves(&item));
}

static void test_unreadable(void)
{
    static const struct {
        const char *name;
        int error;
    } rows[] = {{"text", 0}, {"secret", EACCES}, {"broken", EIO},  {"unset", 0},
                {"link", 0}, {"a", 0},           {".tree.json", 0}};
    g_autoptr(Node) dir = dir_new();

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        Item item = find(&fs, dir, 2, rows[i].name);
        g_assert_cmpint(item_unreadable(&item), ==, rows[i].error);
        if (rows[i].error) /* tools that pass over empty files must not pass over these */
            g_assert_cmpuint(item_size(&item), >, 0);
    }
}

static void test_writable(void)
{
    const Fs closed = {.source = &read_only, .options = &options};
    g_autoptr(Node) dir = dir_new();
    static const char *const names[] = {"text", "number", "link", "secret", "a", ".tree.json"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        Item item = find(&fs, dir, 2, names[i]), closed_item = find(&closed, dir, 2, names[i]);
        g_assert_cmpint(item_can_be_written(&item), ==, i == 0); /* a symlink cannot be */
        g_assert_false(item_can_be_written(&closed_item));
    }
}

static void test_versions(void)
{
    Prop changed[G_N_ELEMENTS(props)];
    g_autoptr(Node) dir = dir_new();

    memcpy(changed, props, sizeof props);
    changed[1].value = "43";
    g_autoptr(Node) next =
        object_node(shapes, "dir", changed, dir->children, dir->sampler, dir, G_GUINT64_CONSTANT(1600000000000000000));
    Item number = find(&fs, dir, 2, "number"), number_next = find(&fs, next, 2, "number");
    Item text = find(&fs, dir, 2, "text"), text_next = find(&fs, next, 2, "text");
    g_assert_cmpuint(number.ino, ==, number_next.ino);
    g_assert_cmpuint(number.version, ==, G_GUINT64_CONSTANT(1500000000000000007));
    g_assert_cmpuint(number_next.version, ==, G_GUINT64_CONSTANT(1600000000000000000));
    g_assert_cmpuint(text.version, ==, text_next.version);
    Item child = find(&fs, dir, 2, "a"), clock = find(&fs, dir, 2, "time");
    g_assert_cmpuint(child.version, ==, 0);
    g_assert_cmpuint(clock.version, ==, 0);
}

static void check_stat(const char *name, mode_t mode, off_t size)
{
    g_autoptr(Node) dir = dir_new();
    Item item = find(&fs, dir, 2, name);
    struct stat st;

    item_stat(&item, &st);
    g_assert_cmphex(st.st_mode, ==, mode);
    g_assert_cmpuint(st.st_uid, ==, 17);
    g_assert_cmpuint(st.st_gid, ==, 18);
    g_assert_cmpuint(st.st_ino, ==, item.ino);
    if (!S_ISDIR(mode)) {
        g_assert_cmpint(st.st_size, ==, size);
        g_assert_cmpint(st.st_nlink, ==, 1);
    }
    if (item.version) {
        g_assert_cmpint(st.st_mtim.tv_sec, ==, 1500000000);
        g_assert_cmpint(st.st_mtim.tv_nsec, ==, 7);
    }
}

static void test_stat(void)
{
    check_stat("text", S_IFREG | 0644, 4);
    check_stat("number", S_IFREG | 0444, 3);
    check_stat("link", S_IFLNK | 0777, strlen("../../a/b"));
    check_stat("time", S_IFREG | 0444, 0); /* of what moves, whoever takes the sample knows */
    check_stat("a", S_IFDIR | 0555, 0);
    options.umask = 022;
    check_stat("text", S_IFREG | 0644, 4);
    options.umask = 0277;
    check_stat("text", S_IFREG | 0400, 4);
    check_stat("a", S_IFDIR | 0500, 0);
    check_stat("link", S_IFLNK | 0777, strlen("../../a/b"));
    options.umask = 0;
}

static void test_stat_dir(void)
{
    const Source private = {.ops = &read_only_ops, .property_mode = 0600, .read_only_mode = 0400};
    const Fs private_fs = {.source = (Source *)&private, .options = &options};
    g_autoptr(Node) dir = dir_new();
    struct stat st;

    item_stat_dir(&fs, dir, &st);
    g_assert_cmphex(st.st_mode, ==, S_IFDIR | 0555);
    g_assert_cmpuint(st.st_ino, ==, dir->id);
    g_assert_cmpuint(st.st_nlink, ==, 4); /* two directories in it */
    g_assert_cmpint(st.st_mtim.tv_sec, ==, 1500000000);
    item_stat_dir(&private_fs, dir, &st);
    g_assert_cmphex(st.st_mode, ==, S_IFDIR | 0500);
}

static void test_stat_content(void)
{
    struct stat st = {0};

    item_stat_content(513, G_GUINT64_CONSTANT(2000000003), &st);
    g_assert_cmpint(st.st_size, ==, 513);
    g_assert_cmpint(st.st_blocks, ==, 2);
    g_assert_cmpint(st.st_mtim.tv_sec, ==, 2);
    g_assert_cmpint(st.st_mtim.tv_nsec, ==, 3);
    g_assert_cmpint(st.st_ctim.tv_nsec, ==, 3);
    item_stat_content(0, 1, &st);
    g_assert_cmpint(st.st_size, ==, 0);
    g_assert_cmpint(st.st_blocks, ==, 0);
    g_assert_cmpint(st.st_mtim.tv_sec, ==, 0);
    g_assert_cmpint(st.st_mtim.tv_nsec, ==, 1);
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    shapes = shape_pool_new();
    g_test_add_func("/item/find", test_find);
    g_test_add_func("/item/listing", test_listing);
    g_test_add_func("/item/content", test_content);
    g_test_add_func("/item/folder", test_folder);
    g_test_add_func("/item/unreadable", test_unreadable);
    g_test_add_func("/item/writable", test_writable);
    g_test_add_func("/item/versions", test_versions);
    g_test_add_func("/item/stat", test_stat);
    g_test_add_func("/item/stat-dir", test_stat_dir);
    g_test_add_func("/item/stat-content", test_stat_content);
    status = g_test_run();
    shape_pool_free(shapes);
    return status;
}
