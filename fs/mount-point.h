/* SPDX-License-Identifier: MIT */
/* Checks of a mount point before anything is mounted there. */
#pragma once

#include <glib.h>

typedef struct MountPoint {
    char *path; /* absolute */
    int lock;   /* held until the mount stands, so that of two starts one is refused; -1: none */
} MountPoint;

/*
 * Makes sure that `path` is a directory that can be mounted on: a mount that a killed qomfs left
 * behind is cleared away; a live one of qomfs, a file, and (unless allowed) a directory that is
 * not empty are refused, with an error that names it.
 */
gboolean mount_point_prepare(MountPoint *ret, const char *path, gboolean allow_nonempty, GError **error);

/* The mount stands: the next start sees it. */
void mount_point_unlock(MountPoint *mount_point);
void mount_point_clear(MountPoint *mount_point);
