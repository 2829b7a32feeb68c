/* SPDX-License-Identifier: MIT */
/* Writing a configuration by the tables it is read by: what is read again is the same. */
#include <string.h>

#include "objmodel/json.h"
#include "vmm/config-members.h"

static void write_string(const char *text, GString *out)
{
    json_append_string(out, text, -1);
}

/* Whether a member says something: what is left out is what it is if left out. */
static gboolean is_set(const ConfigMember *member, gconstpointer field)
{
    switch (member->kind) {
    case CONFIG_STRING:
        return *(char *const *)field != NULL;
    case CONFIG_UINT:
        return *(const guint *)field >= member->min;
    case CONFIG_SIZE:
        return *(const guint64 *)field >= member->min;
    case CONFIG_BOOL:
    case CONFIG_STRINGS:
    case CONFIG_JSON:
    case CONFIG_OBJECT:
    case CONFIG_OBJECTS:
        return TRUE;
    }
    g_assert_not_reached();
}

static guint list_length(const ConfigMember *member, gconstpointer list)
{
    return member->kind == CONFIG_OBJECTS ? ((const GArray *)list)->len : ((const GPtrArray *)list)->len;
}

static void write_members(const ConfigObject *object, gconstpointer source, gboolean outermost, GString *out);

static void write_element(const ConfigMember *member, gconstpointer list, guint index, GString *out)
{
    if (member->kind == CONFIG_OBJECTS)
        write_members(member->object, ((const GArray *)list)->data + index * member->object->size, FALSE, out);
    else if (member->kind == CONFIG_STRINGS)
        write_string(((const GPtrArray *)list)->pdata[index], out);
    else
        g_string_append(out, ((const GPtrArray *)list)->pdata[index]);
}

/* Objects stand one on a line, strings on one line. */
static void write_list(const ConfigMember *member, gconstpointer list, GString *out)
{
    gboolean lines = member->kind != CONFIG_STRINGS;
    guint n = list_length(member, list);

    g_string_append_c(out, '[');
    for (guint i = 0; i < n; i++) {
        g_string_append(out, lines ? "\n    " : "");
        write_element(member, list, i, out);
        g_string_append(out, i + 1 == n ? "" : lines ? "," : ", ");
    }
    g_string_append(out, lines && n > 0 ? "\n  ]" : "]");
}

static void write_value(const ConfigMember *member, gconstpointer field, GString *out)
{
    switch (member->kind) {
    case CONFIG_STRING:
        write_string(*(char *const *)field, out);
        break;
    case CONFIG_UINT:
        json_append_uint(out, *(const guint *)field);
        break;
    case CONFIG_SIZE:
        json_append_uint(out, *(const guint64 *)field);
        break;
    case CONFIG_BOOL:
        json_append_bool(out, *(const gboolean *)field);
        break;
    case CONFIG_STRINGS:
    case CONFIG_JSON:
    case CONFIG_OBJECTS:
        write_list(member, *(gconstpointer const *)field, out);
        break;
    case CONFIG_OBJECT:
        write_members(member->object, field, FALSE, out);
        break;
    }
}

static void write_members(const ConfigObject *object, gconstpointer source, gboolean outermost, GString *out)
{
    gboolean first = TRUE;

    g_string_append_c(out, '{');
    for (const ConfigMember *member = object->members; member->name; member++) {
        gconstpointer field = (const char *)source + member->offset;
        if (!is_set(member, field))
            continue;
        if (!first)
            g_string_append_c(out, ',');
        g_string_append(out, outermost ? "\n  " : first ? "" : " ");
        first = FALSE;
        write_string(member->name, out);
        g_string_append(out, ": ");
        write_value(member, field, out);
    }
    g_string_append(out, outermost ? "\n}\n" : "}");
}

void config_write_object(const ConfigObject *object, gconstpointer source, GString *out)
{
    write_members(object, source, TRUE, out);
}
