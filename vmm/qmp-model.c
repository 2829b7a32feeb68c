/* SPDX-License-Identifier: MIT */
/*
 * QMP commands about the built-in VM that no view shows. From its configuration, which is constant, and
 * the newest snapshot; by the monitor thread.
 */
#include <string.h>

#include "vmm/qmp-context.h"
#include "vmm/qmp-path.h"

/* ---- query-target ---- */

static const QmpType target_name = {
    .meta = QMP_ENUM,
    .name = "SysEmuTarget",
    .values = (const char *const[]){"x86_64", NULL},
};

static const QmpType target_info = {
    .meta = QMP_OBJECT,
    .name = "TargetInfo",
    .members = (const QmpMember[]){{"arch", &target_name, FALSE}, {0}},
};

static void query_target(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    g_string_append(qmp_call_result(call), "{\"arch\":\"x86_64\"}");
    qmp_call_return(call);
}

/* ---- pieces ---- */

static void append_comma(GString *out)
{
    char last = out->str[out->len - 1];

    if (last != '[' && last != '{') {
        g_string_append_c(out, ',');
    }
}

/* Appends "NAME":VALUE of an object's property, under another name or its own (NULL); nothing
 * where it has no such property. */
static void append_slot(GString *out, const Node *node, const char *property, const char *name)
{
    int slot = node_find_slot(node, property);
    JsonSlice value = slot >= 0 ? node_slot_value(node, (guint)slot) : (JsonSlice){NULL, 0};

    if (value.length > 0) {
        append_comma(out);
        json_append_string(out, name != NULL ? name : property, -1);
        g_string_append_c(out, ':');
        json_append_slice(out, value);
    }
}

static gboolean node_is_a(Vm *vm, const Node *node, const char *type_name)
{
    g_autofree char *name = json_string_dup(node_type(node), NULL);
    const Class *class = name != NULL ? types_find(vm_types(vm), name) : NULL;

    return class != NULL && class_is_a(class, type_name);
}

/* Calls `append` for each object of that type in a container, and numbers them. */
typedef void (*AppendFunc)(GString *out, Vm *vm, const Node *node, const char *path, guint number);

static guint append_each(GString *out, Vm *vm, const Node *root, const char *container, const char *type_name,
                         AppendFunc append, guint number)
{
    g_autoptr(GString) path = g_string_new(NULL);
    const Node *parent = qmp_path_resolve(root, container, path, NULL), *node;
    gsize length = path->len;
    ChildrenIter iter;

    if (parent == NULL) {
        return number;
    }
    iter = children_iter(parent->children, 0);
    while ((node = children_next(&iter)) != NULL) {
        if (node_is_a(vm, node, type_name)) {
            qmp_path_append(path, node);
            append(out, vm, node, path->str, number++);
            g_string_truncate(path, length);
        }
    }
    return number;
}

/* ---- query-cpus-fast ---- */

static const QmpType cpu_properties = {
    .meta = QMP_OBJECT,
    .name = "CpuInstanceProperties",
    .members =
        (const QmpMember[]){
            {"node-id", &qmp_int, TRUE},
            {"drawer-id", &qmp_int, TRUE},
            {"book-id", &qmp_int, TRUE},
            {"socket-id", &qmp_int, TRUE},
            {"die-id", &qmp_int, TRUE},
            {"cluster-id", &qmp_int, TRUE},
            {"module-id", &qmp_int, TRUE},
            {"core-id", &qmp_int, TRUE},
            {"thread-id", &qmp_int, TRUE},
            {0},
        },
};

static const QmpType cpu_info = {
    .meta = QMP_OBJECT,
    .name = "CpuInfoFast",
    .members =
        (const QmpMember[]){
            {"cpu-index", &qmp_int, FALSE},
            {"qom-type", &qmp_str, FALSE},
            {"qom-path", &qmp_str, FALSE},
            {"thread-id", &qmp_int, FALSE},
            {"props", &cpu_properties, TRUE},
            {"target", &target_name, FALSE},
            {0},
        },
    .tag = "target",
    .variants = (const QmpVariant[]){{0}},
};
static QMP_LIST_OF(cpu_info_list, cpu_info);

/* The model's CPUs have no threads of their own: what they do is done by the main loop. */
static void append_cpu(GString *out, Vm *vm, const Node *node, const char *path, guint number)
{
    const VmCpus *cpus = &vm_config(vm)->cpus;

    append_comma(out);
    g_string_append_printf(out, "{\"thread-id\":%d", vm_thread_id(vm));
    append_slot(out, node, "type", "qom-type");
    g_string_append(out, ",\"props\":{");
    append_slot(out, node, "core-id", NULL);
    append_slot(out, node, "thread-id", NULL);
    if (cpus->modules > 1) {
        append_slot(out, node, "module-id", NULL);
    }
    if (cpus->dies > 1) {
        append_slot(out, node, "die-id", NULL);
    }
    append_slot(out, node, "socket-id", NULL);
    g_string_append_printf(out, "},\"qom-path\":\"%s\",\"cpu-index\":%u,\"target\":\"x86_64\"}", path, number);
}

static void query_cpus_fast(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    const QmpContext *context = qmp_call_context(call);
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    const Node *root = views_get(snapshot->root, VIEW_QOM);
    GString *out = qmp_call_result(call);
    guint n;

    g_string_append_c(out, '[');
    n = append_each(out, context->vm, root, "/machine/unattached", "cpu", append_cpu, 0);
    append_each(out, context->vm, root, "/machine/peripheral", "cpu", append_cpu, n);
    g_string_append_c(out, ']');
    qmp_call_return(call);
}

/* ---- query-iothreads ---- */

static const QmpType iothread_info = {
    .meta = QMP_OBJECT,
    .name = "IOThreadInfo",
    .members =
        (const QmpMember[]){
            {"id", &qmp_str, FALSE},
            {"thread-id", &qmp_int, FALSE},
            {"poll-max-ns", &qmp_int, FALSE},
            {"poll-grow", &qmp_int, FALSE},
            {"poll-shrink", &qmp_int, FALSE},
            {"poll-weight", &qmp_int, FALSE},
            {"aio-max-batch", &qmp_int, FALSE},
            {0},
        },
};
static QMP_LIST_OF(iothread_info_list, iothread_info);

static void append_iothread(GString *out, Vm *vm, const Node *node, const char *path G_GNUC_UNUSED,
                            guint number G_GNUC_UNUSED)
{
    g_autofree char *id = json_string_dup(node->json_name, NULL);

    append_comma(out);
    g_string_append(out, "{\"id\":");
    json_append_slice(out, node->json_name);
    g_string_append_printf(out, ",\"thread-id\":%d", vm_iothread_thread_id(vm, id));
    append_slot(out, node, "poll-max-ns", NULL);
    append_slot(out, node, "poll-grow", NULL);
    append_slot(out, node, "poll-shrink", NULL);
    append_slot(out, node, "poll-weight", NULL);
    append_slot(out, node, "aio-max-batch", NULL);
    g_string_append_c(out, '}');
}

static void query_iothreads(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    const QmpContext *context = qmp_call_context(call);
    g_autoptr(Snapshot) snapshot = qmp_context_snapshot(call);
    GString *out = qmp_call_result(call);

    g_string_append_c(out, '[');
    append_each(out, context->vm, views_get(snapshot->root, VIEW_QOM), "/objects", "iothread", append_iothread, 0);
    g_string_append_c(out, ']');
    qmp_call_return(call);
}

/* ---- query-yank ---- */

static const QmpType yank_type = {
    .meta = QMP_ENUM,
    .name = "YankInstanceType",
    .values = (const char *const[]){"block-node", "chardev", "migration", NULL},
};

static const QmpType yank_block_node = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"node-name", &qmp_str, FALSE}, {0}},
};

static const QmpType yank_chardev = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"id", &qmp_str, FALSE}, {0}},
};

static const QmpType yank_instance = {
    .meta = QMP_OBJECT,
    .name = "YankInstance",
    .members = (const QmpMember[]){{"type", &yank_type, FALSE}, {0}},
    .tag = "type",
    .variants = (const QmpVariant[]){{"block-node", &yank_block_node}, {"chardev", &yank_chardev}, {0}},
};
static QMP_LIST_OF(yank_instance_list, yank_instance);

/* The model has no connection that could hang. In QEMU too this can be asked out of band, and
 * clients that enable that try it. */
static void query_yank(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    g_string_append(qmp_call_result(call), "[]");
    qmp_call_return(call);
}

/* ---- the table ---- */

const QmpCommand qmp_model_commands[] = {
    {.name = "query-target", .handler = query_target, .ret = &target_info},
    {.name = "query-cpus-fast", .handler = query_cpus_fast, .ret = &cpu_info_list},
    {.name = "query-iothreads", .handler = query_iothreads, .ret = &iothread_info_list},
    {.name = "query-yank", .handler = query_yank, .ret = &yank_instance_list, .flags = QMP_COMMAND_OOB},
    {0},
};
