/* SPDX-License-Identifier: MIT */
/*
 * Retries: an OPEN of outdated content answers ESTALE, and the kernel looks the name up again
 * and opens what it finds, all in one open(2). It does so once; where the content has changed
 * yet again meanwhile, the second OPEN is served what its LOOKUP found, which was the newest
 * during the very same open(2). Kept for each thread that was answered ESTALE. Any thread.
 */
#pragma once

#include <sys/types.h>

#include "objmodel/node.h"

typedef struct Retries Retries;

Retries *retries_new(void);
void retries_free(Retries *retries);

/* The thread was answered ESTALE for this inode number; to write, or to read. */
void retries_expect(Retries *retries, pid_t thread, guint64 ino, gboolean writer);
/* Whether the thread is expected to open it for writing. */
gboolean retries_expect_writer(Retries *retries, pid_t thread, guint64 ino);
/* It looks the name up, and finds it in this directory; does nothing if it was not expected. */
void retries_looked_up(Retries *retries, pid_t thread, guint64 ino, const Node *dir);
/* Whether the thread is to open this anew. */
gboolean retries_expected(Retries *retries, pid_t thread, guint64 ino);
/* It opens. FALSE where it was not expected. *ret_dir: a reference to what was found, or NULL. */
gboolean retries_take(Retries *retries, pid_t thread, guint64 ino, Node **ret_dir);
