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

static const char *opening(const Node *node)
{
    return node->kind == NODE_LIST ? "[" : node->kind == NODE_MAP ? "{" : node->kind == NODE_OBJECT ? OBJECT_HEAD : "";
}

static const char *closing(const Node *node)
{
    return node->kind == NODE_LIST ? "]" : node->kind == NODE_MAP ? "}" : node->kind == NODE_OBJECT ? OBJECT_TAIL : "";
}

/* What stands before a node's children. */
static char *put_head(char *at, const Node *node)
{
    at = put(at, opening(node), strlen(opening(node)));
    if (node->kind == NODE_OBJECT) {
        at = put(at, node->json_name.text, node->json_name.length);
        at = PUT_LITERAL(at, OBJECT_CHILDREN);
    }
    return at;
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

static char *put_tree_anew(char *at, const Node *node);

/* What is kept of a subtree, or NULL. When it is wanted for the second time it is likely to be wanted again: after a
 * change somewhere else all of it is then there in one piece, instead of scattered all over the memory. */
static const char *rendered_tree(const Node *node)
{
    if (!keeps_rendered(node))
        return NULL;
    Node *mine = (Node *)node;
    char *rendered = g_atomic_pointer_get(&mine->rendered);
    if (rendered || g_atomic_int_add(&mine->renders, 1) != 1)
        return rendered;
    rendered = g_malloc(node->tree_size);
    put_tree_anew(rendered, node);
    g_atomic_pointer_set(&mine->rendered, rendered); /* nobody else is the second */
    return rendered;
}

/* A subtree in which nothing moves, to memory that has room for its tree_size. In large trees the
 * function calls of a GString cost more than the copying. */
static char *put_tree(char *at, const Node *node)
{
    const char *rendered = rendered_tree(node);
    return rendered ? put(at, rendered, node->tree_size) : put_tree_anew(at, node);
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

static void add_literal(Pieces *out, const char *literal)
{
    pieces_add(out, literal, strlen(literal));
}

static void add_head(Pieces *out, const Node *node)
{
    add_literal(out, opening(node));
    if (node->kind == NODE_OBJECT) {
        pieces_add(out, node->json_name.text, node->json_name.length);
        add_literal(out, OBJECT_CHILDREN);
    }
}

static void add_member_name(Pieces *out, const Node *child)
{
    json_append_string(out->own, child->name, -1);
    g_string_append_c(out->own, ':');
    pieces_settle(out);
}

static void add_children(Pieces *out, const Node *node)
{
    ChildrenIter iter = children_iter(node->children, 0);
    gboolean first = TRUE;
    for (const Node *child; (child = next_in_tree(&iter)); first = FALSE) {
        if (!first)
            add_literal(out, ",");
        if (node->kind == NODE_MAP)
            add_member_name(out, child);
        node_tree_pieces(child, out);
    }
}

void node_tree_pieces(const Node *node, Pieces *out)
{
    const char *rendered = node->tree_moving ? NULL : rendered_tree(node);
    if (rendered) {
        pieces_add(out, rendered, node->tree_size);
        return;
    }
    if (!node->tree_moving && node->tree_size < RENDERED_MIN) {
        put_tree_anew(pieces_reserve(out, node->tree_size), node);
        return;
    }
    add_head(out, node);
    if (stands_with_children(node))
        add_children(out, node);
    if (node->kind == NODE_OBJECT)
        add_literal(out, OBJECT_PROPERTIES);
    if (node->sampler) {
        node->sampler->fill(node->sampler, out->own);
        pieces_settle(out);
    } else {
        pieces_add(out, node->text.text, node->text.length);
    }
    add_literal(out, closing(node));
}

void node_append_tree(const Node *node, GString *out)
{
    if (node->tree_moving) {
        Pieces pieces = pieces_in(out);
        node_tree_pieces(node, &pieces);
        return;
    }
    gsize before = out->len;
    g_string_set_size(out, before + node->tree_size);
    char *end = put_tree(out->str + before, node);
    g_assert(end == out->str + out->len);
}
