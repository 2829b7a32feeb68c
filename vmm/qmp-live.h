/* SPDX-License-Identifier: MIT */
/* The commands of the companion socket that change a running QEMU; their context is a QmpContext. */
#pragma once

#include "vmm/qmp-context.h"

/* Need a source that can be written. */
extern const QmpCommand qmp_live_commands[];
