/* SPDX-License-Identifier: MIT */
/* Which properties are secrets: the one place that knows. */
#pragma once

#include <glib.h>

/* Whether this property of an object of this type holds a secret in clear. */
gboolean secret_property(const char *type, const char *property);
