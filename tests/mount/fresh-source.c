/* SPDX-License-Identifier: MIT */
/* The source of fresh-mount: edits are made of nodes and published; what comes from other threads is
 * handed to the main loop. */
#include "tests/mount/fresh-source.h"

#include <stdio.h>
#include <string.h>

#include "objmodel/error.h"
#include "tests/mount/fresh-tree.h"
#include "vmm/views.h"

#define LATE "qom/late"
#define WIDE_CHILDREN 2000
#define MANY_PROPERTIES 300
/* The longest text of a storm. */
#define STORM_TEXT_MAX 20000

/* ---- publishing ---- */

guint64 fresh_publish(Fresh *fresh, guint64 stamp)
{
    guint64 generation = snapshots_next_generation(fresh->source.snapshots);
    VmView vm = {.name = "fresh", .status = "running", .source = "model", .generation = generation, .connected = TRUE};
    g_autoptr(Node) vm_node = view_vm_new(&vm, fresh->root ? views_get(fresh->root, VIEW_VM) : NULL, stamp);
    Node *nodes[N_VIEWS] = {[VIEW_QOM] = fresh->qom, [VIEW_VM] = vm_node};
    Node *root = views_root_new(nodes, fresh->root, stamp);
    node_unref(fresh->root);
    fresh->root = root;
    snapshots_publish(fresh->source.snapshots, root, stamp);
    return generation;
}

guint64 fresh_stamp(Fresh *fresh)
{
    return snapshots_next_stamp(fresh->source.snapshots, 0);
}

/* Edits the tree, to be published later. FALSE where there is no such path. */
static gboolean edit_tree(Fresh *fresh, const char *path, FreshEdit edit, gpointer opaque, guint64 stamp)
{
    Node *qom = fresh_edit(fresh->qom, path, edit, opaque, stamp);
    if (!qom)
        return FALSE;
    node_unref(fresh->qom);
    fresh->qom = qom;
    return TRUE;
}

/* ---- edits ---- */

typedef struct Setting {
    const char *property;
    const char *value;
    gboolean done;
} Setting;

static Node *edit_set(const Node *node, guint64 stamp, gpointer opaque)
{
    Setting *setting = opaque;
    int slot = node_find_slot(node, setting->property);
    if (slot < 0)
        return node_ref(node);
    setting->done = TRUE;
    return fresh_with_value(node, (guint)slot, setting->value, stamp);
}

gboolean fresh_set_value(Fresh *fresh, const char *path, const char *property, const char *value, guint64 stamp)
{
    Setting setting = {.property = property, .value = value};
    return edit_tree(fresh, path, edit_set, &setting, stamp) && setting.done;
}

static Node *edit_add(const Node *node, guint64 stamp, gpointer child)
{
    g_autoptr(Children) children = children_with(node->children, NULL, child);
    return node_with_children(node, children, stamp);
}

gboolean fresh_add(Fresh *fresh, const char *path, const char *name, guint64 stamp)
{
    char number[32];
    snprintf(number, sizeof number, "%" G_GUINT64_FORMAT, ++fresh->guests);
    FreshProperty properties[] = {
        {.name = "type", .type = "string", .value = "\"guest\""},
        {.name = "n", .type = "uint64", .value = number},
    };
    g_autoptr(Node) guest = fresh_object(name, properties, G_N_ELEMENTS(properties), NULL, NULL, stamp);
    return edit_tree(fresh, path, edit_add, guest, stamp);
}

static Node *edit_delete(const Node *node, guint64 stamp, gpointer opaque)
{
    (void)node, (void)stamp, (void)opaque;
    return NULL;
}

gboolean fresh_delete(Fresh *fresh, const char *path, guint64 stamp)
{
    return edit_tree(fresh, path, edit_delete, NULL, stamp);
}

/* ---- the tree at the beginning ---- */

/* Its values are one higher each time that they are looked at. */
typedef struct Ticker {
    Sampler base;
    guint64 count; /* atomic */
} Ticker;

static void ticker_fill(Sampler *sampler, GString *out)
{
    guint64 count = __atomic_add_fetch(&((Ticker *)sampler)->count, 1, __ATOMIC_RELAXED);
    g_string_append_printf(out,
                           "{\"name\":\"type\",\"type\":\"string\",\"value\":\"ticker\"},"
                           "{\"name\":\"a\",\"type\":\"uint64\",\"value\":%" G_GUINT64_FORMAT "},"
                           "{\"name\":\"b\",\"type\":\"uint64\",\"value\":%" G_GUINT64_FORMAT "}",
                           count, count);
}

static void ticker_free(Sampler *sampler)
{
    g_free(sampler);
}

static Node *ticker_object(const char *name, guint64 stamp)
{
    Ticker *ticker = g_new0(Ticker, 1);
    g_atomic_ref_count_init(&ticker->base.refs);
    ticker->base.fill = ticker_fill;
    ticker->base.free = ticker_free;
    ticker->count = G_GUINT64_CONSTANT(1) << 62; /* many digits, always as many */
    g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, ticker->count);
    FreshProperty properties[] = {
        {.name = "type", .type = "string", .value = "\"ticker\""},
        {.name = "a", .type = "uint64", .value = number, .flags = SLOT_MOVING},
        {.name = "b", .type = "uint64", .value = number, .flags = SLOT_MOVING},
    };
    Node *node = fresh_object(name, properties, G_N_ELEMENTS(properties), NULL, &ticker->base, stamp);
    sampler_unref(&ticker->base);
    return node;
}

static Node *container(const char *name, Children *children, guint64 stamp)
{
    FreshProperty type = {.name = "type", .type = "string", .value = "\"container\""};
    return fresh_object(name, &type, 1, children, NULL, stamp);
}

/* A container of these objects, whose references it takes over. */
static Node *container_of(const char *name, Node *const *nodes, guint n, guint64 stamp)
{
    g_autoptr(Children) children = children_new(nodes, n);
    for (guint i = 0; i < n; i++)
        node_unref(nodes[i]);
    return container(name, children, stamp);
}

static Node *plain_object(const char *name, guint64 stamp)
{
    FreshProperty properties[] = {
        {.name = "type", .type = "string", .value = "\"plain\""},
        {.name = "n", .type = "uint64", .value = "0", .flags = SLOT_WRITABLE},
        {.name = "text", .type = "string", .value = "\"\"", .flags = SLOT_WRITABLE},
    };
    return fresh_object(name, properties, G_N_ELEMENTS(properties), NULL, NULL, stamp);
}

static Node *wide_object(guint64 stamp)
{
    Node *nodes[WIDE_CHILDREN];
    for (guint i = 0; i < WIDE_CHILDREN; i++) {
        char name[8];
        snprintf(name, sizeof name, "w%04u", i);
        nodes[i] = plain_object(name, stamp);
    }
    return container_of("wide", nodes, WIDE_CHILDREN, stamp);
}

static Node *many_object(guint64 stamp)
{
    FreshProperty properties[MANY_PROPERTIES + 1] = {{.name = "type", .type = "string", .value = "\"many\""}};
    char names[MANY_PROPERTIES + 1][8];
    for (guint i = 1; i <= MANY_PROPERTIES; i++) {
        snprintf(names[i], sizeof names[i], "p%03u", i - 1);
        properties[i] = (FreshProperty){.name = names[i], .type = "uint64", .value = "0"};
    }
    return fresh_object("many", properties, G_N_ELEMENTS(properties), NULL, NULL, stamp);
}

static Node *first_tree(guint64 stamp)
{
    Node *pair[] = {plain_object("front", stamp), plain_object("back", stamp)};
    Node *nodes[] = {
        container_of("pair", pair, G_N_ELEMENTS(pair), stamp),
        container("come", NULL, stamp),
        many_object(stamp),
        wide_object(stamp),
        ticker_object("moving", stamp),
        plain_object("late", stamp),
    };
    return container_of("qom", nodes, G_N_ELEMENTS(nodes), stamp);
}

/* ---- the storm ---- */

static gboolean storm(gpointer opaque)
{
    Fresh *fresh = opaque;
    guint64 stamp = fresh_stamp(fresh), count = ++fresh->storm_count;
    g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, count);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *guest = g_strdup_printf("guest-%" G_GUINT64_FORMAT, count / 4);
    g_autofree char *guest_path = g_strdup_printf("come/guest-%" G_GUINT64_FORMAT, count / 4 - MIN(count / 4, 3));

    g_string_append_printf(text, "\"%s ", number);
    for (guint64 i = 0; i < count * 7919 % STORM_TEXT_MAX; i++)
        g_string_append_c(text, (char)('a' + (count + i) % 26));
    g_string_append_c(text, '"');
    fresh_set_value(fresh, "pair/front", "n", number, stamp);
    fresh_set_value(fresh, "pair/back", "n", number, stamp);
    fresh_set_value(fresh, "pair/back", "text", text->str, stamp);
    if (count % 4 == 0)
        fresh_add(fresh, "come", guest, stamp);
    else if (count % 4 == 2)
        fresh_delete(fresh, guest_path, stamp);
    fresh_publish(fresh, stamp);
    /* A GLib timer is no finer than a millisecond. */
    g_usleep(fresh->storm_us);
    return G_SOURCE_CONTINUE;
}

void fresh_storm_end(Fresh *fresh)
{
    if (!fresh->storm)
        return;
    g_source_destroy(fresh->storm);
    g_clear_pointer(&fresh->storm, g_source_unref);
}

void fresh_storm_begin(Fresh *fresh, guint us)
{
    fresh_storm_end(fresh);
    fresh->storm_us = us;
    fresh->storm = g_idle_source_new();
    g_source_set_priority(fresh->storm, G_PRIORITY_DEFAULT);
    g_source_set_callback(fresh->storm, storm, fresh, NULL);
    g_source_attach(fresh->storm, fresh->context);
}

/* ---- the source ---- */

typedef struct Fetch {
    Fresh *fresh;
    SourceDone done;
    void *opaque;
    GSource *timer; /* NULL: it is never answered */
} Fetch;

/* On the main loop. */
static gboolean fetch_answer(gpointer opaque)
{
    Fetch *fetch = opaque;
    Fresh *fresh = fetch->fresh;
    guint64 stamp = fresh_stamp(fresh);
    g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, ++fresh->fetched);

    fresh_set_value(fresh, "late", "n", number, stamp);
    fresh_publish(fresh, stamp);
    gint64 until = g_get_monotonic_time() + (gint64)g_atomic_int_get(&fresh->current_ms) * 1000;
    __atomic_store_n(&fresh->current_until, until, __ATOMIC_RELAXED);
    fetch->done(NULL, fetch->opaque);
    g_queue_remove(&fresh->fetches, fetch);
    g_source_unref(fetch->timer);
    g_free(fetch);
    return G_SOURCE_REMOVE;
}

static gboolean fetch_begin(gpointer opaque)
{
    Fetch *fetch = opaque;
    int delay = g_atomic_int_get(&fetch->fresh->delay_ms);

    g_queue_push_tail(&fetch->fresh->fetches, fetch);
    if (delay >= 0) {
        fetch->timer = g_timeout_source_new((guint)delay);
        g_source_set_callback(fetch->timer, fetch_answer, fetch, NULL);
        g_source_attach(fetch->timer, fetch->fresh->context);
    }
    return G_SOURCE_REMOVE;
}

static void fresh_fetch(Source *source, const char *path, const char *property, SourceScope scope, SourceDone done,
                        void *opaque)
{
    Fetch *fetch = g_new0(Fetch, 1);
    (void)path, (void)property, (void)scope;
    *fetch = (Fetch){.fresh = (Fresh *)source, .done = done, .opaque = opaque};
    g_main_context_invoke(fetch->fresh->context, fetch_begin, fetch);
}

/* What stands in qom/late is known, but its values are not current. */
static gboolean fresh_wants_fetch(Source *source, const char *path, const char *property, SourceScope scope)
{
    (void)property;
    if (__atomic_load_n(&((Fresh *)source)->current_until, __ATOMIC_RELAXED) > g_get_monotonic_time())
        return FALSE;
    return scope != SOURCE_NODE && g_str_equal(path, LATE);
}

typedef struct SetRequest {
    Fresh *fresh;
    char *path, *property, *value;
    SourceDone done;
    void *opaque;
} SetRequest;

static gboolean set_requested(gpointer opaque)
{
    SetRequest *request = opaque;
    guint64 stamp = fresh_stamp(request->fresh);
    g_autoptr(GError) error = NULL;

    if (g_str_has_prefix(request->path, "qom/") &&
        fresh_set_value(request->fresh, request->path + strlen("qom/"), request->property, request->value, stamp))
        fresh_publish(request->fresh, stamp);
    else
        g_set_error(&error, OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY, "no property '%s'", request->property);
    request->done(error, request->opaque);
    g_free(request->path);
    g_free(request->property);
    g_free(request->value);
    g_free(request);
    return G_SOURCE_REMOVE;
}

static void fresh_set(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done,
                      void *opaque)
{
    SetRequest *request = g_new(SetRequest, 1);
    *request = (SetRequest){
        .fresh = (Fresh *)source,
        .path = g_strdup(path),
        .property = g_strdup(property),
        .value = g_strndup(value.text, value.length),
        .done = done,
        .opaque = opaque,
    };
    g_main_context_invoke(request->fresh->context, set_requested, request);
}

static gboolean loop_quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void fresh_free(Source *source)
{
    Fresh *fresh = (Fresh *)source;
    g_autoptr(GError) gone = g_error_new_literal(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "it ends");

    /* From the loop itself: one that does not run yet would miss it. Before a storm, which never
     * leaves the loop idle. */
    g_autoptr(GSource) end = g_idle_source_new();
    g_source_set_priority(end, G_PRIORITY_HIGH);
    g_source_set_callback(end, loop_quit, fresh->loop, NULL);
    g_source_attach(end, fresh->context);
    g_thread_join(fresh->thread);
    fresh_storm_end(fresh);
    for (Fetch *fetch; (fetch = g_queue_pop_head(&fresh->fetches));) {
        if (fetch->timer) {
            g_source_destroy(fetch->timer);
            g_source_unref(fetch->timer);
        }
        fetch->done(gone, fetch->opaque);
        g_free(fetch);
    }
    node_unref(fresh->root);
    node_unref(fresh->qom);
    snapshots_free(fresh->source.snapshots);
    g_main_loop_unref(fresh->loop);
    g_main_context_unref(fresh->context);
    g_free(fresh);
}

static const SourceOps fresh_ops = {
    .fetch = fresh_fetch,
    .wants_fetch = fresh_wants_fetch,
    .set = fresh_set,
    .free = fresh_free,
};

static gpointer main_loop(gpointer opaque)
{
    Fresh *fresh = opaque;
    g_main_context_push_thread_default(fresh->context);
    g_main_loop_run(fresh->loop);
    g_main_context_pop_thread_default(fresh->context);
    return NULL;
}

Fresh *fresh_new(void)
{
    Fresh *fresh = g_new0(Fresh, 1);
    fresh->source =
        (Source){.ops = &fresh_ops, .snapshots = snapshots_new(), .property_mode = 0644, .read_only_mode = 0444};
    fresh->context = g_main_context_new();
    fresh->loop = g_main_loop_new(fresh->context, FALSE);
    g_queue_init(&fresh->fetches);

    guint64 stamp = fresh_stamp(fresh);
    fresh->qom = first_tree(stamp);
    fresh_publish(fresh, stamp);

    fresh->thread = g_thread_new("main loop", main_loop, fresh);
    return fresh;
}
