/* SPDX-License-Identifier: MIT */
/* qmp/events.c: what is held back, and for how long. Time is what the test says it is. */
#include <string.h>

#include "qmp/events.h"

static const QmpEvent table[] = {
    {.name = "PLAIN"},
    {.name = "SLOW", .interval_ms = 1000},
    {.name = "EACH", .interval_ms = 1000, .about = "of"},
    {0},
};

typedef struct Fixture {
    QmpEvents *events;
    guint woken;
    gint64 start;
} Fixture;

static void wake(void *opaque)
{
    *(guint *)opaque += 1;
}

static void set_up(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    static const QmpVersion version = {1, 2, 3, ""};
    g_autoptr(QmpRegistry) registry = qmp_registry_new(&version);

    qmp_registry_add_events(registry, table);
    f->events = qmp_events_new(registry, wake, &f->woken);
    f->start = g_get_monotonic_time();
}

static void tear_down(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    qmp_events_free(f->events);
}

static void emit(Fixture *f, const char *name, const char *data)
{
    qmp_events_emit(f->events, name, (JsonSlice){data, data != NULL ? strlen(data) : 0}, 0);
}

/* The data of what is due so many milliseconds after the start, one a line. Returns when more may be due, likewise. */
static gint64 check_due(Fixture *f, gint64 ms, const char *expected)
{
    g_autoptr(GString) out = g_string_new(NULL), found = g_string_new(NULL);
    gint64 next = qmp_events_take(f->events, f->start + ms * 1000, out);

    for (const char *at = out->str; (at = strstr(at, "\"data\":")) != NULL; at++) {
        const char *data = at + strlen("\"data\":");

        g_string_append_len(found, data, strchr(data, '}') + 1 - data);
        g_string_append_c(found, '\n');
    }
    g_assert_cmpstr(found->str, ==, expected);
    return next < 0 ? -1 : (next - f->start) / 1000;
}

static void test_plain(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_assert_cmpint(check_due(f, 0, ""), ==, -1);
    emit(f, "PLAIN", "{\"n\":1}");
    emit(f, "PLAIN", "{\"n\":2}");
    emit(f, "UNKNOWN", "{\"n\":3}");
    /* Once is enough: nothing was taken in between. */
    g_assert_cmpuint(f->woken, ==, 1);
    g_assert_cmpint(check_due(f, 0, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"), ==, -1);
    emit(f, "PLAIN", "{\"n\":4}");
    g_assert_cmpuint(f->woken, ==, 2);
    check_due(f, 0, "{\"n\":4}\n");
    check_due(f, 0, "");
}

static void test_held_back(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    gint64 next;

    emit(f, "SLOW", "{\"n\":1}");
    emit(f, "SLOW", "{\"n\":2}");
    emit(f, "SLOW", "{\"n\":3}");
    next = check_due(f, 500, "{\"n\":1}\n");
    g_assert_cmpint(next, >=, 1000);
    g_assert_cmpint(next, <, 60000);
    check_due(f, next - 1, "");
    /* The last of them; and the next one has to wait again. */
    g_assert_cmpint(check_due(f, next + 1, "{\"n\":3}\n"), >=, next + 1000);
    emit(f, "SLOW", "{\"n\":4}");
    check_due(f, next + 500, "");
    check_due(f, next + 1002, "{\"n\":4}\n");
    /* After a quiet interval it is forgotten. */
    g_assert_cmpint(check_due(f, next + 9000, ""), ==, -1);
    emit(f, "SLOW", "{\"n\":5}");
    check_due(f, 0, "{\"n\":5}\n");
}

static void test_apart(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    emit(f, "EACH", "{\"of\":\"a\",\"n\":1}");
    emit(f, "EACH", "{\"of\":\"b\",\"n\":2}");
    emit(f, "EACH", "{\"of\":\"a\",\"n\":3}");
    emit(f, "EACH", "{\"n\":4}");
    emit(f, "EACH", "{\"n\":5}");
    check_due(f, 0, "{\"of\":\"a\",\"n\":1}\n{\"of\":\"b\",\"n\":2}\n{\"n\":4}\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function) g_test_add("/events/" name, Fixture, NULL, set_up, function, tear_down)
    ADD("plain", test_plain);
    ADD("held-back", test_held_back);
    ADD("apart", test_apart);
    return g_test_run();
}
