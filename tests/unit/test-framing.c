/* SPDX-License-Identifier: MIT */
/* qmp/framing.c: where messages end, however they come, and how it recovers. */
#include <string.h>

#include "qmp/framing.h"

/* What comes out for some input: messages and errors ("!"), separated by '|'. */
static char *frame(const char *input, gsize length, gsize piece, gboolean end)
{
    g_autoptr(Framer) framer = framer_new(QMP_MESSAGE_BYTES_MAX);
    GString *out = g_string_new(NULL);
    FramerResult result;
    JsonSlice message;
    const char *error;

    for (gsize at = 0; at < length || end; at += piece) {
        if (at >= length) {
            framer_end(framer);
            end = FALSE;
        } else {
            framer_add(framer, input + at, MIN(piece, length - at));
        }
        while ((result = framer_next(framer, &message, &error)) != FRAMER_MORE) {
            if (result == FRAMER_MESSAGE) {
                g_string_append_len(out, message.text, (gssize)message.length);
            } else {
                g_assert_nonnull(error);
                g_string_append_c(out, '!');
            }
            g_string_append_c(out, '|');
        }
    }
    return g_string_free(out, FALSE);
}

/* Whole, and split at every place, the result must be the same. */
static void check_bytes(const char *input, gsize length, const char *expected)
{
    for (gsize piece = 1; piece <= length; piece++) {
        g_autofree char *got = frame(input, length, piece, TRUE);

        g_assert_cmpstr(got, ==, expected);
    }
}

static void check(const char *input, const char *expected)
{
    check_bytes(input, strlen(input), expected);
}

static void test_messages(void)
{
    check("{}", "{}|");
    check("{\"a\":[1,{}]}", "{\"a\":[1,{}]}|");
    check("{}{}[] {}\r\n{}", "{}|{}|[]|{}|{}|");
    check("{\n  \"a\" :\n 1\n}\n", "{\n  \"a\" :\n 1\n}|");
    check("{\"}\\\"\":'\"}\\''}", "{\"}\\\"\":'\"}\\''}|");
    check(" \t\r\n", "");
    check("", "");
    check("{\"a\":\"\xC3\xA9\"}", "{\"a\":\"\xC3\xA9\"}|");
}

/* What is no object is a message too: what is wrong with it is said by who reads it. */
static void test_scalars(void)
{
    check("nope {}", "nope|{}|");
    check("12", "12|");
    check("1 \"x\"'y'", "1|\"x\"|'y'|");
    check("true{}", "true|{}|");
    check(",:", ",|:|");
}

static void test_incomplete(void)
{
    g_autofree char *got = frame("{\"a\":1", 6, 6, FALSE);
    g_autofree char *word = frame("12", 2, 2, FALSE);

    g_assert_cmpstr(got, ==, "");
    g_assert_cmpstr(word, ==, "");
}

static void test_recovery(void)
{
    check("{\"one: 1}\n{}", "!|{}|");
    check("{\xFF{}", "!|{}|");
    check("\xFF{}", "!|{}|");
    check("{\x01{}", "!|{}|");
    check("{]{}", "!|{}|");
    check("[}\n{}", "!|{}|");
    check("{}}{}", "{}|!|{}|");
    check("{\"execute\":\"que\xFF{}", "!|{}|");
    check("{\"a\":%d}{}\n{}", "!|!|{}|{}|");
    check("{'a\\\n{}", "!|{}|");
    check("*** garbage \n{}", "!|{}|");
    check("*** garbage {[ \n\xFF{}", "!|!|{}|");
    check("{\x80\x81\xFE{}", "!|!|{}|");
    check_bytes("{\0{}", 4, "!|{}|");
}

/* After an error, whatever brings a structure begins anew, though no line ends, as in QEMU. */
static void test_recovery_within_line(void)
{
    static const char *const passed_over[] = {"", " ", "x", "1 ", "\"", "'", "\x7F", "\t", "\n", "\xC3\xA9"};

    for (guint i = 0; i < G_N_ELEMENTS(passed_over); i++) {
        g_autofree char *text = g_strconcat("%", passed_over[i], "{\"a\":1}", NULL);

        check(text, "!|{\"a\":1}|");
    }
    check("/* c */ {}", "!|{}|");
    check("%[]{}", "!|[]|{}|");
    check("%:{}", "!|:|{}|");
    check("%,{}", "!|,|{}|");
    check("%}{}", "!|!|{}|");
    check("%\xFF{}", "!|!|{}|");
    check("\"\x01\"{}", "!|{}|");
    check("\"\x01'{}", "!|{}|");
    check("{\"a\xFF\"b\"{}", "!|{}|");
    check("{\"a\":\x01 1}{}", "!|!|{}|");
    check("\xEF\xBB\xBF{}", "!|{}|");
}

static void test_too_deep(void)
{
    g_autoptr(GString) input = g_string_new(NULL);
    g_autofree char *got = NULL;

    for (guint i = 0; i < JSON_MAX_DEPTH + 100; i++) {
        g_string_append_c(input, '[');
    }
    g_string_append(input, "\"]\",{}");
    for (guint i = 0; i < JSON_MAX_DEPTH + 100; i++) {
        g_string_append_c(input, ']');
    }
    g_string_append(input, "{}");
    got = frame(input->str, input->len, 7, TRUE);
    g_assert_cmpstr(got, ==, "!|{}|");
    g_string_truncate(input, JSON_MAX_DEPTH + 50);
    g_string_append(input, "\xFF{}");
    g_clear_pointer(&got, g_free);
    got = frame(input->str, input->len, 7, TRUE);
    /* It was reported already when it became too deep. */
    g_assert_cmpstr(got, ==, "!|{}|");
}

static void test_deepest(void)
{
    g_autoptr(GString) input = g_string_new(NULL);
    g_autoptr(GString) expected = NULL;
    g_autofree char *got = NULL;

    for (guint i = 0; i < JSON_MAX_DEPTH; i++) {
        g_string_append_c(input, i % 3 ? '[' : '{');
    }
    for (guint i = JSON_MAX_DEPTH; i > 0; i--) {
        g_string_append_c(input, (i - 1) % 3 ? ']' : '}');
    }
    expected = g_string_new(input->str);
    g_string_append_c(expected, '|');
    got = frame(input->str, input->len, 100, TRUE);
    g_assert_cmpstr(got, ==, expected->str);
}

/* Feeds one long message piece by piece; returns how many errors and messages came. */
static void feed_long(const char *piece, gsize n_pieces, const char *before, const char *after, guint *errors,
                      guint *messages, gsize *ret_peak)
{
    g_autoptr(Framer) framer = framer_new(QMP_MESSAGE_BYTES_MAX);
    JsonSlice message;
    const char *error;
    FramerResult result;

    *errors = *messages = 0;
    *ret_peak = 0;
    for (gsize i = 0; i < n_pieces + 2; i++) {
        const char *bytes = i == 0 ? before : i <= n_pieces ? piece : after;

        framer_add(framer, bytes, strlen(bytes));
        *ret_peak = MAX(*ret_peak, framer_pending(framer));
        while ((result = framer_next(framer, &message, &error)) != FRAMER_MORE) {
            *(result == FRAMER_MESSAGE ? messages : errors) += 1;
        }
    }
}

/* One more than the limit is too much, however it comes. */
static void test_exact_limits(void)
{
    g_autofree char *bytes = g_strnfill(QMP_MESSAGE_BYTES_MAX - 4, 'x');
    g_autoptr(GString) tokens = g_string_new("[1");
    guint errors, messages;
    gsize peak;

    feed_long(bytes, 1, "[\"", "\"]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 0);
    g_assert_cmpuint(messages, ==, 2);
    feed_long(bytes, 1, "[ \"", "\"]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 1);
    g_assert_cmpuint(messages, ==, 1);
    for (guint i = 0; i < (QMP_MESSAGE_TOKENS_MAX - 4) / 2; i++) {
        g_string_append(tokens, ",1");
    }
    feed_long(tokens->str, 1, "", ",]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 0);
    g_assert_cmpuint(messages, ==, 2);
    feed_long(tokens->str, 1, "", ",1]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 1);
    g_assert_cmpuint(messages, ==, 1);
}

static void test_limits(void)
{
    g_autofree char *mebi = g_strnfill(1 << 20, 'x');
    g_autofree char *tokens = g_strnfill(1 << 20, ',');
    guint errors, messages;
    gsize peak;

    feed_long(mebi, 63, "[\"", "\"]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 0);
    g_assert_cmpuint(messages, ==, 2);
    feed_long(mebi, 100, "[\"", "\"]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 1);
    g_assert_cmpuint(messages, ==, 1);
    g_assert_cmpuint(peak, <=, QMP_MESSAGE_BYTES_MAX + (2 << 20));
    feed_long(tokens, 1, "[", "]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 0);
    g_assert_cmpuint(messages, ==, 2);
    feed_long(tokens, 3, "[", "]{}", &errors, &messages, &peak);
    g_assert_cmpuint(errors, ==, 1);
    g_assert_cmpuint(messages, ==, 1);
}

/* Random bytes, whole and in pieces: the same comes out, and a good message after 0xFF does. */
static void test_random(void)
{
    static const char alphabet[] = "{}[]\"'\\,: \n1a\xFF\x01\xC3%";

    for (guint round = 0; round < 20000; round++) {
        g_autoptr(GString) input = g_string_new(NULL);
        g_autofree char *whole = NULL, *pieces = NULL;

        for (int i = g_test_rand_int_range(0, 40); i > 0; i--) {
            g_string_append_c(input, alphabet[g_test_rand_int_range(0, sizeof alphabet - 1)]);
        }
        g_string_append(input, "\xFF\n{\"good\":1}");
        whole = frame(input->str, input->len, input->len, TRUE);
        pieces = frame(input->str, input->len, (gsize)g_test_rand_int_range(1, 5), TRUE);
        g_assert_cmpstr(whole, ==, pieces);
        g_assert_true(g_str_has_suffix(whole, "{\"good\":1}|"));
    }
}

static void test_lines(void)
{
    static const char two[] = "{\"a\":1}\r\n{'b':{}\n}\n";
    g_autoptr(Framer) framer = framer_new(QMP_MESSAGE_BYTES_MAX);
    JsonSlice line;
    const char *problem;

    g_assert_false(framer_line(framer, &line));
    framer_add(framer, two, 8);
    g_assert_false(framer_line(framer, &line)); /* its end has not come */
    framer_add(framer, two + 8, strlen(two) - 8);
    g_assert_true(framer_line(framer, &line));
    g_assert_cmpmem(line.text, line.length, "{\"a\":1}", 7);
    framer_take_line(framer, line);
    /* What follows is looked at by framer_next(), which passes over the end of the line. A line is one only where
     * nothing was looked at: here it would be a part of a message. */
    g_assert_false(framer_line(framer, &line));
    g_assert_cmpint(framer_next(framer, &line, &problem), ==, FRAMER_MESSAGE);
    g_assert_cmpmem(line.text, line.length, "{'b':{}\n}", 9);
    g_assert_false(framer_line(framer, &line));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/framing/messages", test_messages);
    g_test_add_func("/framing/lines", test_lines);
    g_test_add_func("/framing/scalars", test_scalars);
    g_test_add_func("/framing/incomplete", test_incomplete);
    g_test_add_func("/framing/recovery", test_recovery);
    g_test_add_func("/framing/recovery-within-line", test_recovery_within_line);
    g_test_add_func("/framing/too-deep", test_too_deep);
    g_test_add_func("/framing/deepest", test_deepest);
    g_test_add_func("/framing/limits", test_limits);
    g_test_add_func("/framing/exact-limits", test_exact_limits);
    g_test_add_func("/framing/random", test_random);
    return g_test_run();
}
