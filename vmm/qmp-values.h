/* SPDX-License-Identifier: MIT */
/* The values that a new object or device is given by a command's arguments. The main loop. */
#pragma once

#include "objmodel/object.h"

/* Sets each member of `arguments` that is not among `own` (NULL-ended: those that the command
 * takes itself) as a property. FALSE at the first that cannot be set. */
gboolean qmp_values_set(Object *object, JsonSlice arguments, const char *const *own, GError **error);
