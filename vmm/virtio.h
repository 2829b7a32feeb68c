/* SPDX-License-Identifier: MIT */
/* What the files of virtio devices share. The main loop. */
#pragma once

#include "vmm/vm.h"

/* ObjectType.complete of devices that stand between a virtio device and PCI. */
gboolean virtio_pci_complete(Object *object, GError **error);

/* Whether a property has that value, compact JSON. */
gboolean virtio_has_value(Object *object, const char *property, const char *json);
