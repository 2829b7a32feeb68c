/* SPDX-License-Identifier: MIT */
/*
 * fresh-mount [-d] MOUNTPOINT TIMEOUT-MS: mounts a small tree that changes as it is told, line by
 * line, on its standard input. It says "ready" when the mount answers, and one line in answer
 * to each command; it ends when its input does, or when it is unmounted. -d: libfuse's log.
 *
 *   set PATH PROPERTY JSON [PATH PROPERTY JSON]...   all in one publication; "ok GENERATION"
 *   settle                answered when all that follows from what was published is done
 *   add PATH NAME         a new object below this one
 *   del PATH [PATH]...    all in one publication
 *   storm MICROSECONDS    from now on it changes that often by itself: fresh_storm_begin()
 *   calm                  no longer; "ok COUNT"
 *   delay MS CURRENT-MS   how long qom/late takes to be fetched, -1: for ever; how long it is
 *                         current then
 *
 * The words of a command are separated by tabs, paths are below qom/. Run by
 * cases/fresh.py, which looks at the mount from a process of its own.
 *
 * Threads: the source's main loop owns the tree, reads the commands and publishes, as a VM's
 * main loop would; fs_run() has the first thread.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/fs.h"
#include "tests/mount/fresh-source.h"

/* ---- commands ---- */

static void answer(const char *word, guint64 number)
{
    printf("%s %" G_GUINT64_FORMAT "\n", word, number);
    fflush(stdout);
}

static void answer_settled(gpointer generation)
{
    answer("ok", GPOINTER_TO_SIZE(generation));
}

static gboolean command_set(Fresh *fresh, char **words, guint n, guint64 stamp)
{
    gboolean good = n >= 4 && n % 3 == 1;
    for (guint i = 1; good && i < n; i += 3)
        good = fresh_set_value(fresh, words[i], words[i + 1], words[i + 2], stamp);
    return good;
}

static gboolean command_delete(Fresh *fresh, char **words, guint n, guint64 stamp)
{
    gboolean good = n >= 2;
    for (guint i = 1; good && i < n; i++)
        good = fresh_delete(fresh, words[i], stamp);
    return good;
}

static void run_command(Fresh *fresh, char **words)
{
    guint n = g_strv_length(words);
    const char *word = n ? words[0] : "";
    guint64 stamp = fresh_stamp(fresh);
    gboolean good;

    if (g_str_equal(word, "storm") && n == 2) {
        fresh_storm_begin(fresh, (guint)atoi(words[1]));
        answer("ok", 0);
        return;
    }
    if (g_str_equal(word, "calm")) {
        fresh_storm_end(fresh);
        answer("ok", fresh->storm_count);
        return;
    }
    if (g_str_equal(word, "delay") && n == 3) {
        g_atomic_int_set(&fresh->delay_ms, atoi(words[1]));
        g_atomic_int_set(&fresh->current_ms, atoi(words[2]));
        answer("ok", 0);
        return;
    }
    if (g_str_equal(word, "settle")) {
        guint64 generation = snapshots_next_generation(fresh->source.snapshots) - 1;
        snapshots_when_settled(fresh->source.snapshots, generation, answer_settled, GSIZE_TO_POINTER(generation));
        return;
    }
    if (g_str_equal(word, "set"))
        good = command_set(fresh, words, n, stamp);
    else if (g_str_equal(word, "add"))
        good = n == 3 && fresh_add(fresh, words[1], words[2], stamp);
    else
        good = g_str_equal(word, "del") && command_delete(fresh, words, n, stamp);
    answer(good ? "ok" : "failed", fresh_publish(fresh, stamp));
}

static gboolean command_ready(GIOChannel *channel, GIOCondition condition, gpointer opaque)
{
    Fresh *fresh = opaque;
    g_autofree char *line = NULL;
    (void)condition;

    if (g_io_channel_read_line(channel, &line, NULL, NULL, NULL) != G_IO_STATUS_NORMAL) {
        fs_stop();
        return G_SOURCE_REMOVE;
    }
    g_auto(GStrv) words = g_strsplit(g_strchomp(line), "\t", -1);
    run_command(fresh, words);
    return G_SOURCE_CONTINUE;
}

/* ---- the program ---- */

static void ready(void *opaque)
{
    (void)opaque;
    printf("ready\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    sigset_t signals;

    gboolean debug = argc > 1 && g_str_equal(argv[1], "-d");
    if (argc != 3 + debug) {
        fprintf(stderr, "usage: fresh-mount [-d] MOUNTPOINT TIMEOUT-MS\n");
        return 2;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    Fresh *fresh = fresh_new();
    Source *source = &fresh->source;
    GIOChannel *commands = g_io_channel_unix_new(STDIN_FILENO);
    GSource *watch = g_io_create_watch(commands, G_IO_IN | G_IO_HUP);
    g_source_set_callback(watch, G_SOURCE_FUNC(command_ready), fresh, NULL);
    g_source_attach(watch, fresh->context);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);

    FsOptions options = {
        .mount_point = argv[1 + debug],
        .fsname = "fresh",
        .debug = debug,
        .uid = getuid(),
        .gid = getgid(),
        .timeout_us = (gint64)atoi(argv[2 + debug]) * 1000,
        .ready = ready,
    };
    gboolean good = fs_run(source, &options, &error);
    if (!good)
        fprintf(stderr, "fresh-mount: %s\n", error->message);
    source->ops->free(source);
    g_source_unref(watch);
    g_io_channel_unref(commands);
    return !good;
}
