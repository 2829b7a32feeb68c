/* SPDX-License-Identifier: MIT */
/*
 * The QMP commands that read the object tree, answered from the newest snapshot by the
 * monitor thread. A property that cannot be read has no value and spoils nothing; a path that
 * is wrong fails the command.
 *
 * qom-list, qom-get and qom-list-get (with `paths`) are QEMU's; qom-list-get with `path`,
 * qom-list-getv and qom-tree-get are what was proposed for it, or ours.
 */
#include <string.h>

#include "objmodel/error.h"
#include "objmodel/name.h"
#include "vmm/qmp-context.h"
#include "vmm/qmp-fetch.h"
#include "vmm/qmp-path.h"

/* ---- types ---- */

static const QmpType property_info = {
    .meta = QMP_OBJECT,
    .name = "ObjectPropertyInfo",
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"type", &qmp_str, FALSE},
            {"description", &qmp_str, TRUE},
            {"default-value", &qmp_any, TRUE},
            {0},
        },
};
QMP_LIST_OF(qmp_property_info_list, property_info);

static const QmpType property_value = {
    .meta = QMP_OBJECT,
    .name = "ObjectPropertyValue",
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"type", &qmp_str, FALSE},
            {"value", &qmp_any, TRUE},
            {0},
        },
};
static QMP_LIST_OF(property_value_list, property_value);

static const QmpType properties_values = {
    .meta = QMP_OBJECT,
    .name = "ObjectPropertiesValues",
    .members = (const QmpMember[]){{"properties", &property_value_list, FALSE}, {0}},
};
static QMP_LIST_OF(properties_values_list, properties_values);

/* Of qom-list-get in both forms: with `paths` an element has `properties`, with `path` the rest. */
static const QmpType list_get_element = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"properties", &property_value_list, TRUE},
            {"name", &qmp_str, TRUE},
            {"type", &qmp_str, TRUE},
            {"value", &qmp_any, TRUE},
            {0},
        },
};
static QMP_LIST_OF(list_get_list, list_get_element);

static const QmpType object_node;
static QMP_LIST_OF(object_node_list, object_node);
static const QmpType object_node = {
    .meta = QMP_OBJECT,
    .name = "ObjectNode",
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"children", &object_node_list, FALSE},
            {"properties", &property_value_list, FALSE},
            {0},
        },
};

/* ---- pieces ---- */

static const Node *qom_root(const Snapshot *snapshot)
{
    return views_get(snapshot->root, VIEW_QOM);
}

/* {"name":...,"type":...: an entry without its value, and without its end. */
static void append_entry_head(GString *out, const Node *node, guint slot)
{
    JsonSlice entry = node_slot_entry(node, slot), value = node_slot_value(node, slot);

    if (value.length > 0) {
        entry.length = (gsize)(value.text - entry.text) - strlen(",\"value\":");
    } else {
        entry.length -= strlen("}");
    }
    json_append_slice(out, entry);
}

static void append_child_head(GString *out, const Node *child)
{
    JsonSlice type = node_type(child);

    g_string_append(out, "{\"name\":");
    json_append_slice(out, child->json_name);
    g_string_append(out, ",\"type\":\"child<");
    if (type.length > 2) {
        g_string_append_len(out, type.text + 1, (gssize)type.length - 2);
    }
    g_string_append(out, ">\"");
}

/* All properties of one object with their values, children last: [...]. */
static void append_properties(GString *out, const Node *node, GString *json_path)
{
    g_autoptr(Node) sample = node_sample(node);
    ChildrenIter iter = children_iter(node->children, 0);
    gboolean first = sample->text.length == 0;
    gsize length = json_path->len;
    const Node *child;

    g_string_append_c(out, '[');
    json_append_slice(out, sample->text);
    while ((child = children_next(&iter)) != NULL) {
        if (!first) {
            g_string_append_c(out, ',');
        }
        first = FALSE;
        append_child_head(out, child);
        qmp_path_append(json_path, child);
        g_string_append(out, ",\"value\":\"");
        g_string_append_len(out, json_path->str, (gssize)json_path->len);
        g_string_append(out, "\"}");
        g_string_truncate(json_path, length);
    }
    g_string_append_c(out, ']');
}

/* ---- qom-list ---- */

typedef struct PathArgs {
    char *path;
} PathArgs;

static const QmpArg path_args[] = {
    QMP_ARG(PathArgs, path, "path", qmp_str),
    {0},
};

static void qom_list(QmpCall *call, const void *data)
{
    const PathArgs *args = data;
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    g_autoptr(GError) error = NULL;
    const Node *node = qmp_path_resolve(qom_root(snapshot), args->path, NULL, &error), *child;
    GString *out = qmp_call_result(call);
    ChildrenIter iter;
    const char *separator = "[";

    if (node == NULL) {
        qmp_call_fail(call, error);
        return;
    }
    for (guint slot = 0; slot < node_slot_count(node); slot++) {
        g_string_append(out, separator);
        append_entry_head(out, node, slot);
        separator = "},";
    }
    iter = children_iter(node->children, 0);
    while ((child = children_next(&iter)) != NULL) {
        g_string_append(out, separator);
        append_child_head(out, child);
        separator = "},";
    }
    g_string_append(out, separator[0] == '[' ? "[]" : "}]");
    qmp_call_return(call);
}

/* ---- qom-get ---- */

typedef struct GetArgs {
    char *path;
    char *property;
} GetArgs;

static const QmpArg get_args[] = {
    QMP_ARG(GetArgs, path, "path", qmp_str),
    QMP_ARG(GetArgs, property, "property", qmp_str),
    {0},
};

static gboolean fail_no_property(const Node *node, const char *name, GError **error)
{
    g_autofree char *type = json_string_dup(node_type(node), NULL);

    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY, "Property '%s.%s' not found",
                type != NULL ? type : "object", name);
    return FALSE;
}

static gboolean append_slot_value(const Node *node, guint slot, const char *name, GString *out, GError **error)
{
    g_autoptr(Node) sample = node_sample(node);
    JsonSlice value = node_slot_value(sample, slot);
    const char *reason = node_slot_error(sample, slot);

    if (value.length > 0) {
        json_append_slice(out, value);
    } else if (node_slot_info(sample, slot)->flags & SLOT_SECRET) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_SECRET, "Property '%s' is a secret", name);
    } else {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_UNREADABLE, "Property '%s' cannot be read%s%s", name,
                    reason != NULL ? ": " : "", reason != NULL ? reason : "");
    }
    return value.length > 0;
}

static gboolean append_value(const Node *root, const GetArgs *args, GString *out, GError **error)
{
    g_autofree char *name = file_name_encode(args->property, strlen(args->property));
    g_autoptr(GString) json_path = g_string_new(NULL);
    const Node *node = qmp_path_resolve(root, args->path, json_path, error), *child;
    int slot;

    if (node == NULL) {
        return FALSE;
    }
    slot = node_find_slot(node, name);
    if (slot >= 0) {
        return append_slot_value(node, (guint)slot, args->property, out, error);
    }
    child = children_find(node->children, name);
    if (child == NULL) {
        return fail_no_property(node, args->property, error);
    }
    qmp_path_append(json_path, child);
    g_string_append_printf(out, "\"%s\"", json_path->str);
    return TRUE;
}

static void qom_get(QmpCall *call, const void *data)
{
    const GetArgs *args = data;
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    g_autoptr(GError) error = NULL;

    if (append_value(qom_root(snapshot), args, qmp_call_result(call), &error)) {
        qmp_call_return(call);
    } else if (g_error_matches(error, OBJMODEL_ERROR, OBJMODEL_ERROR_AMBIGUOUS)) {
        /* Here, unlike in qom-list, QEMU does not tell the two apart. */
        qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_DEVICE_NOT_FOUND, "%s", error->message);
    } else {
        qmp_call_fail(call, error);
    }
}

/* ---- qom-list-get, qom-list-getv ---- */

typedef struct ListGetArgs {
    char *path;
    char **paths;
} ListGetArgs;

static const QmpArg list_get_args[] = {
    QMP_ARG(ListGetArgs, paths, "paths", qmp_str_list, .optional = TRUE),
    QMP_ARG(ListGetArgs, path, "path", qmp_str, .optional = TRUE),
    {0},
};

static const QmpArg list_getv_args[] = {
    QMP_ARG(ListGetArgs, paths, "paths", qmp_str_list),
    {0},
};

/* A client of ours takes no more, and whoever asks for the same object a million times is not to take all memory. */
#define REPLY_MAX ((gsize)1 << 30)

/* json_path: for the object's own path; what it had is overwritten. */
static gboolean append_one(const Node *root, const char *path, GString *json_path, GString *out, GError **error)
{
    const Node *node = qmp_path_resolve(root, path, g_string_truncate(json_path, 0), error);

    if (node != NULL) {
        append_properties(out, node, json_path);
    }
    return node != NULL;
}

static gboolean append_many(const Node *root, char *const *paths, GString *json_path, GString *out, GError **error)
{
    g_string_append_c(out, '[');
    for (char *const *path = paths; *path != NULL; path++) {
        g_string_append(out, path == paths ? "{\"properties\":" : ",{\"properties\":");
        if (!append_one(root, *path, json_path, out, error)) {
            return FALSE;
        }
        g_string_append_c(out, '}');
        if (out->len > REPLY_MAX) {
            g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "the reply would be longer than %" G_GSIZE_FORMAT " bytes",
                        REPLY_MAX);
            return FALSE;
        }
    }
    g_string_append_c(out, ']');
    return TRUE;
}

static void qom_list_get(QmpCall *call, const void *data)
{
    const ListGetArgs *args = data;
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) json_path = g_string_new(NULL);
    GString *out = qmp_call_result(call);
    gboolean ok;

    if ((args->path == NULL) == (args->paths == NULL)) {
        qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_GENERIC, "one of the arguments 'paths' and 'path' must be given");
        return;
    }
    ok = args->paths != NULL ? append_many(qom_root(snapshot), args->paths, json_path, out, &error)
                             : append_one(qom_root(snapshot), args->path, json_path, out, &error);
    if (ok) {
        qmp_call_return(call);
    } else {
        qmp_call_fail(call, error);
    }
}

/* ---- qom-tree-get ---- */

static void qom_tree_get(QmpCall *call, const void *data)
{
    const PathArgs *args = data;
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    g_autoptr(GError) error = NULL;
    const Node *node = qmp_path_resolve(qom_root(snapshot), args->path, NULL, &error);

    if (node == NULL) {
        qmp_call_fail(call, error);
        return;
    }
    node_append_tree(node, qmp_call_result(call));
    qmp_call_return(call);
}

/* ---- who answers ---- */

/* The tree of a usual VM takes some hundred kilobytes. In one that is larger than this, whatever may take long to write
 * is left to a worker. */
#define LARGE_TREE ((gsize)2 << 20)
/* A path that runs through a link, or is partial, takes a look at the whole tree. Where many paths of a large one are
 * wanted, this is how many bytes of it may be looked at: 50 ms at the worst. */
#define LARGE_SEARCH ((gsize)256 << 20)

static void answer(QmpCall *call, const void *args, guint n_paths, void (*handler)(QmpCall *call, const void *args))
{
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    gsize size = node_tree_size(qom_root(snapshot));

    if (size > LARGE_TREE || n_paths > LARGE_SEARCH / MAX(size, 1)) {
        qmp_call_hand_over(call, handler);
    } else {
        handler(call, args);
    }
}

static Source *call_source(QmpCall *call)
{
    return ((const QmpContext *)qmp_call_context(call))->source;
}

static void answer_list(QmpCall *call, const void *args)
{
    answer(call, args, 1, qom_list);
}

static void handle_list(QmpCall *call, const void *data)
{
    const PathArgs *args = data;

    qmp_fetch_object(call, data, call_source(call), args->path, NULL, SOURCE_NODE, answer_list);
}

static void answer_get(QmpCall *call, const void *data)
{
    const GetArgs *args = data;

    /* What most ask for, and in great numbers, is quick in every tree. */
    if (args->path[0] == '/') {
        qom_get(call, data);
    } else {
        answer(call, data, 1, qom_get);
    }
}

static void handle_get(QmpCall *call, const void *data)
{
    const GetArgs *args = data;

    qmp_fetch_object(call, data, call_source(call), args->path, args->property, SOURCE_PROPERTY, answer_get);
}

static void answer_list_get(QmpCall *call, const void *data)
{
    const ListGetArgs *args = data;

    answer(call, data, args->paths != NULL ? g_strv_length(args->paths) : 1, qom_list_get);
}

static void handle_list_get(QmpCall *call, const void *data)
{
    const ListGetArgs *args = data;

    if (args->paths != NULL) {
        qmp_fetch_objects(call, data, call_source(call), args->paths, answer_list_get);
    } else if (args->path != NULL) {
        qmp_fetch_objects(call, data, call_source(call), (char *[]){args->path, NULL}, answer_list_get);
    } else {
        answer_list_get(call, data);
    }
}

static void answer_tree_get(QmpCall *call, const void *args)
{
    answer(call, args, 1, qom_tree_get);
}

static void handle_tree_get(QmpCall *call, const void *data)
{
    const PathArgs *args = data;

    qmp_fetch_object(call, data, call_source(call), args->path, NULL, SOURCE_SUBTREE, answer_tree_get);
}

/* ---- the table ---- */

const QmpCommand qmp_qom_commands[] = {
    {.name = "qom-list",
     .handler = handle_list,
     .args = path_args,
     .args_size = sizeof(PathArgs),
     .ret = &qmp_property_info_list},
    {.name = "qom-get", .handler = handle_get, .args = get_args, .args_size = sizeof(GetArgs), .ret = &qmp_any},
    {.name = "qom-list-get",
     .handler = handle_list_get,
     .args = list_get_args,
     .args_size = sizeof(ListGetArgs),
     .ret = &list_get_list},
    {.name = "qom-list-getv",
     .handler = handle_list_get,
     .args = list_getv_args,
     .args_size = sizeof(ListGetArgs),
     .ret = &properties_values_list},
    {.name = "qom-tree-get",
     .handler = handle_tree_get,
     .args = path_args,
     .args_size = sizeof(PathArgs),
     .ret = &object_node},
    {0},
};
