/* SPDX-License-Identifier: MIT */
/* Looking through JSON strings eight bytes at a time. For json-reader.c and qmp/framing.c. */
#pragma once

#include <glib.h>
#include <string.h>

#define JSON_EACH_BYTE(c) (G_GUINT64_CONSTANT(0x0101010101010101) * (c))

/* Returns the first byte that does not simply stand for itself in a string: a double quote, a
 * backslash, a control character, one beyond ASCII; or end. In a word, each term sets the high bit
 * of a byte that matches, and possibly of later ones, so that the lowest one set is right. */
static inline const char *json_scan_string(const char *at, const char *end)
{
    while (end - at >= 8) {
        guint64 word, quote, backslash, special;

        memcpy(&word, at, 8);
        word = GUINT64_FROM_LE(word);
        quote = word ^ JSON_EACH_BYTE('"');
        backslash = word ^ JSON_EACH_BYTE('\\');
        special = (word | ((word - JSON_EACH_BYTE(0x20)) & ~word) | ((quote - JSON_EACH_BYTE(1)) & ~quote) |
                   ((backslash - JSON_EACH_BYTE(1)) & ~backslash)) &
                  JSON_EACH_BYTE(0x80);
        if (special != 0) {
            return at + (guint)__builtin_ctzll(special) / 8;
        }
        at += 8;
    }
    while (at < end && *at >= 0x20 && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}
