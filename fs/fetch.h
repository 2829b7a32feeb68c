/* SPDX-License-Identifier: MIT */
/* Asking the source for what an OPEN, OPENDIR or direct READ needs, before it is answered. */
#pragma once

#include "fs/context.h"

/* size: of a READ from the start; else 0. */
typedef void (*FetchAnswer)(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, size_t size);

/* Calls answer: at once where what is published is current, else when the source has fetched
 * it; where that fails, replies with the error instead. Meanwhile the request is parked. */
void fetch_then(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, size_t size, SourceScope scope,
                FetchAnswer answer);
