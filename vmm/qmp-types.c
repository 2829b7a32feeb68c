/* SPDX-License-Identifier: MIT */
/*
 * The QMP commands about types: what there is, and which properties they have. Answered by the
 * monitor thread from classes, which are constant while a VM runs; no object is made.
 */
#include "objmodel/error.h"
#include "vmm/qmp-context.h"

/* ---- qom-list-types ---- */

static const QmpType type_info = {
    .meta = QMP_OBJECT,
    .name = "ObjectTypeInfo",
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"abstract", &qmp_bool, TRUE},
            {"parent", &qmp_str, TRUE},
            {0},
        },
};
static QMP_LIST_OF(type_info_list, type_info);

typedef struct ListTypesArgs {
    char *implements;
    gboolean abstract;
} ListTypesArgs;

static const QmpArg list_types_args[] = {
    QMP_ARG(ListTypesArgs, implements, "implements", qmp_str, .optional = TRUE),
    QMP_ARG(ListTypesArgs, abstract, "abstract", qmp_bool, .optional = TRUE),
    {0},
};

static const Types *call_types(QmpCall *call)
{
    const QmpContext *context = qmp_call_context(call);

    return vm_types(context->vm);
}

static void append_type(GString *out, const Class *class)
{
    const Class *parent = class_parent(class);

    g_string_append(out, out->str[out->len - 1] == '[' ? "{\"name\":" : ",{\"name\":");
    json_append_string(out, class_name(class), -1);
    if (class_type(class)->abstract) {
        g_string_append(out, ",\"abstract\":true");
    }
    if (parent != NULL) {
        g_string_append(out, ",\"parent\":");
        json_append_string(out, class_name(parent), -1);
    }
    g_string_append_c(out, '}');
}

static void qom_list_types(QmpCall *call, const void *data)
{
    const ListTypesArgs *args = data;
    g_autoptr(GPtrArray) classes = types_list(call_types(call), args->implements, args->abstract);
    GString *out = qmp_call_result(call);

    g_string_append_c(out, '[');
    for (guint i = 0; i < classes->len; i++) {
        append_type(out, g_ptr_array_index(classes, i));
    }
    g_string_append_c(out, ']');
    qmp_call_return(call);
}

/* ---- the properties of a type ---- */

typedef struct TypeNameArgs {
    char *typename;
} TypeNameArgs;

static const QmpArg type_name_args[] = {
    QMP_ARG(TypeNameArgs, typename, "typename", qmp_str),
    {0},
};

static void append_property(GString *out, const Property *prop)
{
    g_autofree char *encoded_name = NULL, *default_value = NULL;
    SlotInfo info;

    property_slot_info(prop, &info, &encoded_name, &default_value);
    g_string_append(out, out->str[out->len - 1] == '[' ? "{\"name\":" : ",{\"name\":");
    json_append_string(out, prop->name, -1);
    g_string_append(out, ",\"type\":");
    json_append_string(out, property_type(prop), -1);
    if (info.description != NULL) {
        g_string_append(out, ",\"description\":");
        json_append_string(out, info.description, -1);
    }
    if (info.default_value != NULL) {
        g_string_append(out, ",\"default-value\":");
        g_string_append(out, info.default_value);
    }
    g_string_append_c(out, '}');
}

/* The properties of a class from this one on. */
static void return_properties(QmpCall *call, const Class *class, guint first)
{
    GString *out = qmp_call_result(call);

    g_string_append_c(out, '[');
    for (guint i = first; i < class_prop_count(class); i++) {
        append_property(out, class_prop(class, i));
    }
    g_string_append_c(out, ']');
    qmp_call_return(call);
}

static void qom_list_properties(QmpCall *call, const void *data)
{
    const TypeNameArgs *args = data;
    const Class *class = types_find(call_types(call), args->typename);

    if (class == NULL) {
        qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_DEVICE_NOT_FOUND, "Class '%s' not found", args->typename);
        return;
    }
    return_properties(call, class, 0);
}

static void device_list_properties(QmpCall *call, const void *data)
{
    const TypeNameArgs *args = data;
    const Class *class = types_find(call_types(call), args->typename);

    if (class == NULL) {
        qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_DEVICE_NOT_FOUND, "Device '%s' not found", args->typename);
    } else if (!class_is_a(class, "device") || class_type(class)->abstract) {
        qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_GENERIC,
                          "argument 'typename' must be a type of device, not abstract, not '%s'", args->typename);
    } else {
        /* What every device has (type, realized, ...) is not among the properties of a type of device. */
        return_properties(call, class, class_prop_count(types_find(call_types(call), "device")));
    }
}

/* ---- the table ---- */

const QmpCommand qmp_types_commands[] = {
    {.name = "qom-list-types",
     .handler = qom_list_types,
     .args = list_types_args,
     .args_size = sizeof(ListTypesArgs),
     .ret = &type_info_list},
    {.name = "qom-list-properties",
     .handler = qom_list_properties,
     .args = type_name_args,
     .args_size = sizeof(TypeNameArgs),
     .ret = &qmp_property_info_list},
    {.name = "device-list-properties",
     .handler = device_list_properties,
     .args = type_name_args,
     .args_size = sizeof(TypeNameArgs),
     .ret = &qmp_property_info_list},
    {0},
};
