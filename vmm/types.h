/* SPDX-License-Identifier: MIT */
/* The types that have behaviour of their own: one constant each. A new one is a row in types.c. */
#pragma once

#include "vmm/vm.h"

extern const ObjectType container_type;
extern const ObjectType irq_type;

/* memory-backend.c */
extern const ObjectType memory_backend_ram_type;

/* iothread.c */
extern const ObjectType iothread_type;

/* backends.c */
extern const ObjectType rng_random_type;
extern const ObjectType rng_builtin_type;
extern const ObjectType secret_type;

/* chardev.c */
extern const ObjectType chardev_null_type;
extern const ObjectType chardev_file_type;
extern const ObjectType chardev_ringbuf_type;
extern const ObjectType chardev_memory_type;
extern const ObjectType chardev_vc_type;

/* machine.c */
extern const ObjectType pc_q35_machine_type;
/* rtc.c */
extern const ObjectType mc146818rtc_type;

/* virtio.c */
extern const ObjectType virtio_pci_type;
extern const ObjectType virtio_net_device_type;
extern const ObjectType virtio_rng_device_type;
extern const ObjectType virtio_scsi_device_type;
extern const ObjectType virtio_scsi_pci_type;
extern const ObjectType virtio_balloon_device_type;

/* plugged.c */
extern const ObjectType scsi_hd_type;
extern const ObjectType nvme_type;
extern const ObjectType virtserialport_type;
extern const ObjectType qemu_xhci_type;

/* virtio-blk.c */
extern const ObjectType virtio_blk_device_type;
extern const ObjectType virtio_blk_pci_type;

/* All of them, ended by NULL: for device_types_new(). */
extern const ObjectType *const behaviour_types[];
