/* SPDX-License-Identifier: MIT */
/*
 * JSON: a strict reader, a compact writer, and a view of values that are known to
 * be good. None of them knows what the JSON is about. Any thread.
 *
 * Text from outside goes through a JsonReader, which checks it and writes it anew,
 * compact and in ASCII. What it wrote is looked at through JsonSlice functions,
 * which rely on that and check nothing. Numbers stay text from end to end.
 */
#pragma once

#include <glib.h>

typedef enum JsonKind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
} JsonKind;

/* "null", "a boolean", ...: for messages. */
const char *json_kind_name(JsonKind kind);

/* The nesting that QEMU accepts. */
#define JSON_MAX_DEPTH 1024

/* ---- values that are known to be good: compact, ASCII, checked ---- */

/* Part of a compact text: one whole value. Not owned, not terminated by NUL.
 * An absent value is { NULL, 0 }. */
typedef struct JsonSlice {
    const char *text;
    gsize length;
} JsonSlice;

JsonKind json_kind(JsonSlice value);
gboolean json_equal_bytes(JsonSlice a, JsonSlice b);

/* Each returns FALSE, and leaves *ret alone, where the value is of another kind or
 * does not fit. A number with a fraction or an exponent is no integer. */
gboolean json_to_bool(JsonSlice value, gboolean *ret);
gboolean json_to_int64(JsonSlice value, gint64 *ret);
gboolean json_to_uint64(JsonSlice value, guint64 *ret);

/* Bytes of a string once its escapes are resolved, without the final NUL. */
gsize json_string_length(JsonSlice string);
/* Appends those bytes; may contain NUL where the string has \u0000. */
void json_string_decode(JsonSlice string, GString *out);
/* The same as new memory, NUL-terminated; NULL where value is not a string.
 * ret_length may be NULL. */
char *json_string_dup(JsonSlice value, gsize *ret_length);
/* Whether value is the string that has exactly these bytes (NUL-terminated). */
gboolean json_string_is(JsonSlice value, const char *bytes);

/* Walks the members or elements of a value: JsonWalk w = json_walk(v); then
 * while (json_walk_member(&w, &name, &value)) ... name is a JSON string slice. When there
 * is no more, `at` stands behind the container's closing bracket. */
typedef struct JsonWalk {
    const char *at;
} JsonWalk;

JsonWalk json_walk(JsonSlice container);
gboolean json_walk_member(JsonWalk *walk, JsonSlice *ret_name, JsonSlice *ret_value);
gboolean json_walk_element(JsonWalk *walk, JsonSlice *ret_value);

/* The member of an object, or an absent slice. */
JsonSlice json_member(JsonSlice object, const char *name);

/* ---- the reader ---- */

#define JSON_ERROR (json_error_quark())
GQuark json_error_quark(void);

typedef enum JsonError {
    JSON_ERROR_SYNTAX, /* not JSON; the message begins with LINE:COLUMN */
    JSON_ERROR_SHAPE,  /* JSON, but not what was expected; likewise */
} JsonError;

typedef enum JsonReaderFlags {
    JSON_READER_STRICT = 0,
    JSON_READER_QMP = 1, /* strings in single quotes too, as QEMU's parser takes them */
} JsonReaderFlags;

/*
 * A pull reader over one whole text. Every value that is consumed is appended to
 * `copy`, compact and in ASCII: escapes and numbers are kept as they were written,
 * a byte beyond ASCII becomes \uxxxx (a pair of them beyond the BMP), and in QMP
 * mode 'x' becomes "x". Commas and colons between parts are not written by the
 * enter/next functions, only inside a value taken whole with json_reader_value().
 *
 * Checked: UTF-8 (no overlong forms, surrogates, or beyond U+10FFFF), surrogate
 * escapes in pairs, no repeated member of one object (compared with escapes
 * resolved), no control characters in strings, numbers as RFC 8259 has them, depth,
 * and nothing but white space after the end.
 *
 * The first error sticks: from then on all functions return FALSE.
 */
typedef struct JsonReader JsonReader;

/* Text and copy must outlive the reader; copy may be NULL where only checking counts.
 * A UTF-8 byte order mark at the start is an error as any other stray byte. */
JsonReader *json_reader_new(const char *text, gsize length, JsonReaderFlags flags, GString *copy);
void json_reader_free(JsonReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonReader, json_reader_free)

/* The kind of the next value, without consuming it. FALSE at an error. */
gboolean json_reader_peek(JsonReader *reader, JsonKind *ret);
/* Consumes the '{' or '[' of the next value, which must be of that kind: `what` names
 * it in the error ("the dump must be an object, not a number"). */
gboolean json_reader_enter(JsonReader *reader, JsonKind container, const char *what);
/* In an object: consumes the next member's name and colon; *ret_name is a JSON string in
 * memory of the reader, good until the next call. FALSE at the '}' (consumed) or at an
 * error: json_reader_failed() tells them apart. */
gboolean json_reader_next_member(JsonReader *reader, JsonSlice *ret_name);
/* In an array: TRUE where another element follows; FALSE at the ']' (consumed) or error. */
gboolean json_reader_next_element(JsonReader *reader);
/* Consumes the next value whole and appends it to copy; *ret_offset is where it begins
 * in copy (it ends at copy->len). */
gboolean json_reader_value(JsonReader *reader, gsize *ret_offset);
/* Consumes the next value, checks it, copies nothing. */
gboolean json_reader_skip(JsonReader *reader);
/* Checks that only white space is left. */
gboolean json_reader_end(JsonReader *reader);

/* Where the reader stands: bytes consumed. Used with json_reader_fail_at(). */
gsize json_reader_position(const JsonReader *reader);
/* Makes the reader fail with JSON_ERROR_SHAPE, "LINE:COLUMN: message"; lines and columns
 * (in characters) count from 1. Does nothing where it has failed already. */
void json_reader_fail_at(JsonReader *reader, gsize position, const char *format, ...) G_GNUC_PRINTF(3, 4);
gboolean json_reader_failed(const JsonReader *reader);
/* Moves the error to the caller; returns FALSE, so that a function can end with it. */
gboolean json_reader_propagate(JsonReader *reader, GError **error);

/* Checks one whole text and returns its compact form; NULL on error. */
char *json_compact(const char *text, gsize length, JsonReaderFlags flags, gsize *ret_length, GError **error);

/* ---- the writer: plain functions that append to a GString ---- */

/* A string with its quotes; bytes must be UTF-8 (others become U+FFFD). As QEMU writes
 * it: \" \\ \b \f \n \r \t, else \uXXXX in upper case for control characters, 0x7F and
 * beyond. length -1: up to the NUL. */
void json_append_string(GString *out, const char *bytes, gssize length);
void json_append_int(GString *out, gint64 value);
void json_append_uint(GString *out, guint64 value);
void json_append_bool(GString *out, gboolean value);
/* As QEMU writes it: %.17g; infinities and NaN cannot occur (checked by an assertion). */
void json_append_double(GString *out, double value);
/* Appends bytes that are JSON already. */
void json_append_slice(GString *out, JsonSlice value);
