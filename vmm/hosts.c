/* SPDX-License-Identifier: MIT */
/* What devices use of the host. */
#include "vmm/hosts.h"

#include <string.h>

#include "vmm/chardev.h"
#include "vmm/netdev.h"

/* One kind of thing: the property that names it, and where it keeps who has it. */
typedef struct Kind {
    const char *property;
    Object **(*user)(Vm *vm, const char *name);               /* NULL: there is no such thing */
    char *(*in_use)(const char *name, const char *type_name); /* the reason */
} Kind;

static Object **chardev_user(Vm *vm, const char *name)
{
    Chardev *chardev = chardev_find(vm, name);

    return chardev ? &chardev->user : NULL;
}

static char *chardev_in_use(const char *name, const char *type_name)
{
    return g_strdup_printf("Property '%s.chardev' can't take value '%s': chardev '%s' is already in use", type_name,
                           name, name);
}

static Object **netdev_user(Vm *vm, const char *name)
{
    Netdev *netdev = netdev_find(vm, name);

    return netdev ? &netdev->user : NULL;
}

static char *netdev_in_use(const char *name, const char *type_name)
{
    return g_strdup_printf("Property '%s.netdev' can't take value '%s', it's in use", type_name, name);
}

static const Kind kinds[] = {
    {"chardev", chardev_user, chardev_in_use},
    {"netdev", netdev_user, netdev_in_use},
};

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
    const char *type_name = class_name(device->class);

    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *name = named(device, &kinds[i]);
        Object **user = name ? kinds[i].user(vm_of(device), name) : NULL;

        if (!name)
            continue;
        if (!user) {
            g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Property '%s.%s' can't find value '%s'",
                        type_name, kinds[i].property, name);
            return FALSE;
        }
        if (*user) {
            g_autofree char *reason = kinds[i].in_use(name, type_name);
            g_set_error_literal(error, OBJMODEL_ERROR, OBJMODEL_ERROR_IN_USE, reason);
            return FALSE;
        }
        *user = device;
    }
    return TRUE;
}

void host_release(Object *device)
{
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *name = named(device, &kinds[i]);
        Object **user = name ? kinds[i].user(vm_of(device), name) : NULL;

        if (user && *user == device)
            *user = NULL;
    }
}
