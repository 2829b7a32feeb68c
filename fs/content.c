/* SPDX-License-Identifier: MIT */
/*
 * Contents: see content.h. Most of a large text stays where it is, in the nodes, and goes from there to
 * the kernel: to piece it together first would cost as much as the kernel's own copy.
 */
#include "fs/content.h"

struct Content {
    gatomicrefcount refs;
    Node *node; /* what the pieces borrow from */
    Pieces pieces;
};

/* More of them in one reply are put together before. */
enum { PIECES_MAX = 512 };

Content *content_new(const Item *item)
{
    Content *content = g_new(Content, 1);
    g_atomic_ref_count_init(&content->refs);
    content->node = node_ref(item->dir);
    pieces_init(&content->pieces);
    if (item_moves(item)) {
        item_append_content(item, content->pieces.own);
        pieces_settle(&content->pieces);
    } else {
        item_content(item, &content->pieces);
    }
    return content;
}

Content *content_ref(Content *content)
{
    g_atomic_ref_count_inc(&content->refs);
    return content;
}

void content_unref(Content *content)
{
    if (!content || !g_atomic_ref_count_dec(&content->refs))
        return;
    pieces_clear(&content->pieces);
    node_unref(content->node);
    g_free(content);
}

const char *content_bytes(const Content *content, gsize *ret_size)
{
    g_assert(content->pieces.own->len == content->pieces.length);
    *ret_size = content->pieces.own->len;
    return content->pieces.own->str;
}

void content_reply(fuse_req_t req, const Content *content, size_t size, off_t offset)
{
    struct iovec parts[PIECES_MAX];
    gsize from = MIN((gsize)offset, content->pieces.length), length = MIN(size, content->pieces.length - from);
    guint n = pieces_vector(&content->pieces, from, length, parts, PIECES_MAX);
    if (n <= PIECES_MAX) {
        fuse_reply_iov(req, parts, (int)n);
        return;
    }
    g_autofree char *copy = g_malloc(length);
    pieces_copy(&content->pieces, from, length, copy);
    fuse_reply_buf(req, copy, length);
}
