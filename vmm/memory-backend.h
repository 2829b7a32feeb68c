/* SPDX-License-Identifier: MIT */
/* Memory of the host that a guest is given. The main loop. */
#pragma once

#include "vmm/vm.h"

/* The machine's own memory, in /objects; it cannot be deleted. Borrowed. Its region is its first child. */
Object *memory_backend_new(Vm *vm, const char *id, guint64 size);
