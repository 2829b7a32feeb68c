/* SPDX-License-Identifier: MIT */
/* objmodel/event-log.c. */
#include <string.h>

#include "objmodel/event-log.h"

static void append(EventLog *log, const char *text)
{
    event_log_append(log, text, strlen(text));
}

static void check(EventLog *log, guint64 offset, gsize size, const char *expected)
{
    char buffer[256];
    gsize n = 0;

    g_assert_cmpuint(size, <=, sizeof buffer);
    g_assert_true(event_log_read(log, offset, buffer, size, &n));
    g_assert_cmpmem(buffer, n, expected, strlen(expected));
}

static void test_read(void)
{
    g_autoptr(EventLog) log = event_log_new(1000);

    check(log, 0, 100, "");
    append(log, "one\r\ntwo\r\n");
    append(log, "three\n");
    check(log, 0, 100, "one\ntwo\nthree\n");
    check(log, 2, 4, "e\ntw");
    check(log, 14, 4, "");
    check(log, 1000000, 4, "");
    g_assert_cmpuint(event_log_start(log), ==, 0);
    g_assert_cmpuint(event_log_end(log), ==, 14);
}

static void test_forgetting(void)
{
    g_autoptr(EventLog) log = event_log_new(100);
    char buffer[256];
    gsize n = 77;

    for (guint i = 0; i < 1000; i++) {
        guint64 start, end;

        append(log, "0123456\n");
        start = event_log_start(log);
        end = event_log_end(log);
        g_assert_cmpuint(end, ==, (i + 1) * 8);
        g_assert_cmpuint(start % 8, ==, 0);
        g_assert_cmpuint(end - start, >=, MIN((i + 1) * 8, 100));
        g_assert_cmpuint(end - start, <=, 125);
    }
    g_assert_false(event_log_read(log, event_log_start(log) - 1, buffer, 1, &n));
    g_assert_cmpuint(n, ==, 77);
    check(log, event_log_start(log), 8, "0123456\n");
}

/* A line longer than all that is to be kept is still kept whole. */
static void test_long_line(void)
{
    g_autoptr(EventLog) log = event_log_new(10);
    guint64 start;

    append(log, "a\n");
    append(log, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n");
    start = event_log_start(log);
    check(log, start, 100, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n");
    append(log, "c\n");
    check(log, event_log_start(log), 100, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\nc\n");
}

static void count(void *opaque)
{
    *(guint *)opaque += 1;
}

static void test_watch(void)
{
    g_autoptr(EventLog) log = event_log_new(10);
    guint64 before = event_log_mtime(log);
    guint n = 0;

    event_log_watch(log, count, &n);
    g_usleep(1000);
    append(log, "a\n");
    g_assert_cmpuint(n, ==, 1);
    g_assert_cmpuint(event_log_mtime(log), >, before);
    event_log_watch(log, NULL, NULL);
    append(log, "a\n");
    g_assert_cmpuint(n, ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/event-log/read", test_read);
    g_test_add_func("/event-log/forgetting", test_forgetting);
    g_test_add_func("/event-log/long-line", test_long_line);
    g_test_add_func("/event-log/watch", test_watch);
    return g_test_run();
}
