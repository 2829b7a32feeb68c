/* SPDX-License-Identifier: MIT */
/*
 * File names for the names of a VM. A name is shown as it is, but for what cannot be
 * a file name; the escapes can be undone, and no two names give the same file name.
 * Any thread.
 */
#pragma once

#include <glib.h>

/* The longest file name in bytes, as NAME_MAX. */
#define FILE_NAME_MAX 255

/*
 * The file name for a name of `length` bytes (which may contain NUL). '/' and NUL become
 * %2F and %00, '%' before two hex digits %25 (and so the name "%", and one before what
 * looks like the end of a shortened name); the names "", "." and "..", and ".tree.json"
 * (which stands for the whole subtree), become %, %2E, %2E%2E and %2Etree.json. A result
 * beyond FILE_NAME_MAX is cut (between characters) and ends in '%' '~' and 16 hex digits of
 * a hash of the whole name: that alone cannot be undone.
 */
char *file_name_encode(const char *name, gsize length);
/* Whether the name is its own file name, seen at a glance; some of which it says no are, too. */
gboolean file_name_is_plain(const char *name, gsize length);

/* The name that gives this file name; NULL where it was shortened, or no name gives it. New
 * memory, terminated by NUL; ret_length may be NULL. */
char *file_name_decode(const char *file_name, gsize *ret_length);
