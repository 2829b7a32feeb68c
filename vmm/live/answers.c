/* SPDX-License-Identifier: MIT */
/* See answers.h. */
#include "vmm/live/answers.h"

#include <string.h>

#include "vmm/live/moving.h"
#include "vmm/live/queries.h"

#define SCHEMA "query-qmp-schema"
#define COMMANDS "query-commands"
/* An answer with so many bytes is made within a millisecond or so. */
#define SMALL_ANSWER (16 * 1024)

typedef struct Answer {
    char *command;
    GBytes *bytes; /* NULL: none, or it failed */
    char *error;
    gint64 at; /* 0: never */
    gboolean constant;
    View view; /* what is made of it; N_VIEWS: nothing by itself */
    gboolean dirty;
} Answer;

struct LiveAnswers {
    GMutex *lock;
    gboolean all_queries;
    GHashTable *answers;  /* Answer by command */
    GPtrArray *queries;   /* of Answer: the files of query/ */
    GHashTable *commands; /* a set: what the target has */
    Node *views[N_VIEWS];
    LiveMoving *moving; /* what blockstats/ shows */
    gboolean queries_changed;
};

/* What stands in views of its own. */
static const struct {
    const char *command;
    View view;
    gboolean constant;
} known[] = {
    {"query-cpu-definitions", VIEW_CPU_DEFINITIONS, TRUE},
    {"query-blockstats", VIEW_BLOCKSTATS, FALSE},
    {"query-name", VIEW_VM, TRUE},
    {"query-uuid", VIEW_VM, TRUE},
    {"query-status", VIEW_VM, FALSE},
    {COMMANDS, VIEW_QUERY, TRUE},
    {SCHEMA, VIEW_QUERY, TRUE},
};

static void answer_free(gpointer data)
{
    Answer *answer = data;

    g_free(answer->command);
    g_clear_pointer(&answer->bytes, g_bytes_unref);
    g_free(answer->error);
    g_free(answer);
}

static Answer *answer_new(LiveAnswers *answers, const char *command, View view, gboolean constant)
{
    Answer *answer = g_new0(Answer, 1);

    answer->command = g_strdup(command);
    answer->view = view;
    answer->constant = constant;
    g_hash_table_insert(answers->answers, answer->command, answer);
    return answer;
}

LiveAnswers *live_answers_new(GMutex *lock, gboolean all_queries)
{
    LiveAnswers *answers = g_new0(LiveAnswers, 1);

    answers->lock = lock;
    answers->all_queries = all_queries;
    answers->answers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, answer_free);
    answers->queries = g_ptr_array_new();
    answers->moving = live_moving_new();
    answers->commands = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        answer_new(answers, known[i].command, known[i].view, known[i].constant);
    }
    return answers;
}

void live_answers_free(LiveAnswers *answers)
{
    if (answers == NULL) {
        return;
    }
    for (guint view = 0; view < N_VIEWS; view++) {
        node_unref(answers->views[view]);
    }
    live_moving_free(answers->moving);
    g_ptr_array_unref(answers->queries);
    g_hash_table_unref(answers->answers);
    g_hash_table_unref(answers->commands);
    g_free(answers);
}

/* ---- what is missing ---- */

static void add_missing(GPtrArray *missing, const Answer *answer, gint64 since)
{
    gboolean current = answer->at > 0 && (answer->constant || answer->at >= since);

    if (!current) {
        g_ptr_array_add(missing, answer->command);
    }
}

/* Which view a path is in, or N_VIEWS. */
static View path_view(const char *path)
{
    View view = 0;

    while (view < N_VIEWS && view_path(view, path) == NULL) {
        view++;
    }
    return view;
}

static Answer *find_query(const LiveAnswers *answers, const char *file_name)
{
    for (guint i = 0; i < answers->queries->len; i++) {
        Answer *answer = g_ptr_array_index(answers->queries, i);
        g_autofree char *name = view_query_file_name(answer->command);

        if (strcmp(name, file_name) == 0) {
            return answer;
        }
    }
    return NULL;
}

GPtrArray *live_answers_missing(const LiveAnswers *answers, const char *path, const char *property, gboolean tree,
                                gint64 since)
{
    GPtrArray *missing = g_ptr_array_new();
    View wanted = path_view(path);

    if (wanted == VIEW_QUERY && property != NULL) {
        Answer *answer = find_query(answers, property);

        if (answer != NULL) {
            add_missing(missing, answer, since);
        }
        return missing;
    }
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        /* All but query/ is in the root's tree; the schema is asked for only by who lists query/. */
        if (*path == '\0' ? tree && known[i].view != VIEW_QUERY : known[i].view == wanted) {
            add_missing(missing, g_hash_table_lookup(answers->answers, known[i].command), since);
        }
    }
    return missing;
}

GPtrArray *live_answers_names_missing(const LiveAnswers *answers, gboolean all, gint64 since)
{
    GPtrArray *missing = g_ptr_array_new();

    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        const Answer *answer = g_hash_table_lookup(answers->answers, known[i].command);
        gsize size = answer->bytes != NULL ? g_bytes_get_size(answer->bytes) : 0;

        /* The files of query/ are known without the schema, as far as they usually are. */
        if (known[i].view != VIEW_QUERY && (all || size <= SMALL_ANSWER)) {
            add_missing(missing, answer, since);
        }
    }
    return missing;
}

/* ---- what was answered ---- */

/* The files of query/ are these commands. Takes the list over. */
static void set_queries(LiveAnswers *answers, GPtrArray *commands)
{
    g_ptr_array_set_size(answers->queries, 0);
    for (guint i = 0; i < commands->len; i++) {
        const char *command = g_ptr_array_index(commands, i);
        Answer *answer = g_hash_table_lookup(answers->answers, command);

        if (answer == NULL) {
            answer = answer_new(answers, command, N_VIEWS, FALSE);
        }
        g_ptr_array_add(answers->queries, answer);
    }
    g_ptr_array_unref(commands);
    answers->queries_changed = TRUE;
}

static void take_commands(LiveAnswers *answers, JsonSlice list)
{
    JsonWalk walk;
    JsonSlice entry;

    g_hash_table_remove_all(answers->commands);
    if (list.length == 0 || json_kind(list) != JSON_ARRAY) {
        return;
    }
    walk = json_walk(list);
    while (json_walk_element(&walk, &entry)) {
        char *name = json_kind(entry) == JSON_OBJECT ? json_string_dup(json_member(entry, "name"), NULL) : NULL;

        if (name != NULL) {
            g_hash_table_add(answers->commands, name);
        }
    }
    set_queries(answers, live_query_from_commands(list, answers->all_queries));
}

static gboolean answer_set(Answer *answer, JsonSlice value, const char *error)
{
    JsonSlice before = {0};

    if (answer->bytes != NULL) {
        before.text = g_bytes_get_data(answer->bytes, &before.length);
    }
    if (answer->at > 0 && json_equal_bytes(before, value) && g_strcmp0(answer->error, error) == 0) {
        return FALSE;
    }
    g_clear_pointer(&answer->bytes, g_bytes_unref);
    if (value.length > 0) {
        answer->bytes = g_bytes_new(value.text, value.length);
    }
    g_free(answer->error);
    answer->error = g_strdup(error);
    return TRUE;
}

void live_answers_take(LiveAnswers *answers, const char *command, JsonSlice value, const char *error, gint64 now)
{
    Answer *answer = g_hash_table_lookup(answers->answers, command);

    if (answer == NULL) {
        return;
    }
    g_mutex_lock(answers->lock);
    if (answer_set(answer, value, error)) {
        answer->dirty = TRUE;
    }
    answer->at = now;
    if (strcmp(command, COMMANDS) == 0) {
        take_commands(answers, value);
    } else if (strcmp(command, SCHEMA) == 0 && value.length > 0) {
        set_queries(answers, live_query_from_schema(value, answers->all_queries));
        g_clear_pointer(&answer->bytes, g_bytes_unref); /* two hundred kilobytes that nobody reads */
    }
    g_mutex_unlock(answers->lock);
}

void live_answers_outdate(LiveAnswers *answers, const char *command)
{
    Answer *answer = g_hash_table_lookup(answers->answers, command);

    if (answer != NULL) {
        g_mutex_lock(answers->lock);
        answer->at = 0;
        g_mutex_unlock(answers->lock);
    }
}

void live_answers_outdate_all(LiveAnswers *answers)
{
    GHashTableIter iter;
    gpointer answer;

    g_mutex_lock(answers->lock);
    g_hash_table_iter_init(&iter, answers->answers);
    while (g_hash_table_iter_next(&iter, NULL, &answer)) {
        ((Answer *)answer)->at = 0;
    }
    g_mutex_unlock(answers->lock);
}

gboolean live_answers_has_command(const LiveAnswers *answers, const char *command)
{
    return g_hash_table_contains(answers->commands, command);
}

char *live_answers_string(const LiveAnswers *answers, const char *command, const char *member)
{
    const Answer *answer = g_hash_table_lookup(answers->answers, command);
    JsonSlice value = {0};

    if (answer == NULL || answer->bytes == NULL) {
        return NULL;
    }
    value.text = g_bytes_get_data(answer->bytes, &value.length);
    if (json_kind(value) != JSON_OBJECT) {
        return NULL;
    }
    value = json_member(value, member);
    return value.length > 0 ? json_string_dup(value, NULL) : NULL;
}

/* ---- as nodes ---- */

static ViewQuery view_query(const Answer *answer)
{
    ViewQuery query = {.command = answer->command, .bytes = answer->bytes, .error = answer->error};

    if (answer->bytes != NULL) {
        query.text.text = g_bytes_get_data(answer->bytes, &query.text.length);
    }
    return query;
}

/* The folder anew. */
static Node *build_queries(LiveAnswers *answers, guint64 stamp)
{
    const Node *previous = answers->views[VIEW_QUERY];
    g_autoptr(GArray) queries = g_array_new(FALSE, TRUE, sizeof(ViewQuery));

    for (guint i = 0; i < answers->queries->len; i++) {
        Answer *answer = g_ptr_array_index(answers->queries, i);
        ViewQuery query = view_query(answer);

        answer->dirty = FALSE;
        g_array_append_val(queries, query);
    }
    answers->queries_changed = FALSE;
    return view_query_new((const ViewQuery *)(gpointer)queries->data, queries->len, previous, stamp);
}

/* The folder with what was answered since; NULL: nothing was. */
static Node *renew_queries(LiveAnswers *answers, guint64 stamp)
{
    Node *folder = NULL;

    for (guint i = 0; i < answers->queries->len; i++) {
        Answer *answer = g_ptr_array_index(answers->queries, i);

        if (answer->dirty) {
            g_autoptr(Node) before = folder != NULL ? folder : node_ref(answers->views[VIEW_QUERY]);
            ViewQuery query = view_query(answer);

            folder = view_query_set(before, &query, stamp);
            answer->dirty = FALSE;
        }
    }
    return folder;
}

static Node *build_list(LiveAnswers *answers, View view, Answer *answer, guint64 stamp)
{
    g_autoptr(GBytes) nothing = g_bytes_new_static("[]", 2);
    GBytes *bytes = answer->bytes != NULL ? answer->bytes : nothing;
    JsonSlice list;

    list.text = g_bytes_get_data(bytes, &list.length);
    if (json_kind(list) != JSON_ARRAY) {
        bytes = nothing;
        list.text = g_bytes_get_data(nothing, &list.length);
    }
    answer->dirty = FALSE;
    if (view == VIEW_BLOCKSTATS) {
        return live_moving_node(answers->moving, view, bytes, list, answers->views[view], stamp);
    }
    return view_list_from_json(view, bytes, list, answers->views[view], stamp);
}

static Answer *list_answer(const LiveAnswers *answers, View view)
{
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        if (known[i].view == view) {
            return g_hash_table_lookup(answers->answers, known[i].command);
        }
    }
    return NULL;
}

const Node *live_answers_node(LiveAnswers *answers, View view, guint64 stamp)
{
    Node *node = NULL;

    if (view == VIEW_QUERY) {
        node = answers->queries_changed ? build_queries(answers, stamp) : renew_queries(answers, stamp);
    } else if (view == VIEW_CPU_DEFINITIONS || view == VIEW_BLOCKSTATS) {
        Answer *answer = list_answer(answers, view);

        node = answer->dirty ? build_list(answers, view, answer, stamp) : NULL;
    }
    if (node != NULL) {
        node_unref(answers->views[view]);
        answers->views[view] = node;
    }
    return answers->views[view];
}
