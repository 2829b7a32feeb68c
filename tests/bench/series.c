/* SPDX-License-Identifier: MIT */
/* Series: sorted where they are printed; every figure is taken from the sorted times. */
#include "tests/bench/series.h"

#include <stdio.h>
#include <time.h>

#include "objmodel/json.h"

Series *series_new(const char *name)
{
    Series *series = g_new0(Series, 1);
    series->name = g_strdup(name);
    series->ns = g_array_new(FALSE, FALSE, sizeof(guint64));
    return series;
}

void series_free(Series *series)
{
    if (!series)
        return;
    g_free(series->name);
    g_array_unref(series->ns);
    g_free(series);
}

void series_add(Series *series, guint64 ns)
{
    g_array_append_val(series->ns, ns);
}

void append_numbers(GString *out, const char *name, const GArray *numbers)
{
    json_append_string(out, name, -1);
    g_string_append(out, ":[");
    for (guint i = 0; i < numbers->len; i++) {
        if (i > 0)
            g_string_append_c(out, ',');
        json_append_uint(out, g_array_index(numbers, guint64, i));
    }
    g_string_append_c(out, ']');
}

void things_shuffle(GPtrArray *things, GRand *random)
{
    for (guint i = things->len; i > 1; i--) {
        gpointer *a = &things->pdata[i - 1], *b = &things->pdata[g_rand_int_range(random, 0, (gint32)i)], kept = *a;
        *a = *b;
        *b = kept;
    }
}

guint64 clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (guint64)now.tv_sec * 1000000000 + (guint64)now.tv_nsec;
}

static int compare_ns(const void *a, const void *b)
{
    guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
    return (x > y) - (x < y);
}

/* Of a sorted series that is not empty: the value that percent of all do not exceed. */
static double percentile(const Series *series, guint percent)
{
    guint rank = (series->ns->len * percent + 99) / 100;
    return (double)g_array_index(series->ns, guint64, MAX(rank, 1) - 1);
}

static void series_sort(Series *series)
{
    qsort(series->ns->data, series->ns->len, sizeof(guint64), compare_ns);
}

double series_median(Series *series)
{
    series_sort(series);
    return series->ns->len ? percentile(series, 50) : 0;
}

static double minimum(const Series *series)
{
    return (double)g_array_index(series->ns, guint64, 0);
}

/* With three digits that say something, where it is small. */
static void print_ratio(double ratio)
{
    printf(" %7.*f", ratio < 0.1 ? 4 : 2, ratio);
}

static void print_text(const Row *row, Series *const *series, guint n)
{
    double unit = row->ms ? 1e6 : 1e3;
    const Series *limit = n > 1 && series[1]->ns->len ? series[1] : NULL;

    printf("%s\n", row->title);
    for (guint i = 0; i < n; i++) {
        const Series *s = series[i];
        printf("    %-24s %6u", s->name, s->ns->len);
        if (s->ns->len) {
            printf(" %9.1f %9.1f %9.1f %s", minimum(s) / unit, percentile(s, 50) / unit, percentile(s, 99) / unit,
                   row->ms ? "ms" : "us");
            if (limit) {
                double ratio = percentile(s, 50) / percentile(limit, 50);
                print_ratio(minimum(s) / minimum(limit));
                print_ratio(ratio);
                if (i == 0 && row->goal > 0)
                    printf("  goal %.2f: %s", row->goal, ratio <= row->goal ? "reached" : "MISSED");
            }
        }
        printf("\n");
    }
}

static void append_number(GString *out, const char *name, double value)
{
    g_string_append_printf(out, ",\"%s\":", name);
    json_append_double(out, value);
}

static void print_json(const Row *row, Series *const *series, guint n)
{
    g_autoptr(GString) out = g_string_new("{\"title\":");
    const Series *limit = n > 1 && series[1]->ns->len ? series[1] : NULL;

    json_append_string(out, row->title, -1);
    if (row->goal > 0)
        append_number(out, "goal", row->goal);
    if (row->goal > 0 && limit && series[0]->ns->len) {
        g_string_append(out, ",\"reached\":");
        json_append_bool(out, percentile(series[0], 50) / percentile(limit, 50) <= row->goal);
    }
    g_string_append(out, ",\"series\":[");
    for (guint i = 0; i < n; i++) {
        const Series *s = series[i];
        g_string_append(out, i ? ",{\"name\":" : "{\"name\":");
        json_append_string(out, s->name, -1);
        append_number(out, "rounds", s->ns->len);
        if (s->ns->len) {
            append_number(out, "min-ns", minimum(s));
            append_number(out, "median-ns", percentile(s, 50));
            append_number(out, "p99-ns", percentile(s, 99));
        }
        if (s->ns->len && limit) {
            append_number(out, "min-ratio", minimum(s) / minimum(limit));
            append_number(out, "median-ratio", percentile(s, 50) / percentile(limit, 50));
        }
        g_string_append_c(out, '}');
    }
    printf("%s]}\n", out->str);
}

void row_print(const Row *row, Series *const *series, guint n, gboolean json)
{
    for (guint i = 0; i < n; i++)
        series_sort(series[i]);
    if (json)
        print_json(row, series, n);
    else
        print_text(row, series, n);
    fflush(stdout);
}

void figure_print(const char *title, double value, double goal, const char *unit, gboolean json)
{
    if (!json) {
        printf("%-60s %9.2f %s", title, value, unit);
        if (goal > 0)
            printf("  goal %g: %s", goal, value <= goal ? "reached" : "MISSED");
        printf("\n");
    } else {
        g_autoptr(GString) out = g_string_new("{\"title\":");
        json_append_string(out, title, -1);
        g_string_append(out, ",\"unit\":");
        json_append_string(out, unit, -1);
        append_number(out, "value", value);
        if (goal > 0) {
            append_number(out, "goal", goal);
            g_string_append(out, ",\"reached\":");
            json_append_bool(out, value <= goal);
        }
        printf("%s}\n", out->str);
    }
    fflush(stdout);
}
