/* SPDX-License-Identifier: MIT */
/* What the files of virtio devices share. The main loop. */
#pragma once

#include "vmm/block.h"

/* ObjectType.complete of devices that stand between a virtio device and PCI. */
gboolean virtio_pci_complete(Object *object, GError **error);

/* Whether a property has that value, compact JSON. */
gboolean virtio_has_value(Object *object, const char *property, const char *json);
/* Request queues of a device that has as many as there are CPUs. */
guint virtio_queues_by_cpus(const Object *object);
/* Attaches a disk of any kind to a node, with the options that its properties say. */
BlockAttachment *virtio_disk_attach(Object *object, BlockNode *node, GError **error);
