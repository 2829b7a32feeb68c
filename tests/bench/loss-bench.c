/* SPDX-License-Identifier: MIT */
/*
 * loss-bench [OPTIONS] IO POLLERS...: how much I/O goes on while somebody polls. Windows with each group of pollers
 * follow one another, in an order drawn anew each round, so that whatever else the machine does meets all alike. Writes
 * what it measured as JSON, one line for each group, every window's figures.
 *
 * IO       nbd,SOCKET,EXPORT    reads of 4 KiB in random places, one at a time, in a thread of this program
 *          counter,PATH         requests that others make: a file with their number, read at a window's both ends
 * POLLERS  NAME,PID,RATE,READERS,WORK[,WHERE[,COMMAND]]: so many threads, each RATE times a second. WORK: idle (wakes
 *          up and asks nothing), file, qmp. PID: the process whose CPU time is told.
 *
 * There is no way to stop once a loss is clear: a verdict must not depend on where one stopped looking.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objmodel/json.h"
#include "tests/bench/nbd-client.h"
#include "tests/bench/poller.h"
#include "tests/bench/process-cpu.h"
#include "tests/bench/series.h"

#define BLOCK 4096
/* What begins with a window is not counted: threads start, caches change hands. */
#define SETTLE_US 50000
#define COUNTER_DIGITS_MAX 64

static double window = 1;
static int rounds = 10, warm_up = 1, poller_cpu = -1, pause_us;

static const GOptionEntry options[] = {
    {"window", 0, 0, G_OPTION_ARG_DOUBLE, &window, "how long a window is", "SECONDS"},
    {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "windows of each group", "N"},
    {"warm-up", 0, 0, G_OPTION_ARG_INT, &warm_up, "windows before, that do not count", "N"},
    {"pause", 0, 0, G_OPTION_ARG_INT, &pause_us, "between two reads, so that the machine is not full", "MICROSECONDS"},
    {"poller-cpu", 0, 0, G_OPTION_ARG_INT, &poller_cpu, "the CPU that pollers run on", "CPU"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static G_NORETURN void die(const char *what, const char *why)
{
    fprintf(stderr, "loss-bench: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* ---- the I/O ---- */

typedef struct Io {
    const char *counter; /* NULL: of our own */
    NbdClient nbd;
    GThread *thread;
    gint stop;    /* atomic */
    guint64 done; /* atomic: requests so far */
    GMutex lock;
    GArray *took; /* under the lock: guint64 nanoseconds of each request of the window */
} Io;

/* Where this program has real-time priority, who reads from the measured disk comes before all who share its CPU: a
 * poller that keeps it from asking is no loss of the disk's. */
static void io_come_first(void)
{
    struct sched_param param;
    int policy;

    if (pthread_getschedparam(pthread_self(), &policy, &param) == 0 && policy == SCHED_RR) {
        param.sched_priority++;
        pthread_setschedparam(pthread_self(), policy, &param);
    }
}

static gpointer io_thread(gpointer data)
{
    Io *io = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    static char block[BLOCK];

    io_come_first();
    while (!g_atomic_int_get(&io->stop)) {
        guint64 start = clock_ns(), took;
        guint64 place = g_rand_int(random) % (io->nbd.size / BLOCK) * BLOCK;

        if (!nbd_client_read(&io->nbd, place, block, BLOCK)) {
            die("cannot read from the export", strerror(errno));
        }
        took = clock_ns() - start;
        __atomic_fetch_add(&io->done, 1, __ATOMIC_RELAXED);
        g_mutex_lock(&io->lock);
        g_array_append_val(io->took, took);
        g_mutex_unlock(&io->lock);
        if (pause_us > 0) {
            g_usleep((gulong)pause_us);
        }
    }
    return NULL;
}

static gint compare_ns(gconstpointer a, gconstpointer b)
{
    guint64 first = *(const guint64 *)a, second = *(const guint64 *)b;

    return (first > second) - (first < second);
}

static void io_start(Io *io, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", 3);

    if (g_strv_length(parts) == 2 && strcmp(parts[0], "counter") == 0) {
        io->counter = g_strdup(parts[1]);
    } else if (g_strv_length(parts) == 3 && strcmp(parts[0], "nbd") == 0) {
        if (!nbd_client_open(&io->nbd, parts[1], parts[2])) {
            die(text, strerror(errno));
        }
        io->thread = g_thread_new("io", io_thread, io);
    } else {
        die("I/O is nbd,SOCKET,EXPORT or counter,PATH, not", text);
    }
}

static void io_stop(Io *io)
{
    if (io->thread != NULL) {
        g_atomic_int_set(&io->stop, 1);
        g_thread_join(io->thread);
        nbd_client_close(&io->nbd);
    }
}

/* Of the requests since this was asked last: the longest, and the one that 99.9 percent do not exceed. */
static guint64 io_longest(Io *io, guint64 *ret_p999)
{
    g_autoptr(GArray) took = g_array_new(FALSE, FALSE, sizeof(guint64));
    guint n;

    g_mutex_lock(&io->lock);
    g_array_append_vals(took, io->took->data, io->took->len);
    g_array_set_size(io->took, 0);
    g_mutex_unlock(&io->lock);
    n = took->len;
    g_array_sort(took, compare_ns);
    *ret_p999 = n > 0 ? g_array_index(took, guint64, (guint)((guint64)(n - 1) * 999 / 1000)) : 0;
    return n > 0 ? g_array_index(took, guint64, n - 1) : 0;
}

static guint64 io_done(const Io *io)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (io->counter == NULL) {
        return __atomic_load_n(&io->done, __ATOMIC_RELAXED);
    }
    if (!g_file_get_contents(io->counter, &text, NULL, &error)) {
        die("cannot count", error->message);
    }
    return g_ascii_strtoull(text, NULL, 10);
}

/* ---- a group of pollers ---- */

typedef struct Group {
    char **fields;
    pid_t pid;
    double rate;
    GPtrArray *pollers;
    GArray *per_second, *longest, *p999, *cpu; /* double, then guint64: one for each window */
    GArray *latencies;
} Group;

enum { FIELD_NAME, FIELD_PID, FIELD_RATE, FIELD_READERS, FIELD_WORK, FIELD_WHERE, FIELD_COMMAND, FIELDS };

static void free_poller(gpointer poller)
{
    poller_free(poller);
}

static Group *group_new(const char *text)
{
    Group *group = g_new0(Group, 1);
    PollerTarget target = {.work = POLLER_IDLE, .cpu = poller_cpu};
    guint n_fields;

    group->fields = g_strsplit(text, ",", FIELDS);
    n_fields = g_strv_length(group->fields);
    if (n_fields <= FIELD_WORK) {
        die("pollers are NAME,PID,RATE,READERS,WORK[,WHERE[,COMMAND]], not", text);
    }
    group->pid = (pid_t)strtol(group->fields[FIELD_PID], NULL, 10);
    group->rate = g_ascii_strtod(group->fields[FIELD_RATE], NULL);
    if (n_fields > FIELD_WHERE) {
        gboolean is_qmp = strcmp(group->fields[FIELD_WORK], "qmp") == 0 && n_fields > FIELD_COMMAND;

        target.work = is_qmp ? POLLER_QMP : POLLER_FILE;
        target.where = group->fields[FIELD_WHERE];
        target.command = is_qmp ? group->fields[FIELD_COMMAND] : NULL;
    }
    group->pollers = g_ptr_array_new_with_free_func(free_poller);
    for (long left = strtol(group->fields[FIELD_READERS], NULL, 10); left > 0; left--) {
        g_autoptr(GError) error = NULL;
        Poller *poller = poller_new(&target, &error);

        if (poller == NULL) {
            die(text, error->message);
        }
        g_ptr_array_add(group->pollers, poller);
    }
    group->per_second = g_array_new(FALSE, FALSE, sizeof(double));
    group->longest = g_array_new(FALSE, FALSE, sizeof(guint64));
    group->p999 = g_array_new(FALSE, FALSE, sizeof(guint64));
    group->cpu = g_array_new(FALSE, FALSE, sizeof(guint64));
    group->latencies = g_array_new(FALSE, FALSE, sizeof(guint64));
    return group;
}

static void group_free(gpointer data)
{
    Group *group = data;

    g_ptr_array_unref(group->pollers);
    g_array_unref(group->per_second);
    g_array_unref(group->longest);
    g_array_unref(group->p999);
    g_array_unref(group->cpu);
    g_array_unref(group->latencies);
    g_strfreev(group->fields);
    g_free(group);
}

static guint64 cpu_of(const Group *group)
{
    guint64 ns = 0;

    if (group->pid > 0 && !process_cpu_total(group->pid, &ns)) {
        die(group->fields[FIELD_NAME], "the process has ended");
    }
    return ns;
}

static void group_window(Group *group, Io *io, gboolean count)
{
    guint64 interval = (guint64)(1e9 / group->rate), start, end, before, after, cpu, longest, p999;
    double per_second;

    for (guint i = 0; i < group->pollers->len; i++) {
        poller_start(g_ptr_array_index(group->pollers, i), interval, interval * i / group->pollers->len);
    }
    g_usleep(SETTLE_US);
    io_longest(io, &p999);
    cpu = cpu_of(group);
    before = io_done(io);
    start = clock_ns();
    g_usleep((gulong)(window * 1e6));
    after = io_done(io);
    end = clock_ns();
    cpu = cpu_of(group) - cpu;
    longest = io_longest(io, &p999);
    for (guint i = 0; i < group->pollers->len; i++) {
        g_autoptr(GError) error = NULL;

        if (!poller_stop(g_ptr_array_index(group->pollers, i), group->latencies, &error)) {
            die(group->fields[FIELD_NAME], error->message);
        }
    }
    if (count) {
        per_second = (double)(after - before) * 1e9 / (double)(end - start);
        g_array_append_val(group->per_second, per_second);
        g_array_append_val(group->longest, longest);
        g_array_append_val(group->p999, p999);
        g_array_append_val(group->cpu, cpu);
    }
}

static void measure(const GPtrArray *all, Io *io)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    g_ptr_array_extend(order, (GPtrArray *)all, NULL, NULL);
    for (int window_number = 0; window_number < warm_up; window_number++) {
        group_window(g_ptr_array_index(all, 0), io, FALSE);
    }
    for (int round = 0; round < rounds; round++) {
        things_shuffle(order, random);
        for (guint i = 0; i < order->len; i++) {
            group_window(g_ptr_array_index(order, i), io, TRUE);
        }
    }
}

/* ---- results ---- */

static void group_print(const Group *group)
{
    g_autoptr(GString) out = g_string_new("{\"name\":");

    json_append_string(out, group->fields[FIELD_NAME], -1);
    g_string_append(out, ",\"per-second\":[");
    for (guint i = 0; i < group->per_second->len; i++) {
        if (i > 0) {
            g_string_append_c(out, ',');
        }
        json_append_double(out, g_array_index(group->per_second, double, i));
    }
    g_string_append(out, "],");
    append_numbers(out, "longest", group->longest);
    g_string_append_c(out, ',');
    append_numbers(out, "p999", group->p999);
    g_string_append_c(out, ',');
    append_numbers(out, "cpu", group->cpu);
    g_string_append_c(out, ',');
    append_numbers(out, "latencies", group->latencies);
    printf("%s}\n", out->str);
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("IO POLLERS...");
    g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(group_free);
    g_autoptr(GError) error = NULL;
    Io io = {.nbd.fd = -1, .took = g_array_new(FALSE, FALSE, sizeof(guint64))};

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc < 3 || rounds < 1 || window <= 0) {
        die("wrong usage", error != NULL ? error->message : "try --help");
    }
    for (int i = 2; i < argc; i++) {
        g_ptr_array_add(groups, group_new(argv[i]));
    }
    io_start(&io, argv[1]);
    measure(groups, &io);
    io_stop(&io);
    g_array_unref(io.took);
    for (guint i = 0; i < groups->len; i++) {
        group_print(g_ptr_array_index(groups, i));
    }
    return EXIT_SUCCESS;
}
