/* SPDX-License-Identifier: MIT */
/*
 * What devices and boards are made of, as the files in vmm/data say it. A value is given as
 *   "@NAME", "@NAME/PATH"   a part of the board that has a name, or what is below it (links)
 *   ".", "./PATH"           the device that the part belongs to, or what is below it (links)
 *   "/PATH"                 any object (links)
 *   "=PROPERTY"             what the device that the part belongs to has there
 *   any other JSON          itself
 * A link may name a part that comes later: it is set when the board is complete. The main loop.
 */
#pragma once

#include "vmm/device-types.h"
#include "vmm/vm.h"

/* Gives an object its values: an object, property -> value. owner: the device that it belongs to; or
 * NULL. */
void parts_set_values(Object *object, JsonSlice values, Object *owner);
/* Sets one link. */
void parts_set_link(Object *object, const char *property, const char *reference, Object *owner);
/* Makes the parts that come with a type of device. */
gboolean parts_make(Object *owner, const DeviceInfo *info, GError **error);

/* Sets the links that wait: all parts that there will be are there. */
void parts_finish(Vm *vm);

/* What C makes of a board, where the file has {"step": NAME}. */
typedef struct BoardStep {
    const char *name; /* NULL ends the list */
    void (*run)(Vm *vm);
} BoardStep;

/* Makes a machine's board (machines.json) in a tree that has /machine. */
void board_make(Vm *vm, const char *machine_type, const BoardStep *steps);
