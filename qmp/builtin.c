/* SPDX-License-Identifier: MIT */
/*
 * The commands that every QMP server has: about the protocol itself. Their context is the
 * registry. (qmp_capabilities stands here as it is after negotiation; session.c has the
 * one that negotiates.)
 */
#include "qmp/registry.h"

/* ---- qmp_capabilities ---- */

static const QmpType capability_type = {
    .meta = QMP_ENUM,
    .name = "QMPCapability",
    .values = (const char *const[]){"oob", NULL},
};
static QMP_LIST_OF(capability_list, capability_type);

const QmpArg qmp_capabilities_args[] = {
    QMP_ARG(QmpCapabilitiesArgs, enable, "enable", capability_list, .optional = TRUE),
    {0},
};

static void capabilities(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND, "capabilities have been negotiated already");
}

/* ---- query-version ---- */

static const QmpType version_triple = {
    .meta = QMP_OBJECT,
    .name = "VersionTriple",
    .members =
        (const QmpMember[]){
            {"major", &qmp_int, FALSE},
            {"minor", &qmp_int, FALSE},
            {"micro", &qmp_int, FALSE},
            {0},
        },
};

static const QmpType version_info = {
    .meta = QMP_OBJECT,
    .name = "VersionInfo",
    .members =
        (const QmpMember[]){
            {"qemu", &version_triple, FALSE},
            {"package", &qmp_str, FALSE},
            {0},
        },
};

static void query_version(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    qmp_append_version(qmp_call_result(call), qmp_registry_version(qmp_call_context(call)));
    qmp_call_return(call);
}

/* ---- query-commands ---- */

static const QmpType command_info = {
    .meta = QMP_OBJECT,
    .name = "CommandInfo",
    .members = (const QmpMember[]){{"name", &qmp_str, FALSE}, {0}},
};
static QMP_LIST_OF(command_info_list, command_info);

void qmp_registry_append_names(const QmpRegistry *registry, GString *out)
{
    for (guint i = 0; i < qmp_registry_count(registry); i++) {
        g_string_append(out, i == 0 ? "[{\"name\":" : ",{\"name\":");
        json_append_string(out, qmp_registry_nth(registry, i)->name, -1);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void query_commands(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    qmp_registry_append_names(qmp_call_context(call), qmp_call_result(call));
    qmp_call_return(call);
}

/* ---- query-qmp-schema ---- */

static const QmpType schema_meta_type = {
    .meta = QMP_ENUM,
    .name = "SchemaMetaType",
    .values = (const char *const[]){"builtin", "enum", "array", "object", "alternate", "command", "event", NULL},
};

static const QmpType json_type = {
    .meta = QMP_ENUM,
    .name = "JSONType",
    .values = (const char *const[]){"string", "number", "int", "boolean", "null", "object", "array", "value", NULL},
};

static const QmpType schema_builtin = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"json-type", &json_type, FALSE}, {0}},
};

static const QmpType schema_enum_member = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"features", &qmp_str_list, TRUE},
            {0},
        },
};
static QMP_LIST_OF(schema_enum_members, schema_enum_member);

static const QmpType schema_enum = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"members", &schema_enum_members, FALSE},
            {"values", &qmp_str_list, FALSE},
            {0},
        },
};

static const QmpType schema_array = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"element-type", &qmp_str, FALSE}, {0}},
};

static const QmpType schema_object_member = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"type", &qmp_str, FALSE},
            {"default", &qmp_any, TRUE},
            {"features", &qmp_str_list, TRUE},
            {0},
        },
};
static QMP_LIST_OF(schema_object_members, schema_object_member);

static const QmpType schema_variant = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"case", &qmp_str, FALSE},
            {"type", &qmp_str, FALSE},
            {0},
        },
};
static QMP_LIST_OF(schema_variants, schema_variant);

static const QmpType schema_object = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"members", &schema_object_members, FALSE},
            {"tag", &qmp_str, TRUE},
            {"variants", &schema_variants, TRUE},
            {0},
        },
};

static const QmpType schema_alternate_member = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"type", &qmp_str, FALSE}, {0}},
};
static QMP_LIST_OF(schema_alternate_members, schema_alternate_member);

static const QmpType schema_alternate = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"members", &schema_alternate_members, FALSE}, {0}},
};

static const QmpType schema_command = {
    .meta = QMP_OBJECT,
    .members =
        (const QmpMember[]){
            {"arg-type", &qmp_str, FALSE},
            {"ret-type", &qmp_str, FALSE},
            {"allow-oob", &qmp_bool, TRUE},
            {0},
        },
};

static const QmpType schema_event = {
    .meta = QMP_OBJECT,
    .members = (const QmpMember[]){{"arg-type", &qmp_str, FALSE}, {0}},
};

static const QmpType schema_info = {
    .meta = QMP_OBJECT,
    .name = "SchemaInfo",
    .members =
        (const QmpMember[]){
            {"name", &qmp_str, FALSE},
            {"meta-type", &schema_meta_type, FALSE},
            {"features", &qmp_str_list, TRUE},
            {0},
        },
    .tag = "meta-type",
    .variants =
        (const QmpVariant[]){
            {"builtin", &schema_builtin},
            {"enum", &schema_enum},
            {"array", &schema_array},
            {"object", &schema_object},
            {"alternate", &schema_alternate},
            {"command", &schema_command},
            {"event", &schema_event},
            {0},
        },
};
static QMP_LIST_OF(schema_info_list, schema_info);

static void query_qmp_schema(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    g_string_append(qmp_call_result(call), qmp_registry_schema(qmp_call_context(call)));
    qmp_call_return(call);
}

/* ---- the table ---- */

const QmpCommand qmp_builtin_commands[] = {
    {.name = "qmp_capabilities",
     .handler = capabilities,
     .args = qmp_capabilities_args,
     .args_size = sizeof(QmpCapabilitiesArgs)},
    {.name = "query-version", .handler = query_version, .ret = &version_info},
    {.name = "query-commands", .handler = query_commands, .ret = &command_info_list},
    {.name = "query-qmp-schema", .handler = query_qmp_schema, .ret = &schema_info_list},
    {0},
};
