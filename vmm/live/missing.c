/* SPDX-License-Identifier: MIT */
/* See missing.h. */
#include "vmm/live/missing.h"

/* An object with more properties is listed, not read, to see its structure. */
#define READ_TO_LIST_MAX 64

typedef struct Search {
    const LiveKnown *known;
    const LiveNeed *need;
    LiveMissingFunc *found;
    void *opaque;
} Search;

static gboolean reads_whole(const Search *search, const LiveObject *object)
{
    return search->known->bulk && !object->secretive;
}

static gboolean property_is_current(const LiveObject *object, const LiveProperty *property, gint64 since)
{
    gboolean known = property->value != NULL || property->error != NULL;

    return property->secret || g_str_equal(property->name, "type") ||
           (known && MAX(property->at, object->valued_at) >= since);
}

static gboolean want_object(const Search *search, const LiveObject *object, LiveWantKind kind,
                            const LiveProperty *property)
{
    LiveWant want = {.kind = kind,
                     .key = object->key,
                     .path = object->path,
                     .name = property != NULL ? property->name : NULL,
                     .cost = kind == LIVE_OBJECT ? MAX(object->properties->len, 4) : 1,
                     .urgent = search->need->urgent,
                     .many = search->need->scope == SOURCE_SUBTREE};

    return search->found(&want, search->opaque);
}

/* One object's properties and, where it is said, their values. */
static gboolean missing_of_object(const Search *search, const LiveObject *object, gboolean values, gint64 since)
{
    gboolean cheap = search->need->structure;
    gint64 links_since = since - search->known->links_us;

    if (reads_whole(search, object) && (values || object->properties->len <= READ_TO_LIST_MAX || !cheap)) {
        gint64 then = values || object->valued_at == 0 ? object->valued_at : object->named_at;

        /* Of what is new it is not known how much it would be. */
        return then < since && want_object(search, object, object->named_at > 0 ? LIVE_OBJECT : LIVE_NAMES, NULL);
    }
    if (object->named_at < since) { /* its values come after its names */
        return want_object(search, object, LIVE_NAMES, NULL);
    }
    for (guint i = 0; i < object->properties->len; i++) {
        const LiveProperty *property = g_ptr_array_index(object->properties, i);
        gboolean link = g_str_has_prefix(property->type, "link<");

        if ((values || link) && !property_is_current(object, property, values ? since : MAX(links_since, 1)) &&
            want_object(search, object, LIVE_PROPERTY, property)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Whether other objects are put into it while a machine runs. */
static gboolean is_container(const LiveObject *object)
{
    return g_str_equal(object->type, "container") || object->parent == NULL || object->parent->parent == NULL;
}

/* What is below an object: all of it, or only what is new. */
static gboolean missing_below(const Search *search, const LiveObject *object)
{
    const LiveNeed *need = search->need;
    gboolean values = need->scope == SOURCE_SUBTREE;

    for (guint i = 0; i < object->children->len; i++) {
        const LiveObject *child = g_ptr_array_index(object->children, i);
        gboolean all = values || (need->structure && (!need->containers || is_container(child)));

        if ((all || child->named_at == 0 || child->properties->len == 0) &&
            missing_of_object(search, child, values, all ? need->since : 1)) {
            return TRUE;
        }
        if (missing_below(search, child)) {
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean missing_of_property(const Search *search, const LiveObject *object)
{
    const LiveNeed *need = search->need;
    const LiveProperty *property = live_object_property(object, need->property);

    if (property == NULL || property_is_current(object, property, need->since)) {
        return FALSE;
    }
    /* Of what cannot be read, only qom-get tells why. */
    if (reads_whole(search, object) && object->valued_at < need->since) {
        return want_object(search, object, LIVE_OBJECT, NULL);
    }
    return want_object(search, object, LIVE_PROPERTY, property);
}

static gboolean missing_of_tree(const Search *search, const char *key)
{
    const LiveNeed *need = search->need;
    const LiveObject *object = live_tree_find(search->known->tree, key);

    if (object == NULL) {
        return FALSE;
    }
    if (need->property != NULL && need->scope == SOURCE_PROPERTY) {
        return missing_of_property(search, object);
    }
    return missing_of_object(search, object, need->scope == SOURCE_SUBTREE || need->property != NULL, need->since) ||
           missing_below(search, object);
}

/* Commands that are to be asked for. */
static gboolean missing_commands(const Search *search, const GPtrArray *commands)
{
    for (guint i = 0; i < commands->len; i++) {
        LiveWant want = {
            .kind = LIVE_COMMAND, .name = g_ptr_array_index(commands, i), .cost = 1, .urgent = search->need->urgent};

        if (search->found(&want, search->opaque)) {
            return TRUE;
        }
    }
    return FALSE;
}

gboolean live_missing(const LiveKnown *known, const LiveNeed *need, LiveMissingFunc *found, void *opaque)
{
    const Search search = {known, need, found, opaque};
    gboolean is_root = *need->path == '\0', subtree = need->scope == SOURCE_SUBTREE;
    const char *key = is_root && subtree ? "" : view_path(VIEW_QOM, need->path);
    g_autoptr(GPtrArray) commands = NULL;

    if (need->structure) {
        commands = live_answers_names_missing(known->answers, !need->containers, need->since);
    } else if (key == NULL || is_root) {
        commands = live_answers_missing(known->answers, need->path, need->property, subtree, need->since);
    }
    return (commands != NULL && missing_commands(&search, commands)) || (key != NULL && missing_of_tree(&search, key));
}
