/* SPDX-License-Identifier: MIT */
/*
 * See server.h. All state belongs to the monitor thread once it runs, apart from what
 * events.c and the mailbox (call.c) lock by themselves; other threads only write to the
 * eventfd that wakes it.
 *
 * Each round of the loop reads what has come and gives a turn to every client that something
 * has happened to: it has a few messages handled, and sends. Who has more than its turn was
 * enough for is `busy` and comes after the others, so that who asks little is answered soon.
 */
#include "qmp/server.h"

#include <errno.h>
#include <gio/gio.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "qmp/events.h"
#include "qmp/listener.h"
#include "qmp/session.h"
#include "qmp/stream.h"

/* What a client may have handled before it is the next one's turn: so many messages, or
 * as many as take so long. */
#define TURN_MESSAGES 32
#define TURN_US 500
/* How long those that already had a turn are served before the sockets are looked at again. */
#define ROUND_US 5000
/* How much is read from a client, and sent to it, at once. */
#define READ_SIZE ((gsize)256 << 10)
#define WRITE_PIECES 64
#define WRITE_SIZE ((gsize)1 << 20)
/* Requests that a client has sent and that were not handled yet: no more is read then. */
#define PENDING_MAX (QMP_MESSAGE_BYTES_MAX + READ_SIZE)
/* Descriptors for as many clients as there may be, and for the mount. */
#define DESCRIPTORS_WANTED 16384
/* Clients that may wait until the only one leaves, as with QEMU. */
#define EXCLUSIVE_BACKLOG 1
/* After an accept that failed for want of descriptors or memory. */
#define ACCEPT_PAUSE_MS 100

typedef struct Client {
    GList link; /* in server->clients; data is the client */
    QmpServer *server;
    QmpSession *session;
    int fd;
    guint32 watched; /* what epoll watches it for */
    gboolean in_epoll;
    GList turn;          /* in `queue`; data is the client */
    GQueue *queue;       /* server->fresh or ->busy, or NULL: nothing to do */
    GList timer;         /* in server->timers where it `is_timed`; data is the client */
    gboolean is_timed;   /* something is held back for it */
    gboolean busy;       /* it has more to do than its last turn was enough for */
    gboolean read_ended; /* nothing more will come from it */
    gboolean dead;       /* nothing more can be sent to it */
} Client;

struct QmpServer {
    QmpListener *listener; /* or NULL */
    QmpRegistry *registry;
    QmpMailbox *mailbox;
    QmpWorkers *workers;
    QmpEvents *events;
    void (*sink)(const char *text, gsize length, void *opaque);
    void *sink_opaque;
    QmpFaultHooks faults;
    gboolean has_faults;
    QmpClientHooks hooks;
    gboolean has_hooks;
    QmpRegistry *(*offer)(void *opaque); /* or NULL: always `registry` */
    void *offer_opaque;
    guint max_clients;

    int epoll;
    int wake; /* eventfd */
    GThread *thread;
    gint stopping; /* atomic */

    /* The monitor thread's. */
    char *read_buffer;
    GString *due_events; /* kept from round to round */
    guint64 last_client; /* number of */
    GQueue clients;      /* Client, by their own links */
    GQueue fresh;        /* Client: something has happened to it, its turn comes in this round */
    GQueue timers;       /* Client: it has messages that are held back */
    GQueue busy;         /* Client: it had a turn that was not enough */
    gboolean accepting;
    gint64 accept_again; /* monotonic time, or -1 */
    gint64 next_event;   /* monotonic time at which an event becomes due, or -1 */
    gint64 next_release; /* the same of what is held back for a client */
};

/* ---- epoll ---- */

static void server_wake(void *opaque)
{
    QmpServer *server = opaque;
    guint64 one = 1;

    /* It can fail only where the counter is at its limit, and then the thread is awake. */
    if (write(server->wake, &one, sizeof one) < 0) {
        return;
    }
}

static void server_watch(QmpServer *server, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

    epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void server_set_accepting(QmpServer *server, gboolean accepting)
{
    if (server->listener != NULL && server->accepting != accepting) {
        struct epoll_event event = {.events = accepting ? EPOLLIN : 0, .data.ptr = server->listener};

        epoll_ctl(server->epoll, EPOLL_CTL_MOD, qmp_listener_fd(server->listener), &event);
        server->accepting = accepting;
    }
}

/* ---- clients ---- */

static void client_set_queue(Client *client, GQueue *queue)
{
    if (client->queue != NULL) {
        g_queue_unlink(client->queue, &client->turn);
    }
    if (queue != NULL) {
        g_queue_push_tail_link(queue, &client->turn);
    }
    client->queue = queue;
}

static void client_set_timed(Client *client, gboolean timed)
{
    if (client->is_timed == timed) {
        return;
    }
    if (timed) {
        g_queue_push_tail_link(&client->server->timers, &client->timer);
    } else {
        g_queue_unlink(&client->server->timers, &client->timer);
    }
    client->is_timed = timed;
}

/* Something has happened to it. */
static void client_touch(Client *client)
{
    if (client->queue == NULL) {
        client_set_queue(client, &client->server->fresh);
    }
}

static void server_add_client(QmpServer *server, int fd)
{
    Client *client = g_new0(Client, 1);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

    client->link.data = client->turn.data = client->timer.data = client;
    client->server = server;
    client->fd = fd;
    client->watched = EPOLLIN;
    client->session =
        qmp_session_new(server->offer != NULL ? server->offer(server->offer_opaque) : server->registry, server->mailbox,
                        server->workers, server->has_faults ? &server->faults : NULL, client);
    qmp_session_set_client(client->session, ++server->last_client);
    if (server->has_hooks) {
        server->hooks.joined(server->last_client, server->hooks.opaque);
    }
    client->in_epoll = epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
    client->dead = client->read_ended = !client->in_epoll;
    g_queue_push_tail_link(&server->clients, &client->link);
    client_touch(client);
}

static void client_free(Client *client)
{
    QmpServer *server = client->server;

    if (server->has_hooks) {
        server->hooks.left(qmp_session_client(client->session), server->hooks.opaque);
    }
    g_queue_unlink(&server->clients, &client->link);
    client_set_queue(client, NULL);
    client_set_timed(client, FALSE);
    qmp_session_free(client->session);
    close(client->fd);
    g_free(client);
    server_set_accepting(server, server->accept_again < 0);
}

/* Takes it out of epoll, which goes on to report a client that has hung up. */
static void client_unwatch(Client *client)
{
    if (client->in_epoll) {
        epoll_ctl(client->server->epoll, EPOLL_CTL_DEL, client->fd, NULL);
        client->in_epoll = FALSE;
    }
}

/* Watches it for what it is waited for. */
static void client_update_watch(Client *client)
{
    gboolean wants_input = !client->read_ended && qmp_session_pending(client->session) < PENDING_MAX;
    guint32 wanted =
        (wants_input ? EPOLLIN : 0) | (qmp_session_unsent(client->session) > 0 && !client->dead ? EPOLLOUT : 0);
    struct epoll_event event = {.events = wanted, .data.ptr = client};

    if (client->in_epoll && client->watched != wanted) {
        epoll_ctl(client->server->epoll, EPOLL_CTL_MOD, client->fd, &event);
        client->watched = wanted;
    }
}

/* Reads a piece of what has come. FALSE where nothing was to be had. */
static gboolean client_read(Client *client)
{
    Framer *framer = qmp_session_framer(client->session);
    QmpServer *server = client->server;
    GArray *fds = NULL;
    gssize n;

    if (client->read_ended || qmp_session_pending(client->session) >= PENDING_MAX) {
        return FALSE;
    }
    n = server->has_hooks ? qmp_fds_receive(client->fd, server->read_buffer, READ_SIZE, &fds)
                          : recv(client->fd, server->read_buffer, READ_SIZE, 0);
    if (fds != NULL) {
        qmp_session_add_fds(client->session, fds);
    }
    if (n > 0) {
        framer_add(framer, server->read_buffer, (gsize)n);
        return TRUE;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        framer_end(framer);
        client->read_ended = TRUE;
    }
    return FALSE;
}

/* Sends what the socket takes, to one that reads as quickly as we write only a part of what there is. */
static void client_write(Client *client)
{
    struct iovec pieces[WRITE_PIECES];
    gsize sent = 0;

    while (!client->dead && sent < WRITE_SIZE && qmp_session_unsent(client->session) > 0) {
        struct msghdr message = {.msg_iov = pieces};
        gssize n;

        message.msg_iovlen = qmp_session_output(client->session, pieces, WRITE_PIECES);
        n = sendmsg(client->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            qmp_session_sent(client->session, (gsize)n);
            sent += (gsize)n;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            client->dead = TRUE;
        }
    }
    if (client->dead) {
        /* Nobody will see it, and it must not hold up what the client still asked for. */
        qmp_session_set_unheard(client->session);
        qmp_session_sent(client->session, qmp_session_unsent(client->session));
    }
}

/* Whether everything that it asked for is done, and said; or it is to be closed. */
static gboolean client_is_done(const Client *client)
{
    if (qmp_session_is_closing(client->session)) {
        return qmp_session_unsent(client->session) == 0;
    }
    return client->read_ended && !client->busy && qmp_session_is_idle(client->session) &&
           qmp_session_unsent(client->session) == 0;
}

/* Handles messages. TRUE where there may be more. */
static gboolean client_run(Client *client)
{
    gint64 start = g_get_monotonic_time();

    for (guint i = 0; i < TURN_MESSAGES && g_get_monotonic_time() - start < TURN_US; i++) {
        if (!qmp_session_run(client->session, 1)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* Looks at what is held back for it. */
static void client_release(Client *client)
{
    gint64 next = qmp_session_release(client->session, g_get_monotonic_time());
    QmpServer *server = client->server;

    client_set_timed(client, next >= 0);
    if (next >= 0 && (server->next_release < 0 || next < server->next_release)) {
        server->next_release = next;
    }
}

/* A client's turn. */
static void client_turn(Client *client)
{
    client_set_queue(client, NULL);
    client->busy = client_run(client);
    client_release(client);
    client_write(client);
    if (!client->busy && qmp_session_unsent(client->session) == 0) {
        /* What stopped it may have been output that is sent by now. */
        client->busy = qmp_session_run(client->session, 1);
    }
    if (client_is_done(client) || qmp_session_backlog(client->session) > QMP_BACKLOG_MAX) {
        client_free(client);
        return;
    }
    if (client->busy) {
        client_set_queue(client, &client->server->busy);
    }
    client_update_watch(client);
}

/* ---- what has happened ---- */

static void server_accept(QmpServer *server)
{
    /* A few at a time, so that a storm of them does not hold up the others. */
    for (guint i = 0; i < TURN_MESSAGES; i++) {
        int fd;

        if (g_queue_get_length(&server->clients) >= server->max_clients) {
            server_set_accepting(server, FALSE);
            return;
        }
        fd = qmp_listener_accept(server->listener);
        if (fd >= 0) {
            if (!server->has_hooks || !server->hooks.adopt(fd, server->hooks.opaque)) {
                server_add_client(server, fd);
            }
        } else if (errno == EAGAIN) {
            return;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            server_set_accepting(server, FALSE);
            server->accept_again = g_get_monotonic_time() + ACCEPT_PAUSE_MS * 1000;
            return;
        }
    }
}

static void client_ready(Client *client, guint32 events)
{
    if (events & (EPOLLHUP | EPOLLERR)) {
        /* Nobody is there any more, but what was sent before counts: it is read to its end. */
        client_unwatch(client);
        while (client_read(client)) {
        }
        client->read_ended = client->dead = TRUE;
        qmp_session_set_unheard(client->session);
        framer_end(qmp_session_framer(client->session));
    } else if (events & EPOLLIN) {
        client_read(client);
    }
    client_touch(client);
}

/* Sends the events that are due to all who have negotiated. */
static void server_send_events(QmpServer *server)
{
    GString *text = g_string_truncate(server->due_events, 0);
    g_autoptr(GBytes) shared = NULL;

    server->next_event = qmp_events_take(server->events, g_get_monotonic_time(), text);
    if (text->len == 0) {
        return;
    }
    if (server->sink != NULL) {
        server->sink(text->str, text->len, server->sink_opaque);
    }
    shared = g_bytes_new(text->str, text->len);
    for (GList *link = server->clients.head; link != NULL; link = link->next) {
        Client *client = link->data;

        if (!client->dead && qmp_session_is_negotiated(client->session)) {
            qmp_session_send(client->session, g_bytes_ref(shared));
            client_touch(client);
        }
    }
}

/* Replies from other threads, and events: whatever was told before a reply is sent before it. */
static void server_send_news(QmpServer *server)
{
    g_autoptr(GPtrArray) calls = qmp_mailbox_take(server->mailbox);

    server_send_events(server);
    for (guint i = 0; calls != NULL && i < calls->len; i++) {
        const QmpSession *session = qmp_call_deliver(g_ptr_array_index(calls, i));

        if (session != NULL) {
            client_touch(qmp_session_opaque(session));
        }
    }
}

/* Gives those a turn for whom something was held back until now. */
static void server_release(QmpServer *server)
{
    if (server->next_release < 0 || server->next_release > g_get_monotonic_time()) {
        return;
    }
    server->next_release = -1; /* their turns find the next */
    for (GList *link = server->timers.head; link != NULL; link = link->next) {
        client_touch(link->data);
    }
}

/* ---- the thread ---- */

static gint64 earlier(gint64 a, gint64 b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int server_timeout(const QmpServer *server)
{
    gint64 due = earlier(earlier(server->next_event, server->next_release), server->accept_again), now;

    if (server->fresh.length > 0 || server->busy.length > 0) {
        return 0;
    }
    if (due < 0) {
        return -1;
    }
    now = g_get_monotonic_time();
    return due <= now ? 0 : (int)MIN((due - now + 999) / 1000, G_MAXINT);
}

static void server_wait(QmpServer *server)
{
    struct epoll_event ready[64];
    int n = epoll_wait(server->epoll, ready, G_N_ELEMENTS(ready), server_timeout(server));
    guint64 count;

    for (int i = 0; i < n; i++) {
        if (ready[i].data.ptr == server) {
            if (read(server->wake, &count, sizeof count) < 0) {
                continue; /* somebody else's wake-up was read already */
            }
        } else if (ready[i].data.ptr == server->listener) {
            server_accept(server);
        } else {
            client_ready(ready[i].data.ptr, ready[i].events);
        }
    }
    if (server->accept_again >= 0 && server->accept_again <= g_get_monotonic_time()) {
        server->accept_again = -1;
        server_set_accepting(server, TRUE);
    }
}

static void server_round(QmpServer *server)
{
    gint64 end;

    server_send_news(server);
    server_release(server);
    while (server->fresh.length > 0) {
        client_turn(g_queue_peek_head(&server->fresh));
    }
    end = g_get_monotonic_time() + ROUND_US;
    while (server->busy.length > 0 && g_get_monotonic_time() < end) {
        client_turn(g_queue_peek_head(&server->busy));
    }
}

static gpointer server_thread(gpointer data)
{
    QmpServer *server = data;

    while (!g_atomic_int_get(&server->stopping)) {
        server_wait(server);
        server_round(server);
    }
    /* What was said last (SHUTDOWN, the reply to quit) still goes out. */
    server_round(server);
    return NULL;
}

/* ---- life ---- */

/* Every client takes a descriptor. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_WANTED) {
        limit.rlim_cur = MIN(limit.rlim_max, DESCRIPTORS_WANTED);
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

QmpServer *qmp_server_new(const char *path, QmpRegistry *registry, GError **error)
{
    g_autoptr(QmpServer) server = g_new0(QmpServer, 1);

    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->registry = qmp_registry_ref(registry);
    server->mailbox = qmp_mailbox_new(server_wake, server);
    server->workers = qmp_workers_new();
    server->events = qmp_events_new(registry, server_wake, server);
    server->read_buffer = g_malloc(READ_SIZE);
    server->due_events = g_string_new(NULL);
    server->next_event = server->next_release = server->accept_again = -1;
    server->max_clients = QMP_CLIENTS_MAX;
    g_queue_init(&server->clients);
    g_queue_init(&server->fresh);
    g_queue_init(&server->timers);
    g_queue_init(&server->busy);
    if (server->epoll < 0 || server->wake < 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(errno), "cannot start a QMP server: %s",
                    g_strerror(errno));
        return NULL;
    }
    server_watch(server, server->wake, server);
    if (path != NULL) {
        server->listener = qmp_listener_new(path, error);
        if (server->listener == NULL) {
            return NULL;
        }
        raise_descriptor_limit();
        server_watch(server, qmp_listener_fd(server->listener), server->listener);
        server->accepting = TRUE;
    }
    return g_steal_pointer(&server);
}

void qmp_server_start(QmpServer *server)
{
    server->thread = g_thread_new("monitor", server_thread, server);
}

void qmp_server_free(QmpServer *server)
{
    if (server == NULL) {
        return;
    }
    if (server->thread != NULL) {
        g_atomic_int_set(&server->stopping, TRUE);
        server_wake(server);
        g_thread_join(server->thread);
    }
    /* First of all, so that nobody connects to what does not answer any more. */
    g_clear_pointer(&server->listener, qmp_listener_free);
    while (!g_queue_is_empty(&server->clients)) {
        client_free(g_queue_peek_head(&server->clients));
    }
    /* Only now: a session knows its calls until they are delivered. */
    qmp_mailbox_close(server->mailbox);
    g_clear_pointer(&server->workers, qmp_workers_free);
    qmp_events_free(server->events);
    qmp_mailbox_unref(server->mailbox);
    qmp_registry_unref(server->registry);
    g_free(server->read_buffer);
    g_string_free(server->due_events, TRUE);
    if (server->epoll >= 0) {
        close(server->epoll);
    }
    if (server->wake >= 0) {
        close(server->wake);
    }
    g_free(server);
}

void qmp_server_set_event_sink(QmpServer *server, void (*sink)(const char *text, gsize length, void *opaque),
                               void *opaque)
{
    server->sink = sink;
    server->sink_opaque = opaque;
}

void qmp_server_set_faults(QmpServer *server, const QmpFaultHooks *hooks)
{
    server->faults = *hooks;
    server->has_faults = TRUE;
    qmp_events_set_faults(server->events, &server->faults);
}

void qmp_server_set_offer(QmpServer *server, QmpRegistry *(*offer)(void *opaque), void *opaque)
{
    server->offer = offer;
    server->offer_opaque = opaque;
}

void qmp_server_set_client_hooks(QmpServer *server, const QmpClientHooks *hooks)
{
    server->hooks = *hooks;
    server->has_hooks = TRUE;
}

void qmp_server_set_exclusive(QmpServer *server)
{
    server->max_clients = 1;
    if (server->listener != NULL) {
        qmp_listener_set_backlog(server->listener, EXCLUSIVE_BACKLOG);
    }
}

void qmp_server_pass_event(QmpServer *server, JsonSlice message)
{
    qmp_events_pass(server->events, message);
}

void qmp_server_emit(QmpServer *server, const char *event, JsonSlice data, gint64 time_us)
{
    qmp_events_emit(server->events, event, data, time_us);
}
