/* SPDX-License-Identifier: MIT */
/*
 * run-bench [OPTIONS] NAME=COMMAND NAME=COMMAND...: what whole commands cost, in turn, from
 * before their start until they have ended. Each is run without a shell, its output thrown
 * away. The first command is what is measured, the second its limit.
 *
 *   --prepare=NAME=COMMAND   run by a shell before each run of that name, not timed
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/series.h"

extern char **environ;

typedef struct Command {
    char **argv;
    char *prepare; /* or NULL */
    Series *series;
} Command;

static char *title = "";
static char **prepares;
static double goal;
static int rounds = 20;
static gboolean json;

static const GOptionEntry options[] = {
    {"title", 0, 0, G_OPTION_ARG_STRING, &title, "the row's name", "TEXT"},
    {"goal", 0, 0, G_OPTION_ARG_DOUBLE, &goal, "the first median against the second", "RATIO"},
    {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "how often each is run", "N"},
    {"prepare", 0, 0, G_OPTION_ARG_STRING_ARRAY, &prepares, "run before each run of that name", "NAME=COMMAND"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &json, "one line of JSON", NULL},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

/* Returns the nanoseconds. A command that fails ends it all. */
static guint64 run(char **argv, const posix_spawn_file_actions_t *actions)
{
    pid_t child;
    int status;
    guint64 begin = clock_ns();

    int failed = posix_spawnp(&child, argv[0], actions, NULL, argv, environ);
    if (failed) {
        fprintf(stderr, "run-bench: cannot run '%s': %s\n", argv[0], strerror(failed));
        exit(1);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    guint64 end = clock_ns();
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "run-bench: '%s' failed\n", argv[0]);
        exit(1);
    }
    return end - begin;
}

static void command_free(void *data)
{
    Command *command = data;
    g_strfreev(command->argv);
    g_free(command->prepare);
    series_free(command->series);
    g_free(command);
}

/* The part after "NAME=" of the --prepare that is for this name, or NULL. */
static char *find_prepare(const char *name)
{
    for (char **at = prepares; at && *at; at++) {
        gsize length = strlen(name);
        if (g_str_has_prefix(*at, name) && (*at)[length] == '=')
            return g_strdup(*at + length + 1);
    }
    return NULL;
}

static Command *command_parse(const char *arg)
{
    const char *equals = strchr(arg, '=');
    char **argv;
    if (!equals || !g_shell_parse_argv(equals + 1, NULL, &argv, NULL))
        return NULL;
    Command *command = g_new0(Command, 1);
    g_autofree char *name = g_strndup(arg, (gsize)(equals - arg));
    command->argv = argv;
    command->series = series_new(name);
    command->prepare = find_prepare(name);
    return command;
}

static void measure(Command *command, const posix_spawn_file_actions_t *quiet, gboolean count)
{
    if (command->prepare) {
        char *shell[] = {"sh", "-c", command->prepare, NULL};
        run(shell, NULL);
    }
    guint64 ns = run(command->argv, quiet);
    if (count)
        series_add(command->series, ns);
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("NAME=COMMAND NAME=COMMAND...");
    g_autoptr(GPtrArray) commands = g_ptr_array_new_with_free_func(command_free);
    g_autoptr(GPtrArray) series = g_ptr_array_new();
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "run-bench: %s\n", error->message);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        Command *command = command_parse(argv[i]);
        if (!command) {
            fprintf(stderr, "run-bench: '%s' is not NAME=COMMAND\n", argv[i]);
            return 2;
        }
        g_ptr_array_add(commands, command);
        g_ptr_array_add(series, command->series);
    }
    if (commands->len < 2 || rounds < 1) {
        fprintf(stderr, "run-bench: wrong usage, try --help\n");
        return 2;
    }

    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    for (int round = -1; round < rounds; round++) {
        for (guint i = 0; i < commands->len; i++)
            measure(g_ptr_array_index(commands, i), &quiet, round >= 0);
    }
    posix_spawn_file_actions_destroy(&quiet);

    Row row = {.title = title, .ms = TRUE, .goal = goal};
    row_print(&row, (Series *const *)series->pdata, series->len, json);
    return 0;
}
