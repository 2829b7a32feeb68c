/* SPDX-License-Identifier: MIT */
/* See requests.h. */
#include "vmm/live/requests.h"

#include <string.h>

#include "objmodel/error.h"
#include "qmp/stream.h"

typedef struct Request {
    GList link; /* in one of the queues; data is the request */
    LiveRequests *owner;
    QmpPeerReply reply;
    void *opaque;
    gboolean sent;
    char *command;
    char *arguments; /* or NULL */
    GArray *fds;     /* int; or NULL */
    GError *error;   /* why it is refused */
} Request;

static void request_free(Request *request)
{
    g_free(request->command);
    g_free(request->arguments);
    qmp_fds_free(request->fds);
    g_clear_error(&request->error);
    g_free(request);
}

static void request_fail(Request *request, const GError *cause)
{
    /* Where there was only silence, it is a time that was over. */
    gboolean silence = g_error_matches(cause, OBJMODEL_ERROR, OBJMODEL_ERROR_TIMED_OUT);
    g_autoptr(GError) error = g_error_new(
        OBJMODEL_ERROR, silence ? OBJMODEL_ERROR_TIMED_OUT : OBJMODEL_ERROR_UNAVAILABLE, "%s", cause->message);

    request->reply((JsonSlice){NULL, 0}, error, request->opaque);
    request_free(request);
}

static Request *request_new(LiveRequests *requests, GArray *fds, QmpPeerReply reply, void *opaque)
{
    Request *request = g_new0(Request, 1);

    request->link.data = request;
    request->owner = requests;
    request->fds = fds;
    request->reply = reply;
    request->opaque = opaque;
    return request;
}

/* ---- sending ---- */

static void request_replied(JsonSlice value, const GError *error, void *opaque)
{
    Request *request = opaque;
    LiveRequests *requests = request->owner;
    g_autoptr(GError) gone = NULL;

    g_queue_unlink(&requests->requests, &request->link);
    if (error != NULL && error->domain != QMP_ERROR) {
        gone = g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, "the connection to '%s' is gone: %s",
                           requests->target, error->message);
    }
    request->reply(value, gone != NULL ? gone : error, request->opaque);
    request_free(request);
    requests->answered(requests->opaque);
}

static void request_send(Request *request, QmpPeer *peer)
{
    JsonSlice arguments = {request->arguments, request->arguments != NULL ? strlen(request->arguments) : 0};
    GArray *fds = request->fds;

    request->sent = TRUE;
    qmp_peer_send(peer, request->command, arguments, fds != NULL ? (int *)(void *)fds->data : NULL,
                  fds != NULL ? fds->len : 0, request_replied, request);
}

void live_requests_add(LiveRequests *requests, const char *command, JsonSlice arguments, GArray *fds,
                       QmpPeerReply reply, void *opaque)
{
    Request *request = request_new(requests, fds, reply, opaque);

    request->command = g_strdup(command);
    request->arguments = arguments.length > 0 ? g_strndup(arguments.text, arguments.length) : NULL;
    g_queue_push_tail_link(&requests->requests, &request->link);
}

void live_requests_send(LiveRequests *requests, QmpPeer *peer)
{
    GList *first = requests->requests.tail;

    /* Those that wait are the last ones. */
    while (first != NULL && first->prev != NULL && !((Request *)first->prev->data)->sent) {
        first = first->prev;
    }
    for (GList *item = first; item != NULL; item = item->next) {
        Request *request = item->data;

        if (!request->sent) {
            request_send(request, peer);
        }
    }
}

/* ---- failing ---- */

void live_requests_fail(LiveRequests *requests, const GError *error)
{
    GQueue failing = requests->requests;

    g_queue_init(&requests->requests);
    while (!g_queue_is_empty(&failing)) {
        request_fail(g_queue_pop_head_link(&failing)->data, error);
    }
}

static gboolean refuse(gpointer data)
{
    LiveRequests *requests = data;
    /* Those that come while these are told have a turn of their own. */
    guint n = g_queue_get_length(&requests->refused);

    g_clear_pointer(&requests->refuser, g_source_unref);
    while (n-- > 0) {
        Request *request = g_queue_pop_head_link(&requests->refused)->data;
        g_autoptr(GError) error = g_steal_pointer(&request->error);

        request_fail(request, error);
    }
    return G_SOURCE_REMOVE;
}

void live_requests_refuse(LiveRequests *requests, GArray *fds, QmpPeerReply reply, void *opaque, const GError *error)
{
    Request *request = request_new(requests, fds, reply, opaque);

    request->error = g_error_copy(error);
    g_queue_push_tail_link(&requests->refused, &request->link);
    if (requests->refuser == NULL) {
        requests->refuser = g_idle_source_new();
        g_source_set_priority(requests->refuser, G_PRIORITY_DEFAULT);
        g_source_set_callback(requests->refuser, refuse, requests, NULL);
        g_source_attach(requests->refuser, g_main_context_get_thread_default());
    }
}

/* ---- life ---- */

void live_requests_init(LiveRequests *requests, const char *target, void (*answered)(void *opaque), void *opaque)
{
    *requests = (LiveRequests){.target = target, .answered = answered, .opaque = opaque};
    g_queue_init(&requests->requests);
    g_queue_init(&requests->refused);
}

static void free_all(GQueue *queue)
{
    while (!g_queue_is_empty(queue)) {
        request_free(g_queue_pop_head_link(queue)->data);
    }
}

void live_requests_clear(LiveRequests *requests)
{
    if (requests->refuser != NULL) {
        g_source_destroy(requests->refuser);
        g_source_unref(requests->refuser);
    }
    free_all(&requests->requests);
    free_all(&requests->refused);
}

gboolean live_requests_is_empty(const LiveRequests *requests)
{
    return requests->requests.length == 0;
}
