/* SPDX-License-Identifier: MIT */
/*
 * Where disks do their work: an event loop, and threads for requests that block. A task is worked on by one of the
 * threads and ends on the loop, so that whatever belongs to a disk is touched by its loop alone. A loop runs in a
 * context that somebody else iterates (the main loop), or in a thread of its own (an iothread), which ends with
 * the last reference.
 */
#pragma once

#include <glib.h>

typedef struct BlockLoop BlockLoop;
typedef struct BlockTask BlockTask;

/* Begins a struct of whoever hands it over, who must leave it alone until done is called. */
struct BlockTask {
    BlockTask *next;
    gint64 due_ns;
    void (*work)(BlockTask *task); /* on a thread that may block */
    void (*done)(BlockTask *task); /* on the loop */
};

enum { BLOCK_LOOP_THREADS = 64 }; /* for requests that block, at most */

BlockLoop *block_loop_new(GMainContext *context);
/* ret_thread_id: as gettid() has it. */
BlockLoop *block_loop_new_thread(const char *name, int *ret_thread_id, GError **error);
BlockLoop *block_loop_ref(BlockLoop *loop);
void block_loop_unref(BlockLoop *loop);

/* ---- any thread ---- */

/* How many threads wait for work at least, and how many there are at most. */
void block_loop_set_threads(BlockLoop *loop, guint min, guint max);
/* Calls task->work on one of the threads, and then task->done on the loop. */
void block_loop_work(BlockLoop *loop, BlockTask *task);
/* Calls task->done on the loop, soon; never from within. */
void block_loop_post(BlockLoop *loop, BlockTask *task);

/* ---- the loop only ---- */

/* Calls task->done at that time (block_now_ns()). */
void block_loop_post_at(BlockLoop *loop, BlockTask *task, gint64 due_ns);

/* Ends all tasks that wait, at once: the loop will not be run any more. */
void block_loop_flush(BlockLoop *loop);

/* Nanoseconds of a clock that never jumps; any thread. */
gint64 block_now_ns(void);
