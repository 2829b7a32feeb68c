/* SPDX-License-Identifier: MIT */
/*
 * Publishing follows the marks down from the root. An object whose text is marked is rendered;
 * one that only has marked children gets its old node with another list of children.
 */
#include "objmodel/publish.h"

#include <string.h>

#include "objmodel/name.h"
#include "objmodel/property.h"

struct Publisher {
    Object *root; /* a reference */
    char *file_name;
    ShapePool *shapes; /* of objects that have properties of their own */
    guint n_shapes;    /* asked of it */
    guint64 stamp;     /* of the publication under way */

    /* Memory that is used again for each object. */
    GString *text;
    GArray *slots;     /* NodeSlot */
    GPtrArray *errors; /* char * or NULL, by slot */
    gboolean any_error;
};

Publisher *publisher_new(Object *root, const char *file_name)
{
    Publisher *publisher = g_new0(Publisher, 1);
    publisher->root = object_ref(root);
    publisher->file_name = g_strdup(file_name);
    publisher->shapes = shape_pool_new();
    publisher->text = g_string_new(NULL);
    publisher->slots = g_array_new(FALSE, FALSE, sizeof(NodeSlot));
    publisher->errors = g_ptr_array_new_with_free_func(g_free);
    return publisher;
}

void publisher_free(Publisher *publisher)
{
    if (!publisher)
        return;
    object_unref(publisher->root);
    g_free(publisher->file_name);
    shape_pool_free(publisher->shapes);
    g_string_free(publisher->text, TRUE);
    g_array_unref(publisher->slots);
    g_ptr_array_unref(publisher->errors);
    g_free(publisher);
}

gboolean publisher_has_changes(const Publisher *publisher)
{
    return publisher->root->marks != 0 || publisher->root->first_marked;
}

/* ---- values that move ---- */

/*
 * Writes an object's text with the moving values of the moment: all else is copied from the
 * text that was published. It outlives the object: it has references to all that it reads.
 */
typedef struct ObjectSampler {
    Sampler base;
    Shared *shared;
    GBytes *text;
    guint n;
    struct MovingSlot {
        NodeSlot slot;
        Property prop; /* a copy: the class may go before the last snapshot does */
    } slots[];
} ObjectSampler;

static void object_sampler_fill(Sampler *base, GString *out)
{
    const ObjectSampler *sampler = (const ObjectSampler *)base;
    gsize length, at = 0;
    const char *text = g_bytes_get_data(sampler->text, &length);
    Shared *moment = shared_moment(sampler->shared);

    for (guint i = 0; i < sampler->n; i++) {
        const struct MovingSlot *moving = &sampler->slots[i];
        g_string_append_len(out, text + at, (gssize)(moving->slot.value - at));
        moving->prop.sample(moment, &moving->prop, out);
        at = moving->slot.value + moving->slot.length;
    }
    g_string_append_len(out, text + at, (gssize)(length - at));
    shared_unref(moment);
}

static void object_sampler_free(Sampler *base)
{
    ObjectSampler *sampler = (ObjectSampler *)base;
    shared_unref(sampler->shared);
    g_bytes_unref(sampler->text);
    g_free(sampler);
}

/* NULL where nothing of the object moves. */
static Sampler *object_sampler_new(Object *object, GBytes *text, const NodeSlot *slots)
{
    guint n_props = object_prop_count(object), n = 0;
    ObjectSampler *sampler;

    if (!object_shared(object))
        return NULL;
    sampler = g_malloc0(sizeof(ObjectSampler) + n_props * sizeof(struct MovingSlot));
    g_atomic_ref_count_init(&sampler->base.refs);
    sampler->base.fill = object_sampler_fill;
    sampler->base.free = object_sampler_free;
    sampler->shared = shared_ref(object_shared(object));
    sampler->text = g_bytes_ref(text);
    for (guint i = 0; i < n_props; i++) {
        const Property *prop = object_prop(object, i);
        if (prop->kind == PROP_KIND_MOVING)
            sampler->slots[n++] = (struct MovingSlot){.slot = slots[i], .prop = *prop};
    }
    sampler->n = n;
    return &sampler->base;
}

/* ---- one object's text ---- */

static void append_head(const Object *object, guint index, GString *out)
{
    if (index < class_prop_count(object->class))
        json_append_slice(out, class_prop_head(object->class, index));
    else
        property_append_head(object_prop(object, index), out);
}

static void render_property(Publisher *publisher, Object *object, guint index)
{
    GString *text = publisher->text;
    g_autoptr(GError) error = NULL;
    NodeSlot slot = {0};

    if (index > 0)
        g_string_append_c(text, ',');
    slot.entry = (guint32)text->len;
    append_head(object, index, text);
    slot.value = (guint32)text->len;
    if (object_append_value(object, index, text, &error)) {
        slot.length = (guint32)(text->len - slot.value);
    } else {
        g_string_truncate(text, slot.value - strlen(PROPERTY_HEAD_VALUE));
        publisher->any_error = TRUE;
    }
    g_string_append_c(text, '}');
    g_array_append_val(publisher->slots, slot);
    g_ptr_array_add(publisher->errors, error ? g_strdup(error->message) : NULL);
}

/* So many shapes are asked of a pool before another takes its place. */
enum { SHAPES_MAX = 4096 };

/* The shape of an object that has properties of its own. */
static Shape *own_shape(Publisher *publisher, Object *object)
{
    Shape **shape = object_own_shape(object);
    guint n = object_prop_count(object);
    g_autofree SlotInfo *infos = NULL;
    g_autofree char **texts = NULL;

    if (*shape)
        return *shape;
    /* A bus numbers its devices ever higher, so that no shape comes back: let go of those that nobody has. */
    if (++publisher->n_shapes > SHAPES_MAX) {
        shape_pool_free(publisher->shapes);
        publisher->shapes = shape_pool_new();
        publisher->n_shapes = 0;
    }
    infos = g_new0(SlotInfo, n);
    texts = g_new0(char *, 2 * (gsize)n);
    for (guint i = 0; i < n; i++)
        property_slot_info(object_prop(object, i), &infos[i], &texts[2 * (gsize)i], &texts[2 * (gsize)i + 1]);
    *shape = shape_pool_get(publisher->shapes, infos, n);
    for (guint i = 0; i < 2 * n; i++)
        g_free(texts[i]);
    return *shape;
}

static Node *render(Publisher *publisher, Object *object, Children *children)
{
    guint n = object_prop_count(object);
    const char *name = object->parent ? object->name : "/";
    g_autofree char *encoded = object->parent ? file_name_encode(name, strlen(name)) : NULL;
    g_autoptr(GString) json_name = NULL;
    g_autoptr(GBytes) bytes = NULL;
    Sampler *sampler;
    NodeSpec spec;
    Node *node;

    g_string_truncate(publisher->text, 0);
    g_array_set_size(publisher->slots, 0);
    g_ptr_array_set_size(publisher->errors, 0);
    publisher->any_error = FALSE;
    for (guint i = 0; i < n; i++)
        render_property(publisher, object, i);
    bytes = g_bytes_new(publisher->text->str, publisher->text->len);
    sampler = object_sampler_new(object, bytes, (const NodeSlot *)(gpointer)publisher->slots->data);

    spec = (NodeSpec){
        .kind = NODE_OBJECT,
        .name = encoded ? encoded : publisher->file_name,
        .shape = object_has_own_props(object) ? own_shape(publisher, object) : class_shape(object->class),
        .bytes = bytes,
        .slots = (NodeSlot *)(gpointer)publisher->slots->data,
        .slot_errors = publisher->any_error ? (gpointer)publisher->errors->pdata : NULL,
        .children = children,
        .sampler = sampler,
        .previous = object->node,
        .stamp = publisher->stamp,
    };
    spec.text.text = g_bytes_get_data(bytes, &spec.text.length);
    if (strcmp(spec.name, name) != 0) { /* the JSON has the name as it is */
        json_name = g_string_new(NULL);
        json_append_string(json_name, name, -1);
        spec.json_name = (JsonSlice){json_name->str, json_name->len};
    }
    node = node_new(&spec);
    sampler_unref(sampler);
    return node;
}

/* ---- the tree ---- */

static void publish_object(Publisher *publisher, Object *object);

/* Takes the next child from the list of those that are marked; NULL at the end. */
static Object *take_marked(Object *object)
{
    Object *child = object->first_marked;
    if (!child)
        return NULL;
    object->first_marked = child->next_marked;
    if (!object->first_marked)
        object->last_marked = NULL;
    child->next_marked = NULL;
    child->marks &= (guint8)~OBJECT_MARK_QUEUED;
    return child;
}

/* All children are new. */
static Children *first_children(Publisher *publisher, Object *object)
{
    g_autofree Node **nodes = g_new(Node *, object->n_children);
    guint n = 0;

    while (take_marked(object))
        ;
    for (Object *child = object->first_child; child; child = child->next) {
        publish_object(publisher, child);
        nodes[n++] = child->node;
    }
    return children_new(nodes, n);
}

static Children *next_children(Publisher *publisher, Object *object)
{
    Children *list = children_ref(object->node->children);
    GPtrArray *removed = object_removed_nodes(object);
    Object *child;

    for (guint i = 0; removed && i < removed->len; i++) {
        g_autoptr(Children) before = list;
        list = children_with(before, removed->pdata[i], NULL);
    }
    if (removed)
        g_ptr_array_set_size(removed, 0);
    while ((child = take_marked(object))) {
        g_autoptr(Node) old = child->node ? node_ref(child->node) : NULL;
        publish_object(publisher, child);
        if (child->node != old) {
            g_autoptr(Children) before = list;
            list = children_with(before, old, child->node);
        }
    }
    return list;
}

/* Makes the object's node the current one. */
static void publish_object(Publisher *publisher, Object *object)
{
    gboolean new_children = object->first_marked || (object->marks & OBJECT_MARK_CHILDREN);
    g_autoptr(Children) children = NULL;
    Node *node;

    if (!object->node)
        children = first_children(publisher, object);
    else
        children = new_children ? next_children(publisher, object) : children_ref(object->node->children);

    if (!object->node || (object->marks & OBJECT_MARK_TEXT))
        node = render(publisher, object, children);
    else if (children != object->node->children)
        node = node_with_children(object->node, children, publisher->stamp);
    else
        node = node_ref(object->node);
    node_unref(object->node);
    object->node = node;
    object->marks &= (guint8) ~(OBJECT_MARK_TEXT | OBJECT_MARK_CHILDREN);
}

Node *publisher_publish(Publisher *publisher, guint64 stamp)
{
    publisher->stamp = stamp;
    publish_object(publisher, publisher->root);
    return node_ref(publisher->root->node);
}
