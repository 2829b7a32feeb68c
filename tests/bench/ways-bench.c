/* SPDX-License-Identifier: MIT */
/*
 * ways-bench [OPTIONS] WAY...: the same data in several ways, in turn, in an order drawn anew each round: wall time,
 * the client's own CPU time (user and system), the server's, by thread. Writes what it measured as JSON, one line for
 * each way, every round's figures, in nanoseconds; what they amount to is for others to say.
 *
 * A WAY is NAME,SERVER,SOCKET,PID,WORK,DETAIL; SOCKET `-` where WORK needs none,
 * PID is the process whose CPU time is told, 0: none. WORK:
 *
 *     tree,METHOD        the whole object tree by a method of examples/qom-tree.h, taken apart
 *     call,COMMAND       one QMP command; with COMMAND:FILE, its arguments are what the file holds
 *     read,PATH          open, fstat, read to the end, close
 *     files,FOLDER       each file and link below it: lstat, read; what cannot be read is passed over
 *
 * A way of a server that does not know the command is marked `lacks`. One that has had its share of --seconds, and
 * --rounds-min rounds, is done; so slow ways do not hold up the others. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/qom-tree.h"
#include "objmodel/json.h"
#include "tests/bench/process-cpu.h"
#include "tests/bench/series.h"

#define TIMEOUT_MS 120000
/* A server that has replied may still have to put things away. */
#define SETTLE_US 1000

enum { FIELD_NAME, FIELD_SERVER, FIELD_SOCKET, FIELD_PID, FIELD_WORK, FIELD_DETAIL, FIELDS };

typedef struct Way Way;
/* Does it once. FALSE with the error where that failed. *ret_bytes: how much came. */
typedef gboolean Work(Way *way, guint64 *ret_bytes, GError **error);

struct Way {
    char **fields;
    pid_t pid;
    Work *work;
    QmpClient *qmp;
    char *command, *arguments; /* of `call` */
    gboolean lacks, done;
    guint64 bytes, spent;
    GArray *wall, *user, *sys, *cpu; /* of guint64 */
    GHashTable *threads;             /* GArray by name */
};

static int rounds = 100, rounds_min = 3, warm_up = 1;
static double seconds = 60;

static const GOptionEntry options[] = {
    {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "how often each is done at most", "N"},
    {"rounds-min", 0, 0, G_OPTION_ARG_INT, &rounds_min, "and at least", "N"},
    {"warm-up", 0, 0, G_OPTION_ARG_INT, &warm_up, "rounds before, that do not count", "N"},
    {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "for all together", "S"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static G_NORETURN void die(const char *what, const GError *error)
{
    fprintf(stderr, "ways-bench: %s%s%s\n", what, error != NULL ? ": " : "", error != NULL ? error->message : "");
    exit(EXIT_FAILURE);
}

/* ---- the works ---- */

static gboolean work_tree(Way *way, guint64 *ret_bytes, GError **error)
{
    QomItem *item = qom_item_new("");
    gboolean ok = qom_item_fetch(way->qmp, item, way->fields[FIELD_DETAIL], error);

    qom_item_free(item);
    *ret_bytes = 0; /* many replies */
    return ok;
}

static gboolean work_call(Way *way, guint64 *ret_bytes, GError **error)
{
    JsonSlice value, arguments = {way->arguments, way->arguments != NULL ? strlen(way->arguments) : 0};

    if (!qmp_client_call(way->qmp, way->command, arguments, &value, error)) {
        return FALSE;
    }
    *ret_bytes = value.length;
    return TRUE;
}

/* What the reads go into, once warmed. */
static char *buffer;
static gsize buffer_size = (gsize)8 << 20;

static gboolean read_whole(const char *path, guint64 *ret_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat attr;
    gsize length = 0;
    ssize_t got;

    if (fd < 0) {
        return FALSE;
    }
    if (fstat(fd, &attr) != 0) {
        close(fd);
        return FALSE;
    }
    if ((gsize)attr.st_size >= buffer_size) {
        buffer_size = (gsize)attr.st_size + 1;
        buffer = g_realloc(buffer, buffer_size);
        memset(buffer, 1, buffer_size);
    }
    /* Who has as much as fstat said need not ask again. */
    do {
        got = read(fd, buffer + length, buffer_size - length);
        length += got > 0 ? (gsize)got : 0;
    } while (got > 0 && length != (gsize)attr.st_size && length < buffer_size);
    close(fd);
    *ret_bytes = length;
    return got >= 0;
}

static gboolean work_read(Way *way, guint64 *ret_bytes, GError **error)
{
    const char *path = way->fields[FIELD_DETAIL];

    if (!read_whole(path, ret_bytes)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot read '%s': %s", path, strerror(errno));
        return FALSE;
    }
    return TRUE;
}

static guint64 files_bytes;

static int visit_file(const char *path, const struct stat *attr, int kind, struct FTW *ftw)
{
    char target[PATH_MAX];
    guint64 bytes;

    (void)attr;
    if (kind == FTW_SL) {
        ssize_t length = readlink(path, target, sizeof target);

        files_bytes += length > 0 ? (guint64)length : 0;
    } else if (kind == FTW_F && strcmp(path + ftw->base, ".tree.json") != 0 && read_whole(path, &bytes)) {
        files_bytes += bytes;
    }
    return 0;
}

static gboolean work_files(Way *way, guint64 *ret_bytes, GError **error)
{
    const char *folder = way->fields[FIELD_DETAIL];

    files_bytes = 0;
    if (nftw(folder, visit_file, 64, FTW_PHYS) != 0 || files_bytes == 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "nothing can be read below '%s'", folder);
        return FALSE;
    }
    *ret_bytes = files_bytes;
    return TRUE;
}

static const struct {
    const char *name;
    Work *work;
    gboolean needs_socket;
} works[] = {
    {"tree", work_tree, TRUE},
    {"call", work_call, TRUE},
    {"read", work_read, FALSE},
    {"files", work_files, FALSE},
};

/* ---- a round ---- */

static guint64 time_ns(struct timeval time)
{
    return (guint64)time.tv_sec * 1000000000 + (guint64)time.tv_usec * 1000;
}

static void add_threads(Way *way, GHashTable *before, GHashTable *after)
{
    GHashTableIter iter;
    gpointer name, ns;

    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &name, &ns)) {
        const guint64 *earlier = g_hash_table_lookup(before, name);
        GArray *series = g_hash_table_lookup(way->threads, name);
        guint64 spent = earlier == NULL ? *(guint64 *)ns : *(guint64 *)ns - MIN(*(guint64 *)ns, *earlier);

        if (series == NULL) {
            series = g_array_new(FALSE, FALSE, sizeof(guint64));
            g_hash_table_insert(way->threads, g_strdup(name), series);
        }
        g_array_append_val(series, spent);
    }
}

/* Does it once; `count`: and keeps what it took. */
static void way_round(Way *way, gboolean count)
{
    g_autoptr(GHashTable) before = process_cpu_by_thread(way->pid), after = NULL;
    g_autoptr(GError) error = NULL;
    guint64 cpu_before = 0, cpu_after = 0, start, wall, user, sys, cpu;
    struct rusage usage_before, usage_after;
    gboolean ok;

    if (way->pid > 0 && !process_cpu_total(way->pid, &cpu_before)) {
        die("the server has ended", NULL);
    }
    getrusage(RUSAGE_SELF, &usage_before);
    start = clock_ns();
    ok = way->work(way, &way->bytes, &error);
    wall = clock_ns() - start;
    getrusage(RUSAGE_SELF, &usage_after);
    if (!ok) {
        way->lacks = g_error_matches(error, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND);
        if (!way->lacks) {
            die(way->fields[FIELD_NAME], error);
        }
        return;
    }
    g_usleep(SETTLE_US);
    if (way->pid > 0 && !process_cpu_total(way->pid, &cpu_after)) {
        die("the server has ended", NULL);
    }
    after = process_cpu_by_thread(way->pid);
    if (count) {
        user = time_ns(usage_after.ru_utime) - time_ns(usage_before.ru_utime);
        sys = time_ns(usage_after.ru_stime) - time_ns(usage_before.ru_stime);
        cpu = cpu_after - cpu_before;
        g_array_append_val(way->wall, wall);
        g_array_append_val(way->user, user);
        g_array_append_val(way->sys, sys);
        g_array_append_val(way->cpu, cpu);
        add_threads(way, before, after);
    }
    way->spent += wall;
}

static void measure(const GPtrArray *all)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    guint64 share = (guint64)(seconds * 1e9 / all->len);

    g_ptr_array_extend(order, (GPtrArray *)all, NULL, NULL);
    for (int round = -warm_up; round < rounds; round++) {
        things_shuffle(order, random);
        for (guint i = 0; i < order->len; i++) {
            Way *way = g_ptr_array_index(order, i);

            if (way->lacks || (way->spent > share && (int)way->wall->len >= rounds_min)) {
                continue;
            }
            way_round(way, round >= 0);
        }
    }
}

/* ---- arguments and results ---- */

static void free_array(gpointer array)
{
    g_array_unref(array);
}

static GArray *numbers_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(guint64));
}

static void way_set_command(Way *way)
{
    g_auto(GStrv) parts = g_strsplit(way->fields[FIELD_DETAIL], ":", 2);
    g_autoptr(GError) error = NULL;

    way->command = g_strdup(parts[0]);
    if (parts[1] != NULL && !g_file_get_contents(parts[1], &way->arguments, NULL, &error)) {
        die("cannot read the arguments", error);
    }
}

static void free_client(gpointer client)
{
    qmp_client_free(client);
}

/* A socket of QEMU serves one client: all ways that use it share one. */
static QmpClient *client_of(GHashTable *clients, const char *socket)
{
    QmpClient *client = g_hash_table_lookup(clients, socket);
    g_autoptr(GError) error = NULL;

    if (client == NULL) {
        client = qmp_client_new(socket, TIMEOUT_MS, &error);
        if (client == NULL) {
            die("cannot connect", error);
        }
        g_hash_table_insert(clients, g_strdup(socket), client);
    }
    return client;
}

static Way *way_new(const char *text, GHashTable *clients)
{
    Way *way = g_new0(Way, 1);

    way->fields = g_strsplit(text, ",", FIELDS);
    if (g_strv_length(way->fields) != FIELDS) {
        die("a way is NAME,SERVER,SOCKET,PID,WORK,DETAIL", NULL);
    }
    way->pid = (pid_t)strtol(way->fields[FIELD_PID], NULL, 10);
    for (guint i = 0; i < G_N_ELEMENTS(works); i++) {
        if (strcmp(works[i].name, way->fields[FIELD_WORK]) == 0) {
            way->work = works[i].work;
            if (works[i].needs_socket) {
                way->qmp = client_of(clients, way->fields[FIELD_SOCKET]);
            }
        }
    }
    if (way->work == NULL) {
        die(way->fields[FIELD_WORK], NULL);
    }
    if (way->work == work_call) {
        way_set_command(way);
    }
    way->wall = numbers_new();
    way->user = numbers_new();
    way->sys = numbers_new();
    way->cpu = numbers_new();
    way->threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_array);
    return way;
}

static void way_free(gpointer data)
{
    Way *way = data;

    g_strfreev(way->fields);
    g_free(way->command);
    g_free(way->arguments);
    g_array_unref(way->wall);
    g_array_unref(way->user);
    g_array_unref(way->sys);
    g_array_unref(way->cpu);
    g_hash_table_unref(way->threads);
    g_free(way);
}

static void way_print(Way *way)
{
    g_autoptr(GString) out = g_string_new("{\"name\":");
    GHashTableIter iter;
    gpointer name, numbers;
    gboolean first = TRUE;

    json_append_string(out, way->fields[FIELD_NAME], -1);
    g_string_append(out, ",\"server\":");
    json_append_string(out, way->fields[FIELD_SERVER], -1);
    g_string_append(out, ",\"lacks\":");
    json_append_bool(out, way->lacks);
    g_string_append(out, ",\"bytes\":");
    json_append_uint(out, way->bytes);
    g_string_append_c(out, ',');
    append_numbers(out, "wall", way->wall);
    g_string_append_c(out, ',');
    append_numbers(out, "user", way->user);
    g_string_append_c(out, ',');
    append_numbers(out, "sys", way->sys);
    g_string_append_c(out, ',');
    append_numbers(out, "cpu", way->cpu);
    g_string_append(out, ",\"threads\":{");
    g_hash_table_iter_init(&iter, way->threads);
    while (g_hash_table_iter_next(&iter, &name, &numbers)) {
        if (!first) {
            g_string_append_c(out, ',');
        }
        first = FALSE;
        append_numbers(out, name, numbers);
    }
    printf("%s}}\n", out->str);
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("NAME,SERVER,SOCKET,PID,WORK,DETAIL...");
    g_autoptr(GHashTable) clients = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_client);
    g_autoptr(GPtrArray) ways = g_ptr_array_new_with_free_func(way_free);
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc < 2 || rounds < 1) {
        die("wrong usage, try --help", error);
    }
    for (int i = 1; i < argc; i++) {
        g_ptr_array_add(ways, way_new(argv[i], clients));
    }
    buffer = g_malloc(buffer_size);
    memset(buffer, 1, buffer_size);
    measure(ways);
    for (guint i = 0; i < ways->len; i++) {
        way_print(g_ptr_array_index(ways, i));
    }
    g_free(buffer);
    return EXIT_SUCCESS;
}
