/* SPDX-License-Identifier: MIT */
/*
 * bare-fuse [-d] DIRECTORY MOUNTPOINT: the limit that the benchmarks compare the mount with.
 *
 * It reads DIRECTORY whole into memory (files, directories, symlinks; a mount of qomfs as
 * well as any other) and serves just that, three times, as quickly as FUSE allows:
 *
 *   MOUNTPOINT/cached/    contents and listings stay in the kernel: an open file costs OPEN
 *   MOUNTPOINT/buffered/  contents go through the page cache and are not kept
 *   MOUNTPOINT/direct/    contents go straight to the reader
 *
 * Names, attributes and targets of symlinks are never asked for twice, FLUSH is never sent,
 * extended attributes are refused for good. It returns when the mount answers, and ends when it
 * is unmounted.
 *
 * Threads: those of fuse_session_loop_mt(). Everything is made before the first and never
 * changes, so that no request takes a lock and FORGET has nothing to do.
 */
#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)

#include <errno.h>
#include <fuse_lowlevel.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As good as for ever, in seconds. */
#define FOREVER 1e8

typedef struct Entry {
    char *name;
    char *content; /* bytes of a file, target of a symlink; NULL: it cannot be read */
    struct stat attr;
    guint first, n; /* a directory's children: entries[first] to entries[first + n - 1], by name */
} Entry;

/* How a copy of the tree is served: one top directory each. */
typedef struct Policy {
    const char *name;
    gboolean keep, direct;
} Policy;

static const Policy policies[] = {
    {"cached", .keep = TRUE},
    {"buffered", .keep = FALSE},
    {"direct", .direct = TRUE},
};

/* The tree, in the order of a breadth-first walk; [0] is DIRECTORY itself. */
static Entry *entries;
static guint n_entries;
static struct stat top_attr;

/* ---- node ids: the policy's number, from 1, above the index of the entry ---- */

#define POLICY_SHIFT 32

static fuse_ino_t id_of(guint policy, guint index)
{
    return ((fuse_ino_t)(policy + 1) << POLICY_SHIFT) + index;
}

static const Policy *policy_of(fuse_ino_t id)
{
    return &policies[(id >> POLICY_SHIFT) - 1];
}

static const Entry *entry_of(fuse_ino_t id)
{
    return &entries[id & (((fuse_ino_t)1 << POLICY_SHIFT) - 1)];
}

static void entry_param(fuse_ino_t id, struct fuse_entry_param *ret)
{
    *ret = (struct fuse_entry_param){.ino = id, .attr_timeout = FOREVER, .entry_timeout = FOREVER};
    ret->attr = id == FUSE_ROOT_ID ? top_attr : entry_of(id)->attr;
    ret->attr.st_ino = id;
}

/* ---- reading DIRECTORY ---- */

static int entry_compare(const void *a, const void *b)
{
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

static void read_content(Entry *entry, const char *path)
{
    gsize length = 0;
    if (S_ISLNK(entry->attr.st_mode))
        entry->content = g_file_read_link(path, NULL);
    else
        g_file_get_contents(path, &entry->content, &length, NULL);
    /* Not every file system knows the size before. */
    if (S_ISREG(entry->attr.st_mode))
        entry->attr.st_size = (off_t)length;
}

/* Appends what stands in the directory that the array has at `parent`. */
static void read_directory(GArray *found, guint parent, const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    guint first = found->len;

    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *child_path = g_build_filename(path, name, NULL);
        Entry entry = {.name = g_strdup(name)};
        if (lstat(child_path, &entry.attr)) {
            g_free(entry.name);
            continue;
        }
        if (!S_ISDIR(entry.attr.st_mode))
            read_content(&entry, child_path);
        g_array_append_val(found, entry);
    }
    Entry *self = &g_array_index(found, Entry, parent);
    self->first = first;
    self->n = found->len - first;
    if (self->n)
        qsort(&g_array_index(found, Entry, first), self->n, sizeof(Entry), entry_compare);
}

static gboolean read_tree(const char *path)
{
    Entry top = {.name = g_strdup("")};
    if (stat(path, &top.attr) || !S_ISDIR(top.attr.st_mode)) {
        fprintf(stderr, "bare-fuse: '%s' is not a directory that can be read\n", path);
        g_free(top.name);
        return FALSE;
    }
    top_attr = top.attr;

    GArray *found = g_array_new(FALSE, TRUE, sizeof(Entry));
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    g_array_append_val(found, top);
    g_ptr_array_add(paths, g_strdup(path));
    for (guint i = 0; i < found->len; i++) {
        const char *dir_path = g_ptr_array_index(paths, i);
        if (S_ISDIR(g_array_index(found, Entry, i).attr.st_mode))
            read_directory(found, i, dir_path);
        for (guint child = paths->len; child < found->len; child++)
            g_ptr_array_add(paths, g_build_filename(dir_path, g_array_index(found, Entry, child).name, NULL));
    }
    g_ptr_array_unref(paths);
    n_entries = found->len;
    entries = (Entry *)(void *)g_array_free(found, FALSE);
    return TRUE;
}

static void free_tree(void)
{
    for (guint i = 0; i < n_entries; i++) {
        g_free(entries[i].name);
        g_free(entries[i].content);
    }
    g_free(entries);
}

/* ---- operations ---- */

/* The child's node id, or 0. */
static fuse_ino_t find_child(fuse_ino_t parent, const char *name)
{
    if (parent == FUSE_ROOT_ID) {
        for (guint i = 0; i < G_N_ELEMENTS(policies); i++) {
            if (g_str_equal(policies[i].name, name))
                return id_of(i, 0);
        }
        return 0;
    }
    const Entry *dir = entry_of(parent);
    Entry key = {.name = (char *)name};
    const Entry *child = dir->n ? bsearch(&key, &entries[dir->first], dir->n, sizeof(Entry), entry_compare) : NULL;
    return child ? id_of((guint)(policy_of(parent) - policies), (guint)(child - entries)) : 0;
}

static void bare_init(void *data, struct fuse_conn_info *connection)
{
    (void)data;
    /* The targets of symlinks are asked for once as well. */
    connection->want |= connection->capable & FUSE_CAP_CACHE_SYMLINKS;
}

/* Replies: entry, ENOENT. */
static void bare_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param param;
    fuse_ino_t id = find_child(parent, name);
    if (!id) {
        fuse_reply_err(req, ENOENT);
        return;
    }
    entry_param(id, &param);
    fuse_reply_entry(req, &param);
}

/* Replies: attr. */
static void bare_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    struct fuse_entry_param param;
    (void)fi;
    entry_param(id, &param);
    fuse_reply_attr(req, &param.attr, param.attr_timeout);
}

/* Replies: readlink, EIO. */
static void bare_readlink(fuse_req_t req, fuse_ino_t id)
{
    const char *target = entry_of(id)->content;
    if (target)
        fuse_reply_readlink(req, target);
    else
        fuse_reply_err(req, EIO);
}

/* Replies: open, EIO. */
static void bare_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    if (!entry_of(id)->content) {
        fuse_reply_err(req, EIO);
        return;
    }
    fi->keep_cache = policy_of(id)->keep;
    fi->direct_io = policy_of(id)->direct;
    fi->noflush = 1;
    fuse_reply_open(req, fi);
}

/* Replies: buf. */
static void bare_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    const Entry *entry = entry_of(id);
    (void)fi;
    if (offset >= entry->attr.st_size)
        fuse_reply_buf(req, NULL, 0);
    else
        fuse_reply_buf(req, entry->content + offset, MIN(size, (size_t)(entry->attr.st_size - offset)));
}

/* Replies: open. */
static void bare_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    (void)id;
    fi->cache_readdir = 1;
    fi->keep_cache = 1;
    fuse_reply_open(req, fi);
}

/* Replies: buf. Offsets are the ordinal of the next child. */
static void list(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, gboolean plus)
{
    guint n = id == FUSE_ROOT_ID ? G_N_ELEMENTS(policies) : entry_of(id)->n;
    g_autofree char *buffer = g_malloc(size);
    size_t used = 0;

    for (guint i = (guint)offset; i < n; i++) {
        fuse_ino_t child =
            id == FUSE_ROOT_ID ? id_of(i, 0) : id_of((guint)(policy_of(id) - policies), entry_of(id)->first + i);
        const char *name = id == FUSE_ROOT_ID ? policies[i].name : entry_of(child)->name;
        struct fuse_entry_param param;
        entry_param(child, &param);
        size_t length = plus ? fuse_add_direntry_plus(req, buffer + used, size - used, name, &param, i + 1)
                             : fuse_add_direntry(req, buffer + used, size - used, name, &param.attr, i + 1);
        if (length > size - used)
            break;
        used += length;
    }
    fuse_reply_buf(req, buffer, used);
}

static void bare_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)fi;
    list(req, id, size, offset, FALSE);
}

static void bare_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)fi;
    list(req, id, size, offset, TRUE);
}

/* Replies: EOPNOTSUPP, after which ls(1) asks no more. */
static void bare_getxattr(fuse_req_t req, fuse_ino_t id, const char *name, size_t size)
{
    (void)id, (void)name, (void)size;
    fuse_reply_err(req, EOPNOTSUPP);
}

static const struct fuse_lowlevel_ops operations = {
    .init = bare_init,
    .lookup = bare_lookup,
    .getattr = bare_getattr,
    .readlink = bare_readlink,
    .open = bare_open,
    .read = bare_read,
    .opendir = bare_opendir,
    .readdir = bare_readdir,
    .readdirplus = bare_readdirplus,
    .getxattr = bare_getxattr,
};

/* ---- the program ---- */

static int serve(const char *mountpoint, gboolean debug)
{
    const char *argv[] = {"bare-fuse", "-odefault_permissions,fsname=bare-fuse,subtype=bare-fuse", "-d"};
    struct fuse_args args = FUSE_ARGS_INIT(debug ? 3 : 2, (char **)argv);
    struct fuse_session *session = fuse_session_new(&args, &operations, sizeof operations, NULL);
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    int status = 1;

    if (session && !fuse_set_signal_handlers(session)) {
        if (!fuse_session_mount(session, mountpoint)) {
            /* Whoever uses the mount from now on waits until the loop answers. */
            if (!fuse_daemonize(debug))
                status = fuse_session_loop_mt(session, config) < 0;
            fuse_session_unmount(session);
        }
        fuse_remove_signal_handlers(session);
    }
    fuse_loop_cfg_destroy(config);
    if (session)
        fuse_session_destroy(session);
    fuse_opt_free_args(&args);
    return status;
}

int main(int argc, char **argv)
{
    gboolean debug = argc > 1 && g_str_equal(argv[1], "-d");
    if (argc != 3 + debug) {
        fprintf(stderr, "usage: bare-fuse [-d] DIRECTORY MOUNTPOINT\n");
        return 2;
    }
    /* The daemon changes its directory. */
    g_autofree char *mountpoint = realpath(argv[2 + debug], NULL);
    if (!mountpoint) {
        fprintf(stderr, "bare-fuse: cannot mount on '%s': %s\n", argv[2 + debug], strerror(errno));
        return 1;
    }
    if (!read_tree(argv[1 + debug]))
        return 1;
    int status = serve(mountpoint, debug);
    free_tree();
    return status;
}
