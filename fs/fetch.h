/* SPDX-License-Identifier: MIT */
/* Asking the source for what an OPEN or OPENDIR needs, before it is answered. */
#pragma once

#include "fs/context.h"

typedef void (*FetchAnswer)(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);

/* Calls answer: at once where what is published is current, else when the source has fetched
 * it; where that fails, replies with the error instead. Meanwhile the request is parked. */
void fetch_then(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, SourceScope scope, FetchAnswer answer);
