/* SPDX-License-Identifier: MIT */
/* Event loops with a thread of their own. The main loop. */
#pragma once

#include "vmm/block-loop.h"
#include "vmm/vm.h"

/* A new one in /objects; NULL where the id is taken. Borrowed. */
Object *iothread_new(Vm *vm, const char *id, GError **error);
/* Where it does I/O. Borrowed. */
BlockLoop *iothread_loop(Object *iothread);
