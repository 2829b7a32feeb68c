/* SPDX-License-Identifier: MIT */
/* What write.c keeps for handles, and what went wrong last for xattr.c. */
#pragma once

#include "fs/file.h"

WriteBuffer *write_buffer_new(gboolean append);
void write_buffer_free(WriteBuffer *buffer);

WriteErrors *write_errors_new(void);
void write_errors_free(WriteErrors *errors);
/* Why the last write to the file with this inode number failed; new memory; NULL if it did not. */
char *write_errors_get(WriteErrors *errors, guint64 ino);
