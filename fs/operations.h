/* SPDX-License-Identifier: MIT */
/*
 * The FUSE operations, by the file that holds them; session.c puts them into libfuse's
 * table. Above each stands which replies it may give; it gives exactly one.
 */
#pragma once

#include "fs/context.h"

/* lookup.c: names and attributes */
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_forget(fuse_req_t req, fuse_ino_t id, uint64_t lookups);
void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void op_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_setattr(fuse_req_t req, fuse_ino_t id, struct stat *attr, int to_set, struct fuse_file_info *fi);
void op_readlink(fuse_req_t req, fuse_ino_t id);
void op_statfs(fuse_req_t req, fuse_ino_t id);

/* directory.c */
void op_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);

/* file.c */
void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);

/* write.c */
void op_write(fuse_req_t req, fuse_ino_t id, const char *data, size_t size, off_t offset, struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *fi);

/* pollers.c */
void op_poll(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, struct fuse_pollhandle *waiting);

/* xattr.c */
void op_getxattr(fuse_req_t req, fuse_ino_t id, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t id, size_t size);
