/* SPDX-License-Identifier: MIT */
/*
 * See multiplexer.h. A job is one command under way. Of those that take descriptors there is one at a time, so that
 * nobody's descriptor can become another's; the rest go out as they come, each client having one at a time.
 */
#include "vmm/share/multiplexer.h"

#include <string.h>

#include "objmodel/error.h"
#include "qmp/stream.h"
#include "vmm/share/permits.h"

typedef struct Job {
    GList link; /* in `jobs` or `waiting`; data is the job */
    Multiplexer *multiplexer;
    LiveLink *target;
    QmpCall *call;
    guint64 client;
    GArray *fds;
    char *fd_name; /* of getfd and closefd; or NULL */
    gboolean takes_fds;
    gboolean constant; /* the answer is to be kept */
} Job;

struct Multiplexer {
    GHashTable *clients; /* guint64: those that are here */
    GHashTable *owners;  /* name of a descriptor -> guint64, the client that gave it */
    GQueue jobs;         /* Job: sent */
    GQueue waiting;      /* Job: take descriptors, while another one does */
    gboolean fds_busy;   /* a job that takes descriptors is sent */

    GMutex lock;
    GHashTable *constants; /* command -> GBytes; under lock */
};

/* What cannot change while a process lives, where it is asked for without arguments. Everything else is asked for
 * each time. */
static const char *const constant_commands[] = {"query-qmp-schema", "query-commands", "query-version",
                                                "query-cpu-definitions", NULL};

/* ---- life ---- */

Multiplexer *multiplexer_new(void)
{
    Multiplexer *multiplexer = g_new0(Multiplexer, 1);

    multiplexer->clients = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    multiplexer->owners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    multiplexer->constants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    g_mutex_init(&multiplexer->lock);
    g_queue_init(&multiplexer->jobs);
    g_queue_init(&multiplexer->waiting);
    return multiplexer;
}

static void job_free(Job *job)
{
    qmp_fds_free(job->fds);
    g_free(job->fd_name);
    g_free(job);
}

/* Ends it without an answer of the target's. */
static void job_fail(Job *job, const GError *error)
{
    qmp_call_fail(job->call, error);
    job_free(job);
}

static void jobs_fail(GQueue *jobs)
{
    g_autoptr(GError) error = g_error_new_literal(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the server ends");

    while (!g_queue_is_empty(jobs)) {
        job_fail(g_queue_pop_head_link(jobs)->data, error);
    }
}

void multiplexer_free(Multiplexer *multiplexer)
{
    if (multiplexer == NULL) {
        return;
    }
    jobs_fail(&multiplexer->jobs);
    jobs_fail(&multiplexer->waiting);
    g_hash_table_unref(multiplexer->clients);
    g_hash_table_unref(multiplexer->owners);
    g_hash_table_unref(multiplexer->constants);
    g_mutex_clear(&multiplexer->lock);
    g_free(multiplexer);
}

/* ---- constant answers ---- */

static gboolean call_is_constant(QmpCall *call)
{
    return qmp_call_arguments(call).length <= 2 && g_strv_contains(constant_commands, qmp_call_command(call));
}

gboolean multiplexer_answer(Multiplexer *multiplexer, QmpCall *call)
{
    const GBytes *known = NULL;
    gsize size;

    if (!call_is_constant(call)) {
        return FALSE;
    }
    g_mutex_lock(&multiplexer->lock);
    known = g_hash_table_lookup(multiplexer->constants, qmp_call_command(call));
    if (known != NULL) {
        const char *text = g_bytes_get_data((GBytes *)(guintptr)known, &size);

        json_append_slice(qmp_call_result(call), (JsonSlice){text, size});
    }
    g_mutex_unlock(&multiplexer->lock);
    if (known != NULL) {
        qmp_call_return(call);
    }
    return known != NULL;
}

static void keep_constant(Multiplexer *multiplexer, const char *command, JsonSlice value)
{
    g_mutex_lock(&multiplexer->lock);
    g_hash_table_replace(multiplexer->constants, g_strdup(command), g_bytes_new(value.text, value.length));
    g_mutex_unlock(&multiplexer->lock);
}

void multiplexer_forget(Multiplexer *multiplexer)
{
    g_hash_table_remove_all(multiplexer->owners);
    g_mutex_lock(&multiplexer->lock);
    g_hash_table_remove_all(multiplexer->constants);
    g_mutex_unlock(&multiplexer->lock);
}

/* ---- names of descriptors ---- */

static guint64 name_owner(const Multiplexer *multiplexer, const char *name)
{
    const guint64 *owner = g_hash_table_lookup(multiplexer->owners, name);

    return owner != NULL ? *owner : 0;
}

static void ignore_reply(JsonSlice value, const GError *error, void *opaque)
{
    (void)value;
    (void)error;
    (void)opaque;
}

/* Where a command has used it already, there is no such name, and the target says so to nobody. */
static void close_name(LiveLink *link, const char *name)
{
    g_autoptr(GString) arguments = g_string_new("{\"fdname\":");

    json_append_string(arguments, name, -1);
    g_string_append_c(arguments, '}');
    live_link_send(link, "closefd", (JsonSlice){arguments->str, arguments->len}, ignore_reply, NULL);
}

/* A name that another client has given is neither replaced nor closed. */
static gboolean job_check_name(const Job *job, GError **error)
{
    guint64 owner = job->fd_name != NULL ? name_owner(job->multiplexer, job->fd_name) : 0;

    if (owner == 0 || owner == job->client) {
        return TRUE;
    }
    if (job->takes_fds) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC,
                    "the name '%s' belongs to a descriptor of another client, until it closes that or leaves",
                    job->fd_name);
    } else {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "no descriptor of yours is named '%s'", job->fd_name);
    }
    return FALSE;
}

/* The target has done what a job asked for. */
static void job_note_name(const Job *job)
{
    Multiplexer *multiplexer = job->multiplexer;

    if (job->fd_name == NULL) {
        return;
    }
    if (!job->takes_fds) {
        g_hash_table_remove(multiplexer->owners, job->fd_name);
    } else if (g_hash_table_contains(multiplexer->clients, &job->client)) {
        g_hash_table_replace(multiplexer->owners, g_strdup(job->fd_name), g_memdup2(&job->client, sizeof job->client));
    } else {
        close_name(job->target, job->fd_name); /* it has left meanwhile */
    }
}

/* ---- jobs ---- */

static void job_send(Job *job);

static void multiplexer_send_next(Multiplexer *multiplexer)
{
    if (!multiplexer->fds_busy && !g_queue_is_empty(&multiplexer->waiting)) {
        job_send(g_queue_pop_head_link(&multiplexer->waiting)->data);
    }
}

static void job_replied(JsonSlice value, const GError *error, void *opaque)
{
    Job *job = opaque;
    Multiplexer *multiplexer = job->multiplexer;

    g_queue_unlink(&multiplexer->jobs, &job->link);
    if (job->takes_fds) {
        multiplexer->fds_busy = FALSE;
    }
    if (error != NULL) {
        qmp_call_fail(job->call, error);
    } else {
        job_note_name(job);
        if (job->constant) {
            keep_constant(multiplexer, qmp_call_command(job->call), value);
        }
        json_append_slice(qmp_call_result(job->call), value);
        qmp_call_return(job->call);
    }
    job_free(job);
    multiplexer_send_next(multiplexer);
}

static void job_send(Job *job)
{
    g_autoptr(GError) error = NULL;

    /* Looked at in its turn: one that waited for another may find its name taken by that. */
    if (!job_check_name(job, &error)) {
        Multiplexer *multiplexer = job->multiplexer;

        job_fail(job, error);
        multiplexer_send_next(multiplexer);
        return;
    }
    job->multiplexer->fds_busy = job->multiplexer->fds_busy || job->takes_fds;
    g_queue_push_tail_link(&job->multiplexer->jobs, &job->link);
    live_link_send_with(job->target, qmp_call_command(job->call), qmp_call_arguments(job->call),
                        g_steal_pointer(&job->fds), job_replied, job);
}

void multiplexer_send(Multiplexer *multiplexer, LiveLink *link, QmpCall *call, GArray *fds)
{
    const char *command = qmp_call_command(call);
    JsonSlice arguments = qmp_call_arguments(call);
    Job *job = g_new0(Job, 1);

    *job = (Job){.multiplexer = multiplexer,
                 .target = link,
                 .call = call,
                 .client = qmp_call_client(call),
                 .fds = fds,
                 .takes_fds = command_takes_fds(command),
                 .constant = call_is_constant(call)};
    job->link.data = job;
    if (arguments.length > 0 && (strcmp(command, "getfd") == 0 || strcmp(command, "closefd") == 0)) {
        JsonSlice name = json_member(arguments, "fdname");

        job->fd_name = name.length > 0 && json_kind(name) == JSON_STRING ? json_string_dup(name, NULL) : NULL;
    }
    if (job->takes_fds && multiplexer->fds_busy) {
        g_queue_push_tail_link(&multiplexer->waiting, &job->link);
    } else {
        job_send(job);
    }
}

/* ---- clients ---- */

void multiplexer_join(Multiplexer *multiplexer, guint64 client)
{
    g_hash_table_add(multiplexer->clients, g_memdup2(&client, sizeof client));
}

void multiplexer_leave(Multiplexer *multiplexer, LiveLink *link, guint64 client)
{
    GHashTableIter iter;
    gpointer name, owner;

    g_hash_table_remove(multiplexer->clients, &client);
    g_hash_table_iter_init(&iter, multiplexer->owners);
    while (g_hash_table_iter_next(&iter, &name, &owner)) {
        if (*(const guint64 *)owner == client) {
            close_name(link, name);
            g_hash_table_iter_remove(&iter);
        }
    }
}
