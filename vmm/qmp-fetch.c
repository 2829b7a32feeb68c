/* SPDX-License-Identifier: MIT */
/*
 * See qmp-fetch.h. A Fetch is what one call waits for, a Want one path of it. An object that is not known may have come
 * meanwhile: then the nearest one above it that is known is looked at again, and so on down the path. All of them run
 * on whatever thread the source answers on, and the call goes on where it was handled.
 */
#include "vmm/qmp-fetch.h"

#include <string.h>

#include "objmodel/name.h"
#include "vmm/qmp-path.h"

typedef struct Fetch {
    QmpCall *call;
    Source *source;
    QmpFetched then;
    gint pending; /* atomic: wants that are not done, and the one who makes them */
    GMutex lock;
    GError *error; /* under lock: the first one */
} Fetch;

typedef struct Want {
    Fetch *fetch;
    char *path;     /* QOM's; NULL: `place` is what is fetched */
    char *property; /* as a file name; or NULL */
    SourceScope scope;
    GString *place; /* what was fetched last, as a source names it */
    gboolean last;  /* that is the object itself */
} Want;

static Fetch *fetch_new(QmpCall *call, Source *source, QmpFetched then)
{
    Fetch *fetch = g_new0(Fetch, 1);

    fetch->call = call;
    fetch->source = source;
    fetch->then = then;
    fetch->pending = 1;
    g_mutex_init(&fetch->lock);
    return fetch;
}

/* One less is waited for; after the last one the call goes on. */
static void fetch_end_one(Fetch *fetch)
{
    if (!g_atomic_int_dec_and_test(&fetch->pending)) {
        return;
    }
    if (fetch->error != NULL) {
        qmp_call_fail(fetch->call, fetch->error);
    } else {
        qmp_call_resume(fetch->call, fetch->then);
    }
    g_clear_error(&fetch->error);
    g_mutex_clear(&fetch->lock);
    g_free(fetch);
}

static void want_end(Want *want, const GError *error)
{
    Fetch *fetch = want->fetch;

    if (error != NULL) {
        g_mutex_lock(&fetch->lock);
        if (fetch->error == NULL) {
            fetch->error = g_error_copy(error);
        }
        g_mutex_unlock(&fetch->lock);
    }
    g_string_free(want->place, TRUE);
    g_free(want->path);
    g_free(want->property);
    g_free(want);
    fetch_end_one(fetch);
}

static void want_step(Want *want);

static void want_fetched(const GError *error, void *opaque)
{
    Want *want = opaque;

    if (error != NULL || want->last) {
        want_end(want, error);
    } else {
        want_step(want);
    }
}

/* Fetches want->place. */
static void want_fetch(Want *want)
{
    Source *source = want->fetch->source;
    const char *property = want->last ? want->property : NULL;
    SourceScope scope = want->last ? want->scope : SOURCE_NODE;

    if (source->ops->wants_fetch(source, want->place->str, property, scope)) {
        source->ops->fetch(source, want->place->str, property, scope, want_fetched, want);
    } else {
        want_fetched(NULL, want);
    }
}

/* The object itself where it is known, else the nearest known one on the way to it. */
static void want_step(Want *want)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(want->fetch->source->snapshots);
    g_autoptr(GString) place = g_string_new(view_name(VIEW_QOM));

    want->last = qmp_path_locate(views_get(snapshot->root, VIEW_QOM), want->path, place);
    if (!want->last && strcmp(place->str, want->place->str) == 0) {
        want_end(want, NULL); /* it was looked for, and is not there */
        return;
    }
    g_string_assign(want->place, place->str);
    want_fetch(want);
}

static Want *want_new(Fetch *fetch, const char *path, const char *property, SourceScope scope)
{
    Want *want = g_new0(Want, 1);

    g_atomic_int_inc(&fetch->pending);
    want->fetch = fetch;
    want->path = g_strdup(path);
    want->property = property != NULL ? file_name_encode(property, strlen(property)) : NULL;
    want->scope = scope;
    want->place = g_string_new(NULL);
    return want;
}

void qmp_fetch_object(QmpCall *call, const void *args, Source *source, const char *path, const char *property,
                      SourceScope scope, QmpFetched then)
{
    Fetch *fetch;

    if (source->ops->fetch == NULL) {
        then(call, args);
        return;
    }
    fetch = fetch_new(call, source, then);
    want_step(want_new(fetch, path, property, scope));
    fetch_end_one(fetch);
}

void qmp_fetch_objects(QmpCall *call, const void *args, Source *source, char *const *paths, QmpFetched then)
{
    Fetch *fetch;

    if (source->ops->fetch == NULL) {
        then(call, args);
        return;
    }
    fetch = fetch_new(call, source, then);
    for (; *paths != NULL; paths++) {
        want_step(want_new(fetch, *paths, "type", SOURCE_NODE)); /* with values: see SourceScope */
    }
    fetch_end_one(fetch);
}

void qmp_fetch_path(QmpCall *call, const void *args, Source *source, const char *path, const char *property,
                    SourceScope scope, QmpFetched then)
{
    Fetch *fetch;
    Want *want;

    if (source->ops->fetch == NULL || !source->ops->wants_fetch(source, path, property, scope)) {
        then(call, args);
        return;
    }
    fetch = fetch_new(call, source, then);
    want = want_new(fetch, NULL, NULL, scope);
    want->property = g_strdup(property);
    g_string_assign(want->place, path);
    want->last = TRUE;
    want_fetch(want);
    fetch_end_one(fetch);
}
