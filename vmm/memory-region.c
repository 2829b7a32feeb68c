/* SPDX-License-Identifier: MIT */
/* Memory regions. */
#include "vmm/memory-region.h"

typedef struct MemoryRegion {
    Object base;
    Object *container;
    uint64_t addr, size;
    int32_t priority;
} MemoryRegion;

static const Property memory_region_props[] = {
    PROP_LINK(MemoryRegion, container, "container", "memory-region", .help = "the region that it stands in"),
    PROP_FIELD(MemoryRegion, addr, "addr", .help = "where it begins in its container"),
    PROP_FIELD(MemoryRegion, size, "size", .help = "bytes; all ones: the whole of 64 bits"),
    /* QEMU declares it so, and shows -1 all the same. */
    PROP_FIELD(MemoryRegion, priority, "priority", .type = "uint32",
               .help = "the higher one is seen where two overlap"),
    {0},
};

const ObjectType memory_region_type = {
    .name = "memory-region",
    .help = "a range of addresses inside another",
    .instance_size = sizeof(MemoryRegion),
    .props = memory_region_props,
};

Object *memory_region_new(Object *parent, const char *name, Object *container, guint64 addr, guint64 size,
                          gint32 priority)
{
    Object *object = object_new_child(parent, name, vm_class(vm_of(parent), memory_region_type.name));
    MemoryRegion *region = (MemoryRegion *)object;

    region->addr = addr;
    region->size = size;
    region->priority = priority;
    if (container)
        object_set_link(object, &region->container, container);
    return object;
}
