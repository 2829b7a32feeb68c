/* SPDX-License-Identifier: MIT */
/* What an open file shows: one version of its text, which is put together once and read in parts. Any thread. */
#pragma once

#include "fs/item.h"
#include "fs/operations.h"

typedef struct Content Content;

Content *content_new(const Item *item);
Content *content_ref(Content *content);
void content_unref(Content *content);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Content, content_unref)

/* All of it in one run: of what moves, which borrows nothing. */
const char *content_bytes(const Content *content, gsize *ret_size);

/* Replies: buf. The part of size bytes at the offset, or what there is of it. */
void content_reply(fuse_req_t req, const Content *content, size_t size, off_t offset);
