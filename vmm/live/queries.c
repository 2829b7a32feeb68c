/* SPDX-License-Identifier: MIT */
/*
 * See queries.h. The table was reviewed with QEMU 7.2 and 11.1: each of those shown takes less than a millisecond of
 * the main loop, opens no file and changes nothing. What it does not know is judged by the schema, which costs the
 * target some 60 ms in one piece, and is therefore asked for only when somebody lists query/.
 */
#include "vmm/live/queries.h"

#include <string.h>

static const struct {
    const char *command;
    LiveQueryVerdict verdict;
} reviewed[] = {
    {"query-accelerators", LIVE_QUERY_SHOWN},
    {"query-acpi-ospm-status", LIVE_QUERY_SHOWN},
    {"query-audiodevs", LIVE_QUERY_SHOWN},
    {"query-balloon", LIVE_QUERY_SHOWN},
    {"query-block", LIVE_QUERY_LEFT_OUT}, /* stats the image files on the main loop */
    {"query-block-exports", LIVE_QUERY_SHOWN},
    {"query-block-jobs", LIVE_QUERY_SHOWN},
    {"query-blockstats", LIVE_QUERY_NEVER},
    {"query-chardev", LIVE_QUERY_SHOWN},
    {"query-chardev-backends", LIVE_QUERY_SHOWN},
    {"query-colo-status", LIVE_QUERY_SHOWN},
    {"query-command-line-options", LIVE_QUERY_SHOWN},
    {"query-commands", LIVE_QUERY_SHOWN},
    {"query-cpu-definitions", LIVE_QUERY_NEVER},
    {"query-cpu-model-baseline", LIVE_QUERY_NEVER},
    {"query-cpu-model-comparison", LIVE_QUERY_NEVER},
    {"query-cpu-model-expansion", LIVE_QUERY_NEVER},
    {"query-cpus-fast", LIVE_QUERY_SHOWN},
    {"query-cryptodev", LIVE_QUERY_SHOWN},
    {"query-current-machine", LIVE_QUERY_SHOWN},
    {"query-dirty-rate", LIVE_QUERY_SHOWN},
    {"query-display-options", LIVE_QUERY_SHOWN},
    {"query-dump", LIVE_QUERY_SHOWN},
    {"query-dump-guest-memory-capability", LIVE_QUERY_SHOWN},
    {"query-fdsets", LIVE_QUERY_SHOWN},
    {"query-firmware-log", LIVE_QUERY_LEFT_OUT}, /* may be large */
    {"query-gic-capabilities", LIVE_QUERY_SHOWN},
    {"query-hotpluggable-cpus", LIVE_QUERY_SHOWN},
    {"query-hv-balloon-status-report", LIVE_QUERY_SHOWN},
    {"query-iothreads", LIVE_QUERY_SHOWN},
    {"query-jobs", LIVE_QUERY_SHOWN},
    {"query-kvm", LIVE_QUERY_SHOWN},
    {"query-machines", LIVE_QUERY_SHOWN},
    {"query-memdev", LIVE_QUERY_SHOWN},
    {"query-memory-devices", LIVE_QUERY_SHOWN},
    {"query-memory-size-summary", LIVE_QUERY_SHOWN},
    {"query-mice", LIVE_QUERY_SHOWN},
    {"query-migrate", LIVE_QUERY_SHOWN},
    {"query-migrate-capabilities", LIVE_QUERY_SHOWN},
    {"query-migrate-parameters", LIVE_QUERY_SHOWN},
    {"query-migrationthreads", LIVE_QUERY_SHOWN},
    {"query-name", LIVE_QUERY_SHOWN},
    {"query-named-block-nodes", LIVE_QUERY_LEFT_OUT}, /* stats the image files on the main loop */
    {"query-pci", LIVE_QUERY_SHOWN},
    {"query-pr-managers", LIVE_QUERY_SHOWN},
    {"query-qmp-schema", LIVE_QUERY_LEFT_OUT}, /* takes some 60 ms of the main loop */
    {"query-replay", LIVE_QUERY_SHOWN},
    {"query-rx-filter", LIVE_QUERY_LEFT_OUT}, /* re-arms an event that others wait for */
    {"query-sev", LIVE_QUERY_SHOWN},
    {"query-sev-capabilities", LIVE_QUERY_LEFT_OUT}, /* opens a device */
    {"query-sev-launch-measure", LIVE_QUERY_SHOWN},
    {"query-sgx", LIVE_QUERY_SHOWN},
    {"query-sgx-capabilities", LIVE_QUERY_LEFT_OUT}, /* opens a device */
    {"query-spice", LIVE_QUERY_SHOWN},
    {"query-stats", LIVE_QUERY_NEVER},
    {"query-stats-schemas", LIVE_QUERY_SHOWN},
    {"query-status", LIVE_QUERY_SHOWN},
    {"query-target", LIVE_QUERY_SHOWN},
    {"query-tpm", LIVE_QUERY_SHOWN},
    {"query-tpm-models", LIVE_QUERY_SHOWN},
    {"query-tpm-types", LIVE_QUERY_SHOWN},
    {"query-uuid", LIVE_QUERY_SHOWN},
    {"query-vcpu-dirty-limit", LIVE_QUERY_SHOWN},
    {"query-version", LIVE_QUERY_SHOWN},
    {"query-vm-generation-id", LIVE_QUERY_SHOWN},
    {"query-vnc", LIVE_QUERY_SHOWN},
    {"query-vnc-servers", LIVE_QUERY_SHOWN},
    {"query-xen-replication-status", LIVE_QUERY_SHOWN},
    {"query-yank", LIVE_QUERY_SHOWN},
};

LiveQueryVerdict live_query_verdict(const char *command)
{
    for (guint i = 0; i < G_N_ELEMENTS(reviewed); i++) {
        if (strcmp(reviewed[i].command, command) == 0) {
            return reviewed[i].verdict;
        }
    }
    return LIVE_QUERY_UNKNOWN;
}

static gboolean is_query(const char *command)
{
    return g_str_has_prefix(command, "query-") || g_str_has_prefix(command, "x-query-");
}

GPtrArray *live_query_from_commands(JsonSlice commands, gboolean all)
{
    GPtrArray *result = g_ptr_array_new_with_free_func(g_free);
    JsonWalk walk;
    JsonSlice entry;

    if (commands.length == 0 || json_kind(commands) != JSON_ARRAY) {
        return result;
    }
    walk = json_walk(commands);
    while (json_walk_element(&walk, &entry)) {
        g_autofree char *name =
            json_kind(entry) == JSON_OBJECT ? json_string_dup(json_member(entry, "name"), NULL) : NULL;
        LiveQueryVerdict verdict = name != NULL ? live_query_verdict(name) : LIVE_QUERY_NEVER;

        if (verdict == LIVE_QUERY_SHOWN || (all && verdict == LIVE_QUERY_LEFT_OUT)) {
            g_ptr_array_add(result, g_steal_pointer(&name));
        }
    }
    return result;
}

/* ---- the schema ---- */

/* Whether an object type of the schema has a member that must be given. */
static gboolean has_mandatory(JsonSlice type)
{
    JsonSlice members = json_member(type, "members"), member;
    JsonWalk walk;

    if (members.length == 0 || json_kind(members) != JSON_ARRAY) {
        return FALSE;
    }
    walk = json_walk(members);
    while (json_walk_element(&walk, &member)) {
        if (json_kind(member) == JSON_OBJECT && json_member(member, "default").length == 0) {
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_discouraged(JsonSlice command)
{
    JsonSlice features = json_member(command, "features"), feature;
    JsonWalk walk;

    if (features.length == 0 || json_kind(features) != JSON_ARRAY) {
        return FALSE;
    }
    walk = json_walk(features);
    while (json_walk_element(&walk, &feature)) {
        if (json_string_is(feature, "deprecated") || json_string_is(feature, "unstable")) {
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_shown(JsonSlice command, const char *name, GHashTable *mandatory, gboolean all)
{
    LiveQueryVerdict verdict = live_query_verdict(name);
    g_autofree char *argument_type = json_string_dup(json_member(command, "arg-type"), NULL);

    if (!is_query(name) || verdict == LIVE_QUERY_NEVER ||
        (argument_type != NULL && g_hash_table_contains(mandatory, argument_type))) {
        return FALSE;
    }
    return all || (verdict != LIVE_QUERY_LEFT_OUT && !is_discouraged(command) && !g_str_has_prefix(name, "x-"));
}

GPtrArray *live_query_from_schema(JsonSlice schema, gboolean all)
{
    GPtrArray *result = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) mandatory = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gboolean is_list = schema.length > 0 && json_kind(schema) == JSON_ARRAY;
    JsonSlice entry;

    for (guint pass = 0; is_list && pass < 2; pass++) {
        JsonWalk walk = json_walk(schema);

        while (json_walk_element(&walk, &entry)) {
            gboolean is_object = json_kind(entry) == JSON_OBJECT;
            JsonSlice meta = is_object ? json_member(entry, "meta-type") : (JsonSlice){0};
            g_autofree char *name = is_object ? json_string_dup(json_member(entry, "name"), NULL) : NULL;

            if (name == NULL || meta.length == 0) {
                continue;
            }
            if (pass == 0 && json_string_is(meta, "object") && has_mandatory(entry)) {
                g_hash_table_add(mandatory, g_steal_pointer(&name));
            } else if (pass == 1 && json_string_is(meta, "command") && is_shown(entry, name, mandatory, all)) {
                g_ptr_array_add(result, g_steal_pointer(&name));
            }
        }
    }
    return result;
}
