/* SPDX-License-Identifier: MIT */
/*
 * vmm/qmp-fetch.c and qmp-live.c, with the commands of qmp-qom.c and query.c over them: a source that has to be asked,
 * which is a dump behind a door. What was fetched, in which order, is what a client's command costs.
 */
#include "vmm/qmp-fetch.h"

#include <string.h>

#include "objmodel/error.h"
#include "qmp/session.h"
#include "vmm/dump.h"
#include "vmm/qmp-live.h"
#include "vmm/query.h"

static const char tree[] =
    "{\"name\":\"/\",\"children\":[{\"name\":\"machine\",\"children\":[{\"name\":\"a "
    "b\",\"children\":[],\"properties\":["
    "{\"name\":\"type\",\"type\":\"string\",\"value\":\"t\"},{\"name\":\"x/y\",\"type\":\"int\",\"value\":7}]}],"
    "\"properties\":[{\"name\":\"type\",\"type\":\"string\",\"value\":\"m\"}]}],\"properties\":[]}";

typedef struct Fixture {
    Source source; /* the door */
    Source *dump;
    GString *fetched;
    gboolean wants;
    const char *failure; /* of the next fetch */
    SourceDone done[4];  /* of the fetches that wait */
    void *done_opaque[4];
    guint n_waiting;
    gboolean waits;
    QmpContext context;
    QmpRegistry *registry;
    QueryCommands *queries;
    QmpMailbox *mailbox;
    QmpSession *session;
} Fixture;

static void door_fetch(Source *source, const char *path, const char *property, SourceScope scope, SourceDone done,
                       void *opaque)
{
    Fixture *f = (Fixture *)source;
    g_autoptr(GError) error = NULL;

    g_string_append_printf(f->fetched, "%s:%s:%c ", path, property != NULL ? property : "", "PNS"[scope]);
    if (f->waits) {
        f->done[f->n_waiting] = done;
        f->done_opaque[f->n_waiting++] = opaque;
        return;
    }
    if (f->failure != NULL) {
        error = g_error_new_literal(OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, f->failure);
    }
    done(error, opaque);
}

static gboolean door_wants(Source *source, const char *path, const char *property, SourceScope scope)
{
    (void)path;
    (void)property;
    (void)scope;
    return ((Fixture *)source)->wants;
}

static void door_set(Source *source, const char *path, const char *property, JsonSlice value, SourceDone done,
                     void *opaque)
{
    Fixture *f = (Fixture *)source;

    g_string_append_printf(f->fetched, "set %s:%s=%.*s ", path, property, (int)value.length, value.text);
    done(NULL, opaque);
}

static const SourceOps door_ops = {.fetch = door_fetch, .wants_fetch = door_wants, .set = door_set};

static void ignore_wake(void *opaque)
{
    (void)opaque;
}

/* Everything that can be done is done; returns what was said since the last time. */
static char *said(Fixture *f)
{
    GString *out = g_string_new(NULL);
    struct iovec pieces[64];

    for (guint i = 0; i < 10; i++) {
        g_autoptr(GPtrArray) calls = NULL;

        qmp_session_run(f->session, 100);
        calls = qmp_mailbox_take(f->mailbox);
        for (guint j = 0; calls != NULL && j < calls->len; j++) {
            qmp_call_deliver(g_ptr_array_index(calls, j));
        }
    }
    for (guint i = 0, n = qmp_session_output(f->session, pieces, G_N_ELEMENTS(pieces)); i < n; i++) {
        g_string_append_len(out, pieces[i].iov_base, (gssize)pieces[i].iov_len);
    }
    qmp_session_sent(f->session, out->len);
    g_strdelimit(out->str, "\r", ' ');
    return g_strchomp(g_string_free(out, FALSE));
}

static void set_up(Fixture *f, gconstpointer data)
{
    static const QmpVersion version = {.package = ""};
    static const DumpOptions options = {.file_name = "tree.json"};
    g_autofree char *greeting = NULL;

    (void)data;
    f->dump = dump_source_new(tree, strlen(tree), &options, NULL);
    g_assert_nonnull(f->dump);
    f->source = (Source){.ops = &door_ops, .snapshots = f->dump->snapshots};
    f->fetched = g_string_new(NULL);
    f->wants = TRUE;
    f->context.source = &f->source;
    f->registry = qmp_registry_new(&version);
    f->queries = query_commands_new(&f->context);
    qmp_registry_add(f->registry, qmp_qom_commands, &f->context);
    qmp_registry_add(f->registry, qmp_live_commands, &f->context);
    query_commands_add_table(f->queries, f->registry, queries_vm);
    query_commands_add_table(f->queries, f->registry, queries_block);
    f->mailbox = qmp_mailbox_new(ignore_wake, NULL);
    f->session = qmp_session_new(f->registry, f->mailbox, NULL, NULL, f);
    framer_add(qmp_session_framer(f->session), "{'execute':'qmp_capabilities'}", 30);
    greeting = said(f);
}

static void tear_down(Fixture *f, gconstpointer data)
{
    (void)data;
    qmp_session_free(f->session);
    qmp_mailbox_close(f->mailbox);
    qmp_mailbox_unref(f->mailbox);
    qmp_registry_unref(f->registry);
    query_commands_free(f->queries);
    f->dump->ops->free(f->dump);
    g_string_free(f->fetched, TRUE);
}

static void send(Fixture *f, const char *command, const char *arguments)
{
    g_autofree char *text = g_strdup_printf("{'execute':'%s','arguments':%s}", command, arguments);

    framer_add(qmp_session_framer(f->session), text, strlen(text));
}

typedef struct Case {
    const char *command, *arguments;
    const char *fetched; /* PATH:PROPERTY:SCOPE, one after the other */
    const char *said;
} Case;

static const Case cases[] = {
    {"qom-get", "{'path':'/machine/a b','property':'x/y'}", "qom/machine/a b:x%2Fy:P ", "{\"return\":7}"},
    {"qom-get", "{'path':'a b','property':'x/y'}", "qom/machine/a b:x%2Fy:P ", "{\"return\":7}"},
    {"qom-list", "{'path':'//machine/'}", "qom/machine::N ",
     "{\"return\":[{\"name\":\"type\",\"type\":\"string\"},{\"name\":\"a b\",\"type\":\"child<t>\"}]}"},
    {"qom-list", "{'path':'/'}", "qom::N ", "{\"return\":[{\"name\":\"machine\",\"type\":\"child<m>\"}]}"},
    {"qom-tree-get", "{'path':'/machine/a b'}", "qom/machine/a b::S ", NULL},
    {"qom-list-getv", "{'paths':['/machine','/machine/a b']}", "qom/machine:type:N qom/machine/a b:type:N ", NULL},
    {"qom-list-get", "{'path':'/machine'}", "qom/machine:type:N ", NULL},
    /* What is not known may have come: looked for once, from the last thing known on the way. */
    {"qom-get", "{'path':'/machine/new/deep','property':'x'}", "qom/machine::N ",
     "{\"error\":{\"class\":\"DeviceNotFound\",\"desc\":\"Device '/machine/new/deep' not found\"}}"},
    {"qom-list", "{'path':'none'}", "qom::N ",
     "{\"error\":{\"class\":\"DeviceNotFound\",\"desc\":\"Device 'none' not found\"}}"},
    {"query-blockstats", "{}", "blockstats::S ", "{\"return\":[]}"},
    {"qom-set", "{'path':'/machine/a b','property':'x/y','value':[1]}",
     "qom/machine/a b::N set qom/machine/a b:x%2Fy=[1] ", "{\"return\":{}}"},
};

static void test_case(Fixture *f, gconstpointer data)
{
    const Case *one = data;
    g_autofree char *first = NULL, *second = NULL, *late = NULL, *failed = NULL;

    send(f, one->command, one->arguments);
    first = said(f);
    g_assert_cmpstr(f->fetched->str, ==, one->fetched);
    if (one->said != NULL) {
        g_assert_cmpstr(first, ==, one->said);
    } else {
        g_assert_true(g_str_has_prefix(first, "{\"return\":"));
    }
    /* What is current is not fetched. */
    f->wants = FALSE;
    g_string_truncate(f->fetched, 0);
    send(f, one->command, one->arguments);
    second = said(f);
    g_assert_cmpstr(second, ==, first);
    g_assert_true(f->fetched->len == 0 || g_str_has_prefix(f->fetched->str, "set "));
    /* A call waits, and its session with it. */
    f->wants = f->waits = TRUE;
    send(f, one->command, one->arguments);
    late = said(f);
    g_assert_cmpstr(late, ==, "");
    /* Whatever fails to be fetched fails the call. */
    f->waits = FALSE;
    f->failure = "gone fishing";
    g_assert_cmpuint(f->n_waiting, >, 0);
    for (guint i = 0; i < f->n_waiting; i++) {
        GError error = {OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE, (char *)(guintptr)f->failure};

        f->done[i](&error, f->done_opaque[i]);
    }
    failed = said(f);
    g_assert_nonnull(strstr(failed, "gone fishing"));
}

/* A client that leaves while its call waits. */
static void test_left(Fixture *f, gconstpointer data)
{
    g_autofree char *nothing = NULL;
    g_autoptr(GPtrArray) calls = NULL;

    (void)data;
    f->waits = TRUE;
    send(f, "qom-get", "{'path':'/machine','property':'type'}");
    nothing = said(f);
    g_clear_pointer(&f->session, qmp_session_free);
    f->done[0](NULL, f->done_opaque[0]);
    calls = qmp_mailbox_take(f->mailbox);
    g_assert_cmpuint(calls->len, ==, 1);
    g_assert_null(qmp_call_deliver(g_ptr_array_index(calls, 0)));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/qmp-fetch/%u-%s", i, cases[i].command);

        g_test_add(path, Fixture, &cases[i], set_up, test_case, tear_down);
    }
    g_test_add("/qmp-fetch/left", Fixture, NULL, set_up, test_left, tear_down);
    return g_test_run();
}
