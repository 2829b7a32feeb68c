/* SPDX-License-Identifier: MIT */
/* What devices use of the host. */
#include "vmm/hosts.h"

#include <string.h>

#include "vmm/chardev.h"
#include "vmm/netdev.h"

/* One kind of thing: the property that names it, how it is found, where it keeps who has it. */
typedef struct Kind {
    const char *property;
    gpointer (*find)(Vm *vm, const char *name);
    Object *(*user)(gpointer thing);
    void (*take)(Vm *vm, gpointer thing, Object *device);
    void (*leave)(Vm *vm, gpointer thing);
    char *(*in_use)(gpointer thing, const char *name, const Object *device); /* the reason */
} Kind;

/* ---- character devices ---- */

static gpointer find_chardev(Vm *vm, const char *name)
{
    return chardev_find(vm, name);
}

static Object *chardev_user(gpointer thing)
{
    return ((Chardev *)thing)->user;
}

static void take_chardev(Vm *vm G_GNUC_UNUSED, gpointer thing, Object *device)
{
    ((Chardev *)thing)->user = device;
}

static void leave_chardev(Vm *vm G_GNUC_UNUSED, gpointer thing)
{
    ((Chardev *)thing)->user = NULL;
}

static char *chardev_in_use(gpointer thing G_GNUC_UNUSED, const char *name, const Object *device)
{
    return g_strdup_printf("Property '%s.chardev' can't take value '%s': chardev '%s' is already in use",
                           class_name(device->class), name, name);
}

/* ---- networks ---- */

static gpointer find_netdev(Vm *vm, const char *name)
{
    return netdev_find(vm, name);
}

static Object *netdev_user(gpointer thing)
{
    return ((Netdev *)thing)->user;
}

static void take_netdev(Vm *vm G_GNUC_UNUSED, gpointer thing, Object *device)
{
    ((Netdev *)thing)->user = device;
}

static void leave_netdev(Vm *vm G_GNUC_UNUSED, gpointer thing)
{
    ((Netdev *)thing)->user = NULL;
}

static char *netdev_in_use(gpointer thing G_GNUC_UNUSED, const char *name, const Object *device)
{
    return g_strdup_printf("Property '%s.netdev' can't take value '%s', it's in use", class_name(device->class), name);
}

static const Kind kinds[] = {
    {"chardev", find_chardev, chardev_user, take_chardev, leave_chardev, chardev_in_use},
    {"netdev", find_netdev, netdev_user, take_netdev, leave_netdev, netdev_in_use},
};

/* ---- all of them ---- */

/* What the device names; NULL where it has no such property of its own, or names nothing. */
static char *named(Object *device, const Kind *kind)
{
    int index = class_find_prop(device->class, kind->property);
    g_autoptr(GString) json = NULL;
    char *name;

    if (index < 0 || class_prop(device->class, (guint)index)->kind == PROP_KIND_ALIAS)
        return NULL;
    json = g_string_new(NULL);
    if (!object_get(device, kind->property, json, NULL))
        return NULL;
    name = json_string_dup((JsonSlice){json->str, json->len}, NULL);
    if (name && !*name)
        g_clear_pointer(&name, g_free);
    return name;
}

gboolean host_claim(Object *device, GError **error)
{
    Vm *vm = vm_of(device);

    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *name = named(device, &kinds[i]);
        gpointer thing = name ? kinds[i].find(vm, name) : NULL;

        if (!name)
            continue;
        if (!thing) {
            g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Property '%s.%s' can't find value '%s'",
                        class_name(device->class), kinds[i].property, name);
            return FALSE;
        }
        if (kinds[i].user(thing)) {
            g_autofree char *reason = kinds[i].in_use(thing, name, device);
            g_set_error_literal(error, OBJMODEL_ERROR, OBJMODEL_ERROR_IN_USE, reason);
            return FALSE;
        }
        kinds[i].take(vm, thing, device);
    }
    return TRUE;
}

void host_release(Object *device)
{
    Vm *vm = vm_of(device);

    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *name = named(device, &kinds[i]);
        gpointer thing = name ? kinds[i].find(vm, name) : NULL;

        if (thing && kinds[i].user(thing) == device)
            kinds[i].leave(vm, thing);
    }
}
