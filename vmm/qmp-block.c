/* SPDX-License-Identifier: MIT */
/* The QMP commands about block nodes: jobs of the main loop, whose work is in block-options.c and block-node.c;
 * queries; and the event that a disk failed. */
#include "vmm/block-query.h"
#include "vmm/block.h"
#include "vmm/qmp-job.h"
#include "vmm/query.h"

/* ---- blockdev-add, blockdev-del ---- */

typedef struct AddArgs {
    char *driver;
    char *node_name;
} AddArgs;

/* The others depend on the driver. */
static const QmpArg add_args[] = {
    QMP_ARG(AddArgs, driver, "driver", qmp_str),
    QMP_ARG(AddArgs, node_name, "node-name", qmp_str, .optional = TRUE),
    {0},
};

/* ---- what blockdev-add takes, for the schema; block-options.c checks it ---- */

static const QmpType block_drivers = {.meta = QMP_ENUM, .name = "BlockdevDriver", .values = block_driver_names};

#define OPTION_ENUM(symbol, type_name, ...)                                                                            \
    static const QmpType symbol = {                                                                                    \
        .meta = QMP_ENUM, .name = type_name, .values = (const char *const[]){__VA_ARGS__, NULL}}

OPTION_ENUM(discard_options, "BlockdevDiscardOptions", "ignore", "unmap");
OPTION_ENUM(zeroes_options, "BlockdevDetectZeroesOptions", "off", "on", "unmap");
OPTION_ENUM(aio_options, "BlockdevAioOptions", "threads", "native", "io_uring");
OPTION_ENUM(locking_options, "OnOffAuto", "auto", "on", "off");

static const QmpType cache_options = {
    .meta = QMP_OBJECT,
    .name = "BlockdevCacheOptions",
    .members =
        (const QmpMember[]){
            {"direct", &qmp_bool, TRUE},
            {"no-flush", &qmp_bool, TRUE},
            {0},
        },
};

static const QmpType node_options;

static const QmpType node_reference = {
    .meta = QMP_ALTERNATE,
    .name = "BlockdevRef",
    .members =
        (const QmpMember[]){
            {"definition", &node_options, FALSE},
            {"reference", &qmp_str, FALSE},
            {0},
        },
};

static const QmpType null_options = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"size", &qmp_int, TRUE},
            {"latency-ns", &qmp_int, TRUE},
            {"read-zeroes", &qmp_bool, TRUE},
            {0},
        },
};

static const QmpType file_options = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"filename", &qmp_str, FALSE},
            {"pr-manager", &qmp_str, TRUE},
            {"locking", &locking_options, TRUE},
            {"aio", &aio_options, TRUE},
            {"aio-max-batch", &qmp_int, TRUE},
            {"drop-cache", &qmp_bool, TRUE},
            {"x-check-cache-dropped", &qmp_bool, TRUE},
            {0},
        },
};

static const QmpType raw_options = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"file", &node_reference, FALSE},
            {"offset", &qmp_int, TRUE},
            {"size", &qmp_int, TRUE},
            {0},
        },
};

static const QmpType node_options = {
    .meta = QMP_OBJECT,
    .name = "BlockdevOptions",
    .members =
        (const QmpMember[]){
            {"driver", &block_drivers, FALSE},
            {"node-name", &qmp_str, TRUE},
            {"discard", &discard_options, TRUE},
            {"cache", &cache_options, TRUE},
            {"active", &qmp_bool, TRUE},
            {"read-only", &qmp_bool, TRUE},
            {"auto-read-only", &qmp_bool, TRUE},
            {"force-share", &qmp_bool, TRUE},
            {"detect-zeroes", &zeroes_options, TRUE},
            {0},
        },
    .tag = "driver",
    .variants =
        (const QmpVariant[]){
            {"null-co", &null_options},
            {"file", &file_options},
            {"raw", &raw_options},
            {0},
        },
};

static gboolean run_add(Vm *vm, QmpCall *call, const void *args G_GNUC_UNUSED, GError **error)
{
    return blockdev_add(vm, qmp_call_arguments(call), error);
}

typedef struct NodeArgs {
    char *node_name;
} NodeArgs;

static const QmpArg node_args[] = {
    QMP_ARG(NodeArgs, node_name, "node-name", qmp_str),
    {0},
};

static gboolean run_del(Vm *vm, QmpCall *call G_GNUC_UNUSED, const void *data, GError **error)
{
    return blockdev_del(vm, ((const NodeArgs *)data)->node_name, error);
}

const QmpCommand qmp_block_commands[] = {
    {.name = "blockdev-add",
     QMP_JOB(run_add),
     .args = add_args,
     .args_size = sizeof(AddArgs),
     .arg_type = &node_options,
     .flags = QMP_COMMAND_OPEN_ARGS},
    {.name = "blockdev-del", QMP_JOB(run_del), .args = node_args, .args_size = sizeof(NodeArgs)},
    {0},
};

/* ---- queries ---- */

static gboolean query_block(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    g_autoptr(BlockList) list = vm_block_list(in->vm);

    block_list_append_disks(list, out);
    return TRUE;
}

typedef struct NodesArgs {
    gboolean flat;
} NodesArgs;

/* flat leaves out what an image is backed by, which no node here is. */
static const QmpArg nodes_args[] = {
    QMP_ARG(NodesArgs, flat, "flat", qmp_bool, .optional = TRUE),
    {0},
};

static gboolean query_nodes(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    g_autoptr(BlockList) list = vm_block_list(in->vm);

    block_list_append_nodes(list, out);
    return TRUE;
}

/* ---- events ---- */

static const QmpType io_error_action = {
    .meta = QMP_ENUM,
    .name = "BlockErrorAction",
    .values = (const char *const[]){"ignore", "report", "stop", NULL},
};

static const QmpType io_operation = {
    .meta = QMP_ENUM,
    .name = "IoOperationType",
    .values = (const char *const[]){"read", "write", NULL},
};

static const QmpType io_error_data = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"qom-path", &qmp_str, FALSE},
            {"device", &qmp_str, FALSE},
            {"node-name", &qmp_str, TRUE},
            {"operation", &io_operation, FALSE},
            {"action", &io_error_action, FALSE},
            {"nospace", &qmp_bool, TRUE},
            {"reason", &qmp_str, FALSE},
            {0},
        },
};

const QmpEvent qmp_block_events[] = {
    {.name = "BLOCK_IO_ERROR", .data = &io_error_data},
    {0},
};

const Query queries_block_nodes[] = {
    {.command = "query-block", .answer = query_block, .args = nodes_args, .args_size = sizeof(NodesArgs)},
    {.command = "query-named-block-nodes", .answer = query_nodes, .args = nodes_args, .args_size = sizeof(NodesArgs)},
    {0},
};
