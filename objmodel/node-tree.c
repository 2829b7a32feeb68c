/* SPDX-License-Identifier: MIT */
/*
 * A subtree as JSON, as .tree.json and qom-tree-get have it: how long it is, which is known
 * when a node is made, and its bytes, which are put together when somebody wants them. Any thread.
 */
#include "objmodel/node-tree.h"

#include <string.h>

#include "objmodel/children.h"

#define OBJECT_HEAD "{\"name\":"
#define OBJECT_CHILDREN ",\"children\":["
#define OBJECT_PROPERTIES "],\"properties\":["
#define OBJECT_TAIL "]}"
#define LENGTH(literal) (sizeof(literal) - 1)

/* Bytes from which on what was rendered of a subtree may be kept. */
enum { RENDERED_MIN = 4096 };

/* ---- its size ---- */

/* The next child that stands in the JSON of the node that it is a child of. */
static const Node *next_in_tree(ChildrenIter *iter)
{
    const Node *child = children_next(iter);
    while (child && child->kind == NODE_FOLDER)
        child = children_next(iter);
    return child;
}

/* The bytes between a map's braces. */
static gsize map_members_size(const Node *node)
{
    g_autoptr(GString) names = g_string_new(NULL);
    gsize size = 0;
    ChildrenIter iter = children_iter(node->children, 0);
    for (const Node *child; (child = next_in_tree(&iter));) {
        if (names->len)
            g_string_append_c(names, ',');
        json_append_string(names, child->name, -1);
        g_string_append_c(names, ':');
        size += child->tree_size;
    }
    return size + names->len;
}

void node_measure_tree(Node *node)
{
    gsize children = children_tree_size(node->children);
    node->tree_moving = node->kind != NODE_FOLDER && (node->sampler || children_moving(node->children));
    switch (node->kind) {
    case NODE_OBJECT:
        node->tree_size = LENGTH(OBJECT_HEAD OBJECT_CHILDREN OBJECT_PROPERTIES OBJECT_TAIL) + node->json_name.length +
                          children + node->text.length;
        break;
    case NODE_RECORD:
    case NODE_VALUE:
        node->tree_size = node->text.length;
        break;
    case NODE_FOLDER:
        node->tree_size = 0;
        break;
    case NODE_LIST:
        node->tree_size = LENGTH("[]") + children;
        break;
    case NODE_MAP:
        node->tree_size = LENGTH("{}") + map_members_size(node);
        break;
    }
}

gsize node_tree_size(const Node *node)
{
    return node->tree_size;
}

/* ---- its bytes ---- */

static char *put(char *at, const char *bytes, gsize length)
{
    if (length > 0) /* bytes of nothing may be NULL */
        memcpy(at, bytes, length);
    return at + length;
}

#define PUT_LITERAL(at, literal) put(at, literal, LENGTH(literal))

/* What stands before a node's children. */
static char *put_head(char *at, const Node *node)
{
    switch (node->kind) {
    case NODE_OBJECT:
        at = PUT_LITERAL(at, OBJECT_HEAD);
        at = put(at, node->json_name.text, node->json_name.length);
        return PUT_LITERAL(at, OBJECT_CHILDREN);
    case NODE_LIST:
        return PUT_LITERAL(at, "[");
    case NODE_MAP:
        return PUT_LITERAL(at, "{");
    case NODE_RECORD:
    case NODE_VALUE:
    case NODE_FOLDER:
        break;
    }
    return at;
}

static const char *closing(const Node *node)
{
    return node->kind == NODE_LIST ? "]" : node->kind == NODE_MAP ? "}" : node->kind == NODE_OBJECT ? OBJECT_TAIL : "";
}

static char *put_member_name(char *at, const Node *child)
{
    g_autoptr(GString) name = g_string_new(NULL);
    json_append_string(name, child->name, -1);
    g_string_append_c(name, ':');
    return put(at, name->str, name->len);
}

/* Whether the children's JSON stands in the node's as it is. */
static gboolean stands_with_children(const Node *node)
{
    return node->kind == NODE_OBJECT || node->kind == NODE_LIST || node->kind == NODE_MAP;
}

/* Whether what was rendered of a subtree is kept: it is large, and mostly made of small pieces. */
static gboolean keeps_rendered(const Node *node)
{
    return node->tree_size >= RENDERED_MIN && node->text.length < node->tree_size / 2;
}

/* A subtree that has just been written for the second time is likely to be wanted again: after a
 * change somewhere else all of it is copied in one go, instead of piece by piece from all over the memory. */
static void keep_rendered(const Node *node, const char *tree)
{
    Node *mine = (Node *)node;
    if (g_atomic_int_add(&mine->renders, 1) != 1)
        return;
    char *copy = g_memdup2(tree, node->tree_size);
    g_atomic_pointer_set(&mine->rendered, copy); /* nobody else is the second */
}

static char *put_tree_anew(char *at, const Node *node);

/* A subtree in which nothing moves, to memory that has room for its tree_size. In large trees the
 * function calls of a GString cost more than the copying. */
static char *put_tree(char *at, const Node *node)
{
    if (!keeps_rendered(node))
        return put_tree_anew(at, node);
    const char *rendered = g_atomic_pointer_get(&((Node *)node)->rendered);
    if (rendered)
        return put(at, rendered, node->tree_size);
    char *end = put_tree_anew(at, node);
    keep_rendered(node, at);
    return end;
}

static char *put_tree_anew(char *at, const Node *node)
{
    at = put_head(at, node);
    if (stands_with_children(node)) {
        ChildrenIter iter = children_iter(node->children, 0);
        gboolean first = TRUE;
        for (const Node *child; (child = next_in_tree(&iter)); first = FALSE) {
            if (!first)
                at = PUT_LITERAL(at, ",");
            if (node->kind == NODE_MAP)
                at = put_member_name(at, child);
            at = put_tree(at, child);
        }
    }
    if (node->kind == NODE_OBJECT)
        at = PUT_LITERAL(at, OBJECT_PROPERTIES);
    at = put(at, node->text.text, node->text.length);
    return put(at, closing(node), strlen(closing(node)));
}

static void append_static_tree(const Node *node, GString *out)
{
    gsize before = out->len;
    g_string_set_size(out, before + node->tree_size);
    char *end = put_tree(out->str + before, node);
    g_assert(end == out->str + out->len);
}

static void append_head(const Node *node, GString *out)
{
    gsize before = out->len;
    g_string_set_size(out, before + LENGTH(OBJECT_HEAD OBJECT_CHILDREN) + node->json_name.length);
    g_string_truncate(out, (gsize)(put_head(out->str + before, node) - out->str));
}

static void append_children(const Node *node, GString *out)
{
    ChildrenIter iter = children_iter(node->children, 0);
    gboolean first = TRUE;
    for (const Node *child; (child = next_in_tree(&iter)); first = FALSE) {
        if (!first)
            g_string_append_c(out, ',');
        if (node->kind == NODE_MAP) {
            json_append_string(out, child->name, -1);
            g_string_append_c(out, ':');
        }
        node_append_tree(child, out);
    }
}

void node_append_tree(const Node *node, GString *out)
{
    if (!node->tree_moving) {
        append_static_tree(node, out);
        return;
    }
    append_head(node, out);
    if (stands_with_children(node))
        append_children(node, out);
    if (node->kind == NODE_OBJECT)
        g_string_append_len(out, OBJECT_PROPERTIES, LENGTH(OBJECT_PROPERTIES));
    if (node->sampler)
        node->sampler->fill(node->sampler, out);
    else
        json_append_slice(out, node->text);
    g_string_append(out, closing(node));
}
