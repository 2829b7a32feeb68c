/* SPDX-License-Identifier: MIT */
/*
 * What blockdev-add takes: which members each driver has, of what kind. All of it is checked before anything is opened.
 */
#include <string.h>

#include "vmm/block.h"

typedef enum OptionKind {
    OPTION_STRING,
    OPTION_BOOL,
    OPTION_INT, /* not negative */
    OPTION_ENUM,
    OPTION_CACHE, /* an object of two booleans */
    OPTION_NODE,  /* a node's name, or the options of a new one */
} OptionKind;

typedef struct Option {
    const char *name; /* NULL ends a table */
    OptionKind kind;
    const char *const *values; /* of enums */
    gboolean required;
    gboolean is_content; /* it stands in the file name that is made up of options */
} Option;

static const char *const discard_values[] = {"ignore", "unmap", NULL};
static const char *const zeroes_values[] = {"off", "on", "unmap", NULL};
static const char *const aio_values[] = {"threads", "native", "io_uring", NULL};
static const char *const locking_values[] = {"auto", "on", "off", NULL};

static const Option common_options[] = {
    {.name = "driver", .kind = OPTION_STRING, .is_content = TRUE},
    {.name = "node-name", .kind = OPTION_STRING},
    {.name = "discard", .kind = OPTION_ENUM, .values = discard_values},
    {.name = "cache", .kind = OPTION_CACHE},
    {.name = "read-only", .kind = OPTION_BOOL},
    {.name = "auto-read-only", .kind = OPTION_BOOL},
    {.name = "active", .kind = OPTION_BOOL},
    {.name = "force-share", .kind = OPTION_BOOL},
    {.name = "detect-zeroes", .kind = OPTION_ENUM, .values = zeroes_values},
    {0},
};

static const Option null_options[] = {
    {.name = "read-zeroes", .kind = OPTION_BOOL, .is_content = TRUE},
    {.name = "size", .kind = OPTION_INT, .is_content = TRUE},
    {.name = "latency-ns", .kind = OPTION_INT, .is_content = TRUE},
    {0},
};

static const Option file_options[] = {
    {.name = "filename", .kind = OPTION_STRING, .required = TRUE, .is_content = TRUE},
    {.name = "pr-manager", .kind = OPTION_STRING},
    {.name = "locking", .kind = OPTION_ENUM, .values = locking_values},
    {.name = "aio", .kind = OPTION_ENUM, .values = aio_values},
    {.name = "aio-max-batch", .kind = OPTION_INT},
    {.name = "drop-cache", .kind = OPTION_BOOL},
    {.name = "x-check-cache-dropped", .kind = OPTION_BOOL},
    {0},
};

static const Option raw_options[] = {
    {.name = "offset", .kind = OPTION_INT, .is_content = TRUE},
    {.name = "size", .kind = OPTION_INT, .is_content = TRUE},
    {.name = "file", .kind = OPTION_NODE, .required = TRUE},
    {0},
};

static const Option *const driver_options[N_BLOCK_DRIVERS] = {
    [BLOCK_DRIVER_NULL_CO] = null_options, [BLOCK_DRIVER_FILE] = file_options, [BLOCK_DRIVER_RAW] = raw_options};

/* ---- checking ---- */

enum { MAX_NESTING = 16 };

static gboolean G_GNUC_PRINTF(2, 3) fail(GError **error, const char *format, ...)
{
    va_list args;
    g_autofree char *message = NULL;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error_literal(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, message);
    return FALSE;
}

static gboolean wrong_kind(GError **error, const char *where, const char *name, const char *expected)
{
    return fail(error, "Invalid parameter type for '%s%s', expected: %s", where, name, expected);
}

static gboolean check_options(JsonSlice options, const char *where, guint depth, GError **error);

static gboolean check_cache(JsonSlice cache, const char *where, GError **error)
{
    JsonWalk walk = json_walk(cache);
    JsonSlice key, value;

    if (json_kind(cache) != JSON_OBJECT)
        return wrong_kind(error, where, "cache", "object");
    while (json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        g_autofree char *full = g_strdup_printf("cache.%s", name);

        if (strcmp(name, "direct") != 0 && strcmp(name, "no-flush") != 0)
            return fail(error, "Parameter '%s%s' is unexpected", where, full);
        if (json_kind(value) != JSON_BOOL)
            return wrong_kind(error, where, full, "boolean");
    }
    return TRUE;
}

static gboolean check_value(const Option *option, JsonSlice value, const char *where, guint depth, GError **error)
{
    JsonKind kind = json_kind(value);
    g_autofree char *text = kind == JSON_STRING ? json_string_dup(value, NULL) : NULL;
    gint64 number;

    switch (option->kind) {
    case OPTION_STRING:
        return text || wrong_kind(error, where, option->name, "string");
    case OPTION_ENUM:
        if (!text)
            return wrong_kind(error, where, option->name, "string");
        return g_strv_contains(option->values, text) ||
               fail(error, "Parameter '%s%s' does not accept value '%s'", where, option->name, text);
    case OPTION_BOOL:
        return kind == JSON_BOOL || wrong_kind(error, where, option->name, "boolean");
    case OPTION_INT:
        if (kind != JSON_NUMBER || !json_to_int64(value, &number))
            return wrong_kind(error, where, option->name, "integer");
        return number >= 0 || fail(error, "%s is invalid", option->name);
    case OPTION_CACHE:
        return check_cache(value, where, error);
    case OPTION_NODE:
        if (text)
            return TRUE;
        if (kind == JSON_OBJECT) {
            g_autofree char *inside = g_strdup_printf("%s%s.", where, option->name);
            return depth < MAX_NESTING ? check_options(value, inside, depth + 1, error)
                                       : fail(error, "the block nodes are nested too deeply");
        }
        return wrong_kind(error, where, option->name, "BlockdevRef");
    }
    return TRUE;
}

static const Option *find_option(const Option *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* The driver that the options name. */
static gboolean find_driver(JsonSlice options, const char *where, BlockDriver *ret, GError **error)
{
    JsonSlice value = json_member(options, "driver");
    g_autofree char *name = NULL;

    if (!value.length)
        return fail(error, "Parameter '%sdriver' is missing", where);
    name = json_string_dup(value, NULL);
    if (!name)
        return wrong_kind(error, where, "driver", "string");
    for (*ret = 0; *ret < N_BLOCK_DRIVERS; (*ret)++)
        if (strcmp(name, block_driver_names[*ret]) == 0)
            return TRUE;
    return fail(error, "Parameter '%sdriver' does not accept value '%s'", where, name);
}

static gboolean check_options(JsonSlice options, const char *where, guint depth, GError **error)
{
    JsonWalk walk = json_walk(options);
    JsonSlice key, value;
    BlockDriver driver;

    if (!find_driver(options, where, &driver, error))
        return FALSE;
    for (const Option *option = driver_options[driver]; option->name; option++)
        if (option->required && !json_member(options, option->name).length)
            return fail(error, "Parameter '%s%s' is missing", where, option->name);
    while (json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        const Option *option = find_option(common_options, name);

        if (!option)
            option = find_option(driver_options[driver], name);
        if (!option)
            return fail(error, "Parameter '%s%s' is unexpected", where, name);
        if (!check_value(option, value, where, depth, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- making ---- */

static gboolean get_bool(JsonSlice options, const char *name, gboolean otherwise)
{
    gboolean value;
    return json_to_bool(json_member(options, name), &value) ? value : otherwise;
}

static gint64 get_int(JsonSlice options, const char *name)
{
    gint64 value;
    return json_to_int64(json_member(options, name), &value) ? value : 0;
}

static char *get_string(JsonSlice options, const char *name)
{
    JsonSlice value = json_member(options, name);
    return value.length ? json_string_dup(value, NULL) : NULL;
}

/* What the content depends on, as a JSON object. */
static char *content_options(JsonSlice options, BlockDriver driver)
{
    GString *json = g_string_new("{\"driver\":");
    JsonWalk walk = json_walk(options);
    JsonSlice key, value;

    json_append_string(json, block_driver_names[driver], -1);
    while (json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        const Option *option = find_option(driver_options[driver], name);

        if (!option || !option->is_content)
            continue;
        g_string_append_c(json, ',');
        json_append_slice(json, key);
        g_string_append_c(json, ':');
        json_append_slice(json, value);
    }
    g_string_append_c(json, '}');
    return g_string_free(json, FALSE);
}

/* What is below takes from above what it does not say itself. */
static void take_options(JsonSlice json, const BlockNodeOptions *above, BlockNodeOptions *options)
{
    JsonSlice cache = json_member(json, "cache");
    g_autofree char *discard = get_string(json, "discard"), *zeroes = get_string(json, "detect-zeroes");
    gboolean discards = discard && strcmp(discard, "unmap") == 0;

    options->node_name = get_string(json, "node-name");
    options->filename = get_string(json, "filename");
    options->options = content_options(json, options->driver);
    options->direct = above->direct;
    options->no_flush = above->no_flush;
    if (cache.length) {
        options->direct = get_bool(cache, "direct", above->direct);
        options->no_flush = get_bool(cache, "no-flush", above->no_flush);
    }
    options->read_only = get_bool(json, "read-only", above->read_only);
    options->auto_read_only = get_bool(json, "auto-read-only", above->auto_read_only);
    options->discard = discard ? discards : above->discard;
    options->detect_zeroes = "off";
    for (const char *const *value = zeroes_values; zeroes && *value; value++)
        if (strcmp(*value, zeroes) == 0)
            options->detect_zeroes = *value;
    options->size = (guint64)get_int(json, "size");
    options->offset = (guint64)get_int(json, "offset");
    options->latency_ns = get_int(json, "latency-ns");
}

static gboolean check_aio(JsonSlice json, const BlockNodeOptions *options, GError **error)
{
    g_autofree char *aio = get_string(json, "aio");

    if (!aio || strcmp(aio, "native") != 0 || options->direct)
        return TRUE;
    return fail(error, "aio=native was specified, but it requires cache.direct=on, which was not specified.");
}

/* A new reference. */
static BlockNode *make_node(Vm *vm, JsonSlice json, const BlockNodeOptions *above, GError **error)
{
    BlockNodeOptions options = {0};
    BlockNode *on = NULL, *node = NULL;
    JsonSlice below = json_member(json, "file");
    gboolean ok;

    if (!find_driver(json, "", &options.driver, error))
        return NULL;
    take_options(json, above, &options);
    ok = check_aio(json, &options, error);
    if (ok && below.length && json_kind(below) == JSON_STRING) {
        g_autofree char *name = json_string_dup(below, NULL);
        on = block_node_find(vm, name);
        ok = on != NULL || fail(error, "Cannot find device='%s' nor node-name='%s'", name, name);
        if (on)
            block_node_ref(on);
    } else if (ok && below.length) {
        on = make_node(vm, below, &options, error);
        ok = on != NULL;
    }
    if (ok)
        node = block_node_new(vm, &options, on, error);
    block_node_unref(on);
    block_node_options_clear(&options);
    return node;
}

gboolean blockdev_add(Vm *vm, JsonSlice arguments, GError **error)
{
    const BlockNodeOptions nothing = {0};
    BlockNode *node;

    if (!check_options(arguments, "", 0, error))
        return FALSE;
    if (!json_member(arguments, "node-name").length)
        return fail(error, "'node-name' must be specified for the root node");
    node = make_node(vm, arguments, &nothing, error);
    if (node)
        node->is_clients = TRUE;
    return node != NULL;
}
