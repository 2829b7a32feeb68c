/* SPDX-License-Identifier: MIT */
/*
 * The balloon. The model's guest does at once what is asked of it, as long as it runs; it has no driver that would fill
 * in statistics, so these stay as they are before one does.
 */
#include "vmm/balloon.h"

#include <string.h>

#include "vmm/device.h"
#include "vmm/types.h"
#include "vmm/vm-private.h"

typedef struct Balloon {
    Device base;
    guint64 target, actual; /* bytes that the guest is to have, and has */
} Balloon;

enum { PAGE_BITS = 12 };

/* A whole number of seconds that a timer can hold. */
static gboolean check_interval(Object *object G_GNUC_UNUSED, const Property *prop, JsonSlice value, GError **error)
{
    gint64 seconds;
    const char *problem = NULL;

    if (!json_to_int64(value, &seconds)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE,
                    "Invalid parameter type for '%s', expected: integer", prop->name);
        return FALSE;
    }
    if (seconds < 0)
        problem = "timer value must be greater than zero";
    else if (seconds > G_MAXUINT32)
        problem = "timer value is too big";
    if (problem)
        g_set_error_literal(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, problem);
    return !problem;
}

static const Property balloon_props[] = {
    {.name = "guest-stats-polling-interval",
     .type = "int",
     .kind = PROP_KIND_STORED,
     .flags = PROP_WRITABLE,
     .initial_text = "0",
     .set = check_interval,
     .help = "seconds between requests for the guest's statistics; 0: none are made"},
    {0},
};

static gboolean balloon_complete(Object *object, GError **error)
{
    Balloon *balloon = (Balloon *)object;
    Vm *vm = vm_of(object);

    if (vm_part(vm, "balloon")) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Only one balloon device is supported");
        return FALSE;
    }
    if (!device_complete(object, error))
        return FALSE;
    balloon->target = balloon->actual = vm_config(vm)->memory;
    vm_set_balloon(vm, balloon->actual);
    vm_add_part(vm, "balloon", object);
    return TRUE;
}

static void balloon_unparent(Object *object)
{
    vm_remove_part(vm_of(object), "balloon", object);
    device_type.unparent(object);
}

const ObjectType virtio_balloon_device_type = {
    .name = "virtio-balloon-device",
    .help = "memory that the guest lends to the host",
    .instance_size = sizeof(Balloon),
    .props = balloon_props,
    .complete = balloon_complete,
    .unparent = balloon_unparent,
};

/* ---- what clients ask ---- */

gboolean balloon_is_there(Vm *vm)
{
    return vm_part(vm, "balloon") != NULL;
}

static void follow(Vm *vm, Balloon *balloon)
{
    g_autofree char *data = NULL;

    if (balloon->actual == balloon->target || strcmp(vm_status(vm), "running") != 0)
        return;
    balloon->actual = balloon->target;
    vm_set_balloon(vm, balloon->actual);
    data = g_strdup_printf("{\"actual\":%" G_GUINT64_FORMAT "}", balloon->actual);
    vm_event(vm, "BALLOON_CHANGE", data);
}

gboolean balloon_set(Vm *vm, gint64 bytes, GError **error)
{
    Balloon *balloon = (Balloon *)vm_part(vm, "balloon");

    if (bytes <= 0) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter 'value' expects a size");
        return FALSE;
    }
    balloon->target = MIN((guint64)bytes, vm_config(vm)->memory) >> PAGE_BITS << PAGE_BITS;
    follow(vm, balloon);
    return TRUE;
}

void balloon_resume(Vm *vm)
{
    Object *object = vm_part(vm, "balloon");
    if (object)
        follow(vm, (Balloon *)object);
}
