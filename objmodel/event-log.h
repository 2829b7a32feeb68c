/* SPDX-License-Identifier: MIT */
/*
 * A log that grows: what a mount's `events` shows. Lines are appended by one part of the program and
 * read by others, at offsets that count from the first byte ever appended and never change. The last
 * ones are kept, the oldest are forgotten. Any thread.
 */
#pragma once

#include <glib.h>

typedef struct EventLog EventLog;

/* At least so many bytes are kept, and at most a quarter more. */
EventLog *event_log_new(gsize keep);
void event_log_free(EventLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventLog, event_log_free)

/* Appends whole lines, each ended by '\n' ("\r\n" becomes that). */
void event_log_append(EventLog *log, const char *text, gsize length);

/* The offsets of the oldest byte that is kept (the first of a line), and after the newest one. */
guint64 event_log_start(EventLog *log);
guint64 event_log_end(EventLog *log);
/* Wall-clock time of the last append, in nanoseconds since the epoch; of the log's making before. */
guint64 event_log_mtime(EventLog *log);
/* Copies up to size bytes from this offset; *ret_n is 0 at the end. FALSE where they are not kept any more. */
gboolean event_log_read(EventLog *log, guint64 offset, char *buffer, gsize size, gsize *ret_n);

/* `grown` is called after each append, on the thread that appended, and must return at once. NULL: nobody.
 * After it returns, the one before is not called any more. */
void event_log_watch(EventLog *log, void (*grown)(void *opaque), void *opaque);
