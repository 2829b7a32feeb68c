/* SPDX-License-Identifier: MIT */
/* The balloon: memory that the guest lends to the host. */
#pragma once

#include "vmm/vm.h"

/* ---- the main loop ---- */

gboolean balloon_is_there(Vm *vm);
/* As the QMP command: the guest is to have so many bytes. There is a balloon. */
gboolean balloon_set(Vm *vm, gint64 bytes, GError **error);
/* The guest runs again: it does what was asked of it meanwhile. */
void balloon_resume(Vm *vm);
