/* SPDX-License-Identifier: MIT */
/*
 * Pollers: the open files of `events`. Offsets of a file count from the oldest line kept when it
 * was opened, and stay what they are. A read never waits; poll(2) says that there is more than
 * was read, and is woken when there is. A wake-up only makes the kernel ask again: so what has
 * been read is kept for each file. The log calls us on the thread that appends; the notification
 * is a write to the kernel that waits for nobody.
 */
#include "fs/pollers.h"

#include <errno.h>
#include <poll.h>

#include "fs/operations.h"

struct Poller {
    guint64 base;                    /* the log's offset of the file's first byte; constant */
    guint64 seen;                    /* read up to there */
    struct fuse_pollhandle *waiting; /* whom to wake, or NULL */
    GList link;
};

struct Pollers {
    EventLog *events; /* or NULL */
    GMutex lock;      /* for the list and what its pollers hold */
    GQueue list;      /* of Poller, by their links */
};

static void poller_set_waiting(Poller *poller, struct fuse_pollhandle *waiting)
{
    g_clear_pointer(&poller->waiting, fuse_pollhandle_destroy);
    poller->waiting = waiting;
}

static void pollers_grown(void *opaque)
{
    Pollers *pollers = opaque;
    g_mutex_lock(&pollers->lock);
    for (GList *link = pollers->list.head; link; link = link->next) {
        Poller *poller = link->data;
        if (poller->waiting)
            fuse_lowlevel_notify_poll(poller->waiting);
        poller_set_waiting(poller, NULL);
    }
    g_mutex_unlock(&pollers->lock);
}

Pollers *pollers_new(EventLog *events)
{
    Pollers *pollers = g_new0(Pollers, 1);
    g_mutex_init(&pollers->lock);
    pollers->events = events;
    if (events)
        event_log_watch(events, pollers_grown, pollers);
    return pollers;
}

void pollers_close(Pollers *pollers)
{
    if (pollers->events)
        event_log_watch(pollers->events, NULL, NULL);
}

void pollers_free(Pollers *pollers)
{
    g_mutex_clear(&pollers->lock);
    g_free(pollers);
}

Poller *poller_new(Pollers *pollers, gsize *ret_size)
{
    Poller *poller = g_new0(Poller, 1);
    poller->base = poller->seen = event_log_start(pollers->events);
    poller->link.data = poller;
    *ret_size = event_log_end(pollers->events) - poller->base;
    g_mutex_lock(&pollers->lock);
    g_queue_push_tail_link(&pollers->list, &poller->link);
    g_mutex_unlock(&pollers->lock);
    return poller;
}

void poller_free(Pollers *pollers, Poller *poller)
{
    if (!poller)
        return;
    g_mutex_lock(&pollers->lock);
    g_queue_unlink(&pollers->list, &poller->link);
    g_mutex_unlock(&pollers->lock);
    poller_set_waiting(poller, NULL);
    g_free(poller);
}

void poller_read(Pollers *pollers, Poller *poller, fuse_req_t req, size_t size, off_t offset)
{
    guint64 at = poller->base + (guint64)offset;
    g_autofree char *buffer = g_malloc(size);
    gsize count = 0;
    if (at < event_log_end(pollers->events) && !event_log_read(pollers->events, at, buffer, size, &count)) {
        fuse_reply_err(req, EIO);
        return;
    }
    g_mutex_lock(&pollers->lock);
    poller->seen = at + count;
    g_mutex_unlock(&pollers->lock);
    fuse_reply_buf(req, buffer, count);
}

/* Replies: poll. All files but streams can always be read and written, as poll(2) has it for files. */
void op_poll(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, struct fuse_pollhandle *waiting)
{
    (void)id;
    Pollers *pollers = fs_of(req)->pollers;
    Poller *poller = handle_of(fi)->poller;
    unsigned ready = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
    if (poller) {
        g_mutex_lock(&pollers->lock);
        poller_set_waiting(poller, waiting);
        if (event_log_end(pollers->events) <= poller->seen)
            ready = 0;
        g_mutex_unlock(&pollers->lock);
    } else if (waiting) {
        fuse_pollhandle_destroy(waiting);
    }
    fuse_reply_poll(req, ready);
}
