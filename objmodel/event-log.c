/* SPDX-License-Identifier: MIT */
/*
 * See event-log.h. One buffer under one lock; what is forgotten is taken off its front a good piece at a
 * time, so that it costs little for each byte appended.
 */
#include "objmodel/event-log.h"

#include <string.h>

struct EventLog {
    gsize keep;
    GMutex lock;
    GString *text;
    guint64 start; /* offset of text->str */
    guint64 mtime;

    GMutex watch_lock; /* held during a call of `grown` */
    void (*grown)(void *opaque);
    void *opaque;
};

static guint64 now_ns(void)
{
    return (guint64)g_get_real_time() * 1000;
}

EventLog *event_log_new(gsize keep)
{
    EventLog *log = g_new0(EventLog, 1);

    log->keep = keep;
    g_mutex_init(&log->lock);
    g_mutex_init(&log->watch_lock);
    log->text = g_string_new(NULL);
    log->mtime = now_ns();
    return log;
}

void event_log_free(EventLog *log)
{
    if (log != NULL) {
        g_string_free(log->text, TRUE);
        g_mutex_clear(&log->lock);
        g_mutex_clear(&log->watch_lock);
        g_free(log);
    }
}

/* Under lock: forgets whole lines from the front, once there are enough of them. */
static void log_trim(EventLog *log)
{
    gsize excess;
    const char *line_end;

    if (log->text->len <= log->keep + log->keep / 4) {
        return;
    }
    excess = log->text->len - log->keep;
    /* The line that the limit goes through is kept. */
    line_end = memrchr(log->text->str, '\n', excess);
    if (line_end != NULL) {
        gsize forgotten = (gsize)(line_end + 1 - log->text->str);

        g_string_erase(log->text, 0, (gssize)forgotten);
        log->start += forgotten;
    }
}

static void log_append_lines(GString *out, const char *text, gsize length)
{
    const char *end = text + length;

    while (text < end) {
        const char *line_end = memchr(text, '\n', (gsize)(end - text));
        gsize n = line_end != NULL ? (gsize)(line_end - text) : (gsize)(end - text);

        g_string_append_len(out, text, (gssize)(n > 0 && text[n - 1] == '\r' ? n - 1 : n));
        g_string_append_c(out, '\n');
        text += n + 1;
    }
}

void event_log_append(EventLog *log, const char *text, gsize length)
{
    g_mutex_lock(&log->lock);
    log_append_lines(log->text, text, length);
    log_trim(log);
    log->mtime = now_ns();
    g_mutex_unlock(&log->lock);

    g_mutex_lock(&log->watch_lock);
    if (log->grown != NULL) {
        log->grown(log->opaque);
    }
    g_mutex_unlock(&log->watch_lock);
}

guint64 event_log_start(EventLog *log)
{
    guint64 start;

    g_mutex_lock(&log->lock);
    start = log->start;
    g_mutex_unlock(&log->lock);
    return start;
}

guint64 event_log_end(EventLog *log)
{
    guint64 end;

    g_mutex_lock(&log->lock);
    end = log->start + log->text->len;
    g_mutex_unlock(&log->lock);
    return end;
}

guint64 event_log_mtime(EventLog *log)
{
    guint64 mtime;

    g_mutex_lock(&log->lock);
    mtime = log->mtime;
    g_mutex_unlock(&log->lock);
    return mtime;
}

gboolean event_log_read(EventLog *log, guint64 offset, char *buffer, gsize size, gsize *ret_n)
{
    gboolean kept;
    gsize n = 0;

    g_mutex_lock(&log->lock);
    kept = offset >= log->start;
    if (kept && offset - log->start < log->text->len) {
        gsize at = (gsize)(offset - log->start);

        n = MIN(size, log->text->len - at);
        memcpy(buffer, log->text->str + at, n);
    }
    g_mutex_unlock(&log->lock);
    if (kept) {
        *ret_n = n;
    }
    return kept;
}

void event_log_watch(EventLog *log, void (*grown)(void *opaque), void *opaque)
{
    g_mutex_lock(&log->watch_lock);
    log->grown = grown;
    log->opaque = opaque;
    g_mutex_unlock(&log->watch_lock);
}
