/* SPDX-License-Identifier: MIT */
/* Ids that people give to devices and objects. */
#include "vmm/id.h"

#include <string.h>

gboolean id_is_valid(const char *id)
{
    if (!g_ascii_isalpha(*id))
        return FALSE;
    while (g_ascii_isalnum(*id) || (*id && strchr("-._", *id)))
        id++;
    return *id == '\0';
}
