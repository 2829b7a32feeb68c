/* SPDX-License-Identifier: MIT */
/* Character devices: what stands at the host's end of serial ports and the like. The main loop. */
#pragma once

#include "vmm/vm.h"

typedef struct Chardev {
    Object base;
    Object *user; /* the device that has it, or NULL */
    int encoding; /* of a text console */
    int fd;       /* of a file that is written to, or -1 */
} Chardev;

/* The one of that id, or NULL. */
Chardev *chardev_find(Vm *vm, const char *id);
