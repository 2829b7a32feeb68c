/* SPDX-License-Identifier: MIT */
/* The clock of the board. The main loop. */
#pragma once

#include "vmm/vm.h"

/* What it shows from now on: seconds since the epoch, shown as UTC. */
void rtc_set(Object *rtc, gint64 seconds);
