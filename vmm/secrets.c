/* SPDX-License-Identifier: MIT */
/* Secrets. Any thread. */
#include "vmm/secrets.h"

#include <string.h>

/* The types that QEMU derives from secret_common; each gives its `data` back in clear. */
static const char *const secret_types[] = {"secret", "secret_keyring"};

gboolean secret_property(const char *type, const char *property)
{
    if (strcmp(property, "data"))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(secret_types); i++)
        if (!strcmp(type, secret_types[i]))
            return TRUE;
    return FALSE;
}
