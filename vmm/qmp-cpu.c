/* SPDX-License-Identifier: MIT */
/*
 * query-cpu-model-expansion: what a CPU model is, with some properties set. As in QEMU, a CPU object is made of it that
 * never works, on the main loop; it is in no tree, and gone with the reply.
 */
#include "vmm/qmp-job.h"
#include "vmm/x86-cpu.h"

/* ---- types ---- */

typedef enum Expansion { EXPANSION_STATIC, EXPANSION_FULL } Expansion;

static const QmpType expansion_type = {
    .meta = QMP_ENUM,
    .name = "CpuModelExpansionType",
    .values = (const char *const[]){"static", "full", NULL},
};

static const QmpType model_info = {
    .meta = QMP_OBJECT,
    .name = "CpuModelInfo",
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"props", &qmp_any, TRUE},
            {0},
        },
};

static const QmpType expansion_info = {
    .meta = QMP_OBJECT,
    .name = "CpuModelExpansionInfo",
    .members =
        (const QmpMember[]){
            {"model", &model_info, FALSE},
            {"deprecated-props", &qmp_str_list, TRUE},
            {0},
        },
};

typedef struct ExpansionArgs {
    int type;
    JsonSlice model;
} ExpansionArgs;

static const QmpArg expansion_args[] = {
    QMP_ARG(ExpansionArgs, type, "type", expansion_type),
    QMP_ARG(ExpansionArgs, model, "model", model_info),
    {0},
};

/* ---- what is asked for ---- */

static gboolean fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean fail(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *error = g_error_new_valist(QMP_ERROR, QMP_ERROR_GENERIC, format, args);
    va_end(args);
    return FALSE;
}

/* {"name": NAME, "props": {...}} */
static gboolean check_model(JsonSlice model, GError **error)
{
    JsonWalk walk = json_walk(model);
    JsonSlice name = json_member(model, "name"), props = json_member(model, "props"), key, value;

    if (name.length == 0) {
        return fail(error, "Parameter 'model.name' is missing");
    }
    if (json_kind(name) != JSON_STRING) {
        return fail(error, "Invalid parameter type for 'model.name', expected: string");
    }
    while (json_walk_member(&walk, &key, &value)) {
        if (!json_string_is(key, "name") && !json_string_is(key, "props")) {
            g_autofree char *text = json_string_dup(key, NULL), *shown = qmp_shown(text);

            return fail(error, "Parameter 'model.%s' is unexpected", shown);
        }
    }
    return props.length == 0 || json_kind(props) == JSON_OBJECT ||
           fail(error, "Invalid parameter type for 'model.props', expected: object");
}

static Object *new_cpu(Vm *vm, JsonSlice name, GError **error)
{
    g_autofree char *text = json_string_dup(name, NULL);
    Class *class = x86_cpu_model_class(vm_types(vm), text);
    Object *cpu;

    if (class == NULL) {
        g_autofree char *shown = qmp_shown(text);

        fail(error, "CPU model '%s' not found", shown);
        return NULL;
    }
    cpu = object_new(class);
    object_assign_link(cpu, "memory", vm_part(vm, "system"));
    return cpu;
}

/* ---- what is set ---- */

/* It is in no tree: paths begin at the VM's root. */
static gboolean set_memory(Vm *vm, Object *cpu, JsonSlice value, GError **error)
{
    g_autofree char *path = json_string_dup(value, NULL);
    Object *target = NULL;

    if (path == NULL) {
        return fail(error, "Invalid parameter type for 'model.props.memory', expected: string");
    }
    if (path[0] != '\0') {
        target = object_resolve(vm_root(vm), path, error);
        if (target == NULL) {
            return FALSE;
        }
        if (!object_is_a(target, "memory-region")) {
            return fail(error, "Invalid parameter type for 'memory', expected: memory-region");
        }
    }
    object_assign_link(cpu, "memory", target);
    return TRUE;
}

/* Beginning to work is what no CPU does here. */
static gboolean set_realized(JsonSlice value, GError **error)
{
    gboolean realized;

    if (!json_to_bool(value, &realized)) {
        return fail(error, "Invalid parameter type for 'model.props.realized', expected: boolean");
    }
    return !realized || fail(error, "apic-id property was not initialized properly");
}

/* QEMU gives the place of a value whose kind is wrong, and the name of a property whose value is. */
static void name_place(const char *name, GError **error)
{
    g_autofree char *kind = g_strdup_printf("Invalid parameter type for '%s', ", name);
    g_autofree char *number = g_strdup_printf("Parameter '%s' expects uint64", name);
    const char *message = (*error)->message;
    GError *with_place;

    if (!g_str_has_prefix(message, kind) && strcmp(message, number) != 0) {
        return;
    }
    with_place = g_error_new((*error)->domain, (*error)->code, "%.*s'model.props.%s",
                             (int)(strchr(message, '\'') - message), message, strchr(message, '\'') + 1);
    g_error_free(*error);
    *error = with_place;
}

static gboolean set_one(Vm *vm, Object *cpu, const char *name, JsonSlice value, GError **error)
{
    if (strcmp(name, "memory") == 0) {
        return set_memory(vm, cpu, value, error);
    }
    if (strcmp(name, "realized") == 0) {
        return set_realized(value, error);
    }
    if (!object_set(cpu, name, value, error)) {
        name_place(name, error);
        return FALSE;
    }
    return TRUE;
}

static gboolean set_all(Vm *vm, Object *cpu, JsonSlice props, GError **error)
{
    JsonWalk walk = json_walk(props);
    JsonSlice key, value;

    while (props.length > 0 && json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);

        if (!set_one(vm, cpu, name, value, error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- the answer ---- */

/* All that can be set. */
static gboolean is_shown(const Property *prop, Expansion type)
{
    if (type == EXPANSION_STATIC) {
        return x86_cpu_is_static(prop->name);
    }
    return (prop->flags & (PROP_WRITABLE | PROP_INITIAL)) != 0 || strcmp(prop->name, "realized") == 0;
}

static void append_model(Object *cpu, Expansion type, JsonSlice name, GString *out)
{
    const char *separator = "";

    g_string_append(out, "{\"model\":{\"name\":");
    if (type == EXPANSION_STATIC) {
        g_string_append(out, "\"base\"");
    } else {
        json_append_slice(out, name);
    }
    g_string_append(out, ",\"props\":{");
    for (guint i = 0; i < class_prop_count(cpu->class); i++) {
        const Property *prop = class_prop(cpu->class, i);

        if (!is_shown(prop, type)) {
            continue;
        }
        g_string_append(out, separator);
        json_append_string(out, prop->name, -1);
        g_string_append_c(out, ':');
        object_append_value(cpu, i, out, NULL);
        separator = ",";
    }
    g_string_append(out, "}}}");
}

static gboolean run_expansion(Vm *vm, QmpCall *call, const void *data, GError **error)
{
    const ExpansionArgs *args = data;
    JsonSlice name = json_member(args->model, "name");
    g_autoptr(Object) cpu = NULL;

    if (!check_model(args->model, error)) {
        return FALSE;
    }
    cpu = new_cpu(vm, name, error);
    if (cpu == NULL || !set_all(vm, cpu, json_member(args->model, "props"), error)) {
        return FALSE;
    }
    x86_cpu_expand(cpu);
    append_model(cpu, (Expansion)args->type, name, qmp_call_result(call));
    return TRUE;
}

/* ---- the table ---- */

const QmpCommand qmp_cpu_commands[] = {
    {.name = "query-cpu-model-expansion",
     QMP_JOB(run_expansion),
     .args = expansion_args,
     .args_size = sizeof(ExpansionArgs),
     .ret = &expansion_info},
    {0},
};
