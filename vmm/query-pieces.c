/* SPDX-License-Identifier: MIT */
/* See query-pieces.h. */
#include "vmm/query-pieces.h"

#include "vmm/qmp-path.h"

gboolean query_is_a(const QueryInput *in, const Node *node, const char *type)
{
    g_autofree char *name = json_string_dup(node_type(node), NULL);
    const Class *class = name ? types_find(vm_types(in->vm), name) : NULL;

    return class && class_is_a(class, type);
}

void query_each(const QueryInput *in, const char *container, const char *type, QueryFound found, gpointer opaque)
{
    g_autoptr(GString) path = g_string_new(NULL);
    const Node *parent = qmp_path_resolve(views_get(in->snapshot->root, VIEW_QOM), container, path, NULL), *node;
    gsize length = path->len;
    ChildrenIter iter;

    if (!parent)
        return;
    iter = children_iter(parent->children, 0);
    while ((node = children_next(&iter))) {
        if (!query_is_a(in, node, type))
            continue;
        qmp_path_append(path, node);
        found(&(QueryObject){in, node, path->str}, opaque);
        g_string_truncate(path, length);
    }
}

void query_each_device(const QueryInput *in, const char *type, QueryFound found, gpointer opaque)
{
    query_each(in, "/machine/peripheral", type, found, opaque);
    query_each(in, "/machine/peripheral-anon", type, found, opaque);
}

JsonSlice query_slot(const Node *node, const char *property)
{
    int slot = node_find_slot(node, property);

    return slot >= 0 ? node_slot_value(node, (guint)slot) : (JsonSlice){NULL, 0};
}

guint64 query_number(const Node *node, const char *property)
{
    JsonSlice value = query_slot(node, property);
    guint64 number = 0;

    return value.length && json_to_uint64(value, &number) ? number : 0;
}

void query_append_comma(GString *out)
{
    char last = out->len ? out->str[out->len - 1] : '[';

    if (last != '[' && last != '{')
        g_string_append_c(out, ',');
}

void query_append_slot(GString *out, const Node *node, const char *property, const char *name)
{
    JsonSlice value = query_slot(node, property);

    if (!value.length)
        return;
    query_append_comma(out);
    json_append_string(out, name ? name : property, -1);
    g_string_append_c(out, ':');
    json_append_slice(out, value);
}
