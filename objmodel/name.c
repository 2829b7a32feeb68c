/* SPDX-License-Identifier: MIT */
/*
 * File names for the names of a VM, and back. Pure functions; any thread.
 *
 * Why no two names collide: every '%' in a result either stands for itself, and then no
 * two hex digits follow, or begins an escape. The two results that are no plain escapes,
 * "%" (the empty name) and the tail of a shortened name, cannot come from a name as it
 * is either, since a '%' that would look like one of them is written as %25.
 */
#include "objmodel/name.h"

#include <string.h>

/* '%', '~' and 64 bits of SHA-256 in hex: two names of one directory that share a long
 * beginning meet by accident once in 2^64. */
#define HASH_DIGITS 16
#define TAIL_LENGTH (2 + HASH_DIGITS)

static gboolean name_is_hash_tail(const char *at, gsize left)
{
    if (left != TAIL_LENGTH || at[0] != '%' || at[1] != '~') {
        return FALSE;
    }
    for (guint i = 2; i < TAIL_LENGTH; i++) {
        if (!g_ascii_isxdigit(at[i])) {
            return FALSE;
        }
    }
    return TRUE;
}

/* Whether the '%' at this place would be taken for the start of something else. */
static gboolean name_percent_is_special(const char *name, gsize length, gsize i)
{
    gsize left = length - i;

    return length == 1 || (left > 2 && g_ascii_isxdigit(name[i + 1]) && g_ascii_isxdigit(name[i + 2])) ||
           name_is_hash_tail(name + i, left);
}

static gboolean name_is(const char *name, gsize length, const char *word)
{
    return length == strlen(word) && memcmp(name, word, length) == 0;
}

static void name_append_hash_tail(GString *out, const char *name, gsize length)
{
    g_autofree char *hex = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)name, length);

    g_string_append(out, "%~");
    g_string_append_len(out, hex, HASH_DIGITS);
}

gboolean file_name_is_plain(const char *name, gsize length)
{
    return length > 0 && length <= FILE_NAME_MAX && name[0] != '.' && memchr(name, '%', length) == NULL &&
           memchr(name, '/', length) == NULL && memchr(name, '\0', length) == NULL;
}

char *file_name_encode(const char *name, gsize length)
{
    GString *out;
    gsize cut = 0; /* the last place between two characters that leaves room for a tail */
    gboolean escape_dots;

    if (length == 0) {
        return g_strdup("%");
    }
    out = g_string_sized_new(length + 8);
    escape_dots = name_is(name, length, ".") || name_is(name, length, "..");
    for (gsize i = 0; i < length; i++) {
        char c = name[i];
        gboolean continues = ((guchar)c & 0xC0) == 0x80;

        if (!continues && out->len <= FILE_NAME_MAX - TAIL_LENGTH) {
            cut = out->len;
        }
        if (c == '/' || c == '\0' || (c == '.' && escape_dots) ||
            (c == '%' && name_percent_is_special(name, length, i)) || (i == 0 && name_is(name, length, ".tree.json"))) {
            g_string_append_printf(out, "%%%02X", (guchar)c);
        } else {
            g_string_append_c(out, c);
        }
    }
    if (out->len > FILE_NAME_MAX) {
        g_string_truncate(out, cut);
        name_append_hash_tail(out, name, length);
    }
    return g_string_free(out, FALSE);
}

char *file_name_decode(const char *file_name, gsize *ret_length)
{
    gsize length = strlen(file_name);
    g_autoptr(GString) out = g_string_sized_new(length);
    g_autofree char *again = NULL;

    if (length >= TAIL_LENGTH && name_is_hash_tail(file_name + length - TAIL_LENGTH, TAIL_LENGTH)) {
        return NULL;
    }
    for (const char *at = file_name; *at != '\0' && strcmp(file_name, "%") != 0; at++) {
        if (at[0] == '%' && g_ascii_isxdigit(at[1]) && g_ascii_isxdigit(at[2])) {
            g_string_append_c(out, (char)(g_ascii_xdigit_value(at[1]) << 4 | g_ascii_xdigit_value(at[2])));
            at += 2;
        } else {
            g_string_append_c(out, *at);
        }
    }
    /* "%41" reads as an escape, but no name gives it. */
    again = file_name_encode(out->str, out->len);
    if (strcmp(again, file_name) != 0) {
        return NULL;
    }
    if (ret_length != NULL) {
        *ret_length = out->len;
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}
