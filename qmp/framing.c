/* SPDX-License-Identifier: MIT */
/* See framing.h. */
#include "qmp/framing.h"

#include <string.h>

#include "objmodel/json-scan.h"

/* A buffer that a large message left behind is given back. */
#define BUFFER_KEEP ((gsize)16 << 10)

typedef enum FramerState {
    OUTSIDE,   /* between tokens */
    IN_WORD,   /* a number, true, false, null, or something that is none */
    IN_STRING, /* `quote` ends it */
    IN_ESCAPE, /* after a backslash in a string */
    RECOVERY,  /* after an error: up to where something may begin */
} FramerState;

struct Framer {
    gsize max_bytes, max_tokens;

    char *buffer;
    gsize size, used; /* of the buffer: allocated, filled */
    gsize start;      /* where the message being cut begins */
    gsize at;         /* how far it was looked at */
    gboolean ended;

    FramerState state;
    char quote;
    gsize tokens;
    guint depth;
    gboolean oversize;                    /* being passed over: only depth counts */
    guint8 is_object[JSON_MAX_DEPTH / 8]; /* a bit for each bracket that is open */
};

Framer *framer_new(gsize max_bytes)
{
    Framer *framer = g_new0(Framer, 1);

    framer->max_bytes = max_bytes;
    framer->max_tokens = max_bytes <= QMP_MESSAGE_BYTES_MAX ? QMP_MESSAGE_TOKENS_MAX : G_MAXSIZE;
    return framer;
}

void framer_free(Framer *framer)
{
    if (framer != NULL) {
        g_free(framer->buffer);
        g_free(framer);
    }
}

/* ---- the buffer ---- */

/* Drops what was handed out already. */
static void framer_compact(Framer *framer)
{
    framer->used -= framer->start;
    framer->at -= framer->start;
    if (framer->used == 0 && framer->size > BUFFER_KEEP) {
        g_clear_pointer(&framer->buffer, g_free);
        framer->size = 0;
    } else if (framer->start > 0) {
        memmove(framer->buffer, framer->buffer + framer->start, framer->used);
    }
    framer->start = 0;
}

void framer_add(Framer *framer, const char *bytes, gsize n)
{
    framer_compact(framer);
    if (framer->size - framer->used < n) {
        framer->size = MAX(framer->used + n, framer->size * 2);
        framer->buffer = g_realloc(framer->buffer, framer->size);
    }
    if (n > 0) {
        memcpy(framer->buffer + framer->used, bytes, n);
        framer->used += n;
    }
}

char *framer_release(Framer *framer)
{
    char *memory = framer->buffer;

    framer->used -= framer->start;
    framer->buffer = framer->used > 0 ? g_memdup2(memory + framer->start, framer->used) : NULL;
    framer->size = framer->used;
    framer->at -= framer->start;
    framer->start = 0;
    return memory;
}

gsize framer_pending(const Framer *framer)
{
    return framer->used - framer->start;
}

void framer_end(Framer *framer)
{
    framer->ended = TRUE;
}

/* ---- cutting ---- */

/* Begins anew at the place. */
static void framer_reset(Framer *framer)
{
    framer->start = framer->at;
    framer->state = OUTSIDE;
    framer->tokens = 0;
    framer->depth = 0;
    framer->oversize = FALSE;
}

static FramerResult framer_fail(Framer *framer, const char **ret_error, const char *message)
{
    framer_reset(framer);
    *ret_error = message;
    return FRAMER_ERROR;
}

static const char too_many_bytes[] = "the message has too many bytes";
static const char too_many_tokens[] = "the message has too many tokens";

/* The message ends before the place. */
static FramerResult framer_message(Framer *framer, JsonSlice *ret_message, const char **ret_error)
{
    /* framer_check_limits() does not see the last piece. */
    if (framer->at - framer->start > framer->max_bytes) {
        return framer_fail(framer, ret_error, too_many_bytes);
    }
    if (framer->tokens > framer->max_tokens) {
        return framer_fail(framer, ret_error, too_many_tokens);
    }
    *ret_message = (JsonSlice){framer->buffer + framer->start, framer->at - framer->start};
    framer_reset(framer);
    return FRAMER_MESSAGE;
}

static gboolean is_control(guchar c)
{
    return c < 0x20 || c >= 0xFE;
}

/* The byte before the place cannot stand there. */
static FramerResult framer_bad_byte(Framer *framer, const char **ret_error, const char *message)
{
    gboolean reported = framer->oversize;

    framer_fail(framer, ret_error, message);
    framer->state = RECOVERY;
    return reported ? FRAMER_MORE : FRAMER_ERROR;
}

/* Where the next message may begin after an error. */
static gboolean ends_recovery(guchar c)
{
    return is_control(c) || (c < 0x7F && strchr("{}[]:,", c) != NULL);
}

static gboolean is_space(guchar c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static gboolean is_word(guchar c)
{
    return g_ascii_isalnum(c) || c == '-' || c == '+' || c == '.';
}

/* A bracket opens. FALSE where that is too deep. */
static gboolean framer_open(Framer *framer, gboolean is_object)
{
    guint bit = framer->depth++;

    if (framer->oversize) {
        return TRUE;
    }
    if (bit >= JSON_MAX_DEPTH) {
        return FALSE;
    }
    framer->is_object[bit / 8] &= (guint8) ~(1u << bit % 8);
    framer->is_object[bit / 8] |= (guint8)((guint)is_object << bit % 8);
    return TRUE;
}

/* A bracket closes. FALSE where another one, or none, is open. */
static gboolean framer_close(Framer *framer, gboolean is_object)
{
    guint bit;

    if (framer->depth == 0) {
        return FALSE;
    }
    bit = --framer->depth;
    return framer->oversize || (gboolean)(framer->is_object[bit / 8] >> bit % 8 & 1) == is_object;
}

/* Passes over the message that has just been found to be too large. */
static FramerResult framer_too_large(Framer *framer, const char **ret_error, const char *message)
{
    framer->oversize = TRUE;
    *ret_error = message;
    return FRAMER_ERROR;
}

/* One byte between tokens. Anything but FRAMER_MORE is the result. */
static FramerResult framer_outside(Framer *framer, guchar c, JsonSlice *ret_message, const char **ret_error)
{
    if (is_space(c)) {
        if (framer->depth == 0) {
            framer->start = framer->at;
        }
        return FRAMER_MORE;
    }
    framer->tokens++;
    switch (c) {
    case '{':
    case '[':
        if (!framer_open(framer, c == '{')) {
            return framer_too_large(framer, ret_error, "the message is nested too deeply");
        }
        return FRAMER_MORE;
    case '}':
    case ']':
        if (!framer_close(framer, c == '}')) {
            return framer_fail(framer, ret_error, "a bracket closes that is not open");
        }
        if (framer->depth > 0) {
            return FRAMER_MORE;
        }
        if (framer->oversize) {
            framer_reset(framer);
            return FRAMER_MORE;
        }
        return framer_message(framer, ret_message, ret_error);
    case '"':
    case '\'':
        framer->state = IN_STRING;
        framer->quote = (char)c;
        return FRAMER_MORE;
    case ',':
    case ':':
        return framer->depth > 0 ? FRAMER_MORE : framer_message(framer, ret_message, ret_error);
    default:
        if (!is_word(c)) {
            return framer_bad_byte(framer, ret_error, "a byte that cannot stand there");
        }
        framer->state = IN_WORD;
        return FRAMER_MORE;
    }
}

/* One byte within a string. */
static FramerResult framer_in_string(Framer *framer, guchar c, JsonSlice *ret_message, const char **ret_error)
{
    if (is_control(c)) {
        return framer_bad_byte(framer, ret_error, "a control character or 0xFF in a string");
    }
    if (framer->state == IN_ESCAPE) {
        framer->state = IN_STRING;
    } else if (c == '\\') {
        framer->state = IN_ESCAPE;
    } else if (c == (guchar)framer->quote) {
        framer->state = OUTSIDE;
        if (framer->depth == 0 && framer->oversize) {
            framer_reset(framer);
        } else if (framer->depth == 0) {
            return framer_message(framer, ret_message, ret_error);
        }
    }
    return FRAMER_MORE;
}

/* The end of a word, before the place. */
static FramerResult framer_end_word(Framer *framer, JsonSlice *ret_message, const char **ret_error)
{
    framer->state = OUTSIDE;
    if (framer->depth > 0) {
        return FRAMER_MORE;
    }
    if (framer->oversize) {
        framer_reset(framer);
        return FRAMER_MORE;
    }
    return framer_message(framer, ret_message, ret_error);
}

/* The byte at the place. */
static FramerResult framer_byte(Framer *framer, JsonSlice *ret_message, const char **ret_error)
{
    guchar c = (guchar)framer->buffer[framer->at];

    if (framer->state == IN_WORD && !is_word(c)) {
        return framer_end_word(framer, ret_message, ret_error); /* the byte is looked at again */
    }
    if (framer->state == RECOVERY && ends_recovery(c)) {
        framer->state = OUTSIDE; /* likewise */
        return FRAMER_MORE;
    }
    framer->at++;
    switch (framer->state) {
    case OUTSIDE:
        return framer_outside(framer, c, ret_message, ret_error);
    case IN_STRING:
    case IN_ESCAPE:
        return framer_in_string(framer, c, ret_message, ret_error);
    case RECOVERY:
        framer->start = framer->at;
        return FRAMER_MORE;
    case IN_WORD:
    default:
        return FRAMER_MORE;
    }
}

/* ---- the quick way ---- */

/* A bracket at the place, where the message goes on after it. FALSE where framer_byte() must see it. */
static inline gboolean framer_quick_bracket(Framer *framer, char c)
{
    guint top = framer->depth - 1;
    gboolean is_object = c == '{' || c == '}';

    if (c == '{' || c == '[') {
        return framer->depth < JSON_MAX_DEPTH && framer_open(framer, is_object);
    }
    if (top == 0 || (gboolean)(framer->is_object[top / 8] >> top % 8 & 1) != is_object) {
        return FALSE;
    }
    framer->depth = top;
    return TRUE;
}

/* What framer_byte() does, for what long messages are made of: within brackets, everything that neither ends the
 * message nor is wrong. Stops before the first byte that is anything else. */
static void framer_skip_plain(Framer *framer)
{
    const char *at = framer->buffer + framer->at, *end = framer->buffer + framer->used;
    FramerState state = framer->state;
    gsize tokens = framer->tokens;

    if (framer->depth == 0 || framer->oversize || state == IN_ESCAPE || (state == IN_STRING && framer->quote != '"')) {
        return;
    }
    while (at < end) {
        char c = *at;

        if (state == IN_STRING) {
            at = json_scan_string(at, end);
            if (at == end || *at != '"') {
                break;
            }
            state = OUTSIDE;
        } else if (c == '"') {
            tokens++;
            state = IN_STRING;
            framer->quote = '"';
        } else if (c == ',' || c == ':') {
            tokens++;
            state = OUTSIDE;
        } else if (is_word((guchar)c)) {
            tokens += state != IN_WORD;
            state = IN_WORD;
        } else if (c == '{' || c == '}' || c == '[' || c == ']') {
            if (!framer_quick_bracket(framer, c)) {
                break;
            }
            tokens++;
            state = OUTSIDE;
        } else if (is_space((guchar)c)) {
            state = OUTSIDE;
        } else {
            break;
        }
        at++;
    }
    framer->at = (gsize)(at - framer->buffer);
    framer->state = state;
    framer->tokens = tokens;
}

static FramerResult framer_check_limits(Framer *framer, const char **ret_error)
{
    if (framer->oversize) {
        framer->start = framer->at; /* nothing of it is kept */
    } else if (framer->at - framer->start > framer->max_bytes) {
        return framer_too_large(framer, ret_error, too_many_bytes);
    } else if (framer->tokens > framer->max_tokens) {
        return framer_too_large(framer, ret_error, too_many_tokens);
    }
    return FRAMER_MORE;
}

FramerResult framer_next(Framer *framer, JsonSlice *ret_message, const char **ret_error)
{
    FramerResult result = FRAMER_MORE;

    while (framer->at < framer->used && result == FRAMER_MORE) {
        framer_skip_plain(framer);
        if (framer->at < framer->used) {
            result = framer_byte(framer, ret_message, ret_error);
        }
        if (result == FRAMER_MORE) {
            result = framer_check_limits(framer, ret_error);
        }
    }
    if (result == FRAMER_MORE && framer->ended && framer->state == IN_WORD) {
        result = framer_end_word(framer, ret_message, ret_error);
    }
    return result;
}

/* ---- lines ---- */

gboolean framer_line(const Framer *framer, JsonSlice *ret_line)
{
    const char *start = framer->buffer + framer->start, *newline;
    gsize length;

    if (framer->at != framer->start || framer->state != OUTSIDE || framer->used == framer->start || *start != '{') {
        return FALSE;
    }
    newline = memchr(start, '\n', framer->used - framer->start);
    if (newline == NULL) {
        return FALSE;
    }
    length = (gsize)(newline - start);
    length -= length > 0 && start[length - 1] == '\r';
    *ret_line = (JsonSlice){start, length};
    /* A token takes a byte at least. */
    return start[length - 1] == '}' && length <= framer->max_bytes && length <= framer->max_tokens;
}

void framer_take_line(Framer *framer, JsonSlice line)
{
    framer->at += line.length;
    framer_reset(framer);
}
