/* SPDX-License-Identifier: MIT */
/*
 * See qmp-fault.h. A fault is constant once its object is complete, but for its counters, which are atomic: so it
 * is asked without touching the object. The list of faults has a lock.
 */
#include "vmm/qmp-fault.h"

#include <string.h>

#include "objmodel/object.h"
#include "qmp/message.h"
#include "vmm/vm-private.h"

typedef enum Action {
    ACTION_DELAY,
    ACTION_HANG,
    ACTION_CLOSE,
    ACTION_CUT,
    ACTION_GARBAGE,
    ACTION_ERROR,
    ACTION_LOSE_EVENT,
    ACTION_DELAY_EVENT,
    ACTION_REFUSE_UNPLUG,
} Action;

static const char *const action_names[] = {"delay", "hang",       "close",       "cut",           "garbage",
                                           "error", "lose-event", "delay-event", "refuse-unplug", NULL};

/* Where an action takes place. */
typedef enum Place { PLACE_COMMAND, PLACE_EVENT, PLACE_UNPLUG } Place;

static const struct {
    Place place;
    QmpFaultKind kind;
} actions[] = {
    [ACTION_DELAY] = {PLACE_COMMAND, QMP_FAULT_DELAY},       [ACTION_HANG] = {PLACE_COMMAND, QMP_FAULT_HANG},
    [ACTION_CLOSE] = {PLACE_COMMAND, QMP_FAULT_CLOSE},       [ACTION_CUT] = {PLACE_COMMAND, QMP_FAULT_CUT},
    [ACTION_GARBAGE] = {PLACE_COMMAND, QMP_FAULT_GARBAGE},   [ACTION_ERROR] = {PLACE_COMMAND, QMP_FAULT_ERROR},
    [ACTION_LOSE_EVENT] = {PLACE_EVENT, QMP_FAULT_HANG},     [ACTION_DELAY_EVENT] = {PLACE_EVENT, QMP_FAULT_DELAY},
    [ACTION_REFUSE_UNPLUG] = {PLACE_UNPLUG, QMP_FAULT_NONE},
};

/* In the order of QmpError. */
static const char *const class_names[] = {"GenericError", "CommandNotFound", "DeviceNotActive", "DeviceNotFound", NULL};

/* What the threads share. */
typedef struct Fault {
    Shared base;
    char *command, *desc;
    Action action;
    int error_class;
    guint after, times;
    gint64 delay_us;
    gsize bytes;
    gint seen, hits; /* atomic */
} Fault;

struct QmpFaults {
    GMutex lock;
    GPtrArray *all; /* Fault, in the order made */
};

typedef struct FaultObject {
    Object base;
    char *command, *desc;
    int action, error_class;
    uint32_t after, times, ms, bytes;
    Fault *fault; /* once it is complete */
} FaultObject;

/* ---- the faults of a VM ---- */

QmpFaults *qmp_faults_new(void)
{
    QmpFaults *faults = g_new0(QmpFaults, 1);

    g_mutex_init(&faults->lock);
    faults->all = g_ptr_array_new();
    return faults;
}

void qmp_faults_free(QmpFaults *faults)
{
    g_ptr_array_unref(faults->all);
    g_mutex_clear(&faults->lock);
    g_free(faults);
}

/* Counts an occasion; TRUE where the fault strikes. Under the lock of the list. */
static gboolean fault_strikes(Fault *fault)
{
    guint seen = (guint)g_atomic_int_add(&fault->seen, 1);

    if (seen < fault->after || (fault->times && (guint)g_atomic_int_get(&fault->hits) >= fault->times))
        return FALSE;
    g_atomic_int_inc(&fault->hits);
    return TRUE;
}

static void fault_tell(const Fault *fault, QmpFault *ret)
{
    *ret = (QmpFault){.kind = actions[fault->action].kind, .delay_us = fault->delay_us};
    if (fault->action == ACTION_CUT)
        ret->bytes = fault->bytes;
    if (fault->action == ACTION_ERROR)
        ret->error = g_error_new_literal(QMP_ERROR, fault->error_class, fault->desc);
}

/* The first one that strikes counts; all others that are about the same see the occasion too. name NULL: any. */
static gboolean faults_ask(QmpFaults *faults, Place place, const char *name, QmpFault *ret)
{
    gboolean found = FALSE;

    g_mutex_lock(&faults->lock);
    for (guint i = 0; i < faults->all->len; i++) {
        Fault *fault = faults->all->pdata[i];

        if (actions[fault->action].place != place || (name && strcmp(fault->command, name) != 0))
            continue;
        if (found) {
            g_atomic_int_inc(&fault->seen);
        } else if (fault_strikes(fault)) {
            fault_tell(fault, ret);
            found = TRUE;
        }
    }
    g_mutex_unlock(&faults->lock);
    return found;
}

void qmp_faults_command(const char *name, QmpFault *ret, void *opaque)
{
    faults_ask(opaque, PLACE_COMMAND, name, ret);
}

void qmp_faults_event(const char *name, QmpFault *ret, void *opaque)
{
    faults_ask(opaque, PLACE_EVENT, name, ret);
}

gboolean qmp_faults_refuse_unplug(QmpFaults *faults)
{
    QmpFault nothing;

    return faults_ask(faults, PLACE_UNPLUG, NULL, &nothing);
}

/* ---- the object ---- */

static void fault_free(Shared *shared)
{
    Fault *fault = (Fault *)shared;

    g_free(fault->command);
    g_free(fault->desc);
    g_free(fault);
}

static void fault_init(Object *object)
{
    FaultObject *self = (FaultObject *)object;

    self->fault = g_new0(Fault, 1);
    g_atomic_ref_count_init(&self->fault->base.refs);
    self->fault->base.free = fault_free;
    object_set_shared(object, &self->fault->base);
    shared_unref(&self->fault->base); /* the object keeps it */
}

static gboolean is_missing(const char *name, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Parameter '%s' is missing", name);
    return FALSE;
}

static gboolean fault_complete(Object *object, GError **error)
{
    FaultObject *self = (FaultObject *)object;
    Fault *fault = self->fault;
    gboolean delays = self->action == ACTION_DELAY || self->action == ACTION_DELAY_EVENT;
    QmpFaults *faults = vm_faults(vm_of(object));

    if (!*self->command && self->action != ACTION_REFUSE_UNPLUG)
        return is_missing("command", error);
    if (delays && self->ms == 0)
        return is_missing("ms", error);
    fault->command = g_strdup(self->command);
    fault->desc = g_strdup(self->desc);
    fault->action = self->action;
    fault->error_class = self->error_class;
    fault->after = self->after;
    fault->times = self->times;
    fault->delay_us = (gint64)self->ms * 1000;
    fault->bytes = self->bytes;
    g_mutex_lock(&faults->lock);
    g_ptr_array_add(faults->all, fault);
    g_mutex_unlock(&faults->lock);
    return TRUE;
}

static void fault_unparent(Object *object)
{
    QmpFaults *faults = vm_faults(vm_of(object));

    g_mutex_lock(&faults->lock);
    g_ptr_array_remove(faults->all, ((FaultObject *)object)->fault); /* where it was complete */
    g_mutex_unlock(&faults->lock);
}

static void fault_too_late(const Object *object G_GNUC_UNUSED, const Property *prop, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "Property '%s' can no longer be set", prop->name);
}

static void sample_hits(const Shared *shared, const Property *prop G_GNUC_UNUSED, GString *out)
{
    json_append_int(out, g_atomic_int_get(&((const Fault *)shared)->hits));
}

static const Property fault_props[] = {
    PROP_FIELD(FaultObject, command, "command", .flags = PROP_INITIAL, .initial_text = "",
               .help = "the command or event that it is about; \"greeting\": the greeting"),
    PROP_ENUM(FaultObject, action, "do", "QmpFaultAction", action_names, .flags = PROP_INITIAL, .initial = ACTION_HANG,
              .help = "what goes wrong"),
    PROP_FIELD(FaultObject, after, "after", .flags = PROP_INITIAL, .help = "so many of them go well first"),
    PROP_FIELD(FaultObject, times, "times", .flags = PROP_INITIAL, .help = "so many go wrong; 0: all that follow"),
    PROP_FIELD(FaultObject, ms, "ms", .flags = PROP_INITIAL, .help = "how long a delay is, in milliseconds"),
    PROP_FIELD(FaultObject, bytes, "bytes", .flags = PROP_INITIAL, .help = "how much of a reply is sent before a cut"),
    PROP_ENUM(FaultObject, error_class, "class", "QapiErrorClass", class_names, .flags = PROP_INITIAL,
              .help = "the class of an error"),
    PROP_FIELD(FaultObject, desc, "desc", .flags = PROP_INITIAL, .initial_text = "a fault on request",
               .help = "the words of an error"),
    PROP_MOVING("hits", "uint32", sample_hits, .help = "how many have gone wrong"),
    {0},
};

const ObjectType qmp_fault_type = {
    .name = "qmp-fault",
    .help = "lets the QMP socket misbehave",
    .instance_size = sizeof(FaultObject),
    .user_creatable = TRUE,
    .props = fault_props,
    .init = fault_init,
    .complete = fault_complete,
    .unparent = fault_unparent,
    .too_late = fault_too_late,
};
