/* SPDX-License-Identifier: MIT */
/* Memory of the host that a guest is given. */
#include "vmm/memory-backend.h"

#include <string.h>

#include "vmm/memory-region.h"
#include "vmm/types.h"

typedef struct MemoryBackend {
    Object base;
    int64_t size;
    bool dump, merge, prealloc, share, reserve, canonical_ids;
    int64_t prealloc_threads;
    Object *prealloc_context;
    int policy;
    bool mapped; /* the machine uses it */
} MemoryBackend;

static const char *const policies[] = {"default", "preferred", "bind", "interleave", NULL};

static gboolean check_size(Object *object, const Property *prop, JsonSlice value, GError **error)
{
    gint64 size;
    if (!json_to_int64(value, &size) || size > 0)
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE,
                "property '%s' of %s doesn't take value '%" G_GINT64_FORMAT "'", prop->name, class_name(object->class),
                size);
    return FALSE;
}

static const Property memory_backend_props[] = {
    PROP_FIELD(MemoryBackend, share, "share", .flags = PROP_INITIAL, .help = "whether other processes see changes"),
    PROP_FIELD(MemoryBackend, size, "size", .flags = PROP_INITIAL, .set = check_size, .help = "bytes"),
    PROP_FIELD(MemoryBackend, dump, "dump", .flags = PROP_WRITABLE, .initial = TRUE,
               .help = "whether it goes into core dumps"),
    PROP_FIELD(MemoryBackend, prealloc_threads, "prealloc-threads", .flags = PROP_WRITABLE, .min = 1,
               .max = G_MAXUINT32, .help = "threads that touch it at the start; 0: one for each CPU"),
    PROP_FIELD(MemoryBackend, canonical_ids, "x-use-canonical-path-for-ramblock-id", .flags = PROP_WRITABLE),
    PROP_ENUM(MemoryBackend, policy, "policy", "HostMemPolicy", policies, .flags = PROP_WRITABLE,
              .help = "on which nodes of the host"),
    PROP_LINK(MemoryBackend, prealloc_context, "prealloc-context", "thread-context", .flags = PROP_WRITABLE),
    PROP_FIELD(MemoryBackend, prealloc, "prealloc", .flags = PROP_WRITABLE, .help = "touched at the start"),
    PROP_FIELD(MemoryBackend, reserve, "reserve", .flags = PROP_INITIAL, .initial = TRUE,
               .help = "whether swap is reserved for it"),
    {.name = "host-nodes",
     .type = "int",
     .kind = PROP_KIND_STORED,
     .flags = PROP_WRITABLE,
     .initial_text = "[]",
     .help = "the nodes of the host"},
    PROP_FIELD(MemoryBackend, merge, "merge", .flags = PROP_WRITABLE, .initial = TRUE,
               .help = "whether equal pages are merged"),
    {0},
};

static gboolean memory_backend_complete(Object *object, GError **error)
{
    MemoryBackend *backend = (MemoryBackend *)object;
    g_autofree char *region = g_strdup_printf("%s[*]", object->name);

    if (backend->size == 0) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter 'size' is missing");
        return FALSE;
    }
    if (backend->prealloc_threads == 0)
        backend->prealloc_threads = vm_config(vm_of(object))->cpus.count;
    memory_region_new(object, region, NULL, 0, (guint64)backend->size, 0);
    return TRUE;
}

static void memory_backend_too_late(const Object *object, const Property *prop, GError **error)
{
    if (strcmp(prop->name, "size") == 0)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "cannot change property %s of %s ", prop->name,
                    class_name(object->class));
    else
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "cannot change property value");
}

static gboolean memory_backend_may_delete(Object *object, GError **error)
{
    if (!((MemoryBackend *)object)->mapped)
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_IN_USE, "Cannot delete host memory backend '%s' which is mapped",
                object->name);
    return FALSE;
}

static const ObjectType memory_backend_type = {
    .name = "memory-backend",
    .help = "memory of the host",
    .instance_size = sizeof(MemoryBackend),
    .abstract = TRUE,
    .props = memory_backend_props,
    .complete = memory_backend_complete,
    .too_late = memory_backend_too_late,
    .may_delete = memory_backend_may_delete,
};

const ObjectType memory_backend_ram_type = {
    .name = "memory-backend-ram",
    .help = "anonymous memory of the host",
    .parent = &memory_backend_type,
    .user_creatable = TRUE,
};

Object *memory_backend_new(Vm *vm, const char *id, guint64 size)
{
    Object *object = object_new_child(vm_objects(vm), id, vm_class(vm, memory_backend_ram_type.name));
    MemoryBackend *backend = (MemoryBackend *)object;
    g_autoptr(GError) error = NULL;

    backend->size = (int64_t)size;
    backend->mapped = true;
    if (!object_complete(object, &error))
        g_error("%s", error->message);
    return object;
}
