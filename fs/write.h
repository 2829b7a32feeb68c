/* SPDX-License-Identifier: MIT */
/* What write.c keeps for handles. */
#pragma once

#include "fs/file.h"

WriteBuffer *write_buffer_new(gboolean append);
void write_buffer_free(WriteBuffer *buffer);
