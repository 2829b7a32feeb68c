/* SPDX-License-Identifier: MIT */
/* What all operations of one mount share. Set up by session.c before the first request. */
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include "fs/fs.h"

typedef struct InodeTable InodeTable;
typedef struct Parking Parking;
typedef struct Notifier Notifier;
typedef struct Retries Retries;
typedef struct LastErrors LastErrors;
typedef struct Pollers Pollers;

typedef struct Fs {
    Source *source;
    Snapshots *snapshots;
    const FsOptions *options;
    struct fuse_session *session;
    InodeTable *inodes;
    Parking *parking;
    Notifier *notifier;
    Retries *retries;
    LastErrors *write_errors;
    LastErrors *fetch_errors;
    Pollers *pollers;
} Fs;

static inline Fs *fs_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

/* How long the kernel may keep what it was told: until it is told otherwise. */
#define FOREVER 86400000.0
static inline double fs_keep(const Fs *fs)
{
    return fs->source->names_valid > 0 ? fs->source->names_valid : FOREVER;
}
