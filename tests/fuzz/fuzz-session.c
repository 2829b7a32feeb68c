/* SPDX-License-Identifier: MIT */
/*
 * A QMP session, from bytes to bytes: framing, requests, arguments, dispatch. The input comes in two pieces, split at
 * a place that its first byte says. All output is lines of JSON objects, and however the session was left, it answers a
 * good command after 0xFF.
 */
#include <string.h>

#include "fuzz.h"
#include "qmp/registry.h"
#include "qmp/session.h"

/* ---- commands that take all kinds of arguments ---- */

static const QmpType colour = {.meta = QMP_ENUM, .values = (const char *const[]){"red", "green", NULL}};

typedef struct Args {
    char *s;
    gboolean b;
    gint64 i;
    int e;
    char **l;
    JsonSlice a, o;
} Args;

static const QmpArg args_table[] = {
    QMP_ARG(Args, s, "s", qmp_str, .optional = TRUE),
    QMP_ARG(Args, b, "b", qmp_bool, .optional = TRUE),
    QMP_ARG(Args, i, "i", qmp_int, .optional = TRUE, .min = -5, .max = 5),
    QMP_ARG(Args, e, "e", colour, .optional = TRUE),
    QMP_ARG(Args, l, "l", qmp_str_list, .optional = TRUE),
    QMP_ARG(Args, a, "a", qmp_any, .optional = TRUE),
    QMP_ARG(Args, o, "o", qmp_empty, .optional = TRUE),
    {0},
};

static QmpCall *held;

static void echo(QmpCall *call, const void *data)
{
    const Args *args = data;
    GString *out = qmp_call_result(call);

    g_string_append(out, "[");
    json_append_string(out, args->s != NULL ? args->s : "", -1);
    g_string_append_c(out, ',');
    json_append_int(out, args->i + args->e + args->b + (args->l != NULL ? g_strv_length(args->l) : 0));
    for (guint i = 0; i < 2; i++) {
        JsonSlice slice = i == 0 ? args->a : args->o;

        if (slice.length > 0) {
            g_string_append_c(out, ',');
            json_append_slice(out, slice);
        }
    }
    g_string_append_c(out, ']');
    qmp_call_return(call);
}

static void hold(QmpCall *call, const void *args G_GNUC_UNUSED)
{
    held = call;
}

static const QmpCommand commands[] = {
    {.name = "echo", .handler = echo, .args = args_table, .args_size = sizeof(Args), .flags = QMP_COMMAND_OOB},
    {.name = "hold", .handler = hold},
    {0},
};

/* ---- the session ---- */

static void wake(void *opaque G_GNUC_UNUSED)
{
}

static void deliver_held(QmpMailbox *mailbox)
{
    if (held != NULL) {
        g_autoptr(GPtrArray) calls = NULL;

        qmp_call_return(g_steal_pointer(&held));
        calls = qmp_mailbox_take(mailbox);
        for (guint i = 0; calls != NULL && i < calls->len; i++) {
            qmp_call_deliver(g_ptr_array_index(calls, i));
        }
    }
}

/* Takes the output; each line must be a JSON object. */
static void check_output(QmpSession *session, GString *last_line)
{
    g_autoptr(GString) all = g_string_new(NULL);
    struct iovec piece;

    while (qmp_session_output(session, &piece, 1) > 0) {
        g_string_append_len(all, piece.iov_base, (gssize)piece.iov_len);
        qmp_session_sent(session, piece.iov_len);
    }
    for (const char *line = all->str, *end; (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
        g_autofree char *compact = json_compact(line, (gsize)(end - line), JSON_READER_STRICT, NULL, NULL);

        g_assert_nonnull(compact);
        g_assert_true(compact[0] == '{');
        g_string_assign(last_line, compact);
    }
}

static void run(QmpSession *session, QmpMailbox *mailbox, const char *bytes, gsize length, GString *last_line)
{
    framer_add(qmp_session_framer(session), bytes, length);
    do {
        while (qmp_session_run(session, 10)) {
            check_output(session, last_line);
        }
        check_output(session, last_line);
        if (held == NULL) {
            break;
        }
        deliver_held(mailbox);
    } while (TRUE);
}

/* The same for all runs. Without query-qmp-schema, whose long reply would take all the time. */
static gpointer make_registry(gpointer data G_GNUC_UNUSED)
{
    static const QmpVersion version = {1, 2, 3, ""};
    QmpRegistry *registry = qmp_registry_new_bare(&version, NULL);

    qmp_registry_add(registry, commands, NULL);
    return registry;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static GOnce once = G_ONCE_INIT;
    static const char capabilities[] = "{'execute':'qmp_capabilities','arguments':{'enable':['oob']}}";
    static const char probe[] = "\xFF\n{\"execute\":\"echo\",\"id\":\"probe\"}";
    g_autoptr(QmpMailbox) mailbox = qmp_mailbox_new(wake, NULL);
    g_autoptr(QmpSession) session = NULL;
    g_autoptr(GString) last_line = g_string_new(NULL);
    const char *bytes = (const char *)data + (size > 0);
    gsize length = size > 0 ? size - 1 : 0, split = length > 0 ? data[0] % (length + 1) : 0;

    session = qmp_session_new(g_once(&once, make_registry, NULL), mailbox, NULL, NULL, NULL);
    run(session, mailbox, bytes, split, last_line);
    run(session, mailbox, capabilities, strlen(capabilities), last_line);
    run(session, mailbox, bytes + split, length - split, last_line);
    run(session, mailbox, "\xFF\n", 2, last_line);
    /* It may have been swallowed by a string that the input had left open. */
    run(session, mailbox, capabilities, strlen(capabilities), last_line);
    run(session, mailbox, probe, strlen(probe), last_line);
    g_assert_cmpstr(last_line->str, ==, "{\"return\":[\"\",0],\"id\":\"probe\"}");
    qmp_mailbox_close(mailbox);
    return 0;
}
