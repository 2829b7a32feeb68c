/* SPDX-License-Identifier: MIT */
/*
 * The built-in VM as a source: what is published always is current, and a write is a job of the
 * main loop.
 */
#include "vmm/model.h"

#include "objmodel/name.h"
#include "vmm/devices.h"
#include "vmm/views.h"

#include <string.h>

typedef struct ModelSource {
    Source base;
    Vm *vm;
} ModelSource;

/* ---- writing ---- */

typedef struct SetJob {
    char *path, *property; /* as the VM spells them; path NULL: not in the object tree */
    char *json;
    gsize length;
    GError *error;
    SourceDone done;
    gpointer opaque;
} SetJob;

/* "qom/machine/a%2Fb" -> "/machine/a/b" has no meaning to QOM, but it is the name; NULL outside of qom/. */
static char *object_path_from(const char *path)
{
    const char *below = view_path(VIEW_QOM, path);
    g_auto(GStrv) parts = NULL;
    GString *result;

    if (!below)
        return NULL;
    parts = g_strsplit(below, "/", -1);
    result = g_string_new("/");
    for (guint i = 0; parts[i]; i++) {
        g_autofree char *name = *parts[i] ? file_name_decode(parts[i], NULL) : NULL;
        if (name)
            g_string_append_printf(result, "%s%s", result->len > 1 ? "/" : "", name);
    }
    return g_string_free(result, FALSE);
}

static void set_run(Vm *vm, gpointer data)
{
    SetJob *job = data;

    if (!job->path || !job->property)
        g_set_error(&job->error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "it is no property of an object");
    else
        qom_set(vm, job->path, job->property, (JsonSlice){job->json, job->length}, &job->error);
}

static void set_done(Vm *vm G_GNUC_UNUSED, gpointer data)
{
    SetJob *job = data;

    job->done(job->error, job->opaque);
    g_clear_error(&job->error);
    g_free(job->path);
    g_free(job->property);
    g_free(job->json);
    g_free(job);
}

static void model_set(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done,
                      void *opaque)
{
    SetJob *job = g_new0(SetJob, 1);

    job->path = object_path_from(path);
    job->property = file_name_decode(property, NULL);
    job->json = g_strndup(value.text, value.length);
    job->length = value.length;
    job->done = done;
    job->opaque = opaque;
    vm_call(((ModelSource *)source)->vm, set_run, set_done, job);
}

/* ---- the source ---- */

static void model_free(Source *source)
{
    vm_free(((ModelSource *)source)->vm);
    g_free(source);
}

static const SourceOps model_ops = {
    .set = model_set,
    .free = model_free,
};

Source *model_source_new(const VmConfig *config, GError **error)
{
    Vm *vm = vm_new(config, error);
    ModelSource *model;

    if (!vm)
        return NULL;
    model = g_new0(ModelSource, 1);
    model->base.ops = &model_ops;
    model->base.snapshots = vm_snapshots(vm);
    model->base.property_mode = 0644;
    model->base.read_only_mode = 0444;
    model->vm = vm;
    return &model->base;
}

Vm *model_source_vm(Source *source)
{
    return source->ops == &model_ops ? ((ModelSource *)source)->vm : NULL;
}
