/* SPDX-License-Identifier: MIT */
/*
 * The strict JSON reader: see json.h for what it checks and what it writes. Used for
 * everything that comes from outside: dumps, configurations, QMP messages, values that
 * are written to files. One reader belongs to one thread.
 *
 * It is made for dumps of a gigabyte: nothing is allocated for a value, and nesting costs
 * no stack. json-lexer.c knows the tokens, json-names.c which names are repeated.
 */
#include "objmodel/json.h"

#include <stdarg.h>

#include "objmodel/json-lexer.h"
#include "objmodel/json-names.h"

G_DEFINE_QUARK(json_error, json_error)

/* The name in a message about it. */
#define QUOTED_MAX 64
#define FEW_FRAMES 8

/* A container that is being read. */
typedef struct Frame {
    gboolean is_object;
    gboolean has_parts; /* a member or element has begun */
    JsonNameSet names;
} Frame;

struct JsonReader {
    JsonLexer lexer;
    GString *copy;
    GString *name; /* the last name handed out, where it is no part of the text; NULL: none so far */
    JsonNames names;

    Frame *frames; /* the containers that are open, the innermost last */
    guint depth, frames_size;
    Frame few_frames[FEW_FRAMES]; /* where `frames` begins, so that a short text takes no more memory */
};

/* ---- containers ---- */

/* Consumes the '{' or '['. */
static gboolean reader_push(JsonReader *reader, gboolean is_object)
{
    Frame *frame;

    if (reader->depth == JSON_MAX_DEPTH) {
        return json_lexer_fail(&reader->lexer, reader->lexer.at, "nested deeper than %d", JSON_MAX_DEPTH);
    }
    if (reader->depth == reader->frames_size) {
        reader->frames = json_grown(reader->frames, reader->few_frames, &reader->frames_size, sizeof *reader->frames);
    }
    frame = &reader->frames[reader->depth++];
    frame->is_object = is_object;
    frame->has_parts = FALSE;
    json_names_begin(&reader->names, &frame->names);
    reader->lexer.at++;
    return TRUE;
}

static void reader_pop(JsonReader *reader)
{
    json_names_end(&reader->names, &reader->frames[--reader->depth].names);
}

/* Goes to the next member or element of the innermost container: consumes a comma where
 * one is due. FALSE at the container's end, which it consumes, or at an error. */
static gboolean reader_next_part(JsonReader *reader)
{
    Frame *frame = &reader->frames[reader->depth - 1];
    char c = json_lexer_next_byte(&reader->lexer);

    if (c == (frame->is_object ? '}' : ']')) {
        reader->lexer.at++;
        reader_pop(reader);
        return FALSE;
    }
    if (frame->has_parts) {
        if (c != ',') {
            return json_lexer_fail_expected(&reader->lexer, frame->is_object ? "',' or '}'" : "',' or ']'");
        }
        reader->lexer.at++;
    }
    frame->has_parts = TRUE;
    return TRUE;
}

static gboolean reader_fail_repeated(JsonReader *reader, JsonSlice name)
{
    g_autoptr(GString) bytes = g_string_new(NULL), quoted = g_string_new(NULL);

    json_string_decode(name, bytes);
    json_append_string(quoted, bytes->str, (gssize)MIN(bytes->len, QUOTED_MAX));
    return json_lexer_fail(&reader->lexer, name.text, "the member %s%s is repeated", quoted->str,
                           bytes->len > QUOTED_MAX ? "..." : "");
}

/* Consumes a member's name, which must be new. */
static gboolean reader_name(JsonReader *reader)
{
    JsonLexer *lexer = &reader->lexer;
    JsonSlice name;
    gboolean escapes;

    if (!json_lexer_is_quote(lexer, json_lexer_next_byte(lexer))) {
        return json_lexer_fail_expected(lexer, "a member's name in quotes");
    }
    name.text = lexer->at;
    if (!json_lexer_string(lexer, &escapes)) {
        return FALSE;
    }
    name.length = (gsize)(lexer->at - name.text);
    return json_names_add(&reader->names, &reader->frames[reader->depth - 1].names, name, escapes) ||
           reader_fail_repeated(reader, name);
}

static gboolean reader_colon(JsonReader *reader)
{
    if (json_lexer_next_byte(&reader->lexer) != ':') {
        return json_lexer_fail_expected(&reader->lexer, "':'");
    }
    reader->lexer.at++;
    return TRUE;
}

/* ---- values ---- */

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
        if (json_lexer_is_quote(&reader->lexer, c)) {
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
    char c = json_lexer_next_byte(&reader->lexer);

    if (!kind_of_byte(reader, c, &kind)) {
        return json_lexer_fail_expected(&reader->lexer, "a value");
    }
    switch (kind) {
    case JSON_OBJECT:
        return reader_push(reader, TRUE);
    case JSON_ARRAY:
        return reader_push(reader, FALSE);
    case JSON_STRING:
        return json_lexer_string(&reader->lexer, &escapes);
    case JSON_NUMBER:
        return json_lexer_number(&reader->lexer);
    case JSON_BOOL:
        return json_lexer_word(&reader->lexer, c == 't' ? "true" : "false");
    case JSON_NULL:
    default:
        return json_lexer_word(&reader->lexer, "null");
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
        } else if (reader->lexer.error != NULL) {
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- what the header offers ---- */

static void reader_init(JsonReader *reader, const char *text, gsize length, JsonReaderFlags flags, GString *copy)
{
    if (length == 0) {
        text = "";
    }
    reader->lexer = (JsonLexer){.text = text, .at = text, .end = text + length, .flags = flags, .run = text};
    reader->copy = copy;
    reader->name = NULL;
    reader->depth = 0;
    reader->frames = reader->few_frames;
    reader->frames_size = FEW_FRAMES;
    json_names_init(&reader->names, text);
    if (length > JSON_TEXT_MAX) {
        json_lexer_fail(&reader->lexer, reader->lexer.text, "longer than %" G_GSIZE_FORMAT " bytes", JSON_TEXT_MAX);
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
    while (reader->depth > 0) {
        reader_pop(reader);
    }
    json_names_clear(&reader->names);
    if (reader->frames != reader->few_frames) {
        g_free(reader->frames);
    }
    if (reader->name != NULL) {
        g_string_free(reader->name, TRUE);
    }
    g_clear_error(&reader->lexer.error);
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
    if (reader->lexer.error != NULL) {
        return FALSE;
    }
    if (!kind_of_byte(reader, json_lexer_next_byte(&reader->lexer), ret)) {
        return json_lexer_fail_expected(&reader->lexer, "a value");
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

    if (reader->lexer.error != NULL || !reader_next_part(reader)) {
        return FALSE;
    }
    json_lexer_skip_space(&reader->lexer);
    start = reader->lexer.run = reader->lexer.at;
    if (reader->name == NULL) {
        reader->name = g_string_new(NULL);
    }
    reader->lexer.out = g_string_truncate(reader->name, 0);
    ok = reader_name(reader);
    reader->lexer.out = NULL;
    if (!ok) {
        return FALSE;
    }
    if (reader->lexer.run == start) {
        *ret_name = (JsonSlice){start, (gsize)(reader->lexer.at - start)};
    } else {
        g_string_append_len(reader->name, reader->lexer.run, reader->lexer.at - reader->lexer.run);
        *ret_name = (JsonSlice){reader->name->str, reader->name->len};
    }
    return reader_colon(reader);
}

gboolean json_reader_next_element(JsonReader *reader)
{
    return reader->lexer.error == NULL && reader_next_part(reader);
}

gboolean json_reader_value(JsonReader *reader, gsize *ret_offset)
{
    gsize offset = reader->copy != NULL ? reader->copy->len : 0;
    gboolean ok;

    if (reader->lexer.error != NULL) {
        return FALSE;
    }
    json_lexer_skip_space(&reader->lexer);
    reader->lexer.run = reader->lexer.at;
    reader->lexer.out = reader->copy;
    ok = reader_whole_value(reader);
    json_lexer_flush(&reader->lexer, reader->lexer.at);
    reader->lexer.out = NULL;
    if (ok) {
        *ret_offset = offset;
    }
    return ok;
}

gboolean json_reader_skip(JsonReader *reader)
{
    return reader->lexer.error == NULL && reader_whole_value(reader);
}

gboolean json_reader_end(JsonReader *reader)
{
    if (reader->lexer.error != NULL) {
        return FALSE;
    }
    json_lexer_skip_space(&reader->lexer);
    return reader->lexer.at == reader->lexer.end || json_lexer_fail_expected(&reader->lexer, "the end of the text");
}

gsize json_reader_position(const JsonReader *reader)
{
    return (gsize)(reader->lexer.at - reader->lexer.text);
}

void json_reader_fail_at(JsonReader *reader, gsize position, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    json_lexer_set_error(&reader->lexer, JSON_ERROR_SHAPE, reader->lexer.text + position, message);
}

gboolean json_reader_failed(const JsonReader *reader)
{
    return reader->lexer.error != NULL;
}

gboolean json_reader_propagate(JsonReader *reader, GError **error)
{
    /* A copy: the error must go on sticking. */
    if (reader->lexer.error != NULL && error != NULL) {
        *error = g_error_copy(reader->lexer.error);
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
