/* SPDX-License-Identifier: MIT */
/*
 * Types: which properties an object has, and where their values come from. A type is one
 * constant with one row for each property; everything else (the files, what qom-list says,
 * range checks, .tree.json) follows from the rows. The properties of a type stand once,
 * however many objects have it, and listing them makes no object.
 *
 * A Class is what a type becomes in a running program: its own rows and those of its
 * parents in one list. Types are added before the first object is made; from then on any
 * thread may look at classes. Only class_instance_new() belongs to the objects' thread.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objmodel/node.h"

typedef struct Object Object;
typedef struct ObjectType ObjectType;
typedef struct Property Property;
typedef struct Class Class;
typedef struct Shared Shared;

/* ---- properties ---- */

typedef enum PropKind {
    /* The value is a field of the instance. */
    PROP_KIND_BOOL,
    PROP_KIND_INT8,
    PROP_KIND_UINT8,
    PROP_KIND_INT16,
    PROP_KIND_UINT16,
    PROP_KIND_INT32,
    PROP_KIND_UINT32,
    PROP_KIND_INT64,
    PROP_KIND_UINT64,
    PROP_KIND_STRING, /* char *, owned; NULL reads as "" */
    PROP_KIND_ENUM,   /* int, an index of names */
    PROP_KIND_BIT,    /* one bit of an array of uint32_t */
    PROP_KIND_LINK,   /* Object *, set by object_set_link() only */
    /* The value stands beside the instance, and only where it differs from the type's. */
    PROP_KIND_STORED,      /* any JSON */
    PROP_KIND_STORED_LINK, /* a link */
    /* The value comes from elsewhere. */
    PROP_KIND_CALC,   /* from functions */
    PROP_KIND_ALIAS,  /* from a property of another object */
    PROP_KIND_MOVING, /* it moves by itself: from a function that any thread may call */
} PropKind;

typedef enum PropFlags {
    PROP_WRITABLE = 1 << 0, /* may be set at any time */
    PROP_INITIAL = 1 << 1,  /* may be set until the object is complete */
    PROP_SECRET = 1 << 2,   /* never shown */
} PropFlags;

/* Appends the value as JSON; FALSE with an error where it cannot be read now. */
typedef gboolean (*PropGet)(Object *object, const Property *prop, GString *out, GError **error);
/* Checks and takes a new value; on failure nothing has changed. */
typedef gboolean (*PropSet)(Object *object, const Property *prop, JsonSlice value, GError **error);
/* Appends the value of this moment, any thread: see object_set_shared(). */
typedef void (*PropSample)(const Shared *shared, const Property *prop, GString *out);

struct Property {
    const char *name; /* NULL ends a list of rows */
    const char *type; /* QOM's type string; NULL: as the kind has it, "uint32" */
    const char *help; /* or NULL */
    PropKind kind;
    PropFlags flags;
    guint offset;                    /* where the field is */
    guint bit;                       /* PROP_KIND_BIT: which one, counted from the field's start */
    gint64 initial;                  /* what a number, boolean, bit or enum is at first */
    const char *initial_text;        /* the same: text of a string, JSON of a stored value */
    gint64 min, max;                 /* of numbers; both 0: all that the kind can hold */
    const char *const *names;        /* of enums, NULL-ended */
    const char *target;              /* links: the type that it must point at */
    const char *alias_of;            /* aliases: the property's name there; NULL: the same */
    PropGet get;                     /* calculated ones */
    PropSet set;                     /* calculated ones, or NULL; others: a check, before the value is taken */
    PropSample sample;               /* moving ones */
    void (*changed)(Object *object); /* after a new value was taken; or NULL */
};

/* The kind that a field's C type asks for. */
#define PROP_KIND_OF(field)                                                                                            \
    _Generic((field),                                                                                                  \
        bool: PROP_KIND_BOOL,                                                                                          \
        int8_t: PROP_KIND_INT8,                                                                                        \
        uint8_t: PROP_KIND_UINT8,                                                                                      \
        int16_t: PROP_KIND_INT16,                                                                                      \
        uint16_t: PROP_KIND_UINT16,                                                                                    \
        int32_t: PROP_KIND_INT32,                                                                                      \
        uint32_t: PROP_KIND_UINT32,                                                                                    \
        int64_t: PROP_KIND_INT64,                                                                                      \
        uint64_t: PROP_KIND_UINT64,                                                                                    \
        char *: PROP_KIND_STRING)

/* The offset of a field that must have this C type (checked when compiling). */
#define PROP_OFFSET_AS(T, field, ctype)                                                                                \
    (offsetof(T, field) + 0 * sizeof(char[_Generic(((T *)NULL)->field, ctype : 1, default : -1)]))

/* A field, read and written as it is. */
#define PROP_FIELD(T, field, prop_name, ...)                                                                           \
    {                                                                                                                  \
        .name = prop_name, .kind = PROP_KIND_OF(((T *)NULL)->field), .offset = offsetof(T, field), __VA_ARGS__         \
    }
/* A field of C type int that holds an index of `value_names`. */
#define PROP_ENUM(T, field, prop_name, enum_name, value_names, ...)                                                    \
    {                                                                                                                  \
        .name = prop_name, .type = enum_name, .kind = PROP_KIND_ENUM, .offset = PROP_OFFSET_AS(T, field, int),         \
        .names = value_names, __VA_ARGS__                                                                              \
    }
/* A bit of an array of uint32_t. */
#define PROP_BIT(T, field, bit_number, prop_name, ...)                                                                 \
    {                                                                                                                  \
        .name = prop_name, .kind = PROP_KIND_BIT, .offset = PROP_OFFSET_AS(T, field[0], uint32_t), .bit = bit_number,  \
        __VA_ARGS__                                                                                                    \
    }
/* A pointer to another object. */
#define PROP_LINK(T, field, prop_name, target_type, ...)                                                               \
    {                                                                                                                  \
        .name = prop_name, .type = "link<" target_type ">", .kind = PROP_KIND_LINK,                                    \
        .offset = PROP_OFFSET_AS(T, field, Object *), .target = target_type, __VA_ARGS__                               \
    }
/* A value that functions compute. */
#define PROP_CALC(prop_name, type_name, getter, ...)                                                                   \
    {                                                                                                                  \
        .name = prop_name, .type = type_name, .kind = PROP_KIND_CALC, .get = getter, __VA_ARGS__                       \
    }
/* Stands for a property of the object that the field points at. The field is set with
 * object_set_alias_target(). */
#define PROP_ALIAS(T, field, prop_name, type_name, ...)                                                                \
    {                                                                                                                  \
        .name = prop_name, .type = type_name, .kind = PROP_KIND_ALIAS, .offset = PROP_OFFSET_AS(T, field, Object *),   \
        __VA_ARGS__                                                                                                    \
    }
/* A value that moves by itself. */
#define PROP_MOVING(prop_name, type_name, sampler, ...)                                                                \
    {                                                                                                                  \
        .name = prop_name, .type = type_name, .kind = PROP_KIND_MOVING, .sample = sampler, __VA_ARGS__                 \
    }

/* QOM's type string of a property. */
const char *property_type(const Property *prop);

/* ---- types ---- */

struct ObjectType {
    const char *name;
    const char *help;
    const ObjectType *parent; /* NULL: object_type itself */
    gsize instance_size;      /* 0: the parent's */
    gboolean abstract;        /* there are no objects of this very type */
    gboolean user_creatable;  /* object-add makes them */
    const Property *props;    /* the rows, ended by one without a name; or NULL */

    /* All optional; each of the first three is called for the parents' types too. */
    void (*class_init)(const Class *class, Object *initial); /* changes what new instances are copied from */
    void (*init)(Object *object);                            /* a new object, parents first */
    void (*finalize)(Object *object);                        /* its memory goes, parents last */
    /* The nearest one counts. */
    gboolean (*complete)(Object *object, GError **error); /* all properties are set: it begins to work */
    void (*too_late)(const Object *object, const Property *prop,
                     GError **error);                       /* words the error of setting a
                                                             * PROP_INITIAL property of a complete object */
    void (*unparent)(Object *object);                       /* it leaves the tree; its parent is still known */
    gboolean (*may_delete)(Object *object, GError **error); /* whether a client may remove it now */
    const void *data;                                       /* whatever those functions want to know of the type */
};

/* The type of all types: its one property is `type`. */
extern const ObjectType object_type;

/* ---- classes ---- */

typedef struct Types Types;

Types *types_new(void);
/* After all objects are gone. */
void types_free(Types *types);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Types, types_free)

/* Adds a type, which must outlive `types`, and its parents; returns the class it had already
 * where it was added before. Two types of one name are a mistake of the caller. */
Class *types_add(Types *types, const ObjectType *type);
/* The class of that name, or NULL. */
Class *types_find(const Types *types, const char *name);
/* Those that are or descend from `implements` ("user-creatable": all that object-add makes; NULL: all),
 * in the order added; abstract ones only where asked for. Free the array, not the classes. */
GPtrArray *types_list(const Types *types, const char *implements, gboolean abstract);

const char *class_name(const Class *class);
const ObjectType *class_type(const Class *class);
const Class *class_parent(const Class *class);
gboolean class_is_a(const Class *class, const char *type_name);

guint class_prop_count(const Class *class);
/* Parents' rows come first; where a type repeats a parent's name, its row takes that place. */
const Property *class_prop(const Class *class, guint index);
/* The row of that name, or -1. */
int class_find_prop(const Class *class, const char *name);
/* What is written before the value: {"name":"...","type":"...","value": */
JsonSlice class_prop_head(const Class *class, guint index);
/* The same for all objects of the class that have no properties of their own. Borrowed. */
Shape *class_shape(const Class *class);

/* The same for a property that belongs to one object only. */
void property_append_head(const Property *prop, GString *out);
/* encoded_name: memory for a file name, freed by the caller after use of *ret; may stay NULL. */
void property_slot_info(const Property *prop, SlotInfo *ret, char **encoded_name, char **default_value);

/* Memory of a new instance with all initial values; nothing else is done. */
gpointer class_instance_new(Class *class);
/* For class_init functions: sets a field of the memory that instances are copied from. */
gboolean class_init_value(const Class *class, Object *initial, const char *name, JsonSlice value, GError **error);
/* Frees it with its strings. */
void class_instance_free(const Class *class, gpointer instance);
