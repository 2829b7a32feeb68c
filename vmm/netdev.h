/* SPDX-License-Identifier: MIT */
/* The far ends of network cards. They are no objects, as in QEMU. The main loop. */
#pragma once

#include "vmm/vm.h"

typedef struct Netdev {
    char *id;
    const char *type; /* "user" */
    Object *user;     /* the card that has it, or NULL */
} Netdev;

/* The one of that id, or NULL. */
Netdev *netdev_find(Vm *vm, const char *id);
void netdev_free(Netdev *netdev);
