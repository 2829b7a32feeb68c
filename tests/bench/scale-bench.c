/* SPDX-License-Identifier: MIT */
/*
 * scale-bench [OPTIONS] QOMFS SMALL LARGE: what a large source costs beside a small one: the
 * time until the mount answers, the memory that the daemon needs, and the first look-up of
 * names that the kernel has not seen. SMALL and LARGE are what qomfs takes as its SOURCE.
 *
 * Which names to look up is found by going down from qom/ at random in mounts of their own,
 * since a listing plants the names that it returns in the kernel's cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/series.h"

extern char **environ;

#define FUSE_MAGIC 0x65735546
/* How long a mount may take before it counts as failed. */
#define MOUNT_LIMIT_NS (60 * (guint64)1000000000)

typedef struct Mount {
    const char *source;
    char *path;
    pid_t daemon; /* 0: not mounted */
    GPtrArray *names;
    Series *mounting, *looking_up, *missing;
} Mount;

static double properties;
static int lookups = 2000, mounts = 3;
static gboolean json;

static const GOptionEntry options[] = {
    {"properties", 0, 0, G_OPTION_ARG_DOUBLE, &properties, "how many the large source has", "N"},
    {"lookups", 0, 0, G_OPTION_ARG_INT, &lookups, "names to look up", "N"},
    {"mounts", 0, 0, G_OPTION_ARG_INT, &mounts, "times to mount", "N"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &json, "lines of JSON", NULL},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static const char *qomfs;
static char *work_dir;
static Mount small = {.source = NULL}, large = {.source = NULL};

static void mount_end(Mount *mount)
{
    if (!mount->daemon)
        return;
    kill(mount->daemon, SIGTERM);
    while (waitpid(mount->daemon, NULL, 0) < 0 && errno == EINTR)
        ;
    mount->daemon = 0;
}

/* Calls nothing that a signal's handler may not. */
static void leave_nothing(void)
{
    mount_end(&small);
    mount_end(&large);
    if (small.path)
        rmdir(small.path);
    if (large.path)
        rmdir(large.path);
    if (work_dir)
        rmdir(work_dir);
}

static void on_signal(int number)
{
    (void)number;
    leave_nothing();
    _exit(1);
}

/* Run at exit, so that a failure leaves no mount behind. */
static void clean_up(void)
{
    leave_nothing();
    g_free(small.path);
    g_free(large.path);
    g_free(work_dir);
}

G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "scale-bench: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

/* Whether the mount is there and its root directory has been looked up. */
static gboolean mount_answers(const Mount *mount)
{
    struct statfs fs;
    struct stat attr;
    g_autofree char *qom = g_build_filename(mount->path, "qom", NULL);
    return !statfs(mount->path, &fs) && fs.f_type == FUSE_MAGIC && !lstat(qom, &attr);
}

/* Starts the daemon; returns the nanoseconds until the mount answers. */
static guint64 mount_begin(Mount *mount)
{
    char *argv[] = {(char *)qomfs, (char *)"-f", (char *)"--qmp=none", (char *)mount->source, mount->path, NULL};
    guint64 begin = clock_ns();
    int failed = posix_spawn(&mount->daemon, qomfs, NULL, NULL, argv, environ);
    if (failed) {
        mount->daemon = 0;
        fail("cannot run '%s': %s", qomfs, strerror(failed));
    }
    while (!mount_answers(mount)) {
        if (waitpid(mount->daemon, NULL, WNOHANG) == mount->daemon) {
            mount->daemon = 0;
            fail("the mount of '%s' ended", mount->source);
        }
        if (clock_ns() - begin > MOUNT_LIMIT_NS)
            fail("the mount of '%s' does not answer", mount->source);
        g_usleep(500);
    }
    return clock_ns() - begin;
}

/* A field of /proc/PID/status that is in kB, in bytes. */
static double memory_of(pid_t pid, const char *field)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *text = NULL;
    const char *at = NULL;
    if (g_file_get_contents(path, &text, NULL, NULL))
        at = strstr(text, field);
    if (!at)
        fail("cannot read '%s'", path);
    return g_ascii_strtod(at + strlen(field), NULL) * 1024;
}

/* ---- names to look up ---- */

static void strings_unref(gpointer strings)
{
    g_ptr_array_unref(strings);
}

/* What a directory lists, remembered in `known`; borrowed. */
static GPtrArray *listing_of(GHashTable *known, const char *path)
{
    GPtrArray *names = g_hash_table_lookup(known, path);
    if (names)
        return names;
    names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        g_ptr_array_add(names, g_strdup(name));
    g_hash_table_insert(known, g_strdup(path), names);
    return names;
}

/* Fills mount->names with different names of files below qom/, as paths from the mount point. */
static void choose_names(Mount *mount)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, strings_unref);
    g_autoptr(GHashTable) chosen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (int tries = 0; (int)mount->names->len < lookups && tries < 20 * lookups; tries++) {
        g_autofree char *path = g_build_filename(mount->path, "qom", NULL);
        struct stat attr;
        while (!lstat(path, &attr) && S_ISDIR(attr.st_mode)) {
            GPtrArray *names = listing_of(known, path);
            if (!names->len)
                break;
            gint32 pick = g_rand_int_range(random, 0, (gint32)names->len);
            char *child = g_build_filename(path, g_ptr_array_index(names, pick), NULL);
            g_free(path);
            path = child;
        }
        const char *name = path + strlen(mount->path) + 1;
        if (g_hash_table_contains(chosen, name))
            continue;
        g_ptr_array_add(mount->names, g_strdup(name));
        g_hash_table_add(chosen, g_ptr_array_index(mount->names, mount->names->len - 1));
    }
}

/* Times the first look-up of one name, and of one that does not exist beside it. */
static void look_up(Mount *mount, guint index)
{
    g_autofree char *path = g_build_filename(mount->path, g_ptr_array_index(mount->names, index), NULL);
    g_autofree char *dir = g_path_get_dirname(path);
    g_autofree char *missing = g_strdup_printf("%s/no such name %u", dir, index);
    struct stat attr;

    /* The directory above is not what is measured. */
    if (stat(dir, &attr))
        fail("cannot stat '%s': %s", dir, strerror(errno));
    guint64 begin = clock_ns();
    if (lstat(path, &attr))
        fail("cannot stat '%s': %s", path, strerror(errno));
    guint64 middle = clock_ns();
    if (!lstat(missing, &attr))
        fail("'%s' exists", missing);
    guint64 end = clock_ns();
    series_add(mount->looking_up, middle - begin);
    series_add(mount->missing, end - middle);
}

/* ---- the program ---- */

static void mount_init(Mount *mount, const char *name, const char *source)
{
    mount->source = source;
    mount->path = g_build_filename(work_dir, name, NULL);
    if (g_mkdir(mount->path, 0700))
        fail("cannot make '%s': %s", mount->path, strerror(errno));
    mount->names = g_ptr_array_new_with_free_func(g_free);
    mount->mounting = series_new(name);
    mount->looking_up = series_new(name);
    mount->missing = series_new(name);

    mount_begin(mount);
    choose_names(mount);
    mount_end(mount);
}

static void mount_clear(Mount *mount)
{
    g_ptr_array_unref(mount->names);
    series_free(mount->mounting);
    series_free(mount->looking_up);
    series_free(mount->missing);
}

static void show(void)
{
    Row mounting = {.title = "time until the mount answers", .ms = TRUE};
    Row looking_up = {.title = "first look-up of a name", .goal = 1.2};
    Row missing = {.title = "look-up of a name that does not exist", .goal = 1.2};
    Series *mounting_series[] = {large.mounting, small.mounting};
    Series *looking_up_series[] = {large.looking_up, small.looking_up};
    Series *missing_series[] = {large.missing, small.missing};

    row_print(&mounting, mounting_series, 2, json);
    double median = (double)g_array_index(large.mounting->ns, guint64, large.mounting->ns->len / 2);
    figure_print("mounted, median", median / 1e9, 2, "s", json);
    figure_print("memory of the daemon (VmRSS) a property", memory_of(large.daemon, "VmRSS:") / properties, 150,
                 "bytes", json);
    figure_print("the same at its highest (VmHWM)", memory_of(large.daemon, "VmHWM:") / properties, 0, "bytes", json);
    figure_print("memory of the daemon, small source", memory_of(small.daemon, "VmRSS:") / 1e6, 0, "MB", json);
    row_print(&looking_up, looking_up_series, 2, json);
    row_print(&missing, missing_series, 2, json);
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("QOMFS SMALL LARGE");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "scale-bench: %s\n", error->message);
        return 2;
    }
    if (argc != 4 || properties < 1 || lookups < 1 || mounts < 1) {
        fprintf(stderr, "scale-bench: wrong usage, try --help\n");
        return 2;
    }
    qomfs = argv[1];
    atexit(clean_up);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGHUP, on_signal);
    signal(SIGPIPE, on_signal);
    work_dir = g_dir_make_tmp("scale-bench-XXXXXX", &error);
    if (!work_dir)
        fail("%s", error->message);
    mount_init(&small, "small", argv[2]);
    mount_init(&large, "large", argv[3]);

    for (int i = 0; i < mounts; i++) {
        mount_end(&small);
        mount_end(&large);
        series_add(small.mounting, mount_begin(&small));
        series_add(large.mounting, mount_begin(&large));
    }
    for (guint i = 0; i < MIN(small.names->len, large.names->len); i++) {
        look_up(&small, i);
        look_up(&large, i);
    }
    show();
    mount_clear(&small);
    mount_clear(&large);
    return 0;
}
