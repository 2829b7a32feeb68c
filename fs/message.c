/* SPDX-License-Identifier: MIT */
/* Messages to the person at the terminal. Called by main.c and what it calls. */
#include "fs/message.h"

#include <stdarg.h>
#include <unistd.h>

/* Whether a terminal may see the character: nothing that moves its cursor or turns its text around. */
static gboolean is_plain(gunichar c)
{
    switch (g_unichar_type(c)) {
    case G_UNICODE_CONTROL:
    case G_UNICODE_FORMAT:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
    case G_UNICODE_PRIVATE_USE:
    case G_UNICODE_SURROGATE:
    case G_UNICODE_UNASSIGNED:
        return FALSE;
    default:
        return TRUE;
    }
}

/* Longer than any that says something. */
enum { LINE_MAX_LENGTH = 2000 };

static char *message_clean(const char *text)
{
    GString *clean = g_string_new(NULL);
    for (const char *at = text; *at;) {
        if (clean->len > LINE_MAX_LENGTH) {
            g_string_append(clean, "...");
            break;
        }
        gunichar c = g_utf8_get_char_validated(at, -1);
        gsize length = c >= (gunichar)-2 ? 1 : (gsize)(g_utf8_next_char(at) - at);
        if (c < (gunichar)-2 && is_plain(c))
            g_string_append_len(clean, at, (gssize)length);
        else
            for (gsize i = 0; i < length; i++)
                g_string_append_printf(clean, "\\x%02x", (guchar)at[i]);
        at += length;
    }
    return g_string_free(clean, FALSE);
}

void message_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *clean = message_clean(text);
    g_autofree char *line = g_strdup_printf("qomfs: %s\n", clean);
    gsize length = strlen(line), done = 0;
    while (done < length) {
        gssize wrote = write(STDERR_FILENO, line + done, length - done);
        if (wrote <= 0)
            break;
        done += (gsize)wrote;
    }
}
