/* SPDX-License-Identifier: MIT */
/* What went wrong last with a file, in words, for `user.qom.error`. Any thread. */
#pragma once

#include "fs/context.h"

LastErrors *last_errors_new(void);
void last_errors_free(LastErrors *errors);
/* error NULL: it went well. ino: of the file. */
void last_errors_set(LastErrors *errors, guint64 ino, const GError *error);
/* New memory; NULL where it went well. */
char *last_errors_get(LastErrors *errors, guint64 ino);
