/* SPDX-License-Identifier: MIT */
/*
 * The notifier: a thread that compares each snapshot with the one before and tells the kernel
 * which names it must look up anew. Nobody who serves a request waits for it.
 */
#pragma once

#include "fs/context.h"

Notifier *notifier_new(Fs *fs);
/* Asks it to end; it does once it is through. Requests must be served until then. */
void notifier_stop(Notifier *notifier);
gboolean notifier_stopped(Notifier *notifier);
/* Joins the thread. */
void notifier_free(Notifier *notifier);
