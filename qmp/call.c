/* SPDX-License-Identifier: MIT */
/* See command.h and call.h. */
#include "qmp/call.h"

#include <stdarg.h>

#include "qmp/registry.h"
#include "qmp/session.h"

struct QmpCall {
    /* Constant. */
    QmpMailbox *mailbox;
    QmpWorkers *workers;         /* or NULL */
    const QmpFaultHooks *faults; /* or NULL */
    gboolean oob;                /* whether the client may ask for that */
    GThread *thread;             /* the session's */
    guint64 client;

    /* Constant once the handler runs. */
    QmpRequest request;
    const QmpCommand *command;
    void *context;
    void *args; /* often few_args */
    union {
        gint64 alignment;
        char bytes[64];
    } few_args;
    QmpFault fault; /* the session's; asked for before the handler runs */

    /* What a worker is to do: to read a large message, or to go on with what a handler has left to it. */
    const QmpRegistry *commands;
    char *memory; /* in which the message stands */
    JsonSlice message;
    void (*rest)(QmpCall *call, const void *args);
    void (*resumed)(QmpCall *call, const void *args); /* what the monitor thread is to go on with; or NULL */
    gint unheard;                                     /* atomic */

    /* The handler's, and of whomever it gave the call to; in the end the session's. */
    GString *reply;
    gsize result_offset;

    /* The session's thread only. */
    QmpSession *session; /* NULL: it is gone */
};

struct QmpMailbox {
    gatomicrefcount refs;
    GMutex lock;
    void (*wake)(void *opaque); /* NULL: closed; under lock, as the rest */
    void *opaque;
    GPtrArray *calls; /* QmpCall, in the order of their replies */
};

static void call_free(QmpCall *call)
{
    g_free(call->memory);
    if (call->args != NULL) {
        qmp_args_clear(call->command->args, call->args);
        if (call->args != &call->few_args) {
            g_free(call->args);
        }
    }
    if (call->reply != NULL) {
        g_string_free(call->reply, TRUE);
    }
    g_clear_error(&call->fault.error);
    qmp_request_clear(&call->request);
    qmp_mailbox_unref(call->mailbox);
    g_free(call);
}

static void work_free(void *opaque, gboolean ending G_GNUC_UNUSED)
{
    call_free(opaque);
}

/* Large arguments take long to free, too: a million strings 50 ms. */
static void call_dispose(QmpCall *call)
{
    if (call->workers != NULL && call->request.arguments.length > QMP_LARGE_REQUEST) {
        qmp_workers_run(call->workers, work_free, call);
    } else {
        call_free(call);
    }
}

/* ---- the mailbox ---- */

QmpMailbox *qmp_mailbox_new(void (*wake)(void *opaque), void *opaque)
{
    QmpMailbox *mailbox = g_new0(QmpMailbox, 1);

    g_atomic_ref_count_init(&mailbox->refs);
    g_mutex_init(&mailbox->lock);
    mailbox->wake = wake;
    mailbox->opaque = opaque;
    mailbox->calls = g_ptr_array_new();
    return mailbox;
}

QmpMailbox *qmp_mailbox_ref(QmpMailbox *mailbox)
{
    g_atomic_ref_count_inc(&mailbox->refs);
    return mailbox;
}

void qmp_mailbox_unref(QmpMailbox *mailbox)
{
    if (mailbox == NULL || !g_atomic_ref_count_dec(&mailbox->refs)) {
        return;
    }
    g_ptr_array_unref(mailbox->calls);
    g_mutex_clear(&mailbox->lock);
    g_free(mailbox);
}

static GPtrArray *mailbox_take(QmpMailbox *mailbox, gboolean close)
{
    GPtrArray *calls = NULL;

    g_mutex_lock(&mailbox->lock);
    if (mailbox->calls->len > 0) {
        calls = mailbox->calls;
        mailbox->calls = g_ptr_array_new();
    }
    if (close) {
        mailbox->wake = NULL;
    }
    g_mutex_unlock(&mailbox->lock);
    return calls;
}

void qmp_mailbox_close(QmpMailbox *mailbox)
{
    g_autoptr(GPtrArray) calls = mailbox_take(mailbox, TRUE);

    for (guint i = 0; calls != NULL && i < calls->len; i++) {
        call_free(g_ptr_array_index(calls, i));
    }
}

GPtrArray *qmp_mailbox_take(QmpMailbox *mailbox)
{
    return mailbox_take(mailbox, FALSE);
}

static void mailbox_post(QmpCall *call)
{
    g_autoptr(QmpMailbox) mailbox = qmp_mailbox_ref(call->mailbox);
    gboolean closed;

    g_mutex_lock(&mailbox->lock);
    closed = mailbox->wake == NULL;
    if (!closed) {
        g_ptr_array_add(mailbox->calls, call);
        mailbox->wake(mailbox->opaque);
    }
    g_mutex_unlock(&mailbox->lock);
    if (closed) {
        call_free(call);
    }
}

/* ---- what handlers use ---- */

const void *qmp_call_data(QmpCall *call)
{
    return call->command->data;
}

void *qmp_call_context(QmpCall *call)
{
    return call->context;
}

const char *qmp_call_command(QmpCall *call)
{
    return call->request.command;
}

guint64 qmp_call_client(QmpCall *call)
{
    return call->client;
}

GArray *qmp_call_take_fds(QmpCall *call)
{
    QmpSession *session = qmp_call_session(call);

    return session != NULL ? qmp_session_take_fds(session) : NULL;
}

JsonSlice qmp_call_arguments(QmpCall *call)
{
    return call->request.arguments;
}

GString *qmp_call_result(QmpCall *call)
{
    return call->reply;
}

static void call_replied(QmpCall *call)
{
    if (call->thread == g_thread_self() && call->session != NULL && qmp_session_executes(call->session, call)) {
        qmp_call_deliver(call);
    } else {
        mailbox_post(call);
    }
}

void qmp_call_return(QmpCall *call)
{
    if (call->reply->len == call->result_offset) {
        g_string_append(call->reply, "{}");
    }
    qmp_append_return_end(call->reply, call->request.id);
    call_replied(call);
}

void qmp_call_fail(QmpCall *call, const GError *error)
{
    g_string_truncate(call->reply, 0);
    qmp_append_error(call->reply, error, call->request.id);
    call_replied(call);
}

void qmp_call_fail_new(QmpCall *call, GQuark domain, int code, const char *format, ...)
{
    g_autoptr(GError) error = NULL;
    va_list args;

    va_start(args, format);
    error = g_error_new_valist(domain, code, format, args);
    va_end(args);
    qmp_call_fail(call, error);
}

/* ---- what the session uses ---- */

QmpSession *qmp_call_session(QmpCall *call)
{
    return call->thread == g_thread_self() ? call->session : NULL;
}

void qmp_call_resume(QmpCall *call, void (*handler)(QmpCall *call, const void *args))
{
    call->resumed = handler;
    mailbox_post(call);
}

QmpSession *qmp_call_deliver(QmpCall *call)
{
    QmpSession *session = call->session;

    if (session != NULL && call->resumed != NULL) {
        g_steal_pointer (&call->resumed)(call, call->args);
        return session;
    }
    if (session != NULL) {
        qmp_session_reply(session, call, &call->fault, g_string_free_to_bytes(g_steal_pointer(&call->reply)));
    }
    call_dispose(call);
    return session;
}

void qmp_call_set_unheard(QmpCall *call)
{
    g_atomic_int_set(&call->unheard, TRUE);
}

void qmp_call_orphan(QmpCall *call)
{
    qmp_call_set_unheard(call);
    call->session = NULL;
}

/* ---- executing ---- */

/* Finds the command and fills its arguments. */
static gboolean call_prepare(QmpCall *call, const QmpRegistry *commands, GError **error)
{
    const char *name = call->request.command, *hint = qmp_registry_hint(commands);
    const QmpCommand *command;

    if (call->request.oob && !call->oob) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC,
                    "out-of-band execution was not enabled, by 'qmp_capabilities'");
        return FALSE;
    }
    command = qmp_registry_find(commands, name, &call->context);
    if (command == NULL) {
        g_autofree char *shown = qmp_shown(name);

        g_set_error(error, QMP_ERROR, QMP_ERROR_COMMAND_NOT_FOUND, "there is no command '%s'%s%s", shown,
                    hint != NULL ? ": " : "", hint != NULL ? hint : "");
        return FALSE;
    }
    if (call->request.oob && !(command->flags & QMP_COMMAND_OOB)) {
        g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "'%s' cannot be executed out of band", name);
        return FALSE;
    }
    call->command = command;
    call->args = command->args_size > sizeof call->few_args ? g_malloc0(command->args_size) : &call->few_args;
    return qmp_args_fill(command->args, call->request.arguments, command->flags & QMP_COMMAND_OPEN_ARGS, call->args,
                         error);
}

QmpCall *qmp_call_new(QmpSession *session, QmpMailbox *mailbox, QmpWorkers *workers, const QmpFaultHooks *faults,
                      gboolean oob)
{
    QmpCall *call = g_new0(QmpCall, 1);

    call->mailbox = qmp_mailbox_ref(mailbox);
    call->workers = workers;
    call->faults = faults;
    call->oob = oob;
    call->thread = g_thread_self();
    call->client = qmp_session_client(session);
    call->session = session;
    call->reply = g_string_new(NULL);
    qmp_append_return(call->reply);
    call->result_offset = call->reply->len;
    return call;
}

void qmp_call_execute(QmpCall *call, const QmpRegistry *commands, QmpRequest *request)
{
    g_autoptr(GError) error = NULL;

    call->request = *request;
    *request = (QmpRequest){0};
    if (call->faults != NULL) {
        call->faults->command(call->request.command, &call->fault, call->faults->opaque);
    }
    if (call->fault.error != NULL) {
        qmp_call_fail(call, call->fault.error);
    } else if (call_prepare(call, commands, &error)) {
        call->command->handler(call, call->args);
    } else {
        qmp_call_fail(call, error);
    }
}

/* ---- on a worker ---- */

static void call_fail_ending(QmpCall *call)
{
    qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_GENERIC, "the server ends");
}

static void work_message(void *opaque, gboolean ending)
{
    QmpCall *call = opaque;
    g_autoptr(GError) error = NULL;
    QmpRequest request;
    gboolean ok;

    if (ending) {
        call_fail_ending(call);
        return;
    }
    ok = qmp_request_parse(&request, call->message, &error);
    g_clear_pointer(&call->memory, g_free);
    if (ok) {
        qmp_call_execute(call, call->commands, &request);
    } else {
        call->request = request;
        qmp_call_fail(call, error);
    }
}

void qmp_call_execute_large(QmpCall *call, const QmpRegistry *commands, char *memory, JsonSlice message)
{
    call->commands = commands;
    call->memory = memory;
    call->message = message;
    qmp_workers_run(call->workers, work_message, call);
}

static void call_run_rest(QmpCall *call)
{
    if (g_atomic_int_get(&call->unheard)) {
        qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_GENERIC, "nobody is there any more");
    } else {
        call->rest(call, call->args);
    }
}

static void work_rest(void *opaque, gboolean ending)
{
    QmpCall *call = opaque;

    if (ending) {
        call_fail_ending(call);
    } else {
        call_run_rest(call);
    }
}

void qmp_call_hand_over(QmpCall *call, void (*handler)(QmpCall *call, const void *args))
{
    call->rest = handler;
    if (call->workers == NULL || call->thread != g_thread_self()) {
        call_run_rest(call); /* it is on a worker already */
        return;
    }
    qmp_workers_run(call->workers, work_rest, call);
}
