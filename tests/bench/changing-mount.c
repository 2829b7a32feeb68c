/* SPDX-License-Identifier: MIT */
/*
 * changing-mount DUMP PATH PROPERTY MOUNTPOINT: mounts a dump of which one property can be
 * written, so that a benchmark can change what it reads. PATH is that of the object, from the
 * mount's root ("qom/machine"). Returns when the mount answers; ends when it is unmounted.
 *
 * Threads: a main loop owns the tree and publishes, as a VM's would; it is started in the daemon.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/fs.h"
#include "objmodel/error.h"
#include "tests/mount/fresh-tree.h"
#include "vmm/dump.h"

typedef struct Changing {
    Source source; /* first: ops are given this */
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
    Node *root; /* the main loop's own */
    const char *path, *property;
} Changing;

/* ---- edits ---- */

/* The object, with the property as one that can be written. */
static Node *make_writable(const Node *object, guint64 stamp, gpointer property)
{
    guint n = node_slot_count(object);
    g_autofree SlotInfo *infos = g_new(SlotInfo, n);
    for (guint slot = 0; slot < n; slot++) {
        infos[slot] = *node_slot_info(object, slot);
        if (g_str_equal(infos[slot].name, property))
            infos[slot].flags |= SLOT_WRITABLE;
    }
    g_autoptr(Shape) shape = shape_new(infos, n);
    return node_new(&(NodeSpec){
        .kind = object->kind,
        .name = object->name,
        .json_name = object->json_name,
        .shape = shape,
        .bytes = object->bytes,
        .text = object->text,
        .slots = object->slots,
        .children = object->children,
        .previous = object,
        .stamp = stamp,
    });
}

typedef struct Change {
    Changing *changing;
    char *value;
    SourceDone done;
    void *opaque;
} Change;

static Node *set_property(const Node *object, guint64 stamp, gpointer opaque)
{
    const Change *change = opaque;
    int slot = node_find_slot(object, change->changing->property);
    return fresh_with_value(object, (guint)slot, change->value, stamp);
}

/* On the main loop. */
static gboolean change_made(gpointer opaque)
{
    Change *change = opaque;
    Changing *changing = change->changing;
    guint64 stamp = snapshots_next_stamp(changing->source.snapshots, 0);
    Node *root = fresh_edit(changing->root, changing->path, set_property, change, stamp);
    snapshots_publish(changing->source.snapshots, root, stamp);
    node_unref(changing->root);
    changing->root = root;
    change->done(NULL, change->opaque);
    g_free(change->value);
    g_free(change);
    return G_SOURCE_REMOVE;
}

/* ---- the source ---- */

static void changing_set(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done,
                         void *opaque)
{
    Changing *changing = (Changing *)source;
    if (!g_str_equal(path, changing->path) || !g_str_equal(property, changing->property)) {
        g_autoptr(GError) error =
            g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "only '%s' can be set", changing->property);
        done(error, opaque);
        return;
    }
    Change *change = g_new(Change, 1);
    *change =
        (Change){.changing = changing, .value = g_strndup(value.text, value.length), .done = done, .opaque = opaque};
    g_main_context_invoke(changing->context, change_made, change);
}

static gboolean loop_quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void changing_free(Source *source)
{
    Changing *changing = (Changing *)source;
    if (changing->thread) {
        /* From the loop itself: one that does not run yet would miss it. */
        g_autoptr(GSource) end = g_idle_source_new();
        g_source_set_callback(end, loop_quit, changing->loop, NULL);
        g_source_attach(end, changing->context);
        g_thread_join(changing->thread);
    }
    node_unref(changing->root);
    snapshots_free(changing->source.snapshots);
    g_main_loop_unref(changing->loop);
    g_main_context_unref(changing->context);
    g_free(changing);
}

static const SourceOps changing_ops = {.set = changing_set, .free = changing_free};

static Source *changing_new(const char *file_name, const char *path, const char *property, GError **error)
{
    g_autofree char *text = NULL;
    gsize length;
    if (!g_file_get_contents(file_name, &text, &length, error))
        return NULL;
    DumpOptions options = {.file_name = file_name};
    Source *dump = dump_source_new(text, length, &options, error);
    if (!dump)
        return NULL;

    Changing *changing = g_new0(Changing, 1);
    changing->source =
        (Source){.ops = &changing_ops, .snapshots = snapshots_new(), .property_mode = 0644, .read_only_mode = 0444};
    changing->context = g_main_context_new();
    changing->loop = g_main_loop_new(changing->context, FALSE);
    changing->path = path;
    changing->property = property;
    g_autoptr(Snapshot) first = snapshots_current(dump->snapshots);
    guint64 stamp = snapshots_next_stamp(changing->source.snapshots, 0);
    changing->root = fresh_edit(first->root, path, make_writable, (gpointer)property, stamp);
    dump->ops->free(dump);
    if (!changing->root) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NOT_FOUND, "no object '%s'", path);
        changing_free(&changing->source);
        return NULL;
    }
    snapshots_publish(changing->source.snapshots, changing->root, stamp);
    return &changing->source;
}

static gpointer main_loop(gpointer opaque)
{
    Changing *changing = opaque;
    g_main_context_push_thread_default(changing->context);
    g_main_loop_run(changing->loop);
    g_main_context_pop_thread_default(changing->context);
    return NULL;
}

/* ---- the program ---- */

/* Tells the parent, who waits for a byte. */
static void ready(void *opaque)
{
    int fd = GPOINTER_TO_INT(opaque);
    if (write(fd, "", 1) == 1)
        close(fd);
}

static int serve(Source *source, const char *mount_point, int ready_fd)
{
    g_autoptr(GError) error = NULL;
    Changing *changing = (Changing *)source;
    FsOptions options = {
        .mount_point = mount_point,
        .fsname = "changing",
        .uid = getuid(),
        .gid = getgid(),
        .timeout_us = G_USEC_PER_SEC,
        .ready = ready,
        .ready_data = GINT_TO_POINTER(ready_fd),
    };
    sigset_t signals, before;
    sigfillset(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    changing->thread = g_thread_new("main loop", main_loop, changing);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    gboolean good = fs_run(source, &options, &error);
    if (!good)
        fprintf(stderr, "changing-mount: %s\n", error->message);
    source->ops->free(source);
    return !good;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    int fds[2];
    char byte;

    if (argc != 5) {
        fprintf(stderr, "usage: changing-mount DUMP PATH PROPERTY MOUNTPOINT\n");
        return 2;
    }
    Source *source = changing_new(argv[1], argv[2], argv[3], &error);
    if (!source || pipe(fds)) {
        fprintf(stderr, "changing-mount: %s\n", source ? "no pipe" : error->message);
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        setsid();
        return serve(source, argv[4], fds[1]);
    }
    close(fds[1]);
    gboolean good = child > 0 && read(fds[0], &byte, 1) == 1;
    source->ops->free(source);
    return !good;
}
