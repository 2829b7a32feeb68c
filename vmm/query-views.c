/* SPDX-License-Identifier: MIT */
/*
 * The queries that return what the other views show: what vm/ says of the VM, the CPU definitions, the block
 * statistics. Dumps answer them too, where they have the view.
 */
#include <string.h>

#include "vmm/query.h"

/* ---- what vm/ shows ---- */

/* A member of vm/. */
static JsonSlice vm_member(const Snapshot *snapshot, const char *name)
{
    return json_member(views_get(snapshot->root, VIEW_VM)->text, name);
}

static const QmpType run_state = {
    .meta = QMP_ENUM,
    .name = "RunState",
    .values = (const char *const[]){"debug", "inmigrate", "internal-error", "io-error", "paused", "postmigrate",
                                    "prelaunch", "finish-migrate", "restore-vm", "running", "save-vm", "shutdown",
                                    "suspended", "watchdog", "guest-panicked", "colo", NULL},
};

static const QmpType status_info = {
    .meta = QMP_OBJECT,
    .name = "StatusInfo",
    .members =
        (const QmpMember[]){
            {"running", &qmp_bool, FALSE},
            {"status", &run_state, FALSE},
            {0},
        },
};

static gboolean query_status(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    JsonSlice status = vm_member(in->snapshot, "status");

    g_string_append(out, "{\"status\":");
    json_append_slice(out, status);
    g_string_append(out, ",\"running\":");
    json_append_bool(out, json_string_is(status, "running"));
    g_string_append_c(out, '}');
    return TRUE;
}

static const QmpType name_info = {
    .meta = QMP_OBJECT,
    .name = "NameInfo",
    .members = (const QmpMember[]){{"name", &qmp_str, TRUE}, {0}},
};

static gboolean query_name(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    JsonSlice name = vm_member(in->snapshot, "name");

    if (!json_string_is(name, "")) {
        g_string_append(out, "{\"name\":");
        json_append_slice(out, name);
        g_string_append_c(out, '}');
    }
    return TRUE;
}

static const QmpType uuid_info = {
    .meta = QMP_OBJECT,
    .name = "UuidInfo",
    .members = (const QmpMember[]){{"UUID", &qmp_str, FALSE}, {0}},
};

static gboolean query_uuid(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{

    g_string_append(out, "{\"UUID\":");
    json_append_slice(out, vm_member(in->snapshot, "uuid"));
    g_string_append_c(out, '}');
    return TRUE;
}

const Query queries_vm[] = {
    {.command = "query-status", .answer = query_status, .ret = &status_info},
    {.command = "query-name", .answer = query_name, .ret = &name_info},
    {.command = "query-uuid", .answer = query_uuid, .ret = &uuid_info},
    {0},
};

/* ---- CPU definitions ---- */

static const QmpType cpu_definition_info = {
    .meta = QMP_OBJECT,
    .name = "CpuDefinitionInfo",
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"migration-safe", &qmp_bool, TRUE},
            {"static", &qmp_bool, FALSE},
            {"unavailable-features", &qmp_str_list, TRUE},
            {"typename", &qmp_str, FALSE},
            {"alias-of", &qmp_str, TRUE},
            {"deprecated", &qmp_bool, FALSE},
            {0},
        },
};
static QMP_LIST_OF(cpu_definition_list, cpu_definition_info);

static gboolean query_cpu_definitions(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{

    node_append_tree(views_get(in->snapshot->root, VIEW_CPU_DEFINITIONS), out);
    return TRUE;
}

const Query queries_cpu[] = {
    {.command = "query-cpu-definitions",
     .answer = query_cpu_definitions,
     .ret = &cpu_definition_list,
     .no_file = TRUE,
     .view = "cpu-definitions"},
    {0},
};

/* ---- block statistics ---- */

static const QmpType timed_stats = {
    .meta = QMP_OBJECT,
    .name = "BlockDeviceTimedStats",
    .members =
        (const QmpMember[]){
            {"interval_length", &qmp_int, FALSE},
            {"min_rd_latency_ns", &qmp_int, FALSE},
            {"max_rd_latency_ns", &qmp_int, FALSE},
            {"avg_rd_latency_ns", &qmp_int, FALSE},
            {"min_wr_latency_ns", &qmp_int, FALSE},
            {"max_wr_latency_ns", &qmp_int, FALSE},
            {"avg_wr_latency_ns", &qmp_int, FALSE},
            {"min_zone_append_latency_ns", &qmp_int, FALSE},
            {"max_zone_append_latency_ns", &qmp_int, FALSE},
            {"avg_zone_append_latency_ns", &qmp_int, FALSE},
            {"min_flush_latency_ns", &qmp_int, FALSE},
            {"max_flush_latency_ns", &qmp_int, FALSE},
            {"avg_flush_latency_ns", &qmp_int, FALSE},
            {"avg_rd_queue_depth", &qmp_number, FALSE},
            {"avg_wr_queue_depth", &qmp_number, FALSE},
            {"avg_zone_append_queue_depth", &qmp_number, FALSE},
            {0},
        },
};
static QMP_LIST_OF(timed_stats_list, timed_stats);

static const QmpType latency_histogram = {
    .meta = QMP_OBJECT,
    .name = "BlockLatencyHistogramInfo",
    .members =
        (const QmpMember[]){
            {"boundaries", &qmp_int_list, FALSE},
            {"bins", &qmp_int_list, FALSE},
            {0},
        },
};

static const QmpType device_stats = {
    .meta = QMP_OBJECT,
    .name = "BlockDeviceStats",
    .members =
        (const QmpMember[]){
            {"rd_bytes", &qmp_int, FALSE},
            {"wr_bytes", &qmp_int, FALSE},
            {"zone_append_bytes", &qmp_int, FALSE},
            {"unmap_bytes", &qmp_int, FALSE},
            {"rd_operations", &qmp_int, FALSE},
            {"wr_operations", &qmp_int, FALSE},
            {"zone_append_operations", &qmp_int, FALSE},
            {"flush_operations", &qmp_int, FALSE},
            {"unmap_operations", &qmp_int, FALSE},
            {"rd_total_time_ns", &qmp_int, FALSE},
            {"wr_total_time_ns", &qmp_int, FALSE},
            {"zone_append_total_time_ns", &qmp_int, FALSE},
            {"flush_total_time_ns", &qmp_int, FALSE},
            {"unmap_total_time_ns", &qmp_int, FALSE},
            {"wr_highest_offset", &qmp_int, FALSE},
            {"rd_merged", &qmp_int, FALSE},
            {"wr_merged", &qmp_int, FALSE},
            {"zone_append_merged", &qmp_int, FALSE},
            {"unmap_merged", &qmp_int, FALSE},
            {"idle_time_ns", &qmp_int, TRUE},
            {"failed_rd_operations", &qmp_int, FALSE},
            {"failed_wr_operations", &qmp_int, FALSE},
            {"failed_zone_append_operations", &qmp_int, FALSE},
            {"failed_flush_operations", &qmp_int, FALSE},
            {"failed_unmap_operations", &qmp_int, FALSE},
            {"invalid_rd_operations", &qmp_int, FALSE},
            {"invalid_wr_operations", &qmp_int, FALSE},
            {"invalid_zone_append_operations", &qmp_int, FALSE},
            {"invalid_flush_operations", &qmp_int, FALSE},
            {"invalid_unmap_operations", &qmp_int, FALSE},
            {"account_invalid", &qmp_bool, FALSE},
            {"account_failed", &qmp_bool, FALSE},
            {"timed_stats", &timed_stats_list, FALSE},
            {"rd_latency_histogram", &latency_histogram, TRUE},
            {"wr_latency_histogram", &latency_histogram, TRUE},
            {"zone_append_latency_histogram", &latency_histogram, TRUE},
            {"flush_latency_histogram", &latency_histogram, TRUE},
            {0},
        },
};

/* The drivers that have statistics of their own. */
static const QmpType block_driver = {
    .meta = QMP_ENUM,
    .name = "BlockdevDriver",
    .values = (const char *const[]){"file", "host_device", "nvme", NULL},
};

static const QmpType file_stats = {
    .meta = QMP_OBJECT,
    .name = "BlockStatsSpecificFile",
    .members =
        (const QmpMember[]){
            {"discard-nb-ok", &qmp_int, FALSE},
            {"discard-nb-failed", &qmp_int, FALSE},
            {"discard-bytes-ok", &qmp_int, FALSE},
            {0},
        },
};

static const QmpType nvme_stats = {
    .meta = QMP_OBJECT,
    .name = "BlockStatsSpecificNvme",
    .members =
        (const QmpMember[]){
            {"completion-errors", &qmp_int, FALSE},
            {"aligned-accesses", &qmp_int, FALSE},
            {"unaligned-accesses", &qmp_int, FALSE},
            {0},
        },
};

static const QmpType specific_stats = {
    .meta = QMP_OBJECT,
    .name = "BlockStatsSpecific",
    .members = (const QmpMember[]){{"driver", &block_driver, FALSE}, {0}},
    .tag = "driver",
    .variants =
        (const QmpVariant[]){
            {"file", &file_stats},
            {"host_device", &file_stats},
            {"nvme", &nvme_stats},
            {0},
        },
};

static const QmpType block_stats = {
    .meta = QMP_OBJECT,
    .name = "BlockStats",
    .members =
        (const QmpMember[]){
            {"device", &qmp_str, TRUE},
            {"qdev", &qmp_str, TRUE},
            {"node-name", &qmp_str, TRUE},
            {"stats", &device_stats, FALSE},
            {"driver-specific", &specific_stats, TRUE},
            {"parent", &block_stats, TRUE},
            {"backing", &block_stats, TRUE},
            {0},
        },
};
static QMP_LIST_OF(block_stats_list, block_stats);

/*
 * What a node by itself counts: in QEMU, only a device's backend counts requests, a node
 * knows the highest offset written and nothing else.
 */
static void append_node_stats(GString *out, JsonSlice stats)
{
    JsonWalk walk = json_walk(stats);
    JsonSlice name, value;
    const char *separator = "{";

    while (json_walk_member(&walk, &name, &value)) {
        JsonKind kind = json_kind(value);

        if (kind == JSON_OBJECT || json_string_is(name, "idle_time_ns")) {
            continue; /* both are there only where a backend has them */
        }
        g_string_append(out, separator);
        separator = ",";
        json_append_slice(out, name);
        g_string_append_c(out, ':');
        if (kind == JSON_ARRAY) {
            g_string_append(out, "[]");
        } else if (kind == JSON_BOOL) {
            g_string_append(out, "false");
        } else if (json_string_is(name, "wr_highest_offset")) {
            json_append_slice(out, value);
        } else {
            g_string_append_c(out, '0');
        }
    }
    g_string_append(out, separator[0] == '{' ? "{}" : "}");
}

static JsonSlice object_member(JsonSlice object, const char *name)
{
    JsonSlice value = json_member(object, name);

    return value.length > 0 && json_kind(value) == JSON_OBJECT ? value : (JsonSlice){NULL, 0};
}

/* One node: its entry without what belongs to a device. */
static void append_node(GString *out, JsonSlice entry)
{
    JsonWalk walk = json_walk(entry);
    JsonSlice name, value;
    const char *separator = out->str[out->len - 1] == '[' ? "{" : ",{";

    while (json_walk_member(&walk, &name, &value)) {
        if (json_string_is(name, "device") || json_string_is(name, "qdev") || json_string_is(name, "backing")) {
            continue;
        }
        g_string_append(out, separator);
        separator = ",";
        json_append_slice(out, name);
        g_string_append_c(out, ':');
        if (json_string_is(name, "stats") && json_kind(value) == JSON_OBJECT) {
            append_node_stats(out, value);
        } else {
            json_append_slice(out, value);
        }
    }
    g_string_append_c(out, '}');
}

/* All nodes of a device's graph that have a name, those below others first. */
static void append_nodes(GString *out, JsonSlice entry)
{
    JsonSlice parent = object_member(entry, "parent"), backing = object_member(entry, "backing");

    if (parent.length > 0) {
        append_nodes(out, parent);
    }
    if (backing.length > 0) {
        append_nodes(out, backing);
    }
    if (json_member(entry, "node-name").length > 0) {
        append_node(out, entry);
    }
}

typedef struct BlockStatsArgs {
    gboolean query_nodes;
} BlockStatsArgs;

static const QmpArg block_stats_args[] = {
    QMP_ARG(BlockStatsArgs, query_nodes, "query-nodes", qmp_bool, .optional = TRUE),
    {0},
};

static gboolean query_blockstats(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    const BlockStatsArgs *args = in->args;
    const Node *view = views_get(in->snapshot->root, VIEW_BLOCKSTATS), *entry;
    ChildrenIter iter = children_iter(view->children, 0);

    if (!args->query_nodes) {
        node_append_tree(view, out);
        return TRUE;
    }
    g_string_append_c(out, '[');
    while ((entry = children_next(&iter)) != NULL) {
        g_autoptr(Node) sample = node_sample(entry);

        append_nodes(out, sample->text);
    }
    g_string_append_c(out, ']');
    return TRUE;
}

const Query queries_block[] = {
    {.command = "query-blockstats",
     .answer = query_blockstats,
     .args = block_stats_args,
     .args_size = sizeof(BlockStatsArgs),
     .ret = &block_stats_list,
     .view = "blockstats",
     .no_file = TRUE},
    {0},
};
