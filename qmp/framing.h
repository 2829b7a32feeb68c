/* SPDX-License-Identifier: MIT */
/*
 * Framing: cuts a stream of bytes into QMP messages. QMP is not lines: a message ends
 * where its last bracket closes, wherever the writes were split. A Framer keeps what
 * has come of the next one and looks at each byte once; what it hands out still has to
 * be read strictly (message.h). One thread.
 *
 * It recovers from bad input as QEMU's parser does, so that one broken message never jams
 * a session:
 * - a byte that cannot be outside of strings, or a control character within one: an
 *   error, and everything up to the next bracket, comma, colon or control character (a
 *   newline, 0xFF) is passed over;
 * - a bracket that closes what is not open: an error, and a new message begins after it;
 * - a message beyond the limits: an error, and it is passed over to its end;
 * - 0xFF ends whatever was begun.
 */
#pragma once

#include "objmodel/json.h"

/* What one message may have, as QEMU limits it. */
#define QMP_MESSAGE_BYTES_MAX ((gsize)64 << 20)
#define QMP_MESSAGE_TOKENS_MAX ((gsize)2 << 20)

typedef struct Framer Framer;

/* max_bytes of one message; the limits of tokens and depth are always QEMU's where it is
 * QMP_MESSAGE_BYTES_MAX, and depth alone where it is more. */
Framer *framer_new(gsize max_bytes);
void framer_free(Framer *framer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Framer, framer_free)

/* Adds what came next in the stream. */
void framer_add(Framer *framer, const char *bytes, gsize n);

typedef enum FramerResult {
    FRAMER_MORE,    /* no whole message yet: add bytes */
    FRAMER_MESSAGE, /* one message; it stays valid until bytes are added */
    FRAMER_ERROR,   /* input that is no message; go on with the next call */
} FramerResult;

/* *ret_error (for FRAMER_ERROR) is a static string. */
FramerResult framer_next(Framer *framer, JsonSlice *ret_message, const char **ret_error);

/* A short cut for who reads each message strictly anyway: the line that begins where nothing was looked at yet, as it
 * stands, where it is held whole and is the shape of a message. Only where it turns out to be JSON it is one: then
 * framer_take_line() goes on after it, else framer_next() looks at all of it. */
gboolean framer_line(const Framer *framer, JsonSlice *ret_line);
void framer_take_line(Framer *framer, JsonSlice line);

/* Gives away the memory in which the message stands that framer_next() has just handed out: the message stays valid
 * until that is freed, by g_free(). */
char *framer_release(Framer *framer);

/* Bytes that are held and not yet handed out. */
gsize framer_pending(const Framer *framer);
/* No more bytes come: a word or number at the end is a message of its own. */
void framer_end(Framer *framer);
