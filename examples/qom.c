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
 * qmp/client.h is used. One thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "objmodel/json.h"
#include "qmp/client.h"

#define TIMEOUT_MS 60000

static QmpClient *qmp;

/* An object that was fetched. */
typedef struct Item {
    char *path;          /* "" for the root, so that names can follow it */
    GString *lines;      /* what is printed of it */
    GPtrArray *children; /* Item */
} Item;

static void item_free(gpointer data)
{
    Item *item = data;

    g_free(item->path);
    g_string_free(item->lines, TRUE);
    g_ptr_array_unref(item->children);
    g_free(item);
}

static Item *item_new(const char *path)
{
    Item *item = g_new0(Item, 1);

    item->path = g_strdup(path);
    item->lines = g_string_new(NULL);
    item->children = g_ptr_array_new_with_free_func(item_free);
    return item;
}

static const char *item_qmp_path(const Item *item)
{
    return *item->path != '\0' ? item->path : "/";
}

/* ---- calling ---- */

static void append_member(GString *out, const char *name, const char *text)
{
    g_string_append_c(out, out->len > 0 ? ',' : '{');
    json_append_string(out, name, -1);
    g_string_append_c(out, ':');
    json_append_string(out, text, -1);
}

static gboolean call(const char *command, GString *arguments, JsonSlice *ret, GError **error)
{
    g_string_append_c(arguments, '}');
    return qmp_client_call(qmp, command, (JsonSlice){arguments->str, arguments->len}, ret, error);
}

static gboolean call_path(const char *command, const char *path, JsonSlice *ret, GError **error)
{
    g_autoptr(GString) arguments = g_string_new(NULL);

    append_member(arguments, "path", path);
    return call(command, arguments, ret, error);
}

static gboolean call_get(const char *path, const char *property, JsonSlice *ret, GError **error)
{
    g_autoptr(GString) arguments = g_string_new(NULL);

    append_member(arguments, "path", path);
    append_member(arguments, "property", property);
    return call("qom-get", arguments, ret, error);
}

static gboolean call_paths(const char *command, const GPtrArray *items, JsonSlice *ret, GError **error)
{
    g_autoptr(GString) arguments = g_string_new("{\"paths\":[");

    for (guint i = 0; i < items->len; i++) {
        if (i > 0) {
            g_string_append_c(arguments, ',');
        }
        json_append_string(arguments, item_qmp_path(g_ptr_array_index(items, i)), -1);
    }
    g_string_append_c(arguments, ']');
    return call(command, arguments, ret, error);
}

/* ---- what replies say ---- */

static gboolean fail_shape(const char *what, GError **error)
{
    g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "the reply is not what it should be: %s", what);
    return FALSE;
}

static gboolean type_is_child(JsonSlice type)
{
    return type.length > 0 && json_kind(type) == JSON_STRING && g_str_has_prefix(type.text, "\"child<");
}

static void item_add_child(Item *item, const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%s", item->path, name);

    g_ptr_array_add(item->children, item_new(path));
}

/* value absent: it could not be read. */
static void item_add_line(Item *item, const char *name, JsonSlice value)
{
    g_string_append_printf(item->lines, "%s/%s:", item->path, name);
    if (value.length > 0) {
        g_string_append_c(item->lines, ' ');
        json_append_slice(item->lines, value);
    }
    g_string_append_c(item->lines, '\n');
}

/* Takes a list of {name,type,value}. */
static gboolean item_take_properties(Item *item, JsonSlice list, GError **error)
{
    JsonSlice entry;
    JsonWalk walk;

    if (list.length == 0 || json_kind(list) != JSON_ARRAY) {
        return fail_shape("no list of properties", error);
    }
    walk = json_walk(list);
    while (json_walk_element(&walk, &entry)) {
        gboolean is_object = json_kind(entry) == JSON_OBJECT;
        g_autofree char *name = is_object ? json_string_dup(json_member(entry, "name"), NULL) : NULL;

        if (name == NULL) {
            return fail_shape("a property without name", error);
        }
        if (type_is_child(json_member(entry, "type"))) {
            item_add_child(item, name);
        } else {
            item_add_line(item, name, json_member(entry, "value"));
        }
    }
    return TRUE;
}

/* ---- the methods ---- */

/* One command for each property. */
static gboolean fetch_get(Item *item, GError **error)
{
    JsonSlice list, value, entry;
    g_autofree char *text = NULL;
    JsonWalk walk;

    if (!call_path("qom-list", item_qmp_path(item), &list, error)) {
        return FALSE;
    }
    if (json_kind(list) != JSON_ARRAY) {
        return fail_shape("qom-list returns no list", error);
    }
    text = g_strndup(list.text, list.length);
    walk = json_walk((JsonSlice){text, list.length});
    while (json_walk_element(&walk, &entry)) {
        gboolean is_object = json_kind(entry) == JSON_OBJECT;
        g_autofree char *name = is_object ? json_string_dup(json_member(entry, "name"), NULL) : NULL;
        g_autoptr(GError) problem = NULL;

        if (name == NULL) {
            return fail_shape("a property without name", error);
        }
        if (type_is_child(json_member(entry, "type"))) {
            item_add_child(item, name);
        } else if (call_get(item_qmp_path(item), name, &value, &problem)) {
            item_add_line(item, name, value);
        } else if (problem->domain == QMP_ERROR) {
            item_add_line(item, name, (JsonSlice){NULL, 0});
        } else {
            g_propagate_error(error, g_steal_pointer(&problem));
            return FALSE;
        }
    }
    for (guint i = 0; i < item->children->len; i++) {
        if (!fetch_get(g_ptr_array_index(item->children, i), error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command for all of these. */
static gboolean fetch_many(const char *command, const GPtrArray *items, GError **error)
{
    JsonSlice list, entry;
    JsonWalk walk;

    if (!call_paths(command, items, &list, error)) {
        return FALSE;
    }
    if (json_kind(list) != JSON_ARRAY) {
        return fail_shape("a bulk command returns no list", error);
    }
    walk = json_walk(list);
    for (guint i = 0; i < items->len; i++) {
        if (!json_walk_element(&walk, &entry) || json_kind(entry) != JSON_OBJECT) {
            return fail_shape("a bulk command leaves objects out", error);
        }
        if (!item_take_properties(g_ptr_array_index(items, i), json_member(entry, "properties"), error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command for each object. */
static gboolean fetch_list_get(Item *item, GError **error)
{
    g_autoptr(GPtrArray) one = g_ptr_array_new();

    g_ptr_array_add(one, item);
    if (!fetch_many("qom-list-get", one, error)) {
        return FALSE;
    }
    for (guint i = 0; i < item->children->len; i++) {
        if (!fetch_list_get(g_ptr_array_index(item->children, i), error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command for each level of the tree. A QEMU has no qom-list-getv, but its qom-list-get
 * takes many paths as well. */
static gboolean fetch_list_getv(Item *item, GError **error)
{
    g_autoptr(GPtrArray) level = g_ptr_array_new();
    const char *command = "qom-list-getv";

    g_ptr_array_add(level, item);
    while (level->len > 0) {
        g_autoptr(GPtrArray) next = g_ptr_array_new();
        g_autoptr(GError) problem = NULL;
        gboolean ok = fetch_many(command, level, &problem);

        if (!ok && level->len == 1 && g_error_matches(problem, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND)) {
            g_clear_error(&problem);
            command = "qom-list-get";
            ok = fetch_many(command, level, &problem);
        }
        if (!ok) {
            g_propagate_error(error, g_steal_pointer(&problem));
            return FALSE;
        }
        for (guint i = 0; i < level->len; i++) {
            const Item *parent = g_ptr_array_index(level, i);

            g_ptr_array_extend(next, parent->children, NULL, NULL);
        }
        g_ptr_array_unref(level);
        level = g_steal_pointer(&next);
    }
    return TRUE;
}

/* Takes what qom-tree-get returns. */
static gboolean item_take_tree(Item *item, JsonSlice node, GError **error)
{
    JsonSlice children, child;
    JsonWalk walk;

    if (json_kind(node) != JSON_OBJECT || !item_take_properties(item, json_member(node, "properties"), error)) {
        return fail_shape("an object without properties", error);
    }
    children = json_member(node, "children");
    if (children.length == 0 || json_kind(children) != JSON_ARRAY) {
        return fail_shape("an object without children", error);
    }
    walk = json_walk(children);
    while (json_walk_element(&walk, &child)) {
        g_autofree char *name =
            json_kind(child) == JSON_OBJECT ? json_string_dup(json_member(child, "name"), NULL) : NULL;

        if (name == NULL) {
            return fail_shape("an object without name", error);
        }
        item_add_child(item, name);
        if (!item_take_tree(g_ptr_array_index(item->children, item->children->len - 1), child, error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command in all. */
static gboolean fetch_tree_get(Item *item, GError **error)
{
    JsonSlice node;

    return call_path("qom-tree-get", item_qmp_path(item), &node, error) && item_take_tree(item, node, error);
}

static const struct {
    const char *name;
    gboolean (*fetch)(Item *item, GError **error);
} methods[] = {
    {"get", fetch_get},
    {"list-get", fetch_list_get},
    {"list-getv", fetch_list_getv},
    {"tree-get", fetch_tree_get},
};

/* ---- the commands ---- */

typedef struct Options {
    char *socket;
    char *method;
    gboolean time;
} Options;

static void item_print(const Item *item)
{
    fputs(item->lines->str, stdout);
    for (guint i = 0; i < item->children->len; i++) {
        item_print(g_ptr_array_index(item->children, i));
    }
}

/* Without --method: the best that the server has. */
static gboolean fetch_somehow(Item *item, GError **error)
{
    for (guint i = G_N_ELEMENTS(methods); i-- > 0;) {
        g_autoptr(GError) problem = NULL;

        if (methods[i].fetch(item, &problem)) {
            return TRUE;
        }
        if (i == 0 || !g_error_matches(problem, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND)) {
            g_propagate_error(error, g_steal_pointer(&problem));
            return FALSE;
        }
    }
    return FALSE;
}

static gboolean fetch(const char *method, Item *item, GError **error)
{
    if (method == NULL) {
        return fetch_somehow(item, error);
    }
    for (guint i = 0; i < G_N_ELEMENTS(methods); i++) {
        if (strcmp(method, methods[i].name) == 0) {
            return methods[i].fetch(item, error);
        }
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "there is no method '%s'", method);
    return FALSE;
}

static gboolean command_tree(const Options *options, char **args, GError **error)
{
    Item *item = item_new(args[0] != NULL && strcmp(args[0], "/") != 0 ? args[0] : "");
    gboolean ok = fetch(options->method, item, error);

    if (ok) {
        item_print(item);
    }
    item_free(item);
    return ok;
}

static gboolean command_list(const Options *options G_GNUC_UNUSED, char **args, GError **error)
{
    JsonSlice list, entry;
    JsonWalk walk;

    if (!call_path("qom-list", args[0] != NULL ? args[0] : "/", &list, error)) {
        return FALSE;
    }
    if (json_kind(list) != JSON_ARRAY) {
        return fail_shape("qom-list returns no list", error);
    }
    walk = json_walk(list);
    while (json_walk_element(&walk, &entry)) {
        gboolean is_object = json_kind(entry) == JSON_OBJECT;
        g_autofree char *name = is_object ? json_string_dup(json_member(entry, "name"), NULL) : NULL;
        g_autofree char *type = is_object ? json_string_dup(json_member(entry, "type"), NULL) : NULL;

        if (name == NULL || type == NULL) {
            return fail_shape("a property without name or type", error);
        }
        printf("%s: %s\n", name, type);
    }
    return TRUE;
}

static gboolean command_get(const Options *options G_GNUC_UNUSED, char **args, GError **error)
{
    JsonSlice value;

    if (!call_get(args[0], args[1], &value, error)) {
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

    append_member(arguments, "path", args[0]);
    append_member(arguments, "property", args[1]);
    g_string_append(arguments, ",\"value\":");
    if (json != NULL) {
        g_string_append(arguments, json);
    } else {
        json_append_string(arguments, args[2], -1);
    }
    return call("qom-set", arguments, &value, error);
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

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void print_time(gint64 start_us)
{
    double real = (double)(g_get_monotonic_time() - start_us) / 1e6;
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "real %.6f user %.6f sys %.6f real-user-sys %.6f\n", real, seconds(usage.ru_utime),
            seconds(usage.ru_stime), real - seconds(usage.ru_utime) - seconds(usage.ru_stime));
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
    gint64 start = g_get_monotonic_time();
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
        print_time(start);
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
