/* SPDX-License-Identifier: MIT */
/*
 * What object-add takes, for the schema: a type's name, an id, and whatever properties that type has. Made from
 * the classes when the server starts.
 */
#include "vmm/qmp-object-options.h"

#include <string.h>

static gboolean type_string_is_int(const Property *prop)
{
    const char *type = property_type(prop);

    return g_str_has_prefix(type, "int") || g_str_has_prefix(type, "uint") || strcmp(type, "size") == 0;
}

/* The type of one property's values. */
static const QmpType *value_type(const Property *prop, GPtrArray *memory)
{
    QmpType *type;

    switch (prop->kind) {
    case PROP_KIND_BOOL:
    case PROP_KIND_BIT:
        return &qmp_bool;
    case PROP_KIND_INT8:
    case PROP_KIND_UINT8:
    case PROP_KIND_INT16:
    case PROP_KIND_UINT16:
    case PROP_KIND_INT32:
    case PROP_KIND_UINT32:
    case PROP_KIND_INT64:
    case PROP_KIND_UINT64:
        return &qmp_int;
    case PROP_KIND_STRING:
    case PROP_KIND_LINK:
    case PROP_KIND_STORED_LINK:
        return &qmp_str;
    case PROP_KIND_ENUM:
        type = g_new0(QmpType, 1);
        g_ptr_array_add(memory, type);
        type->meta = QMP_ENUM;
        type->values = prop->names;
        return type;
    case PROP_KIND_STORED:
    case PROP_KIND_CALC:
    case PROP_KIND_ALIAS:
    case PROP_KIND_MOVING:
    default:
        break;
    }
    /* What the type string says is only a hint: as in QEMU, that of a list is its elements'. */
    if (prop->initial_text != NULL && prop->initial_text[0] == '[') {
        return type_string_is_int(prop) ? &qmp_int_list : &qmp_any;
    }
    if (type_string_is_int(prop)) {
        return &qmp_int;
    }
    if (strcmp(property_type(prop), "bool") == 0) {
        return &qmp_bool;
    }
    return strcmp(property_type(prop), "string") == 0 || strcmp(property_type(prop), "str") == 0 ? &qmp_str : &qmp_any;
}

/* The properties of a class that can be given to a new object. */
static const QmpType *class_options(const Class *class, GPtrArray *memory)
{
    GArray *members = g_array_new(TRUE, TRUE, sizeof(QmpMember));
    QmpType *type = g_new0(QmpType, 1);

    for (guint i = 0; i < class_prop_count(class); i++) {
        const Property *prop = class_prop(class, i);

        if (prop->flags & (PROP_WRITABLE | PROP_INITIAL)) {
            QmpMember member = {prop->name, value_type(prop, memory), TRUE};

            g_array_append_val(members, member);
        }
    }
    type->meta = QMP_OBJECT;
    type->members = (const QmpMember *)(void *)members->data;
    g_ptr_array_add(memory, g_array_free(members, FALSE));
    g_ptr_array_add(memory, type);
    return type;
}

/* An enum of these classes' names. */
static const QmpType *names_type(const GPtrArray *classes, GPtrArray *memory)
{
    const char **names = g_new0(const char *, classes->len + 1);
    QmpType *type = g_new0(QmpType, 1);

    for (guint i = 0; i < classes->len; i++) {
        names[i] = class_name(g_ptr_array_index(classes, i));
    }
    type->meta = QMP_ENUM;
    type->values = names;
    g_ptr_array_add(memory, names);
    g_ptr_array_add(memory, type);
    return type;
}

const QmpType *qmp_object_options(const Types *types, GPtrArray *memory)
{
    g_autoptr(GPtrArray) classes = types_list(types, "user-creatable", FALSE);
    QmpVariant *variants = g_new0(QmpVariant, classes->len + 1);
    QmpMember *members = g_new0(QmpMember, 3);
    QmpType *type = g_new0(QmpType, 1);

    members[0] = (QmpMember){"qom-type", names_type(classes, memory), FALSE};
    members[1] = (QmpMember){"id", &qmp_str, FALSE};
    for (guint i = 0; i < classes->len; i++) {
        const Class *class = g_ptr_array_index(classes, i);

        variants[i] = (QmpVariant){class_name(class), class_options(class, memory)};
    }
    type->meta = QMP_OBJECT;
    type->members = members;
    type->tag = "qom-type";
    type->variants = variants;
    g_ptr_array_add(memory, members);
    g_ptr_array_add(memory, variants);
    g_ptr_array_add(memory, type);
    return type;
}
