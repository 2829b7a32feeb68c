/* SPDX-License-Identifier: MIT */
/*
 * A text in pieces. What is long and stays where it is, in nodes that the reader of the text
 * holds a reference to, is borrowed and not copied; short pieces are put together in memory of
 * the text's own. Made by one thread, then read by any.
 */
#pragma once

#include <glib.h>
#include <sys/uio.h>

typedef struct Pieces {
    GArray *list;  /* where they are; NULL: all of them are copied to `own` */
    GString *own;  /* those that are not borrowed; may be appended to, see pieces_settle() */
    gsize settled; /* so much of it belongs to the text */
    gsize length;  /* of the text */
} Pieces;

void pieces_init(Pieces *pieces);
void pieces_clear(Pieces *pieces);

/* Whose text goes to the end of `out`, nothing borrowed; it needs no pieces_clear(). */
static inline Pieces pieces_in(GString *out)
{
    return (Pieces){.own = out, .settled = out->len};
}

/* Borrows the bytes, or copies them where they are few. */
void pieces_add(Pieces *pieces, const char *bytes, gsize length);
/* Adds bytes that the caller is to write, before the next call. */
char *pieces_reserve(Pieces *pieces, gsize length);
/* What was appended to `own` since the last call belongs to the text. */
void pieces_settle(Pieces *pieces);

/* The pieces of a part that lies within the text, for writev(2); how many that are, or n + 1 where they are more
 * than n. */
guint pieces_vector(const Pieces *pieces, gsize offset, gsize length, struct iovec *ret, guint n);
/* Copies such a part. */
void pieces_copy(const Pieces *pieces, gsize offset, gsize length, char *to);
