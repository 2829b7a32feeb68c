/* SPDX-License-Identifier: MIT */
/* Event loops with a thread of their own. The main loop. */
#pragma once

#include "vmm/vm.h"

/* A new one in /objects; NULL where the id is taken. Borrowed. */
Object *iothread_new(Vm *vm, const char *id, GError **error);
