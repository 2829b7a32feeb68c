/* SPDX-License-Identifier: MIT */
/* object-add and object-del: what stands in /objects comes and goes. Jobs of the main loop. */
#include <string.h>

#include "objmodel/error.h"
#include "vmm/id.h"
#include "vmm/qmp-job.h"
#include "vmm/qmp-values.h"

/* ---- object-add ---- */

typedef struct AddArgs {
    char *qom_type;
    char *id;
} AddArgs;

static const QmpArg add_args[] = {
    QMP_ARG(AddArgs, qom_type, "qom-type", qmp_str),
    QMP_ARG(AddArgs, id, "id", qmp_str),
    {0},
};

static const char *const add_own_args[] = {"qom-type", "id", NULL};

/* The class of a new object; NULL where none can be made by object-add. */
static Class *creatable_class(Vm *vm, const char *name, GError **error)
{
    Class *class = types_find(vm_types(vm), name);

    if (class == NULL || !class_type(class)->user_creatable || class_type(class)->abstract) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "argument 'qom-type' has no value '%.64s'", name);
        return NULL;
    }
    return class;
}

static gboolean run_add(Vm *vm, QmpCall *call, const void *data, GError **error)
{
    const AddArgs *args = data;
    Class *class = creatable_class(vm, args->qom_type, error);
    g_autoptr(Object) object = NULL;

    if (class == NULL) {
        return FALSE;
    }
    if (!id_is_valid(args->id)) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "argument 'id' must be an identifier, not '%.64s'", args->id);
        return FALSE;
    }
    object = object_new(class);
    if (!qmp_values_set(object, qmp_call_arguments(call), add_own_args, error) ||
        !object_add_child(vm_objects(vm), args->id, object, error)) {
        return FALSE;
    }
    if (!object_complete(object, error)) {
        object_unparent(object);
        return FALSE;
    }
    return TRUE;
}

static void object_add(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_add);
}

/* ---- object-del ---- */

typedef struct DelArgs {
    char *id;
} DelArgs;

static const QmpArg del_args[] = {
    QMP_ARG(DelArgs, id, "id", qmp_str),
    {0},
};

static gboolean run_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    const DelArgs *args = data;
    Object *object = object_child(vm_objects(vm), args->id);

    if (object == NULL) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "object '%s' not found", args->id);
        return FALSE;
    }
    for (const Class *class = object->class; class != NULL; class = class_parent(class)) {
        if (class_type(class)->may_delete != NULL) {
            if (!class_type(class)->may_delete(object, error)) {
                return FALSE;
            }
            break;
        }
    }
    object_unparent(object);
    return TRUE;
}

static void object_del(QmpCall *call, const void *args)
{
    qmp_job(call, args, run_del);
}

/* ---- the table ---- */

const QmpCommand qmp_object_commands[] = {
    {.name = "object-add",
     .handler = object_add,
     .args = add_args,
     .args_size = sizeof(AddArgs),
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "object-del", .handler = object_del, .args = del_args, .args_size = sizeof(DelArgs)},
    {0},
};
