/* SPDX-License-Identifier: MIT */
/*
 * JSON values that are known to be good (the JsonSlice functions), and the writer. The
 * slice functions rely on what json-reader.c has checked: compact, ASCII, well-formed.
 * No state; any thread.
 */
#include "objmodel/json.h"

#include <math.h>
#include <string.h>

const char *json_kind_name(JsonKind kind)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a number",
        [JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
    };

    return names[kind];
}

/* ---- kinds and numbers ---- */

JsonKind json_kind(JsonSlice value)
{
    switch (value.text[0]) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}

gboolean json_equal_bytes(JsonSlice a, JsonSlice b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

gboolean json_to_bool(JsonSlice value, gboolean *ret)
{
    if (value.length == 0 || json_kind(value) != JSON_BOOL) {
        return FALSE;
    }
    *ret = value.text[0] == 't';
    return TRUE;
}

/* The digits of an integer, one at least; FALSE where there is anything else, or too much. */
static gboolean json_digits(const char *at, const char *end, guint64 *ret)
{
    guint64 sum = 0;

    for (; at < end; at++) {
        if (!g_ascii_isdigit(*at) || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (guint64)(*at - '0'), &sum)) {
            return FALSE;
        }
    }
    *ret = sum;
    return TRUE;
}

gboolean json_to_int64(JsonSlice value, gint64 *ret)
{
    guint64 sum;
    gboolean negative = value.length > 0 && value.text[0] == '-';

    if (value.length <= (gsize)negative || !json_digits(value.text + negative, value.text + value.length, &sum) ||
        sum > (guint64)G_MAXINT64 + (negative ? 1 : 0)) {
        return FALSE;
    }
    *ret = negative ? (gint64)(0 - sum) : (gint64)sum;
    return TRUE;
}

gboolean json_to_uint64(JsonSlice value, guint64 *ret)
{
    guint64 sum;
    gboolean negative = value.length > 0 && value.text[0] == '-';

    if (value.length <= (gsize)negative || !json_digits(value.text + negative, value.text + value.length, &sum) ||
        (negative && sum != 0)) {
        return FALSE;
    }
    *ret = sum;
    return TRUE;
}

/* ---- strings ---- */

static guint json_hex4(const char *at)
{
    guint code = 0;

    for (guint i = 0; i < 4; i++) {
        code = code << 4 | (guint)g_ascii_xdigit_value(at[i]);
    }
    return code;
}

/* Resolves the escape whose backslash is at `at`: its bytes go to out, their number to
 * ret_n. Returns where the text goes on. */
static const char *json_escape(const char *at, char out[4], guint *ret_n)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *found;
    guint code;

    if (at[1] != 'u') {
        found = strchr(from, at[1]);
        out[0] = found != NULL ? to[found - from] : at[1];
        *ret_n = 1;
        return at + 2;
    }
    code = json_hex4(at + 2);
    at += 6;
    if (code >= 0xD800 && code <= 0xDBFF) {
        code = 0x10000 + ((code - 0xD800) << 10) + (json_hex4(at + 2) - 0xDC00);
        at += 6;
    }
    *ret_n = (guint)g_unichar_to_utf8(code, out);
    return at;
}

gsize json_string_length(JsonSlice string)
{
    const char *at = string.text + 1, *end = string.text + string.length - 1;
    gsize length = 0;

    while (at < end) {
        const char *escape = memchr(at, '\\', (gsize)(end - at));
        char bytes[4];
        guint n;

        if (escape == NULL) {
            return length + (gsize)(end - at);
        }
        length += (gsize)(escape - at);
        at = json_escape(escape, bytes, &n);
        length += n;
    }
    return length;
}

void json_string_decode(JsonSlice string, GString *out)
{
    const char *at = string.text + 1, *end = string.text + string.length - 1;

    while (at < end) {
        const char *escape = memchr(at, '\\', (gsize)(end - at));
        char bytes[4];
        guint n;

        if (escape == NULL) {
            g_string_append_len(out, at, end - at);
            return;
        }
        g_string_append_len(out, at, escape - at);
        at = json_escape(escape, bytes, &n);
        g_string_append_len(out, bytes, n);
    }
}

char *json_string_dup(JsonSlice value, gsize *ret_length)
{
    GString *out;

    if (value.length == 0 || json_kind(value) != JSON_STRING) {
        return NULL;
    }
    out = g_string_sized_new(value.length);
    json_string_decode(value, out);
    if (ret_length != NULL) {
        *ret_length = out->len;
    }
    return g_string_free(out, FALSE);
}

gboolean json_string_is(JsonSlice value, const char *bytes)
{
    gsize left = strlen(bytes);
    const char *at, *end;

    if (value.length == 0 || json_kind(value) != JSON_STRING) {
        return FALSE;
    }
    at = value.text + 1;
    end = value.text + value.length - 1;
    while (at < end) {
        char decoded[4] = {*at};
        guint n = 1;

        if (*at == '\\') {
            at = json_escape(at, decoded, &n);
        } else {
            at++;
        }
        if (n > left || memcmp(bytes, decoded, n) != 0) {
            return FALSE;
        }
        bytes += n;
        left -= n;
    }
    return left == 0;
}

/* ---- walking ---- */

/* Returns what follows the string that begins at `at`. */
static const char *json_after_string(const char *at)
{
    const char *start = at, *quote = at;

    for (;;) {
        gsize backslashes = 0;

        quote = rawmemchr(quote + 1, '"');
        while (quote - 1 - backslashes > start && quote[-1 - (gssize)backslashes] == '\\') {
            backslashes++;
        }
        if (backslashes % 2 == 0) {
            return quote + 1;
        }
    }
}

/* Returns what follows the value at `at`, which is inside a container. */
static const char *json_after(const char *at)
{
    guint depth = 0;

    do {
        switch (*at) {
        case '"':
            at = json_after_string(at);
            break;
        case '{':
        case '[':
            depth++;
            at++;
            break;
        case '}':
        case ']':
            depth--;
            at++;
            break;
        case ',':
        case ':':
            at++;
            break;
        default: /* a number or a word */
            while (*at != ',' && *at != '}' && *at != ']') {
                at++;
            }
        }
    } while (depth > 0);
    return at;
}

JsonWalk json_walk(JsonSlice container)
{
    return (JsonWalk){container.length > 0 ? container.text + 1 : "]"};
}

gboolean json_walk_element(JsonWalk *walk, JsonSlice *ret_value)
{
    const char *at = walk->at;

    if (*at == ']' || *at == '}') {
        return FALSE;
    }
    if (*at == ',') {
        at++;
    }
    walk->at = json_after(at);
    *ret_value = (JsonSlice){at, (gsize)(walk->at - at)};
    return TRUE;
}

gboolean json_walk_member(JsonWalk *walk, JsonSlice *ret_name, JsonSlice *ret_value)
{
    const char *value;

    if (!json_walk_element(walk, ret_name)) {
        return FALSE;
    }
    value = walk->at + 1;
    walk->at = json_after(value);
    *ret_value = (JsonSlice){value, (gsize)(walk->at - value)};
    return TRUE;
}

JsonSlice json_member(JsonSlice object, const char *name)
{
    JsonWalk walk = json_walk(object);
    JsonSlice key, value;

    while (json_walk_member(&walk, &key, &value)) {
        if (json_string_is(key, name)) {
            return value;
        }
    }
    return (JsonSlice){NULL, 0};
}

/* ---- the writer ---- */

static void json_append_utf16(GString *out, guint unit)
{
    static const char digits[] = "0123456789ABCDEF";
    char escape[6] = {'\\', 'u', digits[unit >> 12], digits[unit >> 8 & 15], digits[unit >> 4 & 15], digits[unit & 15]};

    g_string_append_len(out, escape, sizeof escape);
}

/* A character as \uXXXX, beyond the BMP as a pair of them. */
static void json_append_unichar(GString *out, gunichar c)
{
    if (c > 0xFFFF) {
        json_append_utf16(out, 0xD800 + ((c - 0x10000) >> 10));
        json_append_utf16(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
        json_append_utf16(out, c);
    }
}

/* One character that does not stand for itself; returns what follows it. */
static const char *json_append_special(GString *out, const char *at, const char *end)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = *at != '\0' ? strchr(from, *at) : NULL;
    gunichar c;

    if (found != NULL) {
        g_string_append_c(out, '\\');
        g_string_append_c(out, to[found - from]);
        return at + 1;
    }
    if ((guchar)*at < 0x80) {
        json_append_utf16(out, (guchar)*at);
        return at + 1;
    }
    c = g_utf8_get_char_validated(at, end - at);
    if (c == (gunichar)-1 || c == (gunichar)-2) {
        json_append_utf16(out, 0xFFFD);
        return at + 1;
    }
    json_append_unichar(out, c);
    return g_utf8_next_char(at);
}

void json_append_string(GString *out, const char *bytes, gssize length)
{
    const char *end = bytes + (length < 0 ? strlen(bytes) : (gsize)length);

    g_string_append_c(out, '"');
    while (bytes < end) {
        const char *run = bytes;

        while (bytes < end && *bytes >= 0x20 && *bytes < 0x7F && *bytes != '"' && *bytes != '\\') {
            bytes++;
        }
        g_string_append_len(out, run, bytes - run);
        if (bytes < end) {
            bytes = json_append_special(out, bytes, end);
        }
    }
    g_string_append_c(out, '"');
}

static void json_append_number(GString *out, guint64 magnitude, gboolean negative)
{
    char digits[21]; /* a sign and the 20 digits of 2^64 - 1 */
    guint at = sizeof digits;

    do {
        digits[--at] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (negative) {
        digits[--at] = '-';
    }
    g_string_append_len(out, digits + at, (gssize)(sizeof digits - at));
}

void json_append_uint(GString *out, guint64 value)
{
    json_append_number(out, value, FALSE);
}

void json_append_int(GString *out, gint64 value)
{
    json_append_number(out, value < 0 ? 0 - (guint64)value : (guint64)value, value < 0);
}

void json_append_bool(GString *out, gboolean value)
{
    g_string_append(out, value ? "true" : "false");
}

void json_append_double(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    g_assert(isfinite(value));
    g_string_append(out, g_ascii_formatd(text, sizeof text, "%.17g", value));
}

void json_append_slice(GString *out, JsonSlice value)
{
    g_string_append_len(out, value.text, (gssize)value.length);
}
