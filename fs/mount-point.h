/* SPDX-License-Identifier: MIT */
/* Checks of a mount point before anything is mounted there. */
#pragma once

#include <glib.h>

/*
 * Makes sure that `path` is a directory that can be mounted on: a mount that a killed qomfs left
 * behind is cleared away; a live one of qomfs, a file, and (unless allowed) a directory that is
 * not empty are refused. Returns its absolute path; NULL with an error that names it.
 */
char *mount_point_prepare(const char *path, gboolean allow_nonempty, GError **error);
