/* SPDX-License-Identifier: MIT */
/* See qom-tree.h. */
#include "examples/qom-tree.h"

#include <string.h>

#include "examples/qom-calls.h"

void qom_item_free(gpointer data)
{
    QomItem *item = data;

    g_free(item->path);
    g_string_free(item->lines, TRUE);
    g_ptr_array_unref(item->children);
    g_free(item);
}

QomItem *qom_item_new(const char *path)
{
    QomItem *item = g_new0(QomItem, 1);

    item->path = g_strdup(path);
    item->lines = g_string_new(NULL);
    item->children = g_ptr_array_new_with_free_func(qom_item_free);
    return item;
}

static const char *item_qmp_path(const QomItem *item)
{
    return *item->path != '\0' ? item->path : "/";
}

/* ---- requests ---- */

static gboolean call_paths(QmpClient *qmp, const char *command, const GPtrArray *items, JsonSlice *ret, GError **error)
{
    g_autoptr(GString) arguments = g_string_new("{\"paths\":[");

    for (guint i = 0; i < items->len; i++) {
        if (i > 0) {
            g_string_append_c(arguments, ',');
        }
        json_append_string(arguments, item_qmp_path(g_ptr_array_index(items, i)), -1);
    }
    g_string_append_c(arguments, ']');
    return qom_call(qmp, command, arguments, ret, error);
}

/* ---- what replies say ---- */

static gboolean type_is_child(JsonSlice type)
{
    return type.length > 0 && json_kind(type) == JSON_STRING && g_str_has_prefix(type.text, "\"child<");
}

static void item_add_child(QomItem *item, const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%s", item->path, name);

    g_ptr_array_add(item->children, qom_item_new(path));
}

/* value absent: it could not be read. */
static void item_add_line(QomItem *item, const char *name, JsonSlice value)
{
    g_string_append_printf(item->lines, "%s/%s:", item->path, name);
    if (value.length > 0) {
        g_string_append_c(item->lines, ' ');
        json_append_slice(item->lines, value);
    }
    g_string_append_c(item->lines, '\n');
}

/* Takes a list of {name,type,value}. */
static gboolean item_take_properties(QomItem *item, JsonSlice list, GError **error)
{
    JsonSlice entry;
    JsonWalk walk;

    if (list.length == 0 || json_kind(list) != JSON_ARRAY) {
        return qom_fail_shape("no list of properties", error);
    }
    walk = json_walk(list);
    while (json_walk_element(&walk, &entry)) {
        gboolean is_object = json_kind(entry) == JSON_OBJECT;
        g_autofree char *name = is_object ? json_string_dup(json_member(entry, "name"), NULL) : NULL;

        if (name == NULL) {
            return qom_fail_shape("a property without name", error);
        }
        if (type_is_child(json_member(entry, "type"))) {
            item_add_child(item, name);
        } else {
            item_add_line(item, name, json_member(entry, "value"));
        }
    }
    return TRUE;
}

/* ---- the methods ---- */

/* One command for each property. */
static gboolean fetch_get(QmpClient *qmp, QomItem *item, GError **error)
{
    JsonSlice list, value, entry;
    g_autofree char *text = NULL;
    JsonWalk walk;

    if (!qom_call_path(qmp, "qom-list", item_qmp_path(item), &list, error)) {
        return FALSE;
    }
    if (json_kind(list) != JSON_ARRAY) {
        return qom_fail_shape("qom-list returns no list", error);
    }
    text = g_strndup(list.text, list.length);
    walk = json_walk((JsonSlice){text, list.length});
    while (json_walk_element(&walk, &entry)) {
        gboolean is_object = json_kind(entry) == JSON_OBJECT;
        g_autofree char *name = is_object ? json_string_dup(json_member(entry, "name"), NULL) : NULL;
        g_autoptr(GError) problem = NULL;

        if (name == NULL) {
            return qom_fail_shape("a property without name", error);
        }
        if (type_is_child(json_member(entry, "type"))) {
            item_add_child(item, name);
        } else if (qom_call_get(qmp, item_qmp_path(item), name, &value, &problem)) {
            item_add_line(item, name, value);
        } else if (problem->domain == QMP_ERROR) {
            item_add_line(item, name, (JsonSlice){NULL, 0});
        } else {
            g_propagate_error(error, g_steal_pointer(&problem));
            return FALSE;
        }
    }
    for (guint i = 0; i < item->children->len; i++) {
        if (!fetch_get(qmp, g_ptr_array_index(item->children, i), error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command for all of these. */
gboolean qom_items_fetch(QmpClient *qmp, const char *command, const GPtrArray *items, GError **error)
{
    JsonSlice list, entry;
    JsonWalk walk;

    if (!call_paths(qmp, command, items, &list, error)) {
        return FALSE;
    }
    if (json_kind(list) != JSON_ARRAY) {
        return qom_fail_shape("a bulk command returns no list", error);
    }
    walk = json_walk(list);
    for (guint i = 0; i < items->len; i++) {
        if (!json_walk_element(&walk, &entry) || json_kind(entry) != JSON_OBJECT) {
            return qom_fail_shape("a bulk command leaves objects out", error);
        }
        if (!item_take_properties(g_ptr_array_index(items, i), json_member(entry, "properties"), error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command for each object. */
static gboolean fetch_list_get(QmpClient *qmp, QomItem *item, GError **error)
{
    g_autoptr(GPtrArray) one = g_ptr_array_new();

    g_ptr_array_add(one, item);
    if (!qom_items_fetch(qmp, "qom-list-get", one, error)) {
        return FALSE;
    }
    for (guint i = 0; i < item->children->len; i++) {
        if (!fetch_list_get(qmp, g_ptr_array_index(item->children, i), error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command for each level of the tree. A QEMU has no qom-list-getv, but its qom-list-get
 * takes many paths as well. */
static gboolean fetch_list_getv(QmpClient *qmp, QomItem *item, GError **error)
{
    g_autoptr(GPtrArray) level = g_ptr_array_new();
    const char *command = "qom-list-getv";

    g_ptr_array_add(level, item);
    while (level->len > 0) {
        g_autoptr(GPtrArray) next = g_ptr_array_new();
        g_autoptr(GError) problem = NULL;
        gboolean ok = qom_items_fetch(qmp, command, level, &problem);

        if (!ok && level->len == 1 && g_error_matches(problem, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND)) {
            g_clear_error(&problem);
            command = "qom-list-get";
            ok = qom_items_fetch(qmp, command, level, &problem);
        }
        if (!ok) {
            g_propagate_error(error, g_steal_pointer(&problem));
            return FALSE;
        }
        for (guint i = 0; i < level->len; i++) {
            const QomItem *parent = g_ptr_array_index(level, i);

            g_ptr_array_extend(next, parent->children, NULL, NULL);
        }
        g_ptr_array_unref(level);
        level = g_steal_pointer(&next);
    }
    return TRUE;
}

/* Takes what qom-tree-get returns. */
static gboolean item_take_tree(QomItem *item, JsonSlice node, GError **error)
{
    JsonSlice children, child;
    JsonWalk walk;

    if (json_kind(node) != JSON_OBJECT || !item_take_properties(item, json_member(node, "properties"), error)) {
        return qom_fail_shape("an object without properties", error);
    }
    children = json_member(node, "children");
    if (children.length == 0 || json_kind(children) != JSON_ARRAY) {
        return qom_fail_shape("an object without children", error);
    }
    walk = json_walk(children);
    while (json_walk_element(&walk, &child)) {
        g_autofree char *name =
            json_kind(child) == JSON_OBJECT ? json_string_dup(json_member(child, "name"), NULL) : NULL;

        if (name == NULL) {
            return qom_fail_shape("an object without name", error);
        }
        item_add_child(item, name);
        if (!item_take_tree(g_ptr_array_index(item->children, item->children->len - 1), child, error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* One command in all. */
static gboolean fetch_tree_get(QmpClient *qmp, QomItem *item, GError **error)
{
    JsonSlice node;

    return qom_call_path(qmp, "qom-tree-get", item_qmp_path(item), &node, error) && item_take_tree(item, node, error);
}

static const struct {
    const char *name;
    gboolean (*fetch)(QmpClient *qmp, QomItem *item, GError **error);
} methods[] = {
    {"get", fetch_get},
    {"list-get", fetch_list_get},
    {"list-getv", fetch_list_getv},
    {"tree-get", fetch_tree_get},
};

/* Without --method: the best that the server has. */
static gboolean fetch_somehow(QmpClient *qmp, QomItem *item, GError **error)
{
    for (guint i = G_N_ELEMENTS(methods); i-- > 0;) {
        g_autoptr(GError) problem = NULL;

        if (methods[i].fetch(qmp, item, &problem)) {
            return TRUE;
        }
        if (i == 0 || !g_error_matches(problem, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND)) {
            g_propagate_error(error, g_steal_pointer(&problem));
            return FALSE;
        }
    }
    return FALSE;
}

gboolean qom_item_fetch(QmpClient *qmp, QomItem *item, const char *method, GError **error)
{
    if (method == NULL) {
        return fetch_somehow(qmp, item, error);
    }
    for (guint i = 0; i < G_N_ELEMENTS(methods); i++) {
        if (strcmp(method, methods[i].name) == 0) {
            return methods[i].fetch(qmp, item, error);
        }
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "there is no method '%s'", method);
    return FALSE;
}
