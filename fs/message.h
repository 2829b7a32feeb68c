/* SPDX-License-Identifier: MIT */
/* Messages to the person at the terminal. */
#pragma once

#include <glib.h>

/* One line on stderr, "qomfs: ...". What comes from a VM or a file may be in it: control
 * characters and bytes that are not UTF-8 are shown as \xNN, and never reach a terminal. */
void message_print(const char *format, ...) G_GNUC_PRINTF(1, 2);
