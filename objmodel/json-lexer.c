/* SPDX-License-Identifier: MIT */
/*
 * What JSON's tokens are, and how each is copied: see json-lexer.h. What is in the form
 * wanted already (as nearly all of a compact dump is) is copied in long runs: only white
 * space, bytes beyond ASCII and single quotes end a run.
 */
#include "objmodel/json-lexer.h"

#include <string.h>

/* ---- errors ---- */

static void lexer_position(const JsonLexer *lexer, const char *at, gsize *ret_line, gsize *ret_column)
{
    const char *line = lexer->text, *next;
    gsize n_lines = 1, column = 1;

    while ((next = memchr(line, '\n', (gsize)(at - line))) != NULL) {
        line = next + 1;
        n_lines++;
    }
    for (; line < at; line++) {
        column += ((guchar)*line & 0xC0) != 0x80;
    }
    *ret_line = n_lines;
    *ret_column = column;
}

gboolean json_lexer_set_error(JsonLexer *lexer, JsonError code, const char *at, const char *message)
{
    gsize line, column;

    if (lexer->error == NULL) {
        lexer_position(lexer, at, &line, &column);
        lexer->error =
            g_error_new(JSON_ERROR, code, "%" G_GSIZE_FORMAT ":%" G_GSIZE_FORMAT ": %s", line, column, message);
    }
    return FALSE;
}

gboolean json_lexer_fail(JsonLexer *lexer, const char *at, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    return json_lexer_set_error(lexer, JSON_ERROR_SYNTAX, at, message);
}

gboolean json_lexer_fail_expected(JsonLexer *lexer, const char *expected)
{
    const char *at = lexer->at;

    if (at == lexer->end) {
        return json_lexer_fail(lexer, at, "%s expected, but the text ends", expected);
    }
    if (g_ascii_isgraph(*at)) {
        return json_lexer_fail(lexer, at, "%s expected, not '%c'", expected, *at);
    }
    return json_lexer_fail(lexer, at, "%s expected, not the byte 0x%02X", expected, (guchar)*at);
}

/* ---- copying ---- */

void json_lexer_flush(JsonLexer *lexer, const char *until)
{
    if (lexer->out != NULL) {
        g_string_append_len(lexer->out, lexer->run, until - lexer->run);
    }
}

static void lexer_write(JsonLexer *lexer, const char *bytes)
{
    if (lexer->out != NULL) {
        g_string_append(lexer->out, bytes);
    }
}

/* ---- strings ---- */

/* Four hex digits; -1 where there are none. */
static int string_hex4(const char *at, const char *end)
{
    int code = 0;

    if (end - at < 4) {
        return -1;
    }
    for (guint i = 0; i < 4; i++) {
        if (!g_ascii_isxdigit(at[i])) {
            return -1;
        }
        code = code << 4 | g_ascii_xdigit_value(at[i]);
    }
    return code;
}

static gboolean lexer_unicode_escape(JsonLexer *lexer)
{
    const char *at = lexer->at;
    int code = string_hex4(at + 2, lexer->end);
    int second;

    if (code < 0) {
        return json_lexer_fail(lexer, at, "\\u takes four hex digits");
    }
    lexer->at = at + 6;
    if (code < 0xD800 || code > 0xDFFF) {
        return TRUE;
    }
    second = lexer->end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? string_hex4(at + 8, lexer->end) : -1;
    if (code > 0xDBFF || second < 0xDC00 || second > 0xDFFF) {
        return json_lexer_fail(lexer, at, "\\u%.4s is half of a surrogate pair", at + 2);
    }
    lexer->at = at + 12;
    return TRUE;
}

/* Consumes the escape at the place. */
static gboolean lexer_escape(JsonLexer *lexer)
{
    const char *at = lexer->at;

    if (lexer->end - at < 2) {
        return json_lexer_fail(lexer, lexer->end, "the text ends within a string");
    }
    switch (at[1]) {
    case 'u':
        return lexer_unicode_escape(lexer);
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        lexer->at = at + 2;
        return TRUE;
    case '\'':
        if (lexer->flags & JSON_READER_QMP) {
            json_lexer_flush(lexer, at);
            lexer->run = at + 1;
            lexer->at = at + 2;
            return TRUE;
        }
        break;
    default:
        break;
    }
    return json_lexer_fail(lexer, at, "a backslash that begins no escape");
}

/* Consumes a character beyond ASCII, which is written as an escape. */
static gboolean lexer_utf8(JsonLexer *lexer)
{
    const char *at = lexer->at;
    gunichar c = g_utf8_get_char_validated(at, lexer->end - at);
    char escape[16];

    if (c == (gunichar)-1 || c == (gunichar)-2) {
        return json_lexer_fail(lexer, at, "the byte 0x%02X begins no UTF-8 character", (guchar)*at);
    }
    if (lexer->out != NULL) {
        json_lexer_flush(lexer, at);
        if (c > 0xFFFF) {
            g_snprintf(escape, sizeof escape, "\\u%04X\\u%04X", 0xD800 + ((c - 0x10000) >> 10),
                       0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
            g_snprintf(escape, sizeof escape, "\\u%04X", c);
        }
        lexer_write(lexer, escape);
    }
    lexer->at = lexer->run = g_utf8_next_char(at);
    return TRUE;
}

/* Writes `bytes` in place of the one byte that stands at the place. */
static void lexer_replace_byte(JsonLexer *lexer, const char *bytes)
{
    json_lexer_flush(lexer, lexer->at);
    lexer_write(lexer, bytes);
    lexer->run = ++lexer->at;
}

gboolean json_lexer_any_string(JsonLexer *lexer, gboolean *ret_escapes)
{
    const char *start = lexer->at;
    char quote = *start;

    *ret_escapes = FALSE;
    if (quote == '"') {
        lexer->at++;
    } else {
        lexer_replace_byte(lexer, "\"");
    }
    for (;;) {
        const char *at = json_scan_string(lexer->at, lexer->end);

        if (quote == '\'') {
            const char *single = memchr(lexer->at, '\'', (gsize)(at - lexer->at));

            at = single != NULL ? single : at;
        }
        lexer->at = at;
        if (at == lexer->end) {
            return json_lexer_fail(lexer, start, "a string that does not end");
        } else if (*at == quote) {
            if (quote == '"') {
                lexer->at++;
            } else {
                lexer_replace_byte(lexer, "\"");
            }
            return TRUE;
        } else if (*at == '"') {
            lexer_replace_byte(lexer, "\\\"");
        } else if (*at == '\\') {
            *ret_escapes = TRUE;
            if (!lexer_escape(lexer)) {
                return FALSE;
            }
        } else if ((guchar)*at < 0x20) {
            return json_lexer_fail(lexer, at, "the control character 0x%02X in a string", (guchar)*at);
        } else if (!lexer_utf8(lexer)) {
            return FALSE;
        }
    }
}

/* ---- numbers and words ---- */

gboolean json_lexer_word(JsonLexer *lexer, const char *word)
{
    gsize length = strlen(word);

    if ((gsize)(lexer->end - lexer->at) < length || memcmp(lexer->at, word, length) != 0) {
        return json_lexer_fail_expected(lexer, "a value");
    }
    lexer->at += length;
    return TRUE;
}

/* Consumes digits, one at least. */
static gboolean lexer_digits(JsonLexer *lexer)
{
    const char *at = lexer->at;

    while (at < lexer->end && g_ascii_isdigit(*at)) {
        at++;
    }
    if (at == lexer->at) {
        return json_lexer_fail_expected(lexer, "a digit");
    }
    lexer->at = at;
    return TRUE;
}

gboolean json_lexer_number(JsonLexer *lexer)
{
    if (*lexer->at == '-') {
        lexer->at++;
    }
    if (lexer->at < lexer->end && *lexer->at == '0') {
        lexer->at++;
        if (lexer->at < lexer->end && g_ascii_isdigit(*lexer->at)) {
            return json_lexer_fail(lexer, lexer->at, "a number with a leading zero");
        }
    } else if (!lexer_digits(lexer)) {
        return FALSE;
    }
    if (lexer->at < lexer->end && *lexer->at == '.') {
        lexer->at++;
        if (!lexer_digits(lexer)) {
            return FALSE;
        }
    }
    if (lexer->at < lexer->end && (*lexer->at == 'e' || *lexer->at == 'E')) {
        lexer->at++;
        if (lexer->at < lexer->end && (*lexer->at == '+' || *lexer->at == '-')) {
            lexer->at++;
        }
        return lexer_digits(lexer);
    }
    return TRUE;
}
