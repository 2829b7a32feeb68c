/* SPDX-License-Identifier: MIT */
/* The file behind a block node: opened once, read and written by threads that may block. */
#pragma once

#include <glib.h>

typedef struct BlockFile BlockFile;

typedef struct BlockFileOptions {
    gboolean direct;         /* O_DIRECT */
    gboolean no_flush;       /* a flush does nothing */
    gboolean read_only;      /* */
    gboolean auto_read_only; /* read-only, where it may not be written */
    gboolean discard;        /* a discard punches a hole; else it does nothing */
} BlockFileOptions;

/* Errors are worded as QEMU words them. */
BlockFile *block_file_open(const char *path, const BlockFileOptions *options, GError **error);
BlockFile *block_file_ref(BlockFile *file);
void block_file_unref(BlockFile *file);

/* In bytes, a multiple of 512, as it was when it was opened. */
guint64 block_file_size(const BlockFile *file);
gboolean block_file_is_read_only(const BlockFile *file);

/* ---- any thread; these may block, and return 0 or an errno ---- */

/* What is beyond the end of the file are zeros. */
int block_file_read(BlockFile *file, guint64 offset, guint64 bytes, void *buffer);
int block_file_write(BlockFile *file, guint64 offset, guint64 bytes, const void *buffer);
int block_file_flush(BlockFile *file);
int block_file_discard(BlockFile *file, guint64 offset, guint64 bytes);

/* ---- any thread; these do not block ---- */

/* Bytes on the disk, as of the last request. */
guint64 block_file_actual_size(const BlockFile *file);
/* What became of discards. */
typedef struct BlockDiscards {
    guint64 ok, failed, bytes_ok;
} BlockDiscards;
BlockDiscards block_file_discards(const BlockFile *file);
