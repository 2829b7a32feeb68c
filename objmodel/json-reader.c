/* SPDX-License-Identifier: MIT */
/*
 * The strict JSON reader: see json.h for what it checks and what it writes. Used for
 * everything that comes from outside: dumps, configurations, QMP messages, values that
 * are written to files. One reader belongs to one thread.
 *
 * It is made for dumps of a gigabyte. Nothing is allocated for a value; what is in the
 * form wanted already (as nearly all of a compact dump is) is copied in long runs: `run`
 * is where text that is still to be copied begins, and only white space, bytes beyond
 * ASCII and single quotes end a run.
 */
#include "objmodel/json.h"

#include <stdarg.h>
#include <string.h>

#include "objmodel/json-scan.h"

G_DEFINE_QUARK(json_error, json_error)

/* Names are remembered by 32-bit offsets. */
#define TEXT_MAX ((gsize)G_MAXUINT32)
/* The name in a message about it. */
#define QUOTED_MAX 64

/* A member's name, escapes resolved: a part of the text, or of `decoded`. */
typedef struct Name {
    guint32 offset;
    guint32 length;
    guint32 hash;
    guint32 is_decoded;
} Name;

/* A container that is being read. Its names are the last ones in `names`. */
typedef struct Frame {
    gboolean is_object;
    guint n_parts;       /* members or elements begun so far */
    guint first_name;    /* index in `names` */
    gsize first_decoded; /* offset in `decoded` */
    guint32 *table;      /* of many names: open addressing, index + 1 from first_name; or NULL */
    guint table_bits;
} Frame;

/* Up to so many members of an object, comparing with each is quicker than a table; most texts have no more at a time.
 */
#define FEW_NAMES 16
#define FEW_FRAMES 8

struct JsonReader {
    const char *text, *at, *end;
    JsonReaderFlags flags;
    GString *copy;
    GError *error;

    GString *out;    /* where text is copied to now, or NULL */
    const char *run; /* the text from here on is not yet copied */

    Frame *frames; /* the containers that are open, the innermost last */
    guint depth, frames_size;
    Name *names; /* of all of them */
    guint n_names, names_size;
    GString *decoded; /* names that had escapes; NULL: none so far */
    GString *name;    /* the last name handed out, where it is no part of the text; NULL: none so far */
    guint64 seed;     /* of the hash: nobody outside can choose names that collide */

    Frame few_frames[FEW_FRAMES]; /* where `frames` and `names` begin, so that a short text takes no more memory */
    Name few_names[FEW_NAMES];
};

/* ---- errors ---- */

static void reader_position(const JsonReader *reader, const char *at, gsize *ret_line, gsize *ret_column)
{
    const char *line = reader->text, *next;
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

static void reader_set_error(JsonReader *reader, JsonError code, const char *at, const char *message)
{
    gsize line, column;

    if (reader->error == NULL) {
        reader_position(reader, at, &line, &column);
        reader->error =
            g_error_new(JSON_ERROR, code, "%" G_GSIZE_FORMAT ":%" G_GSIZE_FORMAT ": %s", line, column, message);
    }
}

static gboolean G_GNUC_PRINTF(3, 4) reader_fail(JsonReader *reader, const char *at, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    reader_set_error(reader, JSON_ERROR_SYNTAX, at, message);
    return FALSE;
}

/* "... expected, not 'x'" at the place where the reader stands. */
static gboolean reader_fail_expected(JsonReader *reader, const char *expected)
{
    const char *at = reader->at;

    if (at == reader->end) {
        return reader_fail(reader, at, "%s expected, but the text ends", expected);
    }
    if (g_ascii_isgraph(*at)) {
        return reader_fail(reader, at, "%s expected, not '%c'", expected, *at);
    }
    return reader_fail(reader, at, "%s expected, not the byte 0x%02X", expected, (guchar)*at);
}

/* ---- copying ---- */

static void reader_flush(JsonReader *reader, const char *until)
{
    if (reader->out != NULL) {
        g_string_append_len(reader->out, reader->run, until - reader->run);
    }
}

static void reader_write(JsonReader *reader, const char *bytes)
{
    if (reader->out != NULL) {
        g_string_append(reader->out, bytes);
    }
}

static inline gboolean is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline void reader_skip_space(JsonReader *reader)
{
    if (G_UNLIKELY(reader->at < reader->end && is_space(*reader->at))) {
        reader_flush(reader, reader->at);
        do {
            reader->at++;
        } while (reader->at < reader->end && is_space(*reader->at));
        reader->run = reader->at;
    }
}

/* The next byte that is no white space; NUL (which no token begins with) at the end. */
static inline char reader_next_byte(JsonReader *reader)
{
    reader_skip_space(reader);
    return reader->at < reader->end ? *reader->at : '\0';
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

static gboolean reader_unicode_escape(JsonReader *reader)
{
    const char *at = reader->at;
    int code = string_hex4(at + 2, reader->end);
    int second;

    if (code < 0) {
        return reader_fail(reader, at, "\\u takes four hex digits");
    }
    reader->at = at + 6;
    if (code < 0xD800 || code > 0xDFFF) {
        return TRUE;
    }
    second = reader->end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? string_hex4(at + 8, reader->end) : -1;
    if (code > 0xDBFF || second < 0xDC00 || second > 0xDFFF) {
        return reader_fail(reader, at, "\\u%.4s is half of a surrogate pair", at + 2);
    }
    reader->at = at + 12;
    return TRUE;
}

/* Consumes the escape at the place. */
static gboolean reader_escape(JsonReader *reader)
{
    const char *at = reader->at;

    if (reader->end - at < 2) {
        return reader_fail(reader, reader->end, "the text ends within a string");
    }
    switch (at[1]) {
    case 'u':
        return reader_unicode_escape(reader);
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        reader->at = at + 2;
        return TRUE;
    case '\'':
        if (reader->flags & JSON_READER_QMP) {
            reader_flush(reader, at);
            reader->run = at + 1;
            reader->at = at + 2;
            return TRUE;
        }
        break;
    default:
        break;
    }
    return reader_fail(reader, at, "a backslash that begins no escape");
}

/* Consumes a character beyond ASCII, which is written as an escape. */
static gboolean reader_utf8(JsonReader *reader)
{
    const char *at = reader->at;
    gunichar c = g_utf8_get_char_validated(at, reader->end - at);
    char escape[16];

    if (c == (gunichar)-1 || c == (gunichar)-2) {
        return reader_fail(reader, at, "the byte 0x%02X begins no UTF-8 character", (guchar)*at);
    }
    if (reader->out != NULL) {
        reader_flush(reader, at);
        if (c > 0xFFFF) {
            g_snprintf(escape, sizeof escape, "\\u%04X\\u%04X", 0xD800 + ((c - 0x10000) >> 10),
                       0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
            g_snprintf(escape, sizeof escape, "\\u%04X", c);
        }
        reader_write(reader, escape);
    }
    reader->at = reader->run = g_utf8_next_char(at);
    return TRUE;
}

/* Writes `bytes` in place of the one byte that stands at the place. */
static void reader_replace_byte(JsonReader *reader, const char *bytes)
{
    reader_flush(reader, reader->at);
    reader_write(reader, bytes);
    reader->run = ++reader->at;
}

/* Consumes a string; the place is at its quote. *ret_escapes says whether it has any. */
static gboolean reader_string(JsonReader *reader, gboolean *ret_escapes)
{
    const char *start = reader->at;
    char quote = *start;

    *ret_escapes = FALSE;
    if (quote == '"') {
        reader->at++;
    } else {
        reader_replace_byte(reader, "\"");
    }
    for (;;) {
        const char *at = json_scan_string(reader->at, reader->end);

        if (quote == '\'') {
            const char *single = memchr(reader->at, '\'', (gsize)(at - reader->at));

            at = single != NULL ? single : at;
        }
        reader->at = at;
        if (at == reader->end) {
            return reader_fail(reader, start, "a string that does not end");
        } else if (*at == quote) {
            if (quote == '"') {
                reader->at++;
            } else {
                reader_replace_byte(reader, "\"");
            }
            return TRUE;
        } else if (*at == '"') {
            reader_replace_byte(reader, "\\\"");
        } else if (*at == '\\') {
            *ret_escapes = TRUE;
            if (!reader_escape(reader)) {
                return FALSE;
            }
        } else if ((guchar)*at < 0x20) {
            return reader_fail(reader, at, "the control character 0x%02X in a string", (guchar)*at);
        } else if (!reader_utf8(reader)) {
            return FALSE;
        }
    }
}

/* ---- repeated names ---- */

static inline guint64 load(const char *bytes, guint n)
{
    guint64 word = 0;

    memcpy(&word, bytes, n);
    return word;
}

static inline guint64 mix(guint64 hash, guint64 word)
{
    hash = (hash ^ word) * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* Loads of fixed sizes, which overlap where the length is no multiple: names are short. */
static inline guint32 name_hash(guint64 seed, const char *bytes, gsize length)
{
    guint64 hash = seed ^ length;

    if (length >= 8) {
        for (gsize i = 0; i + 8 < length; i += 8) {
            hash = mix(hash, load(bytes + i, 8));
        }
        hash = mix(hash, load(bytes + length - 8, 8));
    } else if (length >= 4) {
        hash = mix(hash, load(bytes, 4) << 32 | load(bytes + length - 4, 4));
    } else if (length > 0) {
        hash = mix(hash, load(bytes, 1) << 16 | load(bytes + length / 2, 1) << 8 | load(bytes + length - 1, 1));
    }
    return (guint32)(hash ^ hash >> 32);
}

static const char *name_bytes(const JsonReader *reader, const Name *name)
{
    return (name->is_decoded ? reader->decoded->str : reader->text) + name->offset;
}

static gboolean name_equal(const JsonReader *reader, const Name *a, const Name *b)
{
    return a->hash == b->hash && a->length == b->length &&
           memcmp(name_bytes(reader, a), name_bytes(reader, b), a->length) == 0;
}

static void table_put(Frame *frame, guint32 hash, guint32 value)
{
    guint32 mask = (1u << frame->table_bits) - 1, i = hash & mask;

    while (frame->table[i] != 0) {
        i = (i + 1) & mask;
    }
    frame->table[i] = value;
}

/* Makes the table anew, twice as large as before. */
static void table_grow(JsonReader *reader, Frame *frame)
{
    const Name *names = reader->names + frame->first_name;
    guint n = reader->n_names - frame->first_name;

    frame->table_bits = frame->table != NULL ? frame->table_bits + 1 : 6;
    g_free(frame->table);
    frame->table = g_new0(guint32, (gsize)1 << frame->table_bits);
    for (guint i = 0; i < n; i++) {
        table_put(frame, names[i].hash, i + 1);
    }
}

static gboolean frame_has_name(const JsonReader *reader, const Frame *frame, const Name *name)
{
    const Name *names = reader->names + frame->first_name;
    guint n = reader->n_names - frame->first_name;

    if (frame->table == NULL) {
        for (guint i = 0; i < n; i++) {
            if (name_equal(reader, &names[i], name)) {
                return TRUE;
            }
        }
        return FALSE;
    }
    for (guint32 mask = (1u << frame->table_bits) - 1, i = name->hash & mask; frame->table[i] != 0;
         i = (i + 1) & mask) {
        if (name_equal(reader, &names[frame->table[i] - 1], name)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* A list that is full, with twice the room; few: where it may still stand. */
static void *grown(void *list, const void *few, guint *size, gsize element)
{
    void *larger = list == few ? memcpy(g_malloc(2 * *size * element), few, *size * element)
                               : g_realloc_n(list, 2 * (gsize)*size, element);

    *size *= 2;
    return larger;
}

/* Remembers the name that is the string from start to the place. */
static gboolean reader_add_name(JsonReader *reader, const char *start, gboolean escapes)
{
    Frame *frame = &reader->frames[reader->depth - 1];
    JsonSlice string = {start, (gsize)(reader->at - start)};
    Name name;
    guint n;

    if (escapes) {
        if (reader->decoded == NULL) {
            reader->decoded = g_string_new(NULL);
        }
        name.offset = (guint32)reader->decoded->len;
        json_string_decode(string, reader->decoded);
        name.length = (guint32)reader->decoded->len - name.offset;
    } else {
        name.offset = (guint32)(start + 1 - reader->text);
        name.length = (guint32)string.length - 2;
    }
    name.is_decoded = escapes;
    name.hash = name_hash(reader->seed, name_bytes(reader, &name), name.length);
    if (frame_has_name(reader, frame, &name)) {
        g_autoptr(GString) quoted = g_string_new(NULL);

        json_append_string(quoted, name_bytes(reader, &name), MIN(name.length, QUOTED_MAX));
        return reader_fail(reader, start, "the member %s%s is repeated", quoted->str,
                           name.length > QUOTED_MAX ? "..." : "");
    }
    if (reader->n_names == reader->names_size) {
        reader->names = grown(reader->names, reader->few_names, &reader->names_size, sizeof *reader->names);
    }
    reader->names[reader->n_names++] = name;
    n = reader->n_names - frame->first_name;
    if (frame->table != NULL && n < (1u << frame->table_bits) / 2) {
        table_put(frame, name.hash, n);
    } else if (n > FEW_NAMES) {
        table_grow(reader, frame);
    }
    return TRUE;
}

/* ---- containers ---- */

/* Consumes the '{' or '['. */
static gboolean reader_push(JsonReader *reader, gboolean is_object)
{
    if (reader->depth == JSON_MAX_DEPTH) {
        return reader_fail(reader, reader->at, "nested deeper than %d", JSON_MAX_DEPTH);
    }
    if (reader->depth == reader->frames_size) {
        reader->frames = grown(reader->frames, reader->few_frames, &reader->frames_size, sizeof *reader->frames);
    }
    reader->frames[reader->depth++] = (Frame){
        .is_object = is_object,
        .first_name = reader->n_names,
        .first_decoded = reader->decoded != NULL ? reader->decoded->len : 0,
    };
    reader->at++;
    return TRUE;
}

/* Consumes the '}' or ']'. */
static void reader_pop(JsonReader *reader)
{
    Frame *frame = &reader->frames[reader->depth - 1];

    if (G_UNLIKELY(frame->table != NULL)) {
        g_free(frame->table);
    }
    if (G_UNLIKELY(reader->decoded != NULL && reader->decoded->len != frame->first_decoded)) {
        g_string_truncate(reader->decoded, frame->first_decoded);
    }
    reader->n_names = frame->first_name;
    reader->depth--;
    reader->at++;
}

/* Goes to the next member or element of the innermost container: consumes a comma where
 * one is due. FALSE at the container's end, which it consumes, or at an error. */
static gboolean reader_next_part(JsonReader *reader)
{
    Frame *frame = &reader->frames[reader->depth - 1];
    char c = reader_next_byte(reader);

    if (c == (frame->is_object ? '}' : ']')) {
        reader_pop(reader);
        return FALSE;
    }
    if (frame->n_parts > 0) {
        if (c != ',') {
            return reader_fail_expected(reader, frame->is_object ? "',' or '}'" : "',' or ']'");
        }
        reader->at++;
    }
    frame->n_parts = 1;
    return TRUE;
}

static gboolean reader_is_quote(const JsonReader *reader, char c)
{
    return c == '"' || (c == '\'' && (reader->flags & JSON_READER_QMP));
}

static gboolean reader_name(JsonReader *reader)
{
    const char *start;
    gboolean escapes;

    if (!reader_is_quote(reader, reader_next_byte(reader))) {
        return reader_fail_expected(reader, "a member's name in quotes");
    }
    start = reader->at;
    return reader_string(reader, &escapes) && reader_add_name(reader, start, escapes);
}

static gboolean reader_colon(JsonReader *reader)
{
    if (reader_next_byte(reader) != ':') {
        return reader_fail_expected(reader, "':'");
    }
    reader->at++;
    return TRUE;
}

/* ---- values ---- */

static gboolean reader_word(JsonReader *reader, const char *word)
{
    gsize length = strlen(word);

    if ((gsize)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) {
        return reader_fail_expected(reader, "a value");
    }
    reader->at += length;
    return TRUE;
}

/* Consumes digits, one at least. */
static gboolean reader_digits(JsonReader *reader)
{
    const char *at = reader->at;

    while (at < reader->end && g_ascii_isdigit(*at)) {
        at++;
    }
    if (at == reader->at) {
        return reader_fail_expected(reader, "a digit");
    }
    reader->at = at;
    return TRUE;
}

static gboolean reader_number(JsonReader *reader)
{
    if (*reader->at == '-') {
        reader->at++;
    }
    if (reader->at < reader->end && *reader->at == '0') {
        reader->at++;
        if (reader->at < reader->end && g_ascii_isdigit(*reader->at)) {
            return reader_fail(reader, reader->at, "a number with a leading zero");
        }
    } else if (!reader_digits(reader)) {
        return FALSE;
    }
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        if (!reader_digits(reader)) {
            return FALSE;
        }
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        reader->at++;
        if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-')) {
            reader->at++;
        }
        return reader_digits(reader);
    }
    return TRUE;
}

/* The kind of value that begins with this byte; FALSE where none does. */
static gboolean kind_of_byte(const JsonReader *reader, char c, JsonKind *ret)
{
    switch (c) {
    case '{':
        *ret = JSON_OBJECT;
        return TRUE;
    case '[':
        *ret = JSON_ARRAY;
        return TRUE;
    case 't':
    case 'f':
        *ret = JSON_BOOL;
        return TRUE;
    case 'n':
        *ret = JSON_NULL;
        return TRUE;
    case '-':
        *ret = JSON_NUMBER;
        return TRUE;
    default:
        if (reader_is_quote(reader, c)) {
            *ret = JSON_STRING;
            return TRUE;
        }
        *ret = JSON_NUMBER;
        return g_ascii_isdigit(c);
    }
}

/* Consumes a value that is no container, or the beginning of one. */
static gboolean reader_begin_value(JsonReader *reader)
{
    gboolean escapes;
    JsonKind kind;
    char c = reader_next_byte(reader);

    if (!kind_of_byte(reader, c, &kind)) {
        return reader_fail_expected(reader, "a value");
    }
    switch (kind) {
    case JSON_OBJECT:
        return reader_push(reader, TRUE);
    case JSON_ARRAY:
        return reader_push(reader, FALSE);
    case JSON_STRING:
        return reader_string(reader, &escapes);
    case JSON_NUMBER:
        return reader_number(reader);
    case JSON_BOOL:
        return reader_word(reader, c == 't' ? "true" : "false");
    case JSON_NULL:
    default:
        return reader_word(reader, "null");
    }
}

/* Consumes one whole value. A loop, so that nesting costs no stack. */
static gboolean reader_whole_value(JsonReader *reader)
{
    guint outer = reader->depth;

    if (!reader_begin_value(reader)) {
        return FALSE;
    }
    while (reader->depth > outer) {
        if (reader_next_part(reader)) {
            const Frame *frame = &reader->frames[reader->depth - 1];

            if ((frame->is_object && (!reader_name(reader) || !reader_colon(reader))) || !reader_begin_value(reader)) {
                return FALSE;
            }
        } else if (reader->error != NULL) {
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- what the header offers ---- */

static void reader_init(JsonReader *reader, const char *text, gsize length, JsonReaderFlags flags, GString *copy)
{
    memset(reader, 0, G_STRUCT_OFFSET(JsonReader, few_frames));
    reader->text = reader->at = reader->run = length > 0 ? text : "";
    reader->end = reader->text + length;
    reader->flags = flags;
    reader->copy = copy;
    reader->frames = reader->few_frames;
    reader->frames_size = FEW_FRAMES;
    reader->names = reader->few_names;
    reader->names_size = FEW_NAMES;
    reader->seed = (guint64)g_random_int() << 32 | g_random_int();
    if (length > TEXT_MAX) {
        reader_fail(reader, reader->text, "longer than %" G_GSIZE_FORMAT " bytes", TEXT_MAX);
    }
}

JsonReader *json_reader_new(const char *text, gsize length, JsonReaderFlags flags, GString *copy)
{
    JsonReader *reader = g_new(JsonReader, 1);

    reader_init(reader, text, length, flags, copy);
    return reader;
}

static void reader_clear(JsonReader *reader)
{
    for (guint i = 0; i < reader->depth; i++) {
        g_free(reader->frames[i].table);
    }
    if (reader->frames != reader->few_frames) {
        g_free(reader->frames);
    }
    if (reader->names != reader->few_names) {
        g_free(reader->names);
    }
    if (reader->decoded != NULL) {
        g_string_free(reader->decoded, TRUE);
    }
    if (reader->name != NULL) {
        g_string_free(reader->name, TRUE);
    }
    g_clear_error(&reader->error);
}

void json_reader_free(JsonReader *reader)
{
    if (reader != NULL) {
        reader_clear(reader);
        g_free(reader);
    }
}

gboolean json_reader_peek(JsonReader *reader, JsonKind *ret)
{
    if (reader->error != NULL) {
        return FALSE;
    }
    if (!kind_of_byte(reader, reader_next_byte(reader), ret)) {
        return reader_fail_expected(reader, "a value");
    }
    return TRUE;
}

gboolean json_reader_enter(JsonReader *reader, JsonKind container, const char *what)
{
    JsonKind kind;

    if (!json_reader_peek(reader, &kind)) {
        return FALSE;
    }
    if (kind != container) {
        json_reader_fail_at(reader, json_reader_position(reader), "%s must be %s, not %s", what,
                            json_kind_name(container), json_kind_name(kind));
        return FALSE;
    }
    return reader_push(reader, container == JSON_OBJECT);
}

gboolean json_reader_next_member(JsonReader *reader, JsonSlice *ret_name)
{
    const char *start;
    gboolean ok;

    if (reader->error != NULL || !reader_next_part(reader)) {
        return FALSE;
    }
    reader_skip_space(reader);
    start = reader->run = reader->at;
    if (reader->name == NULL) {
        reader->name = g_string_new(NULL);
    }
    reader->out = g_string_truncate(reader->name, 0);
    ok = reader_name(reader);
    reader->out = NULL;
    if (!ok) {
        return FALSE;
    }
    if (reader->run == start) {
        *ret_name = (JsonSlice){start, (gsize)(reader->at - start)};
    } else {
        g_string_append_len(reader->name, reader->run, reader->at - reader->run);
        *ret_name = (JsonSlice){reader->name->str, reader->name->len};
    }
    return reader_colon(reader);
}

gboolean json_reader_next_element(JsonReader *reader)
{
    return reader->error == NULL && reader_next_part(reader);
}

gboolean json_reader_value(JsonReader *reader, gsize *ret_offset)
{
    gsize offset = reader->copy != NULL ? reader->copy->len : 0;
    gboolean ok;

    if (reader->error != NULL) {
        return FALSE;
    }
    reader_skip_space(reader);
    reader->run = reader->at;
    reader->out = reader->copy;
    ok = reader_whole_value(reader);
    reader_flush(reader, reader->at);
    reader->out = NULL;
    if (ok) {
        *ret_offset = offset;
    }
    return ok;
}

gboolean json_reader_skip(JsonReader *reader)
{
    return reader->error == NULL && reader_whole_value(reader);
}

gboolean json_reader_end(JsonReader *reader)
{
    if (reader->error != NULL) {
        return FALSE;
    }
    reader_skip_space(reader);
    return reader->at == reader->end || reader_fail_expected(reader, "the end of the text");
}

gsize json_reader_position(const JsonReader *reader)
{
    return (gsize)(reader->at - reader->text);
}

void json_reader_fail_at(JsonReader *reader, gsize position, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    reader_set_error(reader, JSON_ERROR_SHAPE, reader->text + position, message);
}

gboolean json_reader_failed(const JsonReader *reader)
{
    return reader->error != NULL;
}

gboolean json_reader_propagate(JsonReader *reader, GError **error)
{
    /* A copy: the error must go on sticking. */
    if (reader->error != NULL && error != NULL) {
        *error = g_error_copy(reader->error);
    }
    return FALSE;
}

char *json_compact(const char *text, gsize length, JsonReaderFlags flags, gsize *ret_length, GError **error)
{
    /* Every request comes here: the text that is returned is all the memory that it takes. */
    GString copy = {.str = g_malloc(length + 1), .allocated_len = length + 1};
    JsonReader reader;
    gsize offset;
    gboolean ok;

    copy.str[0] = '\0';
    reader_init(&reader, text, length, flags, &copy);
    ok = json_reader_value(&reader, &offset) && json_reader_end(&reader);
    if (!ok) {
        json_reader_propagate(&reader, error);
        g_clear_pointer(&copy.str, g_free);
    } else if (ret_length != NULL) {
        *ret_length = copy.len;
    }
    reader_clear(&reader);
    return copy.str;
}
