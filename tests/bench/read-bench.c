/* SPDX-License-Identifier: MIT */
/*
 * read-bench [OPTIONS] NAME=PATH NAME=PATH...: what reading a whole file costs, in several
 * places in turn: open, fstat, read, close. The first path is what is measured, the second
 * its limit; others are shown beside them.
 *
 *   --change=FILE   before each read of any path another number is written into FILE, not
 *                   timed: each read of the first path is the first one after a change, and
 *                   must differ
 *   --moves=N       the first path changes by itself: reads that find it changed are shown
 *                   apart, against the third path, which is read right after them and at no
 *                   other time; goes on, slowly, until there are N
 *
 * The order within a round is drawn anew each time: whoever always came first would read
 * with a colder processor cache (by 26 % where five were read in turn).
 *
 * Every read is compared, outside of what is timed, with what was read there before: a path
 * that changes unasked, or that does not change when asked, is an error and no measurement.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/series.h"

/* Rounds that are not counted: caches fill, threads start. */
#define WARM_UP_ROUNDS 50

/* How long the first path may take to move as often as it is to. */
#define MOVES_LIMIT_NS (120 * (guint64)1000000000)
#define MOVES_PAUSE_US 5000

#define PLACES_MAX 8

typedef struct Place {
    char *path;
    GByteArray *last; /* what was read here last */
    Series *series;
    Series *moved; /* --moves: of the rounds in which the first path had changed */
} Place;

static char *title = "", *change_file;
static double goal;
static int rounds = 3000, moves;
static gboolean json;

static const GOptionEntry options[] = {
    {"title", 0, 0, G_OPTION_ARG_STRING, &title, "the row's name", "TEXT"},
    {"goal", 0, 0, G_OPTION_ARG_DOUBLE, &goal, "the first median against the second", "RATIO"},
    {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "how often each is read", "N"},
    {"change", 0, 0, G_OPTION_ARG_FILENAME, &change_file, "write to this file before each round", "FILE"},
    {"moves", 0, 0, G_OPTION_ARG_INT, &moves, "the first path moves by itself: until it has so often", "N"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &json, "one line of JSON", NULL},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static void fail(const char *what, const char *path, const char *why)
{
    fprintf(stderr, "read-bench: cannot %s '%s': %s\n", what, path, why);
    exit(1);
}

/* What the reads go into, once warmed. */
static char buffer[4 << 20];

/* The timed part. Returns the nanoseconds; *ret_length bytes stand in `buffer`. */
static guint64 read_whole(const char *path, gsize *ret_length)
{
    struct stat attr;
    gsize length = 0;
    guint64 begin = clock_ns();

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail("open", path, strerror(errno));
    if (fstat(fd, &attr))
        fail("stat", path, strerror(errno));
    for (;;) {
        ssize_t got = read(fd, buffer + length, sizeof buffer - length);
        if (got < 0)
            fail("read", path, strerror(errno));
        length += (gsize)got;
        /* Who has as much as fstat said need not ask again. */
        if (got == 0 || length == (gsize)attr.st_size)
            break;
    }
    close(fd);
    guint64 end = clock_ns();

    if (length == sizeof buffer)
        fail("read", path, "too large for this benchmark");
    *ret_length = length;
    return end - begin;
}

static void write_change(int number)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", number);
    int fd = open(change_file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        fail("open", change_file, strerror(errno));
    if (write(fd, text, (gsize)length) != length || close(fd))
        fail("write", change_file, strerror(errno));
}

/* Reads one place once. is_first: it is the one that is measured. Returns whether it differs from
 * the last time. */
static gboolean measure(Place *place, gboolean is_first, gboolean count)
{
    gboolean must_differ = is_first && change_file, may_differ = is_first && (change_file || moves);
    gsize length;
    guint64 ns = read_whole(place->path, &length);
    gboolean first_time = place->last->len == 0;
    gboolean differs = length != place->last->len || memcmp(buffer, place->last->data, length) != 0;

    if (must_differ && !differs)
        fail("go on with", place->path, "it shows an old version after a change");
    if (differs && !first_time && !may_differ)
        fail("go on with", place->path, "it changed meanwhile");
    g_byte_array_set_size(place->last, (guint)length);
    memcpy(place->last->data, buffer, length);
    if (count)
        series_add(moves && differs ? place->moved : place->series, ns);
    return differs;
}

static void shuffle(guint *order, guint n, GRand *random)
{
    for (guint i = 0; i < n; i++) {
        guint j = (guint)g_rand_int_range(random, 0, (gint32)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

/* Reads the first `n` places once, in any order. */
static void measure_round(GPtrArray *places, guint n, GRand *random, gboolean count)
{
    static int changes;
    guint order[PLACES_MAX];
    gboolean moved = FALSE;

    shuffle(order, n, random);
    for (guint i = 0; i < n; i++) {
        if (change_file)
            write_change(100000 + changes++); /* as many digits each time */
        gboolean differs = measure(g_ptr_array_index(places, order[i]), order[i] == 0, count);
        moved = moved || (order[i] == 0 && differs);
    }
    if (moves && moved)
        measure(g_ptr_array_index(places, n), FALSE, count);
}

static void print(GPtrArray *places)
{
    g_autoptr(GPtrArray) series = g_ptr_array_new();
    for (guint i = 0; i < places->len; i++)
        g_ptr_array_add(series, ((Place *)g_ptr_array_index(places, i))->series);
    if (!moves) {
        Row row = {.title = title, .goal = goal};
        row_print(&row, (Series *const *)series->pdata, series->len, json);
        return;
    }
    g_autofree char *still_title = g_strdup_printf("%s, between its moves", title);
    g_autofree char *moved_title = g_strdup_printf("%s, right after it moved", title);
    Row still = {.title = still_title, .goal = goal}, moved = {.title = moved_title, .goal = goal};
    Place *self = g_ptr_array_index(places, 0), *moved_limit = g_ptr_array_index(places, 2);
    Series *still_series[] = {self->series, g_ptr_array_index(series, 1)};
    Series *moved_series[] = {self->moved, moved_limit->series};
    row_print(&still, still_series, G_N_ELEMENTS(still_series), json);
    row_print(&moved, moved_series, G_N_ELEMENTS(moved_series), json);
}

static void place_free(void *data)
{
    Place *place = data;
    g_free(place->path);
    g_byte_array_unref(place->last);
    series_free(place->series);
    series_free(place->moved);
    g_free(place);
}

static GPtrArray *parse_places(int argc, char **argv)
{
    GPtrArray *places = g_ptr_array_new_with_free_func(place_free);
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        if (!equals)
            continue;
        Place *place = g_new0(Place, 1);
        g_autofree char *name = g_strndup(argv[i], (gsize)(equals - argv[i]));
        place->path = g_strdup(equals + 1);
        place->last = g_byte_array_new();
        place->series = series_new(name);
        place->moved = series_new(name);
        g_ptr_array_add(places, place);
    }
    return places;
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("NAME=PATH NAME=PATH...");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "read-bench: %s\n", error->message);
        return 2;
    }
    g_autoptr(GPtrArray) places = parse_places(argc, argv);
    if (places->len != (guint)argc - 1 || places->len < (moves ? 3 : 2) || places->len > PLACES_MAX || rounds < 1) {
        fprintf(stderr, "read-bench: wrong usage, try --help\n");
        return 2;
    }

    memset(buffer, 1, sizeof buffer);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    guint64 begin = clock_ns();
    const Place *first = g_ptr_array_index(places, 0);
    for (int round = -WARM_UP_ROUNDS; round < rounds || (int)first->moved->ns->len < moves; round++) {
        if (round >= rounds) {
            if (clock_ns() - begin > MOVES_LIMIT_NS)
                fail("go on with", first->path, "it does not move");
            g_usleep(MOVES_PAUSE_US);
        }
        measure_round(places, moves ? 2 : places->len, random, round >= 0);
    }
    print(places);
    return 0;
}
