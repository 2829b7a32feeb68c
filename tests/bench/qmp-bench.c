/* SPDX-License-Identifier: MIT */
/*
 * Reads the same object tree over QMP from our server and from a QEMU, in turn: by each method of qom-tree.h, and by
 * one request for everything; measures wall time and the CPU time of the server's threads. qmp.sh starts both and this.
 *
 *     qmp-bench [--json] [--rounds=N] OUR-SOCKET OUR-PID QEMU-SOCKET QEMU-PID
 *
 * The client is the same on both sides. The methods are what `qom tree` does: they take the replies apart. `one
 * request` is the exchange alone, from a request that is ready to the last byte of its reply, which is read strictly
 * once the clock has stopped: how fast this program reads JSON is no matter of the servers. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "examples/qom-calls.h"
#include "examples/qom-tree.h"
#include "tests/bench/series.h"

#define TIMEOUT_MS 60000
/* A server that has replied may still have to put things away. */
#define SETTLE_US 1000
#define GOAL_PERCENT 1.0

static gboolean json;

static G_NORETURN void die(const char *what, const GError *error)
{
    fprintf(stderr, "qmp-bench: %s%s%s\n", what, error != NULL ? ": " : "", error != NULL ? error->message : "");
    exit(EXIT_FAILURE);
}

/* ---- the servers ---- */

typedef struct Server {
    const char *name;
    const char *socket;
    const char *pid;
    QmpClient *qmp;     /* NULL once there is a wire: QEMU serves one client at a time */
    GString *all_paths; /* arguments of qom-list-get for every object */

    int wire;         /* the bare socket, or -1 */
    GString *request; /* what is to be sent there, ready */
    GString *reply;   /* what came */
} Server;

/* CPU nanoseconds by thread id (a string), summed up so far; *ret_total of all of them. */
static GHashTable *server_cpu(const Server *server, guint64 *ret_total)
{
    GHashTable *threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *folder = g_build_filename("/proc", server->pid, "task", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) tasks = g_dir_open(folder, 0, &error);
    const char *tid;

    if (tasks == NULL) {
        die("cannot see the server's threads", error);
    }
    *ret_total = 0;
    while ((tid = g_dir_read_name(tasks)) != NULL) {
        g_autofree char *path = g_build_filename(folder, tid, "schedstat", NULL);
        g_autofree char *text = NULL;

        if (g_file_get_contents(path, &text, NULL, NULL)) { /* it may have ended meanwhile */
            guint64 ns = g_ascii_strtoull(text, NULL, 10);

            *ret_total += ns;
            g_hash_table_insert(threads, g_strdup(tid), g_memdup2(&ns, sizeof ns));
        }
    }
    return threads;
}

/* "monitor 4711" */
static char *thread_label(const Server *server, const char *tid)
{
    g_autofree char *path = g_build_filename("/proc", server->pid, "task", tid, "comm", NULL);
    g_autofree char *name = NULL;

    if (!g_file_get_contents(path, &name, NULL, NULL)) {
        name = g_strdup("ended");
    }
    return g_strdup_printf("%s: %s", server->name, g_strchomp(name));
}

static void add_paths(GString *out, const QomItem *item)
{
    g_string_append(out, out->len > 0 ? "," : "{\"paths\":[");
    json_append_string(out, *item->path != '\0' ? item->path : "/", -1);
    for (guint i = 0; i < item->children->len; i++) {
        add_paths(out, g_ptr_array_index(item->children, i));
    }
}

static void server_open(Server *server)
{
    g_autoptr(GError) error = NULL;
    QomItem *item = qom_item_new("");

    server->wire = -1;
    server->request = g_string_new(NULL);
    server->reply = g_string_new(NULL);
    server->qmp = qmp_client_new(server->socket, TIMEOUT_MS, &error);
    if (server->qmp == NULL || !qom_item_fetch(server->qmp, item, "list-getv", &error)) {
        die(server->name, error);
    }
    server->all_paths = g_string_new(NULL);
    add_paths(server->all_paths, item);
    g_string_append(server->all_paths, "]}");
    qom_item_free(item);
}

static void server_close(Server *server)
{
    qmp_client_free(server->qmp);
    if (server->wire >= 0) {
        close(server->wire);
    }
    g_string_free(server->all_paths, TRUE);
    g_string_free(server->request, TRUE);
    g_string_free(server->reply, TRUE);
}

/* ---- the bare socket ---- */

/* One message, which both servers end with a newline; where nothing is under way but it. */
static void wire_read(Server *server)
{
    static char buffer[1 << 20];
    gssize n;

    g_string_truncate(server->reply, 0);
    do {
        n = recv(server->wire, buffer, sizeof buffer, 0);
        if (n <= 0) {
            die(server->name, NULL);
        }
        g_string_append_len(server->reply, buffer, n);
    } while (buffer[n - 1] != '\n');
}

static void wire_exchange(Server *server)
{
    gsize sent = 0;

    while (sent < server->request->len) {
        gssize n = send(server->wire, server->request->str + sent, server->request->len - sent, MSG_NOSIGNAL);

        if (n < 0) {
            die(server->name, NULL);
        }
        sent += (gsize)n;
    }
    wire_read(server);
}

static void wire_open(Server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    g_clear_pointer(&server->qmp, qmp_client_free);
    g_strlcpy(address.sun_path, server->socket, sizeof address.sun_path);
    server->wire = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->wire < 0 || connect(server->wire, (struct sockaddr *)&address, sizeof address) < 0) {
        die(server->name, NULL);
    }
    wire_read(server);
    g_string_assign(server->request, "{\"execute\":\"qmp_capabilities\"}\n");
    wire_exchange(server);
}

/* Makes the request that `what` stands for ready. */
static void wire_prepare(Server *server, const char *what)
{
    gboolean is_tree = strcmp(what, "qom-tree-get") == 0;

    g_string_printf(server->request, "{\"execute\":\"%s\",\"arguments\":%s}\n", what,
                    is_tree ? "{\"path\":\"/\"}" : server->all_paths->str);
}

/* Whether the reply is one, and no error. */
static gboolean wire_check(Server *server, GError **error)
{
    gsize length;
    g_autofree char *text = json_compact(server->reply->str, server->reply->len, JSON_READER_STRICT, &length, error);
    JsonSlice problem;

    if (text == NULL) {
        return FALSE;
    }
    problem = json_member((JsonSlice){text, length}, "error");
    if (problem.length > 0) {
        qmp_error_from(error, problem);
        return FALSE;
    }
    return json_member((JsonSlice){text, length}, "return").length > 0;
}

/* ---- what is measured ---- */

/* Something that is done with a server. FALSE where it cannot do that. */
typedef gboolean Work(Server *server, const char *what, GError **error);

static gboolean work_method(Server *server, const char *what, GError **error)
{
    QomItem *item = qom_item_new("");
    gboolean ok = qom_item_fetch(server->qmp, item, what, error);

    qom_item_free(item);
    return ok;
}

static gboolean work_exchange(Server *server, const char *what G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    wire_exchange(server);
    return TRUE;
}

/* One way to read the tree from one server, and what that took. */
typedef struct Way {
    Server *server;
    Work *work;
    const char *what;
    gboolean lacks; /* the server has no such command */
    Series *wall, *cpu;
    GHashTable *threads; /* Series by thread id */
} Way;

static void free_series(gpointer series)
{
    series_free(series);
}

static Way way_new(Server *server, Work *work, const char *what)
{
    return (Way){
        .server = server,
        .work = work,
        .what = what,
        .wall = series_new(server->name),
        .cpu = series_new(server->name),
        .threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_series),
    };
}

static void way_clear(Way *way)
{
    series_free(way->wall);
    series_free(way->cpu);
    g_hash_table_unref(way->threads);
}

static void way_add_threads(Way *way, GHashTable *before, GHashTable *after)
{
    GHashTableIter iter;
    gpointer tid, ns;

    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &tid, &ns)) {
        const guint64 *earlier = g_hash_table_lookup(before, tid);
        Series *series = g_hash_table_lookup(way->threads, tid);

        if (series == NULL) {
            g_autofree char *label = thread_label(way->server, tid);

            series = series_new(label);
            g_hash_table_insert(way->threads, g_strdup(tid), series);
        }
        series_add(series, *(guint64 *)ns - (earlier != NULL ? *earlier : 0));
    }
}

static void way_round(Way *way)
{
    guint64 total_before, total_after, start, end;
    g_autoptr(GHashTable) before = server_cpu(way->server, &total_before), after = NULL;
    gboolean on_wire = way->work == work_exchange;
    g_autoptr(GError) error = NULL;

    if (on_wire) {
        wire_prepare(way->server, way->what);
    }
    start = clock_ns();
    way->lacks = !way->work(way->server, way->what, &error);
    end = clock_ns();
    if (on_wire) {
        way->lacks = !wire_check(way->server, &error);
    }
    if (way->lacks) {
        if (!g_error_matches(error, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND)) {
            die(way->server->name, error);
        }
        return;
    }
    g_usleep(SETTLE_US);
    after = server_cpu(way->server, &total_after);
    series_add(way->wall, end - start);
    series_add(way->cpu, total_after - total_before);
    way_add_threads(way, before, after);
}

/* ---- the table ---- */

/* The server's CPU time: the totals of both, then the threads that had a part in it. */
static void print_cpu(const char *what, const Way *ways, guint n)
{
    g_autofree char *title = g_strdup_printf("%s: the server's CPU time", what);
    const Row row = {.title = title};
    g_autoptr(GPtrArray) series = g_ptr_array_new();

    for (guint i = 0; i < n; i++) {
        g_ptr_array_add(series, ways[i].cpu);
    }
    for (guint i = 0; i < n; i++) {
        GHashTableIter iter;
        gpointer thread;

        g_hash_table_iter_init(&iter, ways[i].threads);
        while (g_hash_table_iter_next(&iter, NULL, &thread)) {
            if (series_median(thread) > 0) {
                g_ptr_array_add(series, thread);
            }
        }
    }
    row_print(&row, (Series *const *)series->pdata, series->len, json);
}

static void print_wall(const char *what, const Way *ways, guint n)
{
    g_autofree char *title = g_strdup_printf("%s: wall time", what);
    const Row row = {.title = title};
    Series *series[2];

    for (guint i = 0; i < n; i++) {
        series[i] = ways[i].wall;
    }
    row_print(&row, series, n, json);
}

/* Both servers do it in turn. */
static void compare(const char *title, Way ways[2], guint rounds)
{
    guint n = 0;

    for (guint round = 0; round < rounds; round++) {
        for (guint i = 0; i < 2; i++) {
            if (!ways[i].lacks) {
                way_round(&ways[i]);
            }
        }
    }
    while (n < 2 && !ways[n].lacks) {
        n++;
    }
    print_wall(title, ways, n);
    print_cpu(title, ways, n);
}

static void print_goal(const Way *ours, const Way *theirs)
{
    g_autofree char *wall = g_strdup_printf("%s, wall time, in %% of QEMU's qom-list-get", ours->what);
    g_autofree char *cpu = g_strdup_printf("%s, CPU time, in %% of QEMU's qom-list-get", ours->what);

    figure_print(wall, 100 * series_median(ours->wall) / series_median(theirs->wall), GOAL_PERCENT, "%", json);
    figure_print(cpu, 100 * series_median(ours->cpu) / series_median(theirs->cpu), GOAL_PERCENT, "%", json);
}

/* ---- the program ---- */

static void measure(Server *ours, Server *theirs, guint rounds)
{
    static const char *const methods[] = {"get", "list-get", "list-getv", "tree-get"};
    Way bulk[3] = {
        way_new(ours, work_exchange, "qom-list-get"),
        way_new(theirs, work_exchange, "qom-list-get"),
        way_new(ours, work_exchange, "qom-tree-get"),
    };

    for (guint i = 0; i < G_N_ELEMENTS(methods); i++) {
        g_autofree char *title = g_strdup_printf("qom tree --method=%s", methods[i]);
        Way ways[2] = {way_new(ours, work_method, methods[i]), way_new(theirs, work_method, methods[i])};

        compare(title, ways, i == 0 ? MAX(rounds / 10, 3) : rounds);
        way_clear(&ways[0]);
        way_clear(&ways[1]);
    }
    wire_open(ours);
    wire_open(theirs);
    for (guint round = 0; round < rounds; round++) {
        way_round(&bulk[2]);
        way_round(&bulk[0]);
        way_round(&bulk[1]);
    }
    if (bulk[0].lacks || bulk[1].lacks || bulk[2].lacks) {
        die("this QEMU has no qom-list-get: it takes QEMU 10.1 or later", NULL);
    }
    print_wall("one request, qom-list-get of all paths", bulk, 2);
    print_cpu("one request, qom-list-get of all paths", bulk, 2);
    print_wall("one request, qom-tree-get", &bulk[2], 1);
    print_cpu("one request, qom-tree-get", &bulk[2], 1);
    print_goal(&bulk[2], &bulk[1]);
    print_goal(&bulk[0], &bulk[1]);
    for (guint i = 0; i < G_N_ELEMENTS(bulk); i++) {
        way_clear(&bulk[i]);
    }
}

int main(int argc, char **argv)
{
    int rounds = 100;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "One line of JSON for each row", NULL},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "How often each is done", "N"},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("OUR-SOCKET OUR-PID QEMU-SOCKET QEMU-PID");
    g_autoptr(GError) error = NULL;
    Server ours = {.name = "qomfs"}, theirs = {.name = "QEMU"};

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 5 || rounds < 1) {
        die("usage: qmp-bench [--json] [--rounds=N] OUR-SOCKET OUR-PID QEMU-SOCKET QEMU-PID", error);
    }
    ours.socket = argv[1];
    ours.pid = argv[2];
    theirs.socket = argv[3];
    theirs.pid = argv[4];
    server_open(&ours);
    server_open(&theirs);
    measure(&ours, &theirs, (guint)rounds);
    server_close(&ours);
    server_close(&theirs);
    return EXIT_SUCCESS;
}
