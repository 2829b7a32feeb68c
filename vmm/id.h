/* SPDX-License-Identifier: MIT */
/* Ids that people give to devices and objects. Any thread. */
#pragma once

#include <glib.h>

/* As QEMU has it: a letter, then letters, digits, '-', '.', '_'. */
gboolean id_is_valid(const char *id);
