/* SPDX-License-Identifier: MIT */
/* Queries about the machine, its CPUs and its threads. */
#include "vmm/query-pieces.h"

static gboolean query_target(const QueryInput *in G_GNUC_UNUSED, GString *out, GError **error G_GNUC_UNUSED)
{
    g_string_append(out, "{\"arch\":\"x86_64\"}");
    return TRUE;
}

/* ---- query-machines ---- */

typedef struct MachinesArgs {
    gboolean compat_props;
} MachinesArgs;

static const QmpArg machines_args[] = {
    QMP_ARG(MachinesArgs, compat_props, "compat-props", qmp_bool, .optional = TRUE),
    {0},
};

/* The one that there is. As the newest of its kind it has no properties to be compatible with older ones. */
static gboolean query_machines(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    const MachinesArgs *args = in->args;

    g_string_append_printf(
        out,
        "[{\"hotpluggable-cpus\":true,\"name\":\"pc-q35-11.1\",\"numa-mem-supported\":false,"
        "\"default-cpu-type\":\"qemu64-x86_64-cpu\",\"acpi\":true,\"is-default\":true,\"cpu-max\":%d,"
        "\"deprecated\":false,\"default-ram-id\":\"pc.ram\",\"alias\":\"q35\"%s}]",
        CONFIG_MAX_CPUS, args->compat_props ? ",\"compat-props\":[]" : "");
    return TRUE;
}

/* ---- CPUs ---- */

/* What is written of CPUs, and how many there were. */
typedef struct CpuList {
    GString *out;
    guint n;
} CpuList;

static void append_cpu_props(GString *out, const QueryObject *cpu)
{
    const VmCpus *cpus = &vm_config(cpu->in->vm)->cpus;

    g_string_append(out, "\"props\":{");
    query_append_slot(out, cpu->node, "core-id", NULL);
    query_append_slot(out, cpu->node, "thread-id", NULL);
    if (cpus->modules > 1)
        query_append_slot(out, cpu->node, "module-id", NULL);
    if (cpus->dies > 1)
        query_append_slot(out, cpu->node, "die-id", NULL);
    query_append_slot(out, cpu->node, "socket-id", NULL);
    g_string_append_c(out, '}');
}

static void each_cpu(const QueryInput *in, QueryFound found, CpuList *list)
{
    query_each(in, "/machine/unattached", "cpu", found, list);
    query_each(in, "/machine/peripheral", "cpu", found, list);
}

/* The model's CPUs have no threads of their own: what they do is done by the main loop. */
static void append_cpu(const QueryObject *cpu, gpointer opaque)
{
    CpuList *list = opaque;

    query_append_comma(list->out);
    g_string_append_printf(list->out, "{\"thread-id\":%d", vm_thread_id(cpu->in->vm));
    query_append_slot(list->out, cpu->node, "type", "qom-type");
    g_string_append_c(list->out, ',');
    append_cpu_props(list->out, cpu);
    g_string_append_printf(list->out, ",\"qom-path\":\"%s\",\"cpu-index\":%u,\"target\":\"x86_64\"}", cpu->path,
                           list->n++);
}

static gboolean query_cpus_fast(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    CpuList list = {.out = out};

    g_string_append_c(out, '[');
    each_cpu(in, append_cpu, &list);
    g_string_append_c(out, ']');
    return TRUE;
}

static void prepend_slot(const QueryObject *cpu, gpointer opaque)
{
    CpuList *list = opaque;
    g_autoptr(GString) slot = g_string_new("{");

    append_cpu_props(slot, cpu);
    g_string_append_printf(slot, ",\"vcpus-count\":1,\"qom-path\":\"%s\"", cpu->path);
    query_append_slot(slot, cpu->node, "type", NULL);
    g_string_append(slot, list->n++ ? "}," : "}");
    g_string_prepend_len(list->out, slot->str, (gssize)slot->len);
}

/* All places for CPUs, the last one first; all of them are taken. */
static gboolean query_hotpluggable_cpus(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    g_autoptr(GString) slots = g_string_new(NULL);
    CpuList list = {.out = slots};

    each_cpu(in, prepend_slot, &list);
    g_string_append_printf(out, "[%s]", slots->str);
    return TRUE;
}

static void append_ospm_status(const QueryObject *cpu G_GNUC_UNUSED, gpointer opaque)
{
    CpuList *list = opaque;

    query_append_comma(list->out);
    g_string_append_printf(list->out, "{\"source\":0,\"status\":0,\"slot\":\"%u\",\"slot-type\":\"CPU\"}", list->n++);
}

/* What the guest has said of plugging CPUs: nothing. */
static gboolean query_acpi_ospm_status(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    CpuList list = {.out = out};

    g_string_append_c(out, '[');
    each_cpu(in, append_ospm_status, &list);
    g_string_append_c(out, ']');
    return TRUE;
}

/* ---- iothreads ---- */

static void append_iothread(const QueryObject *iothread, gpointer opaque)
{
    static const char *const properties[] = {"poll-max-ns", "poll-grow", "poll-shrink", "poll-weight", "aio-max-batch"};
    GString *out = opaque;
    g_autofree char *id = json_string_dup(iothread->node->json_name, NULL);

    query_append_comma(out);
    g_string_append(out, "{\"id\":");
    json_append_slice(out, iothread->node->json_name);
    g_string_append_printf(out, ",\"thread-id\":%d", vm_iothread_thread_id(iothread->in->vm, id));
    for (guint i = 0; i < G_N_ELEMENTS(properties); i++)
        query_append_slot(out, iothread->node, properties[i], NULL);
    g_string_append_c(out, '}');
}

static gboolean query_iothreads(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    g_string_append_c(out, '[');
    query_each(in, "/objects", "iothread", append_iothread, out);
    g_string_append_c(out, ']');
    return TRUE;
}

/* ---- query-yank ---- */

/* The model has no connection that could hang. In QEMU too this can be asked out of band, and
 * clients that enable that try it. */
static gboolean query_yank(const QueryInput *in G_GNUC_UNUSED, GString *out, GError **error G_GNUC_UNUSED)
{
    g_string_append(out, "[]");
    return TRUE;
}

/* ---- the table ---- */

const Query queries_machine[] = {
    {.command = "query-target", .answer = query_target},
    {.command = "query-machines", .answer = query_machines, .args = machines_args, .args_size = sizeof(MachinesArgs)},
    {.command = "query-cpus-fast", .answer = query_cpus_fast},
    {.command = "query-hotpluggable-cpus", .answer = query_hotpluggable_cpus},
    {.command = "query-acpi-ospm-status", .answer = query_acpi_ospm_status},
    {.command = "query-iothreads", .answer = query_iothreads},
    {.command = "query-yank", .answer = query_yank, .flags = QMP_COMMAND_OOB},
    {0},
};
