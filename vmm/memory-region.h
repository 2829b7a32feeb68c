/* SPDX-License-Identifier: MIT */
/* Memory regions: address ranges inside one another. The main loop. */
#pragma once

#include "vmm/vm.h"

extern const ObjectType memory_region_type;

/* A new child of parent; the result is borrowed. container: the region that it stands in, or NULL. */
Object *memory_region_new(Object *parent, const char *name, Object *container, guint64 addr, guint64 size,
                          gint32 priority);
