/* SPDX-License-Identifier: MIT */
/* The command: the one place that knows both the VM and the mount. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/daemon.h"
#include "fs/descriptors.h"
#include "fs/fs.h"
#include "fs/message.h"
#include "fs/mount-point.h"
#include "fs/options.h"
#include "fs/socket-path.h"
#include "objmodel/error.h"
#include "vmm/companion.h"
#include "vmm/live/live.h"
#include "vmm/model.h"
#include "vmm/open.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Bytes of events that a mount keeps. */
enum { EVENTS_KEPT = 16 * 1024 * 1024 };

static void ready(void *opaque)
{
    mount_point_unlock(opaque);
    daemon_ready();
}

/* The signals that end a mount belong to fs_run()'s threads alone: all others inherit this. */
static void block_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void quit(void *opaque)
{
    (void)opaque;
    fs_stop();
}

static gboolean mount_and_serve(Source *source, const Options *options, MountPoint *mount_point, EventLog *events,
                                const char *socket, GError **error)
{
    FsOptions fs = {.mount_point = mount_point->path,
                    .fsname = options->source ? options->source : "model",
                    .kernel_options = options->kernel->str,
                    .allow_other = options->allow_other,
                    .read_only = options->read_only || !source->ops->set,
                    .debug = options->debug,
                    .hide_tree = options->hide_tree,
                    .uid = options->uid,
                    .gid = options->gid,
                    .umask = options->umask,
                    .timeout_us = (gint64)(options->timeout * G_USEC_PER_SEC),
                    .events = events,
                    .qmp = socket,
                    .ready = ready,
                    .ready_data = mount_point};
    return fs_run(source, &fs, error);
}

/* The companion socket, and the mount. */
static gboolean serve(Source *source, Share *share, const Options *options, MountPoint *mount_point, GError **error)
{
    g_autofree char *socket = socket_path(options->qmp);
    g_autoptr(EventLog) events = event_log_new(EVENTS_KEPT);
    CompanionOptions with = {.path = socket, .events = events, .share = share, .quit = quit};
    g_autoptr(GError) problem = NULL;
    if (share && !source_is_live(source)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "--share: '%s' is no running QEMU",
                    options->source ? options->source : "model");
        return FALSE;
    }
    g_autoptr(Companion) companion = companion_new(source, model_source_vm(source), &with, &problem);
    if (!companion && !options->qmp) {
        /* Nobody has asked for it: a mount without it is better than none. */
        message_print("without a companion socket: %s", problem->message);
        g_clear_error(&problem);
        g_clear_pointer(&socket, g_free);
        with.path = NULL;
        companion = companion_new(source, model_source_vm(source), &with, &problem);
    }
    if (problem)
        g_propagate_error(error, g_steal_pointer(&problem));
    if (!companion)
        return FALSE;
    companion_start(companion);
    return mount_and_serve(source, options, mount_point, events, socket, error);
}

static int fail(const GError *error)
{
    message_print("%s", error->message);
    return g_error_matches(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY) ? STATUS_USAGE : STATUS_FAILED;
}

static OpenOptions open_options(const Options *options)
{
    return (OpenOptions){.secrets = options->secrets,
                         .read_write = options->read_write,
                         .ttl_us = (gint64)(options->ttl * G_USEC_PER_SEC),
                         .timeout_us = (gint64)(options->timeout * G_USEC_PER_SEC),
                         .release_us = options->release < 0 ? -1 : (gint64)(options->release * G_USEC_PER_SEC),
                         .duty = options->duty / 100,
                         .all_queries = options->all_queries,
                         .change = {.cpus = options->cpus,
                                    .cpu = options->cpu,
                                    .memory = options->memory,
                                    .disks = options->disks,
                                    .nics = options->nics}};
}

static int run(const Options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Share) share =
        options->share ? share_new(*options->share ? options->share : NULL) : NULL; /* outlives the source */
    gboolean background = !options->foreground && !options->debug;
    MountPoint mount_point;
    g_autoptr(GArray) inherited = descriptors_inherited();
    if (!mount_point_prepare(&mount_point, options->mount_point, options->nonempty, &error))
        return fail(error);
    if (background)
        daemon_begin(mount_point.path);
    block_signals();
    OpenOptions open = open_options(options);
    Source *source = source_open(options->source, &open, &error);
    if (background)
        descriptors_close(inherited);
    gboolean ok = source && serve(source, share, options, &mount_point, &error);
    if (source)
        source->ops->free(source);
    mount_point_clear(&mount_point);
    return ok ? EXIT_SUCCESS : fail(error);
}

static int print(const char *text)
{
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    message_print("cannot write to standard output: %s", g_strerror(errno));
    return STATUS_FAILED;
}

static int print_config(const Options *options)
{
    g_autoptr(GError) error = NULL;
    OpenOptions open = open_options(options);
    g_autofree char *text = source_print_config(options->source, &open, &error);
    return text ? print(text) : fail(error);
}

int main(int argc, char **argv)
{
    g_auto(Options) options;
    g_autoptr(GError) error = NULL;
    descriptors_fill_standard();
    if (!options_parse(&options, argc, argv, &error)) {
        message_print("%s", error->message);
        return STATUS_USAGE;
    }
    if (options.help) {
        g_autofree char *help = options_help();
        return print(help);
    }
    if (options.version) {
        return print("qomfs " QOMFS_VERSION "\n");
    }
    return options.print_config ? print_config(&options) : run(&options);
}
