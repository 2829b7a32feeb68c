/* SPDX-License-Identifier: MIT */
/*
 * See session.h. Which state a session is in is told by the table that is current: before
 * negotiation it has qmp_capabilities alone, then all that the server offers.
 */
#include "qmp/session.h"

#include <string.h>

#include "qmp/registry.h"
#include "qmp/stream.h"

/* With out-of-band execution a client can send on while a command is under way; so many
 * requests wait at most, as in QEMU. */
#define WAITING_MAX 8
/* So many times descriptors wait for a command that takes them. */
#define FDS_WAITING_MAX 16

/* What came and waits for its turn: a request, or the error that it has become, or a large message, which a worker is
 * to read. */
typedef struct Item {
    QmpRequest request;
    GError *error;
    JsonSlice large;
    char *memory; /* in which that stands */
} Item;

/* A message that is not sent yet. */
typedef struct Held {
    GBytes *text;
    gint64 due;       /* monotonic; -1: never */
    gboolean in_band; /* what comes after it waits for it */
} Held;

struct QmpSession {
    void *opaque;
    guint64 client;
    GQueue fds;                  /* GArray of int */
    const QmpFaultHooks *faults; /* or NULL */
    QmpMailbox *mailbox;
    QmpWorkers *workers;         /* or NULL */
    QmpRegistry *offered;        /* after negotiation */
    const QmpRegistry *commands; /* now */
    gboolean oob;

    Framer *framer;
    GQueue waiting;   /* Item */
    QmpCall *in_band; /* the call that all others wait for, or NULL */
    GPtrArray *calls; /* all that are under way */
    gsize large;      /* bytes of the large message that waits or is under way: one at most */
    QmpCall *large_call;
    QmpCall *executing; /* whose handler is running */
    GQueue held;        /* Held */
    guint blocked;      /* how many of those are in band */
    gboolean closing;
    gboolean unheard;

    GQueue output;   /* GBytes */
    gsize head_sent; /* bytes of the first one that were sent */
    gsize unsent;    /* of all */
};

static void item_free(gpointer data)
{
    Item *item = data;

    qmp_request_clear(&item->request);
    g_clear_error(&item->error);
    g_free(item->memory);
    g_free(item);
}

/* ---- negotiation ---- */

/* Of the values in `enable`, only "oob" is known, where it is offered. */
static gboolean negotiate_oob(JsonSlice enable, gboolean offered, gboolean *ret_oob, GError **error)
{
    JsonSlice value;
    JsonWalk walk;

    if (enable.length == 0) {
        return TRUE;
    }
    walk = json_walk(enable);
    while (json_walk_element(&walk, &value)) {
        if (!offered || !json_string_is(value, "oob")) {
            g_autofree char *text = json_string_dup(value, NULL), *shown = qmp_shown(text != NULL ? text : "");

            if (text != NULL) {
                g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "there is no capability '%s'", shown);
            } else {
                g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "a capability must be a string, not %s",
                            json_kind_name(json_kind(value)));
            }
            return FALSE;
        }
        *ret_oob = TRUE;
    }
    return TRUE;
}

static void negotiate(QmpCall *call, const void *data)
{
    const QmpCapabilitiesArgs *args = data;
    QmpSession *session = qmp_call_session(call);
    g_autoptr(GError) error = NULL;
    gboolean oob = FALSE;

    if (session == NULL) {
        qmp_call_fail_new(call, QMP_ERROR, QMP_ERROR_GENERIC, "'qmp_capabilities' is not that long");
        return;
    }
    if (!negotiate_oob(args->enable, qmp_registry_has_oob(session->offered), &oob, &error)) {
        qmp_call_fail(call, error);
        return;
    }
    session->oob = oob;
    session->commands = session->offered;
    qmp_call_return(call);
}

static const QmpCommand negotiation_commands[] = {
    {.name = "qmp_capabilities",
     .handler = negotiate,
     .args = qmp_capabilities_args,
     .args_size = sizeof(QmpCapabilitiesArgs)},
    {0},
};

/* The table before negotiation, the same for all sessions of the process. */
static gpointer make_negotiation(gpointer data)
{
    QmpRegistry *registry = qmp_registry_new_bare(data, "capabilities must be negotiated first, by 'qmp_capabilities'");

    qmp_registry_add(registry, negotiation_commands, NULL);
    return registry;
}

static const QmpRegistry *negotiation_registry(void)
{
    static GOnce once = G_ONCE_INIT;
    static QmpVersion none = {.package = ""};

    return g_once(&once, make_negotiation, &none);
}

/* ---- faults ---- */

/* What is no JSON, nor the beginning of any; and a byte that no text has. */
static const char garbage[] = "\x01#!garbage \xfe]} \"\r\n";

static void held_free(gpointer data)
{
    Held *held = data;

    g_bytes_unref(held->text);
    g_free(held);
}

static void session_hold(QmpSession *session, gint64 due, gboolean in_band, GBytes *text)
{
    Held *held = g_new(Held, 1);

    *held = (Held){.text = text, .due = due, .in_band = in_band};
    g_queue_push_tail(&session->held, held);
    session->blocked += in_band;
}

/* Takes the text over. */
static void session_say(QmpSession *session, const QmpFault *fault, gboolean in_band, GBytes *text)
{
    switch (fault->kind) {
    case QMP_FAULT_DELAY:
        session_hold(session, g_get_monotonic_time() + fault->delay_us, in_band, text);
        return;
    case QMP_FAULT_HANG:
        session_hold(session, -1, in_band, text);
        return;
    case QMP_FAULT_CLOSE:
    case QMP_FAULT_CUT:
        session->closing = TRUE;
        qmp_session_send(session, g_bytes_new_from_bytes(text, 0, MIN(fault->bytes, g_bytes_get_size(text))));
        break;
    case QMP_FAULT_GARBAGE:
        qmp_session_send(session, g_bytes_new_static(garbage, strlen(garbage)));
        break;
    case QMP_FAULT_NONE:
    case QMP_FAULT_ERROR:
        qmp_session_send(session, text);
        return;
    }
    g_bytes_unref(text);
}

gint64 qmp_session_release(QmpSession *session, gint64 now)
{
    gint64 next = -1;

    for (GList *link = session->held.head, *following; link != NULL; link = following) {
        Held *held = link->data;

        following = link->next;
        if (held->due >= 0 && held->due <= now) {
            session->blocked -= held->in_band;
            qmp_session_send(session, g_bytes_ref(held->text));
            held_free(held);
            g_queue_delete_link(&session->held, link);
        } else if (held->due >= 0) {
            next = next < 0 ? held->due : MIN(next, held->due);
        }
    }
    return next;
}

static void session_forget_held(QmpSession *session)
{
    g_queue_clear_full(&session->held, held_free);
    session->blocked = 0;
}

void qmp_session_set_unheard(QmpSession *session)
{
    session->unheard = TRUE;
    session_forget_held(session);
    for (guint i = 0; i < session->calls->len; i++) {
        qmp_call_set_unheard(g_ptr_array_index(session->calls, i));
    }
}

gboolean qmp_session_is_closing(const QmpSession *session)
{
    return session->closing;
}

/* ---- life ---- */

static void session_greet(QmpSession *session)
{
    GString *greeting = g_string_new(NULL);
    QmpFault fault = {0};

    if (session->faults != NULL) {
        session->faults->command(QMP_FAULT_GREETING, &fault, session->faults->opaque);
    }
    qmp_append_greeting(greeting, qmp_registry_version(session->offered), qmp_registry_has_oob(session->offered));
    if (fault.error != NULL) { /* what QEMU never does, and a client cannot take for a greeting */
        g_string_truncate(greeting, 0);
        qmp_append_error(greeting, fault.error, (JsonSlice){NULL, 0});
    }
    session_say(session, &fault, TRUE, g_string_free_to_bytes(greeting));
    g_clear_error(&fault.error);
}

QmpSession *qmp_session_new(QmpRegistry *registry, QmpMailbox *mailbox, QmpWorkers *workers,
                            const QmpFaultHooks *faults, void *opaque)
{
    QmpSession *session = g_new0(QmpSession, 1);

    session->opaque = opaque;
    session->faults = faults;
    session->mailbox = qmp_mailbox_ref(mailbox);
    session->workers = workers;
    session->offered = qmp_registry_ref(registry);
    session->commands = negotiation_registry();
    session->framer = framer_new(QMP_MESSAGE_BYTES_MAX);
    session->calls = g_ptr_array_new();
    g_queue_init(&session->waiting);
    g_queue_init(&session->output);
    g_queue_init(&session->held);
    g_queue_init(&session->fds);
    session_greet(session);
    return session;
}

void qmp_session_free(QmpSession *session)
{
    if (session == NULL) {
        return;
    }
    for (guint i = 0; i < session->calls->len; i++) {
        qmp_call_orphan(g_ptr_array_index(session->calls, i));
    }
    g_ptr_array_unref(session->calls);
    g_queue_clear_full(&session->waiting, item_free);
    g_queue_clear_full(&session->fds, (GDestroyNotify)qmp_fds_free);
    g_queue_clear_full(&session->output, (GDestroyNotify)g_bytes_unref);
    session_forget_held(session);
    framer_free(session->framer);
    qmp_registry_unref(session->offered);
    qmp_mailbox_unref(session->mailbox);
    g_free(session);
}

void *qmp_session_opaque(const QmpSession *session)
{
    return session->opaque;
}

void qmp_session_set_client(QmpSession *session, guint64 client)
{
    session->client = client;
}

guint64 qmp_session_client(const QmpSession *session)
{
    return session->client;
}

void qmp_session_add_fds(QmpSession *session, GArray *fds)
{
    g_queue_push_tail(&session->fds, fds);
    if (g_queue_get_length(&session->fds) > FDS_WAITING_MAX) {
        qmp_fds_free(g_queue_pop_head(&session->fds));
    }
}

GArray *qmp_session_take_fds(QmpSession *session)
{
    return g_queue_pop_head(&session->fds);
}

Framer *qmp_session_framer(QmpSession *session)
{
    return session->framer;
}

gsize qmp_session_pending(const QmpSession *session)
{
    return framer_pending(session->framer) + session->large;
}

gboolean qmp_session_is_negotiated(const QmpSession *session)
{
    return session->commands == session->offered;
}

/* ---- executing ---- */

gboolean qmp_session_executes(const QmpSession *session, const QmpCall *call)
{
    return session->executing == call;
}

void qmp_session_reply(QmpSession *session, const QmpCall *call, const QmpFault *fault, GBytes *text)
{
    gboolean in_band = session->in_band == call;

    if (in_band) {
        session->in_band = NULL;
    }
    if (session->large_call == call) {
        session->large_call = NULL;
        session->large = 0;
    }
    if (session->executing == call) {
        session->executing = NULL;
    }
    g_ptr_array_remove_fast(session->calls, (void *)(guintptr)call);
    session_say(session, fault, in_band, text);
}

static void session_execute(QmpSession *session, Item *item)
{
    QmpCall *call = qmp_call_new(session, session->mailbox, session->workers, session->faults, session->oob);

    g_ptr_array_add(session->calls, call);
    if (session->unheard) {
        qmp_call_set_unheard(call);
    }
    if (!item->request.oob) {
        session->in_band = call;
    }
    session->executing = call;
    if (item->memory != NULL) {
        session->large_call = call;
        qmp_call_execute_large(call, session->commands, g_steal_pointer(&item->memory), item->large);
    } else {
        qmp_call_execute(call, session->commands, &item->request);
    }
    session->executing = NULL;
}

static void session_send_error(QmpSession *session, const GError *error, JsonSlice id)
{
    GString *text = g_string_new(NULL);

    qmp_append_error(text, error, id);
    qmp_session_send(session, g_string_free_to_bytes(text));
}

/* Handles one in its turn. */
static void session_handle(QmpSession *session, Item *item)
{
    if (item->error != NULL) {
        session_send_error(session, item->error, item->request.id);
    } else {
        session_execute(session, item);
    }
    item_free(item);
}

/* The next message, or NULL where there is none yet. */
static Item *session_read(QmpSession *session)
{
    const char *problem;
    JsonSlice message;
    Item *item;

    switch (framer_next(session->framer, &message, &problem)) {
    case FRAMER_MESSAGE:
        item = g_new0(Item, 1);
        if (session->workers != NULL && message.length > QMP_LARGE_REQUEST) {
            item->large = message;
            item->memory = framer_release(session->framer);
            session->large = message.length;
        } else {
            qmp_request_parse(&item->request, message, &item->error);
        }
        return item;
    case FRAMER_ERROR:
        item = g_new0(Item, 1);
        item->error = g_error_new_literal(QMP_ERROR, QMP_ERROR_GENERIC, problem);
        return item;
    case FRAMER_MORE:
    default:
        return NULL;
    }
}

/* Whether a reply is still to come that others wait for. */
static gboolean session_is_busy(const QmpSession *session)
{
    return session->in_band != NULL || session->blocked > 0;
}

/* Whether another message may be read: while a call is under way, only to look for one
 * that is to be executed out of band, and not past a large one, of which nobody knows what it is yet. */
static gboolean session_may_read(const QmpSession *session)
{
    return !session_is_busy(session) ||
           (session->oob && session->large == 0 && g_queue_get_length((GQueue *)&session->waiting) < WAITING_MAX);
}

/* Handles one message. FALSE where there is none that can be handled now. */
static gboolean session_step(QmpSession *session)
{
    Item *item;

    if (session->unsent >= QMP_OUTPUT_PAUSE || session->closing) {
        return FALSE;
    }
    if (!session_is_busy(session) && !g_queue_is_empty(&session->waiting)) {
        session_handle(session, g_queue_pop_head(&session->waiting));
        return TRUE;
    }
    if (!session_may_read(session)) {
        return FALSE;
    }
    item = session_read(session);
    if (item == NULL) {
        return FALSE;
    }
    if (session_is_busy(session) && !(item->error == NULL && item->request.oob)) {
        g_queue_push_tail(&session->waiting, item);
    } else {
        session_handle(session, item);
    }
    return TRUE;
}

gboolean qmp_session_run(QmpSession *session, guint budget)
{
    for (guint i = 0; i < budget; i++) {
        if (!session_step(session)) {
            return FALSE;
        }
    }
    return TRUE;
}

gboolean qmp_session_is_idle(const QmpSession *session)
{
    return session->calls->len == 0 && g_queue_is_empty((GQueue *)&session->waiting) &&
           g_queue_is_empty((GQueue *)&session->held);
}

/* ---- output ---- */

void qmp_session_send(QmpSession *session, GBytes *text)
{
    if (g_bytes_get_size(text) == 0) {
        g_bytes_unref(text);
        return;
    }
    session->unsent += g_bytes_get_size(text);
    g_queue_push_tail(&session->output, text);
}

guint qmp_session_output(const QmpSession *session, struct iovec *pieces, guint n)
{
    gsize skip = session->head_sent;
    guint i = 0;

    for (const GList *link = session->output.head; link != NULL && i < n; link = link->next, i++) {
        gsize size;
        const char *data = g_bytes_get_data(link->data, &size);

        pieces[i].iov_base = (void *)(guintptr)(data + skip);
        pieces[i].iov_len = size - skip;
        skip = 0;
    }
    return i;
}

void qmp_session_sent(QmpSession *session, gsize n)
{
    session->unsent -= n;
    n += session->head_sent;
    while (!g_queue_is_empty(&session->output)) {
        GBytes *head = g_queue_peek_head(&session->output);
        gsize size = g_bytes_get_size(head);

        if (n < size) {
            break;
        }
        n -= size;
        g_bytes_unref(g_queue_pop_head(&session->output));
    }
    session->head_sent = n;
}

gsize qmp_session_unsent(const QmpSession *session)
{
    return session->unsent;
}

gsize qmp_session_backlog(const QmpSession *session)
{
    GBytes *head = g_queue_peek_head((GQueue *)&session->output);

    return head != NULL ? session->unsent - (g_bytes_get_size(head) - session->head_sent) : 0;
}
