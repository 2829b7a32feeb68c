/* SPDX-License-Identifier: MIT */
/*
 * The place in a JSON text, its tokens, and the copy that is made of them. For
 * json-reader.c, which knows how tokens make values. The first error sticks.
 */
#pragma once

#include "objmodel/json.h"
#include "objmodel/json-scan.h"

typedef struct JsonLexer {
    const char *text, *at, *end;
    JsonReaderFlags flags;
    GError *error; /* owned; whoever embeds a lexer frees it */

    GString *out;    /* where text is copied to now, or NULL */
    const char *run; /* the text from here on is not yet copied */
} JsonLexer;

/* All of these return FALSE, so that a function can end with them. The message is preceded by
 * the LINE:COLUMN of `at`. */
gboolean json_lexer_set_error(JsonLexer *lexer, JsonError code, const char *at, const char *message);
gboolean json_lexer_fail(JsonLexer *lexer, const char *at, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* "... expected, not 'x'" at the place where the lexer stands. */
gboolean json_lexer_fail_expected(JsonLexer *lexer, const char *expected);

/* Copies what is not yet copied, up to here. */
void json_lexer_flush(JsonLexer *lexer, const char *until);

/* Consumes a string; the place is at its quote. *ret_escapes says whether it has any. */
static inline gboolean json_lexer_string(JsonLexer *lexer, gboolean *ret_escapes);
/* The same, of any string; slower. */
gboolean json_lexer_any_string(JsonLexer *lexer, gboolean *ret_escapes);
gboolean json_lexer_number(JsonLexer *lexer);
gboolean json_lexer_word(JsonLexer *lexer, const char *word);

static inline gboolean is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline void json_lexer_skip_space(JsonLexer *lexer)
{
    if (G_UNLIKELY(lexer->at < lexer->end && is_space(*lexer->at))) {
        json_lexer_flush(lexer, lexer->at);
        do {
            lexer->at++;
        } while (lexer->at < lexer->end && is_space(*lexer->at));
        lexer->run = lexer->at;
    }
}

/* The next byte that is no white space; NUL (which no token begins with) at the end. */
static inline char json_lexer_next_byte(JsonLexer *lexer)
{
    json_lexer_skip_space(lexer);
    return lexer->at < lexer->end ? *lexer->at : '\0';
}

static inline gboolean json_lexer_is_quote(const JsonLexer *lexer, char c)
{
    return c == '"' || (c == '\'' && (lexer->flags & JSON_READER_QMP));
}

/* Most strings stand for themselves. */
static inline gboolean json_lexer_string(JsonLexer *lexer, gboolean *ret_escapes)
{
    if (G_LIKELY(*lexer->at == '"')) {
        const char *at = json_scan_string(lexer->at + 1, lexer->end);

        if (G_LIKELY(at < lexer->end && *at == '"')) {
            lexer->at = at + 1;
            *ret_escapes = FALSE;
            return TRUE;
        }
    }
    return json_lexer_any_string(lexer, ret_escapes);
}
