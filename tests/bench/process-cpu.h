/* SPDX-License-Identifier: MIT */
/* The CPU time that a process has had so far, in nanoseconds; for the measuring programs. One thread. */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* Of all its threads, those that have ended included. FALSE: there is no such process. */
gboolean process_cpu_total(pid_t pid, guint64 *ret_ns);

/* By the thread's name (threads of one name are added up): guint64. Only of threads that live. */
GHashTable *process_cpu_by_thread(pid_t pid);
