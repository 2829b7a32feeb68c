/* SPDX-License-Identifier: MIT */
/* Reading the log of events, and being woken by it. Any thread. */
#pragma once

#include "fs/file.h"

/* events: the log, or NULL. */
Pollers *pollers_new(EventLog *events);
/* Nobody is woken from here on; before the session is destroyed. */
void pollers_close(Pollers *pollers);
void pollers_free(Pollers *pollers);

/* One open file: it shows the log from the oldest line that is kept now. */
Poller *poller_new(Pollers *pollers, gsize *ret_size);
void poller_free(Pollers *pollers, Poller *poller);
/* Replies: buf (empty at the end, where tail -f waits), err (EIO: it is not kept any more). */
void poller_read(Pollers *pollers, Poller *poller, fuse_req_t req, size_t size, off_t offset);
