/* SPDX-License-Identifier: MIT */
/* The list of types with behaviour, and the two that are nothing but a name. */
#include "vmm/types.h"

#include "vmm/bus.h"
#include "vmm/device.h"
#include "vmm/io-load.h"
#include "vmm/memory-region.h"
#include "vmm/qmp-fault.h"

const ObjectType irq_type = {
    .name = "irq",
    .help = "an interrupt line",
    .instance_size = sizeof(Object),
};

const ObjectType *const behaviour_types[] = {
    &container_type,
    &irq_type,
    &memory_region_type,
    &device_type,
    &bus_type,
    &memory_backend_ram_type,
    &iothread_type,
    &io_load_type,
    &rng_random_type,
    &rng_builtin_type,
    &secret_type,
    &qmp_fault_type,
    &chardev_null_type,
    &chardev_file_type,
    &chardev_ringbuf_type,
    &chardev_memory_type,
    &chardev_vc_type,
    &pc_q35_machine_type,
    &mc146818rtc_type,
    &virtio_pci_type,
    &virtio_blk_device_type,
    &virtio_blk_pci_type,
    &virtio_net_device_type,
    &virtio_rng_device_type,
    &virtio_scsi_device_type,
    &virtio_scsi_pci_type,
    &virtio_balloon_device_type,
    &scsi_hd_type,
    &nvme_type,
    &virtserialport_type,
    &qemu_xhci_type,
    NULL,
};
