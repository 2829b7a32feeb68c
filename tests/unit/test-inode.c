/* SPDX-License-Identifier: MIT */
/* fs/inode.c: what is counted and when it goes, which inode an item has, and what an inode is in a snapshot. */
#include "fs/inode.h"
#include "nodes.h"

enum { STAMP = 100 };

/* ---- a mount: root/qom/machine/disk0, with a property each ---- */

typedef struct Mount {
    ShapePool *shapes;
    Snapshots *snapshots;
    Source source;
    FsOptions options;
    Fs fs;
    Snapshot *first;
} Mount;

static const SourceOps no_ops = {0};

static Node *dir_new(ShapePool *shapes, const char *name, const char *value, Children *children, const Node *previous,
                     guint64 stamp)
{
    const Prop props[] = {{.name = "file", .value = value}, {0}};
    g_autoptr(Children) list = children;

    return object_node(shapes, name, props, list, NULL, previous, stamp);
}

static Mount *mount_new(void)
{
    Mount *mount = g_new0(Mount, 1);
    g_autoptr(Node) root = NULL;

    mount->shapes = shape_pool_new();
    mount->snapshots = snapshots_new();
    mount->source = (Source){.ops = &no_ops, .read_only_mode = 0444};
    Node *disk = dir_new(mount->shapes, "disk0", "\"a\"", NULL, NULL, STAMP);
    Node *machine = dir_new(mount->shapes, "machine", "\"a\"", children_of(disk, NULL), NULL, STAMP);
    Node *qom = dir_new(mount->shapes, "qom", "\"a\"", children_of(machine, NULL), NULL, STAMP);
    g_autoptr(Children) views = children_of(qom, NULL);
    root = node_new(&(NodeSpec){.kind = NODE_MAP, .name = "", .children = views, .stamp = STAMP});
    snapshots_publish(mount->snapshots, root, STAMP);
    mount->first = snapshots_current(mount->snapshots);
    mount->fs = (Fs){.source = &mount->source, .options = &mount->options, .inodes = inode_table_new(root->id)};
    return mount;
}

static void mount_free(Mount *mount)
{
    inode_table_free(mount->fs.inodes);
    snapshot_unref(mount->first);
    snapshots_free(mount->snapshots);
    shape_pool_free(mount->shapes);
    g_free(mount);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Mount, mount_free)

/* The node of a directory at a path of file names, in a snapshot. */
static const Node *node_at(const Snapshot *snapshot, const char *path)
{
    const Node *node = snapshot->root;
    g_auto(GStrv) parts = g_strsplit(path, "/", 0);

    for (char **part = parts; *part; part++) {
        node = children_find(node->children, *part);
        g_assert_nonnull(node);
    }
    return node;
}

static Item item_at(const Mount *mount, const Snapshot *snapshot, const char *dir, guint depth, const char *name)
{
    Item item;

    g_assert_true(item_find(&mount->fs, node_at(snapshot, dir), depth, name, &item));
    return item;
}

/* Looks up a path as the kernel does: one look-up of each component. */
static Inode *walk(const Mount *mount, const Snapshot *snapshot, const char *path)
{
    Inode *inode = inode_from_id(&mount->fs, FUSE_ROOT_ID);
    g_auto(GStrv) parts = g_strsplit(path, "/", 0);

    for (char **part = parts; *part; part++) {
        const Node *dir = inode_node(inode, snapshot);
        Item item;
        g_assert_nonnull(dir);
        g_assert_true(item_find(&mount->fs, dir, inode->depth, *part, &item));
        inode = inode_look_up(mount->fs.inodes, inode, &item, item_size(&item));
    }
    return inode;
}

/* Whether the table has it; takes no reference that stays. */
static gboolean is_known(const Mount *mount, guint64 ino, guint64 version)
{
    Inode *inode = inode_find(mount->fs.inodes, ino, version);

    inode_unref(mount->fs.inodes, inode);
    return inode != NULL;
}

/* ---- counting ---- */

static void test_root(void)
{
    g_autoptr(Mount) mount = mount_new();
    InodeTable *table = mount->fs.inodes;
    Inode *root = inode_from_id(&mount->fs, FUSE_ROOT_ID);
    g_autofree char *path = inode_path(root);

    g_assert_cmpuint(root->ino, ==, mount->first->root->id);
    g_assert_cmpuint(inode_id(&mount->fs, root), ==, FUSE_ROOT_ID);
    g_assert_cmpstr(path, ==, "");
    g_assert_true(inode_node(root, mount->first) == mount->first->root);
    inode_forget(table, root, 1000); /* it stays, whatever the kernel forgets */
    g_assert_true(is_known(mount, root->ino, 0));
    g_assert_true(inode_from_id(&mount->fs, FUSE_ROOT_ID) == root);
    Item none;
    g_assert_false(inode_item(&mount->fs, root, mount->first, &none));
}

static void test_lookups(void)
{
    g_autoptr(Mount) mount = mount_new();
    InodeTable *table = mount->fs.inodes;
    Inode *file = walk(mount, mount->first, "qom/file"), *again = walk(mount, mount->first, "qom/file");
    Inode *qom = file->parent;
    guint64 ino = file->ino, dir_ino = qom->ino;

    g_assert_true(again == file);
    g_assert_true(inode_from_id(&mount->fs, inode_id(&mount->fs, file)) == file);
    g_assert_cmpuint(file->version, ==, STAMP);
    g_assert_cmpuint(file->size, ==, 2);
    inode_forget(table, file, 1);
    g_assert_true(is_known(mount, ino, STAMP));
    inode_forget(table, file, 1);
    g_assert_false(is_known(mount, ino, STAMP));
    g_assert_true(is_known(mount, dir_ino, 0));
    inode_forget(table, qom, 2);
    g_assert_false(is_known(mount, dir_ino, 0));
    /* Looked up anew. */
    g_assert_cmpuint(walk(mount, mount->first, "qom/file")->ino, ==, ino);
}

/* A directory stays as long as something below it does, though the kernel forgot it first. */
static void test_parents_stay(void)
{
    g_autoptr(Mount) mount = mount_new();
    InodeTable *table = mount->fs.inodes;
    Inode *file = walk(mount, mount->first, "qom/machine/disk0/file");
    Inode *disk = file->parent, *machine = disk->parent, *qom = machine->parent;
    guint64 inos[] = {qom->ino, machine->ino, disk->ino};

    inode_forget(table, qom, 1);
    inode_forget(table, disk, 1);
    inode_forget(table, machine, 1);
    for (guint i = 0; i < 3; i++)
        g_assert_true(is_known(mount, inos[i], 0));
    g_autofree char *path = inode_path(file);
    g_assert_cmpstr(path, ==, "qom/machine/disk0/file");
    inode_forget(table, file, 1); /* the last of the chain takes all with it */
    for (guint i = 0; i < 3; i++)
        g_assert_false(is_known(mount, inos[i], 0));
}

static void test_forget_too_much(void)
{
    g_autoptr(Mount) mount = mount_new();
    Inode *file = walk(mount, mount->first, "qom/file"), *qom = file->parent;
    guint64 ino = qom->ino;

    inode_forget(mount->fs.inodes, qom, 7); /* more than was counted; the file still stands below */
    g_assert_true(is_known(mount, ino, 0));
    inode_forget(mount->fs.inodes, file, G_MAXUINT64);
    g_assert_false(is_known(mount, ino, 0));
}

static void test_refs(void)
{
    g_autoptr(Mount) mount = mount_new();
    InodeTable *table = mount->fs.inodes;
    Inode *file = walk(mount, mount->first, "qom/file"), *qom = file->parent;
    guint64 ino = file->ino;
    Inode *mine = inode_find(table, ino, STAMP);

    g_assert_true(mine == file);
    g_assert_null(inode_find(table, ino, STAMP + 1));
    g_assert_null(inode_find(table, ino + 1000, 0));
    inode_forget(table, file, 1);
    inode_forget(table, qom, 1);
    g_assert_cmpuint(mine->ino, ==, ino); /* it and its parent are kept by our reference */
    g_assert_true(mine->parent == qom);
    inode_unref(table, mine);
    g_assert_false(is_known(mount, ino, STAMP));
    inode_unref(table, NULL);
}

/* ---- handles ---- */

typedef struct File {
    OpenHandle handle;
    guint freed;
} File;

static void file_free(Fs *fs, OpenHandle *handle)
{
    ((File *)handle)->freed++;
    inode_closed(fs->inodes, handle);
}

static void test_handles(void)
{
    g_autoptr(Mount) mount = mount_new();
    InodeTable *table = mount->fs.inodes;
    Inode *file = walk(mount, mount->first, "qom/file"), *qom = file->parent;
    guint64 ino = file->ino;
    File one = {.handle = {.inode = file, .free = file_free}}, two = one;
    gsize size = 0;
    guint64 stamp;

    g_assert_false(inode_is_open(table, file, &size, &stamp));
    inode_opened(table, &one.handle, 10);
    g_assert_true(inode_is_open(table, file, &size, &stamp));
    g_assert_cmpuint(size, ==, 10);
    inode_opened(table, &two.handle, 20);
    g_assert_true(inode_is_open(table, file, &size, &stamp));
    g_assert_cmpuint(size, ==, 20); /* the last one's */
    inode_forget(table, file, 1);
    inode_forget(table, qom, 1);
    inode_closed(table, &one.handle);
    g_assert_true(inode_is_open(table, file, &size, &stamp));
    g_assert_cmpuint(size, ==, 20);
    inode_closed(table, &two.handle); /* nobody holds it any more */
    g_assert_false(is_known(mount, ino, STAMP));
}

/* When the content that is shown changed: of a version, its own time; of what moves, when it was first seen so. */
static void test_samples(void)
{
    g_autoptr(Mount) mount = mount_new();
    InodeTable *table = mount->fs.inodes;
    Inode *file = walk(mount, mount->first, "qom/file");
    Item clock = {.fs = &mount->fs, .kind = ITEM_FILE, .ino = file->ino + 1000, .name = "clock"};
    Inode *moving = inode_look_up(table, file->parent, &clock, 3);
    gsize size;
    guint64 stamp;

    inode_is_open(table, file, &size, &stamp);
    g_assert_cmpuint(stamp, ==, STAMP);
    inode_is_open(table, moving, &size, &stamp);
    g_assert_cmpuint(stamp, ==, 0); /* nothing was seen yet */
    guint64 first = inode_sampled(table, moving, "123456789", 9);
    g_assert_cmpuint(first, >, 0);
    g_assert_cmpuint(inode_sampled(table, moving, "123456789", 9), ==, first);
    inode_is_open(table, moving, &size, &stamp);
    g_assert_cmpuint(stamp, ==, first);
    /* Each byte counts, the length too. */
    guint64 last = first;
    static const char *const others[] = {"223456789", "123456780", "12345678", "123456789", "", "x"};
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        guint64 next = inode_sampled(table, moving, others[i], strlen(others[i]));
        g_assert_cmpuint(next, >, last);
        last = next;
    }
}

static void test_free_handles(void)
{
    g_autoptr(Mount) mount = mount_new();
    Inode *file = walk(mount, mount->first, "qom/file");
    File files[3];

    for (guint i = 0; i < 3; i++) {
        files[i] = (File){.handle = {.inode = file, .free = file_free}};
        inode_opened(mount->fs.inodes, &files[i].handle, 2);
    }
    file_free(&mount->fs, &files[1].handle); /* this one was released */
    inode_free_handles(&mount->fs);
    for (guint i = 0; i < 3; i++)
        g_assert_cmpuint(files[i].freed, ==, 1);
    inode_free_handles(&mount->fs); /* none is left */
}

static void test_listings(void)
{
    g_autoptr(Mount) mount = mount_new();
    InodeTable *table = mount->fs.inodes;
    Inode *qom = walk(mount, mount->first, "qom");
    guint64 ino = qom->ino;
    OpenHandle one = {.inode = qom}, two = {.inode = qom}, three = {.inode = qom};
    gboolean keep = TRUE;

    g_assert_true(inode_listing_open(table, &one, 5, &keep)); /* the first */
    g_assert_false(keep);
    g_assert_true(inode_listing_open(table, &two, 5, &keep)); /* the same names beside it */
    g_assert_true(keep);
    g_assert_false(inode_listing_open(table, &three, 6, &keep)); /* other names, while those are read */
    g_assert_false(keep);
    inode_listing_close(table, &three, FALSE);
    inode_listing_close(table, &one, TRUE);
    g_assert_false(inode_listing_open(table, &three, 6, &keep)); /* one still is */
    inode_listing_close(table, &three, FALSE);
    inode_listing_close(table, &two, TRUE);
    g_assert_true(inode_listing_open(table, &three, 6, &keep));
    g_assert_false(keep);
    inode_listing_close(table, &three, TRUE);
    g_assert_true(inode_listing_open(table, &three, 6, &keep)); /* what the kernel has is good */
    g_assert_true(keep);
    inode_forget(table, qom, 1);
    g_assert_true(is_known(mount, ino, 0));
    inode_listing_close(table, &three, TRUE);
    g_assert_false(is_known(mount, ino, 0));
}

/* ---- depth, versions, snapshots ---- */

static void test_depth(void)
{
    g_autoptr(Mount) mount = mount_new();
    Inode *disk = walk(mount, mount->first, "qom/machine/disk0");

    g_assert_cmpuint(disk->depth, ==, 2);
    g_assert_cmpuint(disk->parent->depth, ==, 1);
    g_assert_cmpuint(disk->parent->parent->depth, ==, 0); /* the view's root */
}

/* Publishes a snapshot in which machine's file has this value, and disk0 is this node (or gone). */
static Snapshot *publish(Mount *mount, const char *value, Node *disk, guint64 stamp)
{
    const Node *qom = node_at(mount->first, "qom"), *machine = node_at(mount->first, "qom/machine");
    Children *disks = disk ? children_of(disk, NULL) : NULL;
    Node *new_machine = dir_new(mount->shapes, "machine", value, disks, machine, stamp);
    g_autoptr(Children) machines = children_of(new_machine, NULL);
    Node *new_qom = node_with_children(qom, machines, stamp);
    g_autoptr(Children) views = children_of(new_qom, NULL);
    g_autoptr(Node) root = node_with_children(mount->first->root, views, stamp);

    snapshots_publish(mount->snapshots, root, stamp);
    return snapshots_current(mount->snapshots);
}

static void test_versions(void)
{
    g_autoptr(Mount) mount = mount_new();
    g_autoptr(Snapshot) second =
        publish(mount, "\"longer\"", node_ref(node_at(mount->first, "qom/machine/disk0")), STAMP + 1);
    Inode *before = walk(mount, mount->first, "qom/machine/file"), *after = walk(mount, second, "qom/machine/file");
    Item item;

    g_assert_true(before != after); /* another content, the same file */
    g_assert_cmpuint(before->ino, ==, after->ino);
    g_assert_cmpuint(before->version, ==, STAMP);
    g_assert_cmpuint(after->version, ==, STAMP + 1);
    g_assert_true(before->parent == after->parent);
    g_assert_cmpuint(after->size, ==, strlen("longer\n"));
    g_assert_true(walk(mount, mount->first, "qom/machine/disk0") == walk(mount, second, "qom/machine/disk0"));
    /* The outdated one is the same item in the new snapshot, which tells that it is outdated. */
    g_assert_true(inode_item(&mount->fs, before, second, &item));
    g_assert_cmpuint(item.version, ==, STAMP + 1);
    g_assert_cmpstr(item.name, ==, "file");
    g_assert_true(item.dir == node_at(second, "qom/machine"));
}

static void test_gone(void)
{
    g_autoptr(Mount) mount = mount_new();
    Inode *file = walk(mount, mount->first, "qom/machine/disk0/file"), *disk = file->parent;
    Node *same_name = dir_new(mount->shapes, "disk0", "\"a\"", NULL, NULL, STAMP + 2);
    Item item;

    g_assert_true(inode_node(disk, mount->first) == node_at(mount->first, "qom/machine/disk0"));
    g_assert_true(inode_item(&mount->fs, disk, mount->first, &item));
    g_assert_cmpint(item.kind, ==, ITEM_DIR);
    g_autoptr(Snapshot) without = publish(mount, "\"a\"", NULL, STAMP + 1);
    g_assert_null(inode_node(disk, without));
    g_assert_false(inode_item(&mount->fs, disk, without, &item));
    g_assert_false(inode_item(&mount->fs, file, without, &item));
    g_assert_nonnull(inode_node(disk->parent, without));
    /* Another object of this name is not the same one. */
    g_autoptr(Snapshot) other = publish(mount, "\"a\"", same_name, STAMP + 2);
    g_assert_null(inode_node(disk, other));
    g_assert_false(inode_item(&mount->fs, disk, other, &item));
    g_assert_false(inode_item(&mount->fs, file, other, &item));
    Inode *new_disk = walk(mount, other, "qom/machine/disk0");
    g_assert_true(new_disk != disk);
    g_assert_cmpuint(new_disk->ino, !=, disk->ino);
}

/* ---- threads ---- */

static gpointer look_up_often(gpointer opaque)
{
    const Mount *mount = opaque;
    InodeTable *table = mount->fs.inodes;

    for (guint i = 0; i < 500; i++) {
        Inode *file = walk(mount, mount->first, "qom/machine/disk0/file");
        Inode *disk = file->parent, *machine = disk->parent, *qom = machine->parent;
        File handle = {.handle = {.inode = file, .free = file_free}};
        gsize size;
        guint64 stamp;
        inode_opened(table, &handle.handle, 2);
        inode_forget(table, file, 1);
        g_assert_true(inode_is_open(table, file, &size, &stamp));
        inode_forget(table, qom, 1);
        inode_forget(table, disk, 1);
        inode_forget(table, machine, 1);
        inode_closed(table, &handle.handle);
    }
    return NULL;
}

static void test_threads(void)
{
    g_autoptr(Mount) mount = mount_new();
    Item qom = item_at(mount, mount->first, "", 0, "qom");
    GThread *threads[3];

    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("kernel", look_up_often, mount);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    g_assert_false(is_known(mount, qom.ino, 0)); /* all that was taken was given back */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/inode/root", test_root);
    g_test_add_func("/inode/lookups", test_lookups);
    g_test_add_func("/inode/parents-stay", test_parents_stay);
    g_test_add_func("/inode/forget-too-much", test_forget_too_much);
    g_test_add_func("/inode/refs", test_refs);
    g_test_add_func("/inode/handles", test_handles);
    g_test_add_func("/inode/samples", test_samples);
    g_test_add_func("/inode/free-handles", test_free_handles);
    g_test_add_func("/inode/listings", test_listings);
    g_test_add_func("/inode/depth", test_depth);
    g_test_add_func("/inode/versions", test_versions);
    g_test_add_func("/inode/gone", test_gone);
    g_test_add_func("/inode/threads", test_threads);
    return g_test_run();
}
