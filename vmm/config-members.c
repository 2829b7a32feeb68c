/* SPDX-License-Identifier: MIT */
/* Reading a configuration file by tables. */
#include "vmm/config-members.h"

#include <stdarg.h>
#include <string.h>

#include "objmodel/json.h"
#include "vmm/config.h"

struct ConfigReader {
    JsonReader *json;
    GString *copy;    /* what the JSON reader consumed */
    GString *path;    /* of the value being read: "disks[1].size" */
    gsize position;   /* where it begins */
    guint index;      /* in the list being read */
    GHashTable *seen; /* members of the outermost object -> where each value begins */
};

ConfigReader *config_reader_new(const char *text, gsize length)
{
    ConfigReader *reader = g_new0(ConfigReader, 1);
    reader->copy = g_string_new(NULL);
    reader->json = json_reader_new(text, length, JSON_READER_STRICT, reader->copy);
    reader->path = g_string_new(NULL);
    reader->seen = g_hash_table_new(g_str_hash, g_str_equal);
    return reader;
}

gboolean config_reader_end(ConfigReader *reader, gboolean ok, GError **error)
{
    g_autoptr(GError) problem = NULL;

    ok = ok && json_reader_end(reader->json);
    if (!ok) {
        json_reader_propagate(reader->json, &problem);
        g_set_error_literal(error, CONFIG_ERROR, CONFIG_ERROR_INVALID, problem->message);
    }
    json_reader_free(reader->json);
    g_string_free(reader->copy, TRUE);
    g_string_free(reader->path, TRUE);
    g_hash_table_unref(reader->seen);
    g_free(reader);
    return ok;
}

gboolean config_reader_fail(ConfigReader *reader, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    json_reader_fail_at(reader->json, reader->position, "%s%s%s", reader->path->str, reader->path->len ? ": " : "",
                        message);
    return FALSE;
}

void config_reader_point_at(ConfigReader *reader, const char *name)
{
    g_string_truncate(reader->path, 0);
    reader->position = GPOINTER_TO_SIZE(g_hash_table_lookup(reader->seen, name));
}

gboolean config_reader_saw(const ConfigReader *reader, const char *name)
{
    return g_hash_table_contains(reader->seen, name);
}

guint config_reader_index(const ConfigReader *reader)
{
    return reader->index;
}

/* ---- values ---- */

/* The next value's kind; notes where it begins. */
static gboolean peek(ConfigReader *reader, JsonKind *ret)
{
    if (!json_reader_peek(reader->json, ret))
        return FALSE;
    reader->position = json_reader_position(reader->json);
    return TRUE;
}

/* Checks the kind and takes the whole value. */
static gboolean take(ConfigReader *reader, JsonKind expected, JsonSlice *ret)
{
    JsonKind kind;
    gsize offset;

    if (!peek(reader, &kind))
        return FALSE;
    if (kind != expected)
        return config_reader_fail(reader, "must be %s, not %s", json_kind_name(expected), json_kind_name(kind));
    if (!json_reader_value(reader->json, &offset))
        return FALSE;
    *ret = (JsonSlice){reader->copy->str + offset, reader->copy->len - offset};
    return TRUE;
}

static gboolean take_string(ConfigReader *reader, const ConfigMember *member, char **ret)
{
    JsonSlice value;
    gsize length;
    g_autofree char *text = NULL;
    const char *expected;

    if (!take(reader, JSON_STRING, &value))
        return FALSE;
    text = json_string_dup(value, &length);
    if (strlen(text) != length)
        return config_reader_fail(reader, "must not contain NUL");
    expected = member->check ? member->check(text) : NULL;
    if (expected)
        return config_reader_fail(reader, "must be %s, not %.*s", expected, (int)MIN(value.length, 200), value.text);
    *ret = g_steal_pointer(&text);
    return TRUE;
}

/* Bytes, from a number or a string such as "512M". */
static gboolean parse_size(JsonSlice value, guint64 *ret)
{
    static const char suffixes[] = "BKMGTP";
    g_autofree char *text = json_string_dup(value, NULL);
    const char *suffix;
    char *end;
    guint64 number;

    if (!text)
        return json_to_uint64(value, ret);
    if (!g_ascii_isdigit(text[0]))
        return FALSE;
    number = g_ascii_strtoull(text, &end, 10);
    suffix = *end ? strchr(suffixes, g_ascii_toupper(*end)) : suffixes;
    if (!suffix || (*end && end[1]))
        return FALSE;
    for (; suffix > suffixes; suffix--) {
        if (number > G_MAXUINT64 >> 10)
            return FALSE;
        number <<= 10;
    }
    *ret = number;
    return TRUE;
}

static gboolean check_range(ConfigReader *reader, const ConfigMember *member, guint64 number, JsonSlice value)
{
    if (number >= member->min && number <= member->max)
        return TRUE;
    return config_reader_fail(reader, "must be from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ", not %.*s",
                              member->min, member->max, (int)MIN(value.length, 200), value.text);
}

static gboolean take_size(ConfigReader *reader, const ConfigMember *member, guint64 *ret)
{
    JsonSlice value;
    JsonKind kind;
    guint64 number;

    if (!peek(reader, &kind) || !take(reader, kind == JSON_STRING ? JSON_STRING : JSON_NUMBER, &value))
        return FALSE;
    if (!parse_size(value, &number))
        return config_reader_fail(reader, "must be bytes, or a string like \"512M\" (K, M, G, T, P), not %.*s",
                                  (int)MIN(value.length, 200), value.text);
    if (!check_range(reader, member, number, value))
        return FALSE;
    *ret = number;
    return TRUE;
}

static gboolean take_uint(ConfigReader *reader, const ConfigMember *member, guint *ret)
{
    JsonSlice value;
    guint64 number;

    if (!take(reader, JSON_NUMBER, &value))
        return FALSE;
    if (!json_to_uint64(value, &number))
        return config_reader_fail(reader, "must be a whole number, not %.*s", (int)MIN(value.length, 200), value.text);
    if (!check_range(reader, member, number, value))
        return FALSE;
    *ret = (guint)number;
    return TRUE;
}

/* ---- lists and objects ---- */

static gboolean read_members(ConfigReader *reader, const ConfigObject *object, gpointer target, gboolean outermost);

/* One element of a list. */
static gboolean read_element(ConfigReader *reader, const ConfigMember *member, gpointer list)
{
    if (member->kind == CONFIG_STRINGS) {
        char *text;
        if (!take_string(reader, member, &text))
            return FALSE;
        g_ptr_array_add(list, text);
        return TRUE;
    }
    if (member->kind == CONFIG_JSON) {
        JsonSlice value;
        if (!take(reader, JSON_OBJECT, &value))
            return FALSE;
        g_ptr_array_add(list, g_strndup(value.text, value.length));
        return TRUE;
    }
    g_array_set_size(list, ((GArray *)list)->len + 1);
    gpointer element = ((GArray *)list)->data + (((GArray *)list)->len - 1) * member->object->size;
    if (member->object->defaults)
        memcpy(element, member->object->defaults, member->object->size);
    return read_members(reader, member->object, element, FALSE);
}

static gboolean read_list(ConfigReader *reader, const ConfigMember *member, gpointer list)
{
    gsize path_length = reader->path->len;
    guint n = 0;

    if (!json_reader_enter(reader->json, JSON_ARRAY, reader->path->str))
        return FALSE;
    if (member->kind == CONFIG_OBJECTS)
        g_array_set_size(list, 0);
    else
        g_ptr_array_set_size(list, 0);
    while (json_reader_next_element(reader->json)) {
        if (n == CONFIG_MAX_LIST)
            return config_reader_fail(reader, "more than %d", CONFIG_MAX_LIST);
        g_string_append_printf(reader->path, "[%u]", n);
        reader->index = n++;
        if (!read_element(reader, member, list))
            return FALSE;
        g_string_truncate(reader->path, path_length);
    }
    return !json_reader_failed(reader->json);
}

static gboolean read_value(ConfigReader *reader, const ConfigMember *member, gpointer target)
{
    gpointer field = (char *)target + member->offset;
    JsonSlice value;
    char *text;

    switch (member->kind) {
    case CONFIG_STRING:
        if (!take_string(reader, member, &text))
            return FALSE;
        g_free(*(char **)field);
        *(char **)field = text;
        return TRUE;
    case CONFIG_UINT:
        return take_uint(reader, member, field);
    case CONFIG_SIZE:
        return take_size(reader, member, field);
    case CONFIG_BOOL:
        return take(reader, JSON_BOOL, &value) && json_to_bool(value, field);
    case CONFIG_STRINGS:
    case CONFIG_JSON:
    case CONFIG_OBJECTS:
        return read_list(reader, member, *(gpointer *)field);
    case CONFIG_OBJECT:
        return read_members(reader, member->object, field, FALSE);
    }
    g_assert_not_reached();
}

static gboolean read_members(ConfigReader *reader, const ConfigObject *object, gpointer target, gboolean outermost)
{
    gsize path_length = reader->path->len, start;
    guint64 seen = 0; /* a bit for each member */
    JsonSlice name;
    JsonKind kind;

    if (!peek(reader, &kind))
        return FALSE;
    start = reader->position;
    if (!json_reader_enter(reader->json, JSON_OBJECT, outermost ? "the configuration" : reader->path->str))
        return FALSE;
    while (json_reader_next_member(reader->json, &name)) {
        const ConfigMember *member = object->members;
        while (member->name && !json_string_is(name, member->name))
            member++;
        reader->position = json_reader_position(reader->json);
        if (!member->name)
            return config_reader_fail(reader, "there is no member %.*s", (int)MIN(name.length, 200), name.text);
        g_string_append_printf(reader->path, "%s%s", path_length ? "." : "", member->name);
        seen |= G_GUINT64_CONSTANT(1) << (member - object->members);
        if (outermost && peek(reader, &kind))
            g_hash_table_insert(reader->seen, (gpointer)member->name, GSIZE_TO_POINTER(reader->position));
        if (!read_value(reader, member, target))
            return FALSE;
        g_string_truncate(reader->path, path_length);
    }
    if (json_reader_failed(reader->json))
        return FALSE;
    reader->position = start;
    for (guint i = 0; object->members[i].name; i++) {
        if (object->members[i].required && !(seen >> i & 1))
            return config_reader_fail(reader, "the member \"%s\" is missing", object->members[i].name);
    }
    return !object->end || object->end(reader, target);
}

gboolean config_reader_object(ConfigReader *reader, const ConfigObject *object, gpointer target)
{
    return read_members(reader, object, target, TRUE);
}
