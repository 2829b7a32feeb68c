/* SPDX-License-Identifier: MIT */
/* What the command line changes of a configuration: the common cases. */
#include <stdarg.h>
#include <string.h>

#include "objmodel/json.h"
#include "vmm/config-private.h"

/* The options, and where each number or text goes. */
static const struct {
    const char *name;
    gsize offset;
    const char *json; /* with the option's value in it */
    gboolean text;
} change_rows[] = {
    {"cpus", offsetof(VmConfigChange, cpus), "{\"cpus\":{\"count\":%s}}", FALSE},
    {"cpu", offsetof(VmConfigChange, cpu), "{\"cpus\":{\"model\":%s}}", TRUE},
    {"memory", offsetof(VmConfigChange, memory), "{\"memory\":%s}", TRUE},
    {"disks", offsetof(VmConfigChange, disks), NULL, FALSE},
    {"nics", offsetof(VmConfigChange, nics), NULL, FALSE},
};

static const char *change_value(const VmConfigChange *change, guint row)
{
    return *(const char *const *)(gconstpointer)((const char *)change + change_rows[row].offset);
}

const char *vm_config_change_option(const VmConfigChange *change)
{
    for (guint i = 0; i < G_N_ELEMENTS(change_rows); i++)
        if (change_value(change, i))
            return change_rows[i].name;
    return NULL;
}

static gboolean G_GNUC_PRINTF(3, 4) option_error(const char *name, GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_INVALID, "option '%s': %s", name, message);
    return FALSE;
}

/* Reads the value as the file's member of that name is read. */
static gboolean change_member(VmConfig *config, const char *name, const char *format, const char *value, GError **error)
{
    g_autoptr(GError) problem = NULL;
    g_auto(GStrv) parts = g_strsplit(format, "%s", 2);
    g_autofree char *json = g_strconcat(parts[0], value, parts[1], NULL);
    ConfigReader *reader = config_reader_new(json, strlen(json));

    if (config_reader_end(reader, config_reader_object(reader, &config_object, config), &problem))
        return TRUE;
    /* Behind the position in a text that nobody wrote. */
    return option_error(name, error, "%s", strstr(problem->message, ": ") + 2);
}

static char *numbered(const char *name, guint number)
{
    return g_strdup_printf("%s%u", name, number);
}

static void replace_disks(VmConfig *config, guint n)
{
    g_array_set_size(config->disks, 0);
    for (guint i = 0; i < n; i++) {
        VmDisk disk = {.id = numbered("disk", i), .size = CONFIG_DISK_SIZE};
        g_array_append_val(config->disks, disk);
    }
}

static void replace_nics(VmConfig *config, guint n)
{
    g_array_set_size(config->nics, 0);
    for (guint i = 0; i < n; i++) {
        VmNic nic = {.id = numbered("nic", i), .mac = config_default_mac(i)};
        g_array_append_val(config->nics, nic);
    }
}

/* A number of disks or cards. */
static gboolean change_list(VmConfig *config, const char *name, const char *value,
                            void (*replace)(VmConfig *config, guint n), GError **error)
{
    guint64 n;

    if (!g_ascii_string_to_unsigned(value, 10, 0, CONFIG_MAX_DEVICES, &n, NULL))
        return option_error(name, error, "must be from 0 to %d, not '%s'", CONFIG_MAX_DEVICES, value);
    replace(config, (guint)n);
    return config->disks->len + config->nics->len <= CONFIG_MAX_DEVICES ||
           option_error(name, error, "%u disks and nics are more than the board has places for (%d)",
                        config->disks->len + config->nics->len, CONFIG_MAX_DEVICES);
}

gboolean vm_config_apply(VmConfig *config, const VmConfigChange *change, GError **error)
{
    VmCpus *cpus = &config->cpus;

    if (change->cpus)
        cpus->sockets = cpus->dies = cpus->modules = cpus->cores = cpus->threads = 0;
    if (change->nics)
        replace_nics(config, 0); /* so that more disks may be asked for at once */
    for (guint i = 0; i < G_N_ELEMENTS(change_rows); i++) {
        const char *value = change_value(change, i);
        if (!value || !change_rows[i].json)
            continue;
        g_autoptr(GString) text = g_string_new(NULL);
        if (change_rows[i].text)
            json_append_string(text, value, -1);
        else if (*value && strspn(value, "0123456789") == strlen(value))
            g_string_append(text, value);
        else
            return option_error(change_rows[i].name, error, "must be a whole number, not '%s'", value);
        if (!change_member(config, change_rows[i].name, change_rows[i].json, text->str, error))
            return FALSE;
    }
    return (!change->disks || change_list(config, "disks", change->disks, replace_disks, error)) &&
           (!change->nics || change_list(config, "nics", change->nics, replace_nics, error));
}
