/* SPDX-License-Identifier: MIT */
/* vmm/data/queries.json as QMP types and answers. A mistake in it is one of the program's: it ends that. */
#include "vmm/query-data.h"

#include <string.h>

#include "vmm/data.h"

typedef struct QueryData {
    JsonSlice named;        /* the member "types" */
    GHashTable *types;      /* name -> QmpType, of those */
    GHashTable *by_command; /* -> CommandData */
    GArray *constant;       /* of Query, ends with zeros */
} QueryData;

typedef struct CommandData {
    const QmpType *returns;
    JsonSlice value;
    JsonSlice error; /* {"class":...,"desc":...} */
    char *desc;      /* of that */
} CommandData;

/* ---- types ---- */

static const char *keep_string(JsonSlice string)
{
    g_autofree char *text = json_string_dup(string, NULL);

    return g_intern_string(text);
}

static const QmpType *make_type(QueryData *data, JsonSlice text);

static void fill_type(QueryData *data, JsonSlice text, QmpType *type);

static const QmpType *named_type(QueryData *data, JsonSlice text)
{
    static const QmpType *const builtin[] = {&qmp_str, &qmp_int, &qmp_bool, &qmp_number, &qmp_any, &qmp_null};
    const char *name = keep_string(text);
    QmpType *type = g_hash_table_lookup(data->types, name);
    JsonSlice definition;

    for (guint i = 0; i < G_N_ELEMENTS(builtin); i++)
        if (strcmp(builtin[i]->name, name) == 0)
            return builtin[i];
    if (type)
        return type;
    definition = json_member(data->named, name);
    if (!definition.length)
        g_error("vmm/data/queries.json: there is no type '%s'", name);
    type = g_new0(QmpType, 1);
    g_hash_table_insert(data->types, (gpointer)name, type); /* first: it may refer to itself */
    fill_type(data, definition, type);
    type->name = name;
    return type;
}

static const char *const *make_values(JsonSlice list)
{
    g_autoptr(GArray) values = g_array_new(TRUE, TRUE, sizeof(char *));
    JsonWalk walk = json_walk(list);
    JsonSlice value;

    while (json_walk_element(&walk, &value)) {
        const char *text = keep_string(value);
        g_array_append_val(values, text);
    }
    return (const char *const *)(gpointer)g_array_free(g_steal_pointer(&values), FALSE);
}

static const QmpMember *make_members(QueryData *data, JsonSlice object)
{
    g_autoptr(GArray) members = g_array_new(TRUE, TRUE, sizeof(QmpMember));
    JsonWalk walk = json_walk(object);
    JsonSlice name, type;

    while (json_walk_member(&walk, &name, &type)) {
        g_autofree char *text = json_string_dup(name, NULL);
        gboolean optional = g_str_has_suffix(text, "?");
        QmpMember member = {.type = make_type(data, type), .optional = optional};

        if (optional)
            text[strlen(text) - 1] = '\0';
        member.name = g_intern_string(text);
        g_array_append_val(members, member);
    }
    return (const QmpMember *)(gpointer)g_array_free(g_steal_pointer(&members), FALSE);
}

/* Only the types count. */
static const QmpMember *make_alternatives(QueryData *data, JsonSlice list)
{
    g_autoptr(GArray) members = g_array_new(TRUE, TRUE, sizeof(QmpMember));
    JsonWalk walk = json_walk(list);
    JsonSlice type;

    while (json_walk_element(&walk, &type)) {
        QmpMember member = {.name = "", .type = make_type(data, type)};
        g_array_append_val(members, member);
    }
    return (const QmpMember *)(gpointer)g_array_free(g_steal_pointer(&members), FALSE);
}

static const QmpVariant *make_variants(QueryData *data, JsonSlice object)
{
    g_autoptr(GArray) variants = g_array_new(TRUE, TRUE, sizeof(QmpVariant));
    JsonWalk walk = json_walk(object);
    JsonSlice value, type;

    while (json_walk_member(&walk, &value, &type)) {
        QmpVariant variant = {.value = keep_string(value), .type = make_type(data, type)};
        g_array_append_val(variants, variant);
    }
    return (const QmpVariant *)(gpointer)g_array_free(g_steal_pointer(&variants), FALSE);
}

static void fill_type(QueryData *data, JsonSlice text, QmpType *type)
{
    JsonSlice values = json_member(text, "enum"), alternatives = json_member(text, "alternate");
    JsonSlice tag = json_member(text, "tag"), variants = json_member(text, "variants");

    if (values.length) {
        *type = (QmpType){.meta = QMP_ENUM, .values = make_values(values)};
    } else if (alternatives.length) {
        *type = (QmpType){.meta = QMP_ALTERNATE, .members = make_alternatives(data, alternatives)};
    } else {
        *type = (QmpType){.meta = QMP_OBJECT, .members = make_members(data, json_member(text, "members"))};
        if (tag.length) {
            type->tag = keep_string(tag);
            type->variants = make_variants(data, variants.length ? variants : (JsonSlice){"{}", 2});
        }
    }
}

static const QmpType *make_type(QueryData *data, JsonSlice text)
{
    QmpType *type;
    JsonSlice element;
    JsonWalk walk;

    if (json_kind(text) == JSON_STRING)
        return named_type(data, text);
    type = g_new0(QmpType, 1);
    if (json_kind(text) == JSON_ARRAY) {
        walk = json_walk(text);
        json_walk_element(&walk, &element);
        *type = (QmpType){.meta = QMP_ARRAY, .element = make_type(data, element)};
    } else {
        fill_type(data, text, type);
    }
    return type;
}

/* ---- commands ---- */

static const CommandData *find(const char *command);

static gboolean answer_constant(const QueryInput *in, GString *out, GError **error)
{
    const CommandData *command = find(in->query->command);

    if (command->value.length)
        json_append_slice(out, command->value);
    else
        qmp_error_from(error, command->error);
    return command->value.length > 0;
}

static void add_command(QueryData *data, const char *name, JsonSlice text)
{
    CommandData *command = g_new0(CommandData, 1);
    Query query = {.command = name, .answer = answer_constant};

    if (json_member(text, "deprecated").length)
        query.flags = QMP_COMMAND_DEPRECATED;
    command->returns = make_type(data, json_member(text, "returns"));
    command->value = json_member(text, "value");
    command->error = json_member(text, "error");
    if (command->error.length)
        command->desc = json_string_dup(json_member(command->error, "desc"), NULL);
    g_hash_table_insert(data->by_command, (gpointer)name, command);
    if (!json_member(text, "chosen").length && (command->value.length || command->error.length))
        g_array_append_val(data->constant, query);
}

static gpointer read_data(gpointer opaque G_GNUC_UNUSED)
{
    QueryData *data = g_new0(QueryData, 1);
    JsonSlice all = data_json(DATA_QUERIES), name, text;
    JsonWalk walk = json_walk(json_member(all, "commands"));

    data->named = json_member(all, "types");
    data->types = g_hash_table_new(g_str_hash, g_str_equal);
    data->by_command = g_hash_table_new(g_str_hash, g_str_equal);
    data->constant = g_array_new(TRUE, TRUE, sizeof(Query));
    while (json_walk_member(&walk, &name, &text))
        add_command(data, keep_string(name), text);
    return data;
}

static const QueryData *query_data(void)
{
    static GOnce once = G_ONCE_INIT;

    return g_once(&once, read_data, NULL);
}

static const CommandData *find(const char *command)
{
    return g_hash_table_lookup(query_data()->by_command, command);
}

const Query *queries_constant(void)
{
    return (const Query *)(gpointer)query_data()->constant->data;
}

const QmpType *query_data_type(const char *command)
{
    const CommandData *found = find(command);

    return found ? found->returns : NULL;
}

JsonSlice query_data_value(const char *command)
{
    const CommandData *found = find(command);

    return found ? found->value : (JsonSlice){0};
}

const char *query_data_error(const char *command)
{
    const CommandData *found = find(command);

    return found ? found->desc : NULL;
}
