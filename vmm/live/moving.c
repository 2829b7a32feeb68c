/* SPDX-License-Identifier: MIT */
/* See moving.h. */
#include "vmm/live/moving.h"

/* What one record says now. Any thread. */
typedef struct Moment {
    Sampler base;
    GMutex lock; /* for the two below */
    GBytes *bytes;
    JsonSlice text;
} Moment;

struct LiveMoving {
    GPtrArray *moments; /* of Moment, in the order of the list */
};

/* ---- one record ---- */

static void moment_fill(Sampler *base, GString *out)
{
    Moment *moment = (Moment *)base;

    g_mutex_lock(&moment->lock);
    json_append_slice(out, moment->text);
    g_mutex_unlock(&moment->lock);
}

static void moment_free(Sampler *base)
{
    Moment *moment = (Moment *)base;

    g_bytes_unref(moment->bytes);
    g_mutex_clear(&moment->lock);
    g_free(moment);
}

static Moment *moment_new(GBytes *bytes, JsonSlice text)
{
    Moment *moment = g_new0(Moment, 1);

    g_atomic_ref_count_init(&moment->base.refs);
    moment->base.fill = moment_fill;
    moment->base.free = moment_free;
    g_mutex_init(&moment->lock);
    moment->bytes = g_bytes_ref(bytes);
    moment->text = text;
    return moment;
}

static void moment_set(Moment *moment, GBytes *bytes, JsonSlice text)
{
    GBytes *before = moment->bytes;

    g_mutex_lock(&moment->lock);
    moment->bytes = g_bytes_ref(bytes);
    moment->text = text;
    g_mutex_unlock(&moment->lock);
    g_bytes_unref(before);
}

/* ---- the list ---- */

/* Whether two records have the same members in the same order, down to the last object, and so the same files; and
 * those that name a record the same values. */
static gboolean same_members(JsonSlice a, JsonSlice b)
{
    static const char *const naming[] = {"qdev", "device", "node-name"};
    JsonWalk left = json_walk(a), right = json_walk(b);
    JsonSlice name, value, other_name, other_value;

    for (guint i = 0; i < G_N_ELEMENTS(naming); i++) {
        if (!json_equal_bytes(json_member(a, naming[i]), json_member(b, naming[i]))) {
            return FALSE;
        }
    }
    while (json_walk_member(&left, &name, &value)) {
        gboolean is_object = json_kind(value) == JSON_OBJECT;

        if (!json_walk_member(&right, &other_name, &other_value) || !json_equal_bytes(name, other_name) ||
            is_object != (json_kind(other_value) == JSON_OBJECT) || (is_object && !same_members(value, other_value))) {
            return FALSE;
        }
    }
    return !json_walk_member(&right, &other_name, &other_value);
}

static gboolean same_records(const LiveMoving *moving, const ViewEntry *entries, guint n)
{
    if (moving->moments->len != n) {
        return FALSE;
    }
    for (guint i = 0; i < n; i++) {
        if (!same_members(((const Moment *)g_ptr_array_index(moving->moments, i))->text, entries[i].text)) {
            return FALSE;
        }
    }
    return TRUE;
}

Node *live_moving_node(LiveMoving *moving, View view, GBytes *bytes, JsonSlice list, const Node *previous,
                       guint64 stamp)
{
    g_autoptr(GArray) entries = view_entries(bytes, list);
    ViewEntry *all = (ViewEntry *)(gpointer)entries->data;

    if (previous != NULL && same_records(moving, all, entries->len)) {
        for (guint i = 0; i < entries->len; i++) {
            moment_set(g_ptr_array_index(moving->moments, i), bytes, all[i].text);
        }
        return node_ref(previous);
    }
    g_ptr_array_set_size(moving->moments, 0);
    for (guint i = 0; i < entries->len; i++) {
        Moment *moment = moment_new(bytes, all[i].text);
        all[i].sampler = &moment->base;
        g_ptr_array_add(moving->moments, moment);
    }
    return view_list_new(view, all, entries->len, previous, stamp);
}

LiveMoving *live_moving_new(void)
{
    LiveMoving *moving = g_new(LiveMoving, 1);

    moving->moments = g_ptr_array_new_with_free_func((GDestroyNotify)sampler_unref);
    return moving;
}

void live_moving_free(LiveMoving *moving)
{
    if (moving != NULL) {
        g_ptr_array_unref(moving->moments);
        g_free(moving);
    }
}
