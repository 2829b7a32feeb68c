/* SPDX-License-Identifier: MIT */
/* fs/message.c: what of a message reaches a terminal. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/message.h"

/* What message_print() writes to stderr. */
static char *printed(const char *text)
{
    g_autofree char *path = NULL;
    int saved = dup(STDERR_FILENO), fd = g_file_open_tmp("qomfs-message-XXXXXX", &path, NULL);
    char *written = NULL;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(dup2(fd, STDERR_FILENO), ==, STDERR_FILENO);
    message_print("%s", text);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(fd);
    g_assert_true(g_file_get_contents(path, &written, NULL, NULL));
    unlink(path);
    return written;
}

static void test_text(void)
{
    static const struct {
        const char *text, *line;
    } rows[] = {
        {"", "qomfs: \n"},
        {"cannot read 'x': it is empty", "qomfs: cannot read 'x': it is empty\n"},
        {"100% \\n \\x41 \"", "qomfs: 100% \\n \\x41 \"\n"},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 \xE4\xB8\xAD",
         "qomfs: \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 \xE4\xB8\xAD\n"},
        /* Control characters: of ASCII, DEL, of Latin-1. */
        {"a\nb\r\tc", "qomfs: a\\x0ab\\x0d\\x09c\n"},
        {"\033[31mred\033]0;title\a", "qomfs: \\x1b[31mred\\x1b]0;title\\x07\n"},
        {"\x7f\b", "qomfs: \\x7f\\x08\n"},
        {"\xC2\x9B"
         "31m",
         "qomfs: \\xc2\\x9b31m\n"},
        /* What turns text around, or is not seen. */
        {"a\xE2\x80\xAE"
         "b",
         "qomfs: a\\xe2\\x80\\xaeb\n"},
        {"a\xE2\x80\x8B"
         "b\xEF\xBB\xBF",
         "qomfs: a\\xe2\\x80\\x8bb\\xef\\xbb\\xbf\n"},
        {"\xE2\x80\xA8", "qomfs: \\xe2\\x80\\xa8\n"},
        /* No UTF-8: stray bytes, cut off, overlong, a surrogate, too large. */
        {"\xFF\x80", "qomfs: \\xff\\x80\n"},
        {"a\xC3", "qomfs: a\\xc3\n"},
        {"\xE2\x82z", "qomfs: \\xe2\\x82z\n"},
        {"\xC0\x80", "qomfs: \\xc0\\x80\n"},
        {"\xED\xA0\x80", "qomfs: \\xed\\xa0\\x80\n"},
        {"\xF4\x90\x80\x80", "qomfs: \\xf4\\x90\\x80\\x80\n"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *line = printed(rows[i].text);
        g_assert_cmpstr(line, ==, rows[i].line);
    }
}

/* Every byte there is comes out as one line of plain characters. */
static void test_all_bytes(void)
{
    for (guint byte = 1; byte < 256; byte++) {
        const char text[] = {'<', (char)byte, '>', '\0'};
        g_autofree char *line = printed(text);
        g_assert_true(g_str_has_prefix(line, "qomfs: <"));
        g_assert_true(g_str_has_suffix(line, ">\n"));
        for (const char *at = line; *at != '\n'; at++)
            g_assert_true(g_ascii_isprint(*at));
    }
}

static void test_long(void)
{
    g_autofree char *text = g_strnfill(1000000, 'x'), *odd = g_strnfill(1000000, '\a');
    g_autofree char *line = printed(text), *odd_line = printed(odd);

    g_assert_cmpuint(strlen(line), >, 1000);
    g_assert_cmpuint(strlen(line), <, 4000);
    g_assert_true(g_str_has_suffix(line, "x...\n"));
    g_assert_cmpuint(strlen(odd_line), <, 4000);
    g_assert_true(g_str_has_suffix(odd_line, "\\x07...\n"));
}

/* Nobody reads: nothing to do about it, and no reason to wait or to die. */
static void test_no_reader(void)
{
    int saved = dup(STDERR_FILENO);

    close(STDERR_FILENO);
    message_print("nobody sees %d", 1);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fs-message/text", test_text);
    g_test_add_func("/fs-message/all-bytes", test_all_bytes);
    g_test_add_func("/fs-message/long", test_long);
    g_test_add_func("/fs-message/no-reader", test_no_reader);
    return g_test_run();
}
