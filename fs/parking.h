/* SPDX-License-Identifier: MIT */
/*
 * Parked requests: those that wait for the source. No worker waits with them; whoever comes
 * first - the source's answer, the deadline, or an interrupt of the caller - answers.
 * Only OPEN, OPENDIR, direct READ and WRITE, and FLUSH may be parked; see
 * docs/architecture.md.
 */
#pragma once

#include "fs/context.h"

/* Answers the request, on the thread that ended the waiting. error: NULL or borrowed. */
typedef void (*ParkedAnswer)(fuse_req_t req, const GError *error, void *data);

Parking *parking_new(void);
Parking *parking_ref(Parking *parking);
void parking_unref(Parking *parking);
/* Answers all that is left, and all that is still to come, with an error; ends the thread. A
 * source's answer may come later still: it holds a reference, and finds nothing to end. */
void parking_close(Parking *parking);

/* Parks it; answer is called exactly once, then data is freed. Returns an id for parking_end(),
 * possibly after the request has been answered. */
guint64 parking_park(Fs *fs, fuse_req_t req, ParkedAnswer answer, void *data, GDestroyNotify free_data);
/* Ends the waiting with this result, unless it has ended. Any thread. */
void parking_end(Parking *parking, guint64 id, const GError *error);
