/* SPDX-License-Identifier: MIT */
/*
 * qom: looks at a virtual machine's object tree over QMP, at qomfs' own socket or a QEMU's.
 *
 *     qom [-s SOCKET] [--time] tree [--method=get|list-get|list-getv|tree-get] [PATH]
 *     qom [-s SOCKET] [--time] list [PATH]
 *     qom [-s SOCKET] [--time] get PATH PROPERTY
 *     qom [-s SOCKET] [--time] set PATH PROPERTY VALUE
 *
 * `tree` prints the same whatever the method; --time tells what it cost. An example of how
 * qmp/client.h is used, with qom-calls.h and qom-tree.h. One thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "objmodel/json.h"
#include "examples/qom-calls.h"
#include "examples/qom-tree.h"

#define TIMEOUT_MS 60000

static QmpClient *qmp;

/* ---- the commands ---- */

typedef struct Options {
    char *socket;
    char *method;
    gboolean time;
} Options;

static void item_print(const QomItem *item)
{
    fputs(item->lines->str, stdout);
    for (guint i = 0; i < item->children->len; i++) {
        item_print(g_ptr_array_index(item->children, i));
    }
}

static gboolean command_tree(const Options *options, char **args, GError **error)
{
    QomItem *item = qom_item_new(args[0] != NULL && strcmp(args[0], "/") != 0 ? args[0] : "");
    gboolean ok = qom_item_fetch(qmp, item, options->method, error);

    if (ok) {
        item_print(item);
    }
    qom_item_free(item);
    return ok;
}

static gboolean command_list(const Options *options G_GNUC_UNUSED, char **args, GError **error)
{
    JsonSlice list, entry;
    JsonWalk walk;

    if (!qom_call_path(qmp, "qom-list", args[0] != NULL ? args[0] : "/", &list, error)) {
        return FALSE;
    }
    if (json_kind(list) != JSON_ARRAY) {
        return qom_fail_shape("qom-list returns no list", error);
    }
    walk = json_walk(list);
    while (json_walk_element(&walk, &entry)) {
        gboolean is_object = json_kind(entry) == JSON_OBJECT;
        g_autofree char *name = is_object ? json_string_dup(json_member(entry, "name"), NULL) : NULL;
        g_autofree char *type = is_object ? json_string_dup(json_member(entry, "type"), NULL) : NULL;

        if (name == NULL || type == NULL) {
            return qom_fail_shape("a property without name or type", error);
        }
        printf("%s: %s\n", name, type);
    }
    return TRUE;
}

static gboolean command_get(const Options *options G_GNUC_UNUSED, char **args, GError **error)
{
    JsonSlice value;

    if (!qom_call_get(qmp, args[0], args[1], &value, error)) {
        return FALSE;
    }
    printf("%.*s\n", (int)value.length, value.text);
    return TRUE;
}

/* VALUE is JSON, or else a string as it is. */
static gboolean command_set(const Options *options G_GNUC_UNUSED, char **args, GError **error)
{
    g_autofree char *json = json_compact(args[2], strlen(args[2]), JSON_READER_STRICT, NULL, NULL);
    g_autoptr(GString) arguments = g_string_new(NULL);
    JsonSlice value;

    qom_append_member(arguments, "path", args[0]);
    qom_append_member(arguments, "property", args[1]);
    g_string_append(arguments, ",\"value\":");
    if (json != NULL) {
        g_string_append(arguments, json);
    } else {
        json_append_string(arguments, args[2], -1);
    }
    return qom_call(qmp, "qom-set", arguments, &value, error);
}

static const struct {
    const char *name;
    guint min, max; /* of arguments */
    gboolean (*run)(const Options *options, char **args, GError **error);
} commands[] = {
    {"tree", 0, 1, command_tree},
    {"list", 0, 1, command_list},
    {"get", 2, 2, command_get},
    {"set", 3, 3, command_set},
};

/* ---- the program ---- */

/* Seconds; what is spent before main() is in none of them. */
typedef struct Times {
    double real, user, sys;
} Times;

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static Times times_now(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (Times){(double)g_get_monotonic_time() / 1e6, seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

static void print_times_since(Times start)
{
    Times now = times_now();
    double real = now.real - start.real, user = now.user - start.user, sys = now.sys - start.sys;

    fprintf(stderr, "real %.6f user %.6f sys %.6f real-user-sys %.6f\n", real, user, sys, real - user - sys);
}

static gboolean run(const Options *options, char **args, GError **error)
{
    guint n = args != NULL ? g_strv_length(args) : 0;

    for (guint i = 0; n > 0 && i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(args[0], commands[i].name) == 0 && n - 1 >= commands[i].min && n - 1 <= commands[i].max) {
            qmp = qmp_client_new(options->socket, TIMEOUT_MS, error);
            return qmp != NULL && commands[i].run(options, args + 1, error);
        }
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                "usage: qom [-s SOCKET] tree|list|get|set ..., see --help");
    return FALSE;
}

int main(int argc, char **argv)
{
    g_auto(GStrv) args = NULL;
    Options options = {0};
    const GOptionEntry entries[] = {
        {"socket", 's', 0, G_OPTION_ARG_FILENAME, &options.socket,
         "The QMP socket (default: $QMP_SOCKET), or HOST:PORT", "SOCKET"},
        {"method", 'm', 0, G_OPTION_ARG_STRING, &options.method,
         "How to read a tree: get, list-get, list-getv, tree-get", "METHOD"},
        {"time", 't', 0, G_OPTION_ARG_NONE, &options.time, "Print the time that it took to standard error", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &args, NULL, NULL},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    g_autoptr(GOptionContext) context =
        g_option_context_new("tree [PATH] | list [PATH] | get PATH PROPERTY | set PATH PROPERTY VALUE");
    g_autoptr(GError) error = NULL;
    Times start = times_now();
    gboolean ok;

    g_option_context_set_summary(context, "Looks at a virtual machine's object tree over QMP.");
    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, &argc, &argv, &error);
    if (ok && options.socket == NULL) {
        options.socket = g_strdup(g_getenv("QMP_SOCKET"));
    }
    if (ok && options.socket == NULL) {
        ok = FALSE;
        g_set_error(&error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "no socket: give -s SOCKET, or set QMP_SOCKET");
    }
    ok = ok && run(&options, args, &error);
    if (ok && (fflush(stdout) != 0 || ferror(stdout))) {
        ok = FALSE;
        g_set_error(&error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot write: %s", g_strerror(errno));
    }
    if (ok && options.time) {
        print_times_since(start);
    }
    if (!ok) {
        g_autofree char *shown = g_strescape(error->message, "\"");

        fprintf(stderr, "qom: %s\n", shown);
    }
    qmp_client_free(qmp);
    g_free(options.socket);
    g_free(options.method);
    return ok ? EXIT_SUCCESS : error->domain == G_OPTION_ERROR ? 2 : EXIT_FAILURE;
}
