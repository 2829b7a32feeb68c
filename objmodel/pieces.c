/* SPDX-License-Identifier: MIT */
/* Texts in pieces: see pieces.h. */
#include "objmodel/pieces.h"

#include <string.h>

/* Below it a copy costs no more than one more piece does in writev(2). */
#define BORROWED_MIN 1024

typedef struct Piece {
    const char *bytes; /* borrowed; NULL: it stands in `own` */
    gsize own_offset;
    gsize end; /* in the text: where the next piece begins */
} Piece;

void pieces_init(Pieces *pieces)
{
    *pieces = (Pieces){.list = g_array_new(FALSE, FALSE, sizeof(Piece)), .own = g_string_new(NULL)};
}

void pieces_clear(Pieces *pieces)
{
    g_clear_pointer(&pieces->list, g_array_unref);
    if (pieces->own)
        g_string_free(pieces->own, TRUE);
    pieces->own = NULL;
}

void pieces_settle(Pieces *pieces)
{
    gsize length = pieces->own->len - pieces->settled;
    Piece *last =
        pieces->list && pieces->list->len > 0 ? &g_array_index(pieces->list, Piece, pieces->list->len - 1) : NULL;
    pieces->length += length;
    if (last && !last->bytes) {
        last->end = pieces->length;
    } else if (pieces->list && length > 0) {
        Piece piece = {.own_offset = pieces->settled, .end = pieces->length};
        g_array_append_val(pieces->list, piece);
    }
    pieces->settled = pieces->own->len;
}

char *pieces_reserve(Pieces *pieces, gsize length)
{
    gsize offset = pieces->own->len;
    g_string_set_size(pieces->own, offset + length);
    pieces_settle(pieces);
    return pieces->own->str + offset;
}

void pieces_add(Pieces *pieces, const char *bytes, gsize length)
{
    if (!pieces->list || length < BORROWED_MIN) {
        g_string_append_len(pieces->own, bytes, (gssize)length);
        pieces_settle(pieces);
        return;
    }
    pieces->length += length;
    Piece piece = {.bytes = bytes, .end = pieces->length};
    g_array_append_val(pieces->list, piece);
}

/* The piece in which the byte at the offset stands. */
static guint pieces_find(const Pieces *pieces, gsize offset)
{
    guint low = 0, high = pieces->list->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(pieces->list, Piece, middle).end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The part of a piece that lies between two offsets of the text. */
static struct iovec piece_part(const Pieces *pieces, guint index, gsize offset, gsize end)
{
    const Piece *piece = &g_array_index(pieces->list, Piece, index);
    gsize begin = index > 0 ? g_array_index(pieces->list, Piece, index - 1).end : 0;
    const char *bytes = piece->bytes ? piece->bytes : pieces->own->str + piece->own_offset;
    gsize skipped = offset > begin ? offset - begin : 0;
    return (struct iovec){.iov_base = (char *)bytes + skipped, .iov_len = MIN(piece->end, end) - begin - skipped};
}

guint pieces_vector(const Pieces *pieces, gsize offset, gsize length, struct iovec *ret, guint n)
{
    gsize end = offset + length;
    guint count = 0;
    for (guint i = pieces_find(pieces, offset); offset < end; i++) {
        if (count == n)
            return n + 1;
        ret[count] = piece_part(pieces, i, offset, end);
        offset += ret[count++].iov_len;
    }
    return count;
}

void pieces_copy(const Pieces *pieces, gsize offset, gsize length, char *to)
{
    gsize end = offset + length;
    for (guint i = pieces_find(pieces, offset); offset < end; i++) {
        struct iovec part = piece_part(pieces, i, offset, end);
        memcpy(to, part.iov_base, part.iov_len);
        to += part.iov_len;
        offset += part.iov_len;
    }
}
