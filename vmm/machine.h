/* SPDX-License-Identifier: MIT */
/* The machine: the root of the board. The main loop. */
#pragma once

#include "vmm/vm.h"

/* Makes /machine with its board, the configuration's memory and CPUs, and the host's side of what
 * sits on it. The devices of the configuration come later. */
void machine_make(Vm *vm);
/* Shows the time of this moment; to be called once a second. */
void machine_tick(Vm *vm, gint64 seconds);
/* Gives the board's ports what the configuration connects them with; all character devices are there. */
gboolean machine_connect_ports(Vm *vm, GError **error);
