/* SPDX-License-Identifier: MIT */
/* Queries whose constant answer (vmm/data/queries.json) an argument chooses from. */
#include <string.h>

#include "vmm/query-data.h"

/* Appends the elements of the constant list whose member is that string; all where it is NULL. Returns how many. */
static guint append_chosen(const QueryInput *in, const char *member, const char *wanted, GString *out)
{
    JsonWalk walk = json_walk(query_data_value(in->query->command));
    JsonSlice element;
    guint n = 0;

    g_string_append_c(out, '[');
    while (json_walk_element(&walk, &element)) {
        if (wanted && !json_string_is(json_member(element, member), wanted))
            continue;
        if (n++)
            g_string_append_c(out, ',');
        json_append_slice(out, element);
    }
    g_string_append_c(out, ']');
    return n;
}

/* ---- query-command-line-options ---- */

typedef struct OptionArgs {
    char *option;
} OptionArgs;

static const QmpArg option_args[] = {
    QMP_ARG(OptionArgs, option, "option", qmp_str, .optional = TRUE),
    {0},
};

static gboolean query_command_line_options(const QueryInput *in, GString *out, GError **error)
{
    const OptionArgs *args = in->args;

    if (append_chosen(in, "option", args->option, out) || !args->option)
        return TRUE;
    g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "invalid option name: %s", args->option);
    return FALSE;
}

/* ---- query-stats-schemas ---- */

static const char *const providers[] = {"kvm", "cryptodev", NULL};
static const QmpType provider_type = {.meta = QMP_ENUM, .name = "StatsProvider", .values = providers};

typedef struct ProviderArgs {
    int provider;
} ProviderArgs;

static const QmpArg provider_args[] = {
    QMP_ARG(ProviderArgs, provider, "provider", provider_type, .optional = TRUE, .otherwise = -1),
    {0},
};

static gboolean query_stats_schemas(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    const ProviderArgs *args = in->args;

    append_chosen(in, "provider", args->provider < 0 ? NULL : providers[args->provider], out);
    return TRUE;
}

/* ---- query-dirty-rate ---- */

static const QmpType time_unit = {
    .meta = QMP_ENUM,
    .name = "TimeUnit",
    .values = (const char *const[]){"second", "millisecond", NULL},
};

typedef struct DirtyRateArgs {
    int unit;
} DirtyRateArgs;

static const QmpArg dirty_rate_args[] = {
    QMP_ARG(DirtyRateArgs, unit, "calc-time-unit", time_unit, .optional = TRUE),
    {0},
};

/* Nothing was ever measured. */
static gboolean query_dirty_rate(const QueryInput *in, GString *out, GError **error G_GNUC_UNUSED)
{
    const DirtyRateArgs *args = in->args;

    g_string_append_printf(out,
                           "{\"status\":\"unstarted\",\"sample-pages\":0,\"mode\":\"page-sampling\","
                           "\"calc-time-unit\":\"%s\",\"start-time\":0,\"calc-time\":0}",
                           time_unit.values[args->unit]);
    return TRUE;
}

/* ---- query-firmware-log ---- */

typedef struct FirmwareLogArgs {
    gint64 max_size;
} FirmwareLogArgs;

static const QmpArg firmware_log_args[] = {
    QMP_ARG(FirmwareLogArgs, max_size, "max-size", qmp_int, .optional = TRUE, .max = G_MAXINT64),
    {0},
};

static gboolean query_firmware_log(const QueryInput *in G_GNUC_UNUSED, GString *out G_GNUC_UNUSED, GError **error)
{
    g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "firmware log buffer not found");
    return FALSE;
}

/* ---- the table ---- */

const Query queries_options[] = {
    {.command = "query-command-line-options",
     .answer = query_command_line_options,
     .args = option_args,
     .args_size = sizeof(OptionArgs)},
    {.command = "query-stats-schemas",
     .answer = query_stats_schemas,
     .args = provider_args,
     .args_size = sizeof(ProviderArgs)},
    {.command = "query-dirty-rate",
     .answer = query_dirty_rate,
     .args = dirty_rate_args,
     .args_size = sizeof(DirtyRateArgs)},
    {.command = "query-firmware-log",
     .answer = query_firmware_log,
     .args = firmware_log_args,
     .args_size = sizeof(FirmwareLogArgs)},
    {0},
};
