/* SPDX-License-Identifier: MIT */
/*
 * What sets a property: qom-set, and then a look at what became of it, so that who wrote sees it. The live thread, but
 * for live_set().
 */
#include "vmm/live/core.h"

#include "objmodel/error.h"

typedef struct Setting {
    LiveSource *live;
    char *path, *property; /* as the mount has them */
    GString *arguments;
    SourceDone done;
    void *opaque;
} Setting;

static void setting_end(Setting *setting, const GError *error)
{
    setting->done(error, setting->opaque);
    g_free(setting->path);
    g_free(setting->property);
    g_string_free(setting->arguments, TRUE);
    g_free(setting);
}

static void setting_seen(const GError *error, void *opaque)
{
    (void)error; /* it is set, whether it can be read again or not */
    setting_end(opaque, NULL);
}

/* The property may be an alias of others', of which nothing tells: so what was read before counts no more. */
static void setting_look_again(Setting *setting)
{
    LiveSource *live = setting->live;
    LiveNeed need = {.path = setting->path, .property = setting->property, .scope = SOURCE_PROPERTY, .urgent = TRUE};

    __atomic_store_n(&live->valid_from, g_get_monotonic_time(), __ATOMIC_RELAXED);
    need.since = live_fetch_since(live);
    live_fetch_now(live, &need, setting_seen, setting);
}

static void setting_wanted(const GError *error, void *opaque)
{
    Setting *setting = opaque;

    if (error != NULL && error->domain == QMP_ERROR) {
        ObjmodelError code =
            error->code == QMP_ERROR_DEVICE_NOT_FOUND ? OBJMODEL_ERROR_NOT_FOUND : OBJMODEL_ERROR_BAD_VALUE;
        g_autoptr(GError) refused = g_error_new_literal(OBJMODEL_ERROR, code, error->message);

        setting_end(setting, refused);
    } else if (error != NULL) {
        setting_end(setting, error);
    } else {
        setting_look_again(setting);
    }
}

static gboolean setting_begin(gpointer opaque)
{
    Setting *setting = opaque;
    LiveSource *live = setting->live;
    const char *key = view_path(VIEW_QOM, setting->path);
    LiveObject *object = key != NULL ? live_tree_find(&live->tree, key) : NULL;
    LiveProperty *property = object != NULL ? live_object_property(object, setting->property) : NULL;
    g_autoptr(GString) arguments = g_string_new("{\"path\":");
    LiveWant want = {.kind = LIVE_COMMAND, .name = "qom-set", .cost = 1, .urgent = TRUE, .alone = TRUE};

    if (property == NULL) {
        g_autoptr(GError) error =
            g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY, "it is no property of an object");

        setting_end(setting, error);
        return G_SOURCE_REMOVE;
    }
    json_append_string(arguments, object->path, -1);
    g_string_append(arguments, ",\"property\":");
    json_append_string(arguments, property->name, -1);
    g_string_append_printf(arguments, ",\"value\":%s}", setting->arguments->str);
    g_string_assign(setting->arguments, arguments->str);
    want.arguments = (JsonSlice){setting->arguments->str, setting->arguments->len};
    live_scheduler_want(live->scheduler, &want, setting_wanted, setting);
    return G_SOURCE_REMOVE;
}

void live_set(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done, void *opaque)
{
    Setting *setting = g_new0(Setting, 1);

    setting->live = live_of(source);
    setting->path = g_strdup(path);
    setting->property = g_strdup(property);
    setting->arguments = g_string_new_len(value.text, (gssize)value.length);
    setting->done = done;
    setting->opaque = opaque;
    live_sweep_used(source);
    g_main_context_invoke(setting->live->context, setting_begin, setting);
}
