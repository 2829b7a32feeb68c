/* SPDX-License-Identifier: MIT */
/* Character devices: null, file, ring buffer, text console; chardev-add and chardev-remove. The main loop. */
#include "vmm/chardev.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "vmm/hosts.h"
#include "vmm/types.h"

/* ---- types ---- */

static void chardev_init(Object *object)
{
    ((Chardev *)object)->fd = -1;
}

static void chardev_finalize(Object *object)
{
    if (((Chardev *)object)->fd >= 0)
        close(((Chardev *)object)->fd);
}

static const ObjectType chardev_type = {
    .name = "chardev",
    .help = "a character device",
    .instance_size = sizeof(Chardev),
    .abstract = TRUE,
    .init = chardev_init,
    .finalize = chardev_finalize,
};

static const ObjectType chardev_fd_type = {
    .name = "chardev-fd",
    .help = "a file descriptor of the host",
    .parent = &chardev_type,
    .abstract = TRUE,
};

const ObjectType chardev_null_type = {
    .name = "chardev-null",
    .help = "what is written is gone, and there is nothing to read",
    .parent = &chardev_type,
};

const ObjectType chardev_file_type = {
    .name = "chardev-file",
    .help = "a file of the host, which is written to",
    .parent = &chardev_fd_type,
};

const ObjectType chardev_ringbuf_type = {
    .name = "chardev-ringbuf",
    .help = "what was written last, kept in memory",
    .parent = &chardev_type,
};

const ObjectType chardev_memory_type = {
    .name = "chardev-memory",
    .help = "the older name of chardev-ringbuf",
    .parent = &chardev_ringbuf_type,
};

static const char *const encodings[] = {"cp437", "utf8", NULL};

static const Property chardev_vc_props[] = {
    PROP_ENUM(Chardev, encoding, "encoding", "ChardevVCEncoding", encodings, .flags = PROP_INITIAL, .initial = 1),
    {0},
};

const ObjectType chardev_vc_type = {
    .name = "chardev-vc",
    .help = "a text console of the display",
    .parent = &chardev_type,
    .props = chardev_vc_props,
};

/* ---- how each kind begins ---- */

static gboolean wrong(GError **error, const char *format, const char *name)
{
    g_autofree char *message = g_strdup_printf("Parameter '%s' %s", name, format);
    g_set_error_literal(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, message);
    return FALSE;
}

static gboolean open_file(Chardev *chardev, JsonSlice data, GError **error)
{
    JsonSlice out = json_member(data, "out"), append = json_member(data, "append");
    g_autofree char *path = out.length ? json_string_dup(out, NULL) : NULL;
    gboolean appends = FALSE;

    if (!out.length)
        return wrong(error, "is missing", "backend.data.out");
    if (!path)
        return wrong(error, "expects a string", "backend.data.out");
    if (append.length && !json_to_bool(append, &appends))
        return wrong(error, "expects a boolean", "backend.data.append");
    chardev->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (appends ? O_APPEND : O_TRUNC), 0666);
    if (chardev->fd >= 0)
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Could not open '%s': %s", path, g_strerror(errno));
    return FALSE;
}

static gboolean check_ring(Chardev *chardev G_GNUC_UNUSED, JsonSlice data, GError **error)
{
    JsonSlice value = json_member(data, "size");
    guint64 size;

    if (!value.length)
        return TRUE;
    if (!json_to_uint64(value, &size))
        return wrong(error, "expects an integer", "backend.data.size");
    if (size && !(size & (size - 1)))
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "size of ringbuf chardev must be power of two");
    return FALSE;
}

static const struct {
    const char *name;
    const ObjectType *type; /* NULL: QEMU has it, the model does not */
    gboolean (*begin)(Chardev *chardev, JsonSlice data, GError **error);
    const char *members[4];
} kinds[] = {
    {"null", &chardev_null_type, NULL, {"logfile", "logappend"}},
    {"file", &chardev_file_type, open_file, {"logfile", "logappend", "out", "append"}},
    {"ringbuf", &chardev_ringbuf_type, check_ring, {"logfile", "logappend", "size"}},
    {"memory", &chardev_memory_type, check_ring, {"logfile", "logappend", "size"}},
    {"socket", NULL, NULL, {0}},
    {"pty", NULL, NULL, {0}},
    {"pipe", NULL, NULL, {0}},
    {"udp", NULL, NULL, {0}},
    {"vc", NULL, NULL, {0}},
    {"stdio", NULL, NULL, {0}},
    {"mux", NULL, NULL, {0}},
    {"hub", NULL, NULL, {0}},
    {"serial", NULL, NULL, {0}},
    {"parallel", NULL, NULL, {0}},
    {"msmouse", NULL, NULL, {0}},
    {"wctablet", NULL, NULL, {0}},
    {"testdev", NULL, NULL, {0}},
    {"qemu-vdagent", NULL, NULL, {0}},
};

/* ---- coming and going ---- */

Chardev *chardev_find(Vm *vm, const char *id)
{
    return (Chardev *)object_child(vm_chardevs(vm), id);
}

static gboolean check_members(JsonSlice data, const char *const *names, guint n_names, GError **error)
{
    JsonWalk walk = json_walk(data);
    JsonSlice key, value;

    while (json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        g_autofree char *path = g_strdup_printf("backend.data.%s", name);
        gboolean known = FALSE;

        for (guint i = 0; i < n_names && names[i]; i++)
            known |= strcmp(names[i], name) == 0;
        if (!known)
            return wrong(error, "is unexpected", path);
    }
    return TRUE;
}

gboolean chardev_add(Vm *vm, JsonSlice arguments, GError **error)
{
    JsonSlice backend = json_member(arguments, "backend"), id_value = json_member(arguments, "id");
    JsonSlice type_value, data;
    g_autofree char *id = id_value.length ? json_string_dup(id_value, NULL) : NULL;
    g_autofree char *type = NULL;
    g_autoptr(Object) object = NULL;
    guint kind = 0;

    if (!id)
        return wrong(error, id_value.length ? "expects a string" : "is missing", "id");
    if (!backend.length || json_kind(backend) != JSON_OBJECT)
        return wrong(error, backend.length ? "expects an object" : "is missing", "backend");
    type_value = json_member(backend, "type");
    data = json_member(backend, "data");
    type = type_value.length ? json_string_dup(type_value, NULL) : NULL;
    if (!type)
        return wrong(error, type_value.length ? "expects a string" : "is missing", "backend.type");
    while (kind < G_N_ELEMENTS(kinds) && strcmp(kinds[kind].name, type) != 0)
        kind++;
    if (kind == G_N_ELEMENTS(kinds)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter 'type' does not accept value '%s'",
                    type);
        return FALSE;
    }
    if (!data.length || json_kind(data) != JSON_OBJECT)
        return wrong(error, data.length ? "expects an object" : "is missing", "backend.data");
    if (!kinds[kind].type) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED,
                    "Failed to add chardev '%s': the built-in VM has no character devices of type '%s'", id, type);
        return FALSE;
    }
    if (!check_members(data, kinds[kind].members, G_N_ELEMENTS(kinds[kind].members), error))
        return FALSE;
    if (chardev_find(vm, id)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Chardev with id '%s' already exists", id);
        return FALSE;
    }
    object = object_new(vm_class(vm, kinds[kind].type->name));
    if (kinds[kind].begin && !kinds[kind].begin((Chardev *)object, data, error)) {
        if (error && *error && !g_str_has_prefix((*error)->message, "Parameter"))
            g_prefix_error(error, "Failed to add chardev '%s': ", id);
        return FALSE;
    }
    return object_add_child(vm_chardevs(vm), id, object, error) && object_complete(object, error);
}

gboolean chardev_remove(Vm *vm, const char *id, GError **error)
{
    Chardev *chardev = chardev_find(vm, id);

    if (!chardev)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Chardev '%s' not found", id);
    else if (chardev->user)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Chardev '%s' is busy", id);
    else {
        object_unparent(&chardev->base);
        return TRUE;
    }
    return FALSE;
}
