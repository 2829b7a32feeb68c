/* SPDX-License-Identifier: MIT */
/*
 * What the clients of tests/bench measured, and how it is shown: one row of the table is
 * one thing done in several ways, the times of each a series. One thread.
 */
#pragma once

#include <glib.h>

typedef struct Series {
    char *name;
    GArray *ns; /* guint64 nanoseconds, as measured */
} Series;

Series *series_new(const char *name);
void series_free(Series *series);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Series, series_free)

void series_add(Series *series, guint64 ns);
/* Sorts it; 0 where it is empty. */
double series_median(Series *series);

/* "NAME":[1,2,...], of an array of guint64. */
void append_numbers(GString *out, const char *name, const GArray *numbers);

/* Another order for the things that are measured in turn. */
void things_shuffle(GPtrArray *things, GRand *random);

/* Nanoseconds on the clock that all measure with. */
guint64 clock_ns(void);

typedef struct Row {
    const char *title;
    gboolean ms; /* shown in milliseconds, else in microseconds */
    double goal; /* the first series' median against the second's; 0: none */
} Row;

/* Prints a row: for each series the number of rounds, minimum, median, 99th percentile,
 * and its minimum and median against those of the second, the limit. As text, or as one
 * line of JSON. Sorts the series; an empty one is said to be so. */
void row_print(const Row *row, Series *const *series, guint n, gboolean json);

/* A row of one figure that is to stay below its goal. */
void figure_print(const char *title, double value, double goal, const char *unit, gboolean json);
