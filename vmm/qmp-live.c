/* SPDX-License-Identifier: MIT */
/* What the companion socket of a running QEMU has of commands that change something: qom-set, where it may be written.
 */
#include "vmm/qmp-live.h"

#include <string.h>

#include "objmodel/error.h"
#include "objmodel/name.h"
#include "vmm/qmp-fetch.h"
#include "vmm/qmp-job.h"
#include "vmm/qmp-path.h"

static void set_done(const GError *error, void *opaque)
{
    if (error != NULL) {
        qmp_call_fail(opaque, error);
    } else {
        qmp_call_return(opaque);
    }
}

/* What there is is known. */
static void set_known(QmpCall *call, const void *data)
{
    const QmpSetArgs *args = data;
    Source *source = ((const QmpContext *)qmp_call_context(call))->source;
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    g_autoptr(GString) place = g_string_new(view_name(VIEW_QOM));
    g_autofree char *property = file_name_encode(args->property, strlen(args->property));
    g_autoptr(GError) error = NULL;

    if (qmp_path_locate(views_get(snapshot->root, VIEW_QOM), args->path, place)) {
        source->ops->set(source, place->str, property, args->value, set_done, call);
    } else {
        qmp_path_resolve(views_get(snapshot->root, VIEW_QOM), args->path, NULL, &error);
        qmp_call_fail(call, error);
    }
}

static void handle_set(QmpCall *call, const void *data)
{
    const QmpSetArgs *args = data;

    qmp_fetch_object(call, data, ((const QmpContext *)qmp_call_context(call))->source, args->path, NULL, SOURCE_NODE,
                     set_known);
}

const QmpCommand qmp_live_commands[] = {
    {.name = "qom-set", .handler = handle_set, QMP_SET_ARGS},
    {0},
};
