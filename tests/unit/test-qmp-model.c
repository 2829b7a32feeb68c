/* SPDX-License-Identifier: MIT */
/*
 * vmm/qmp-model.c, qmp-types.c, qmp-change.c, qmp-job.c and companion.c: the built-in VM behind our own server. That
 * what is returned has the shape it is declared to have is tests/qmp/compare.py's.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "qmp/client.h"
#include "vmm/companion.h"
#include "vmm/model.h"

#define TIMEOUT_MS 20000

static const char configuration[] =
    "{\"name\":\"vm \\u00e9\",\"uuid\":\"8c2d3bb5-5ffb-4d3c-9b6e-0123456789ab\",\"cpus\":{\"count\":2},"
    "\"iothreads\":[\"io0\"]}";

typedef struct Fixture {
    char *folder, *path;
    Source *source;
    EventLog *log;
    Companion *companion;
    QmpClient *client;
    GString *events; /* "NAME DATA|" of all that came */
    gint quits;      /* atomic */
} Fixture;

static void quit(void *opaque)
{
    g_atomic_int_inc((gint *)opaque);
}

static void add_event(JsonSlice message, void *opaque)
{
    g_autofree char *name = json_string_dup(json_member(message, "event"), NULL);
    JsonSlice data = json_member(message, "data");

    g_string_append_printf(opaque, "%s %.*s|", name, (int)data.length, data.text);
}

static void set_up(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    CompanionOptions options = {.quit = quit, .quit_opaque = &f->quits};
    g_autoptr(GError) error = NULL;
    g_autoptr(VmConfig) config = vm_config_from_json(configuration, strlen(configuration), &error);

    g_assert_no_error(error);
    f->source = model_source_new(config, &error);
    g_assert_no_error(error);
    f->folder = g_dir_make_tmp("qmp-XXXXXX", NULL);
    f->path = g_build_filename(f->folder, "sock", NULL);
    f->log = event_log_new(1 << 20);
    f->events = g_string_new(NULL);
    options.path = f->path;
    options.events = f->log;
    f->companion = companion_new(f->source, model_source_vm(f->source), &options, &error);
    g_assert_no_error(error);
    companion_start(f->companion);
    f->client = qmp_client_new(f->path, TIMEOUT_MS, &error);
    g_assert_no_error(error);
    qmp_client_on_event(f->client, add_event, f->events);
}

static void tear_down(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    qmp_client_free(f->client);
    companion_free(f->companion);
    f->source->ops->free(f->source);
    event_log_free(f->log);
    g_assert_cmpint(g_rmdir(f->folder), ==, 0);
    g_free(f->folder);
    g_free(f->path);
    g_string_free(f->events, TRUE);
}

/* ---- helpers ---- */

static JsonSlice slice(const char *text)
{
    return (JsonSlice){text, text != NULL ? strlen(text) : 0};
}

static JsonSlice call(Fixture *f, const char *command, const char *arguments)
{
    g_autoptr(GError) error = NULL;
    JsonSlice value = {NULL, 0};

    qmp_client_call(f->client, command, slice(arguments), &value, &error);
    g_assert_no_error(error);
    return value;
}

static void check(Fixture *f, const char *command, const char *arguments, const char *expected)
{
    JsonSlice got = call(f, command, arguments);
    g_autofree char *text = g_strndup(got.text, got.length);

    g_assert_cmpstr(text, ==, expected);
}

static void assert_fails(Fixture *f, const char *command, const char *arguments, int code)
{
    g_autoptr(GError) error = NULL;
    JsonSlice value;

    g_assert_false(qmp_client_call(f->client, command, slice(arguments), &value, &error));
    g_assert_error(error, QMP_ERROR, code);
}

/* The events since the last time. */
static void check_events(Fixture *f, const char *expected)
{
    g_assert_cmpstr(f->events->str, ==, expected);
    g_string_truncate(f->events, 0);
}

static void assert_thread(JsonSlice thread_id)
{
    g_autofree char *path = g_strdup_printf("/proc/self/task/%.*s", (int)thread_id.length, thread_id.text);

    g_assert_true(g_file_test(path, G_FILE_TEST_IS_DIR));
}

/* ---- asking ---- */

static void test_identity(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    check(f, "query-name", NULL, "{\"name\":\"vm \\u00E9\"}");
    check(f, "query-uuid", NULL, "{\"UUID\":\"8c2d3bb5-5ffb-4d3c-9b6e-0123456789ab\"}");
    check(f, "query-status", NULL, "{\"status\":\"running\",\"running\":true}");
    check(f, "query-target", NULL, "{\"arch\":\"x86_64\"}");
    check(f, "query-version", NULL, "{\"qemu\":{\"micro\":0,\"minor\":1,\"major\":11},\"package\":\"\"}");
    check(f, "query-yank", NULL, "[]");
}

static void test_cpus(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    JsonSlice list = call(f, "query-cpus-fast", NULL), cpu;
    g_autofree char *text = g_strndup(list.text, list.length);
    JsonWalk walk = json_walk(slice(text));
    guint n = 0;

    while (json_walk_element(&walk, &cpu)) {
        g_autofree char *path = json_string_dup(json_member(cpu, "qom-path"), NULL);
        g_autofree char *arguments = g_strdup_printf("{\"path\":\"%s\",\"property\":\"core-id\"}", path);
        guint64 index;

        g_assert_true(json_to_uint64(json_member(cpu, "cpu-index"), &index));
        g_assert_cmpuint(index, ==, n++);
        assert_thread(json_member(cpu, "thread-id"));
        g_assert_true(
            json_equal_bytes(json_member(json_member(cpu, "props"), "core-id"), call(f, "qom-get", arguments)));
    }
    g_assert_cmpuint(n, ==, 2);
}

static void test_iothreads(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    JsonSlice list = call(f, "query-iothreads", NULL), iothread;
    JsonWalk walk = json_walk(list);

    g_assert_true(json_walk_element(&walk, &iothread));
    g_assert_true(json_string_is(json_member(iothread, "id"), "io0"));
    g_assert_true(json_equal_bytes(json_member(iothread, "poll-max-ns"), slice("32768")));
    assert_thread(json_member(iothread, "thread-id"));
    g_assert_false(json_walk_element(&walk, &iothread));
}

static void test_types(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    check(f, "qom-list-types", "{\"implements\":\"iothread\"}",
          "[{\"name\":\"iothread\",\"parent\":\"event-loop-base\"}]");
    check(f, "qom-list-types", "{\"implements\":\"nope\"}", "[]");
    assert_fails(f, "qom-list-properties", "{\"typename\":\"nope\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "device-list-properties", "{\"typename\":\"nope\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "device-list-properties", "{\"typename\":\"iothread\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "device-list-properties", "{\"typename\":\"device\"}", QMP_ERROR_GENERIC);
}

/* What qom-list-properties says of a type is what qom-list says of an object of it. */
static void test_list_properties(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    JsonSlice got = call(f, "qom-list-properties", "{\"typename\":\"iothread\"}"), info;
    g_autofree char *of_type = g_strndup(got.text, got.length), *of_object = NULL;
    JsonWalk types = json_walk(slice(of_type)), objects;
    JsonSlice other;
    guint n = 0;

    got = call(f, "qom-list", "{\"path\":\"/objects/io0\"}");
    of_object = g_strndup(got.text, got.length);
    objects = json_walk(slice(of_object));
    while (json_walk_element(&types, &info)) {
        g_assert_true(json_walk_element(&objects, &other));
        g_assert_true(json_equal_bytes(json_member(info, "name"), json_member(other, "name")));
        g_assert_true(json_equal_bytes(json_member(info, "type"), json_member(other, "type")));
        n++;
    }
    g_assert_false(json_walk_element(&objects, &other));
    g_assert_cmpuint(n, >=, 8);
}

/* ---- changing ---- */

static void test_set(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    static const char get[] = "{\"path\":\"/objects/io0\",\"property\":\"poll-max-ns\"}";

    check(f, "qom-set", "{\"path\":\"io0\",\"property\":\"poll-max-ns\",\"value\":77}", "{}");
    check(f, "qom-get", get, "77");
    assert_fails(f, "qom-set", "{\"path\":\"io0\",\"property\":\"poll-max-ns\",\"value\":-1}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-set", "{\"path\":\"io0\",\"property\":\"poll-max-ns\",\"value\":\"x\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-set", "{\"path\":\"io0\",\"property\":\"poll-max-ns\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-set", "{\"path\":\"io0\",\"property\":\"type\",\"value\":\"x\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-set", "{\"path\":\"io0\",\"property\":\"nope\",\"value\":1}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-set", "{\"path\":\"/nope\",\"property\":\"x\",\"value\":1}", QMP_ERROR_DEVICE_NOT_FOUND);
    check(f, "qom-get", get, "77");
}

static void test_run_states(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    char log[1000];
    gsize n;

    /* Each event is there before the reply to what caused it. */
    check(f, "cont", NULL, "{}");
    check_events(f, "");
    check(f, "stop", NULL, "{}");
    check_events(f, "STOP |");
    check(f, "query-status", NULL, "{\"status\":\"paused\",\"running\":false}");
    check(f, "stop", NULL, "{}");
    check_events(f, "");
    check(f, "cont", NULL, "{}");
    check_events(f, "RESUME |");
    check(f, "query-status", NULL, "{\"status\":\"running\",\"running\":true}");
    check(f, "system_reset", NULL, "{}");
    check_events(f, "RESET {\"guest\":false,\"reason\":\"host-qmp-system-reset\"}|");
    g_assert_cmpint(f->quits, ==, 0);
    check(f, "quit", NULL, "{}");
    check_events(f, "SHUTDOWN {\"guest\":false,\"reason\":\"host-qmp-quit\"}|");
    for (guint i = 0; i < 2000 && g_atomic_int_get(&f->quits) == 0; i++) {
        g_usleep(1000);
    }
    g_assert_cmpint(g_atomic_int_get(&f->quits), ==, 1);

    g_assert_true(event_log_read(f->log, 0, log, sizeof log - 1, &n));
    log[n] = '\0';
    g_assert_nonnull(strstr(log, "\"event\":\"STOP\"}\n{\"timestamp\":"));
    g_assert_true(
        g_str_has_suffix(log, "\"event\":\"SHUTDOWN\",\"data\":{\"guest\":false,\"reason\":\"host-qmp-quit\"}}\n"));
}

static void test_objects(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    static const char list[] = "{\"path\":\"/objects/new\"}";

    check(f, "object-add", "{\"qom-type\":\"iothread\",\"id\":\"new\",\"poll-max-ns\":5}", "{}");
    check(f, "qom-get", "{\"path\":\"/objects/new\",\"property\":\"poll-max-ns\"}", "5");
    assert_fails(f, "object-add", "{\"qom-type\":\"iothread\",\"id\":\"new\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "object-add", "{\"qom-type\":\"nope\",\"id\":\"x\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "object-add", "{\"qom-type\":\"iothread\",\"id\":\"7\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "object-add", "{\"qom-type\":\"iothread\",\"id\":\"x\",\"nope\":1}", QMP_ERROR_GENERIC);
    assert_fails(f, "object-add", "{\"qom-type\":\"iothread\",\"id\":\"x\",\"poll-max-ns\":\"no\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-list", "{\"path\":\"/objects/x\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    check(f, "object-del", "{\"id\":\"new\"}", "{}");
    assert_fails(f, "qom-list", list, QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "object-del", "{\"id\":\"new\"}", QMP_ERROR_GENERIC);
}

static void test_devices(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    check(f, "device_add", "{\"driver\":\"virtio-rng-pci\",\"id\":\"rng9\"}", "{}");
    check(f, "qom-get", "{\"path\":\"/machine/peripheral/rng9\",\"property\":\"type\"}", "\"virtio-rng-pci\"");
    check(f, "qom-get", "{\"path\":\"rng9\",\"property\":\"hotplugged\"}", "true");
    assert_fails(f, "device_add", "{\"driver\":\"virtio-rng-pci\",\"id\":\"rng9\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "device_add", "{\"driver\":\"nope\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "device_add", "{\"driver\":\"virtio-rng-pci\",\"id\":\"x\",\"bus\":\"nope\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "device_add", "{\"driver\":\"virtio-rng-pci\",\"id\":\"x\",\"nope\":1}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-list", "{\"path\":\"/machine/peripheral/x\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    check_events(f, "");
    assert_fails(f, "device_del", "{\"id\":\"nope\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    check(f, "device_del", "{\"id\":\"rng9\"}", "{}");
    check_events(f, "DEVICE_DELETED {\"path\":\"/machine/peripheral/rng9/virtio-backend\"}|"
                    "DEVICE_DELETED {\"device\":\"rng9\",\"path\":\"/machine/peripheral/rng9\"}|");
    assert_fails(f, "qom-list", "{\"path\":\"/machine/peripheral/rng9\"}", QMP_ERROR_DEVICE_NOT_FOUND);
}

/* ---- the reply waits until all who watch have seen the change ---- */

typedef struct Watching {
    gint published; /* atomic: the last generation */
} Watching;

static void published(Snapshot *snapshot, void *opaque)
{
    g_atomic_int_set(&((Watching *)opaque)->published, (gint)snapshot->generation);
}

static void test_settled(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    Watching watching = {0};
    SnapshotWatcher *watcher = snapshots_watch(f->source->snapshots, published, &watching);
    g_autoptr(QmpClient) other = qmp_client_new(f->path, TIMEOUT_MS, NULL);
    g_autoptr(GError) error = NULL;
    JsonSlice value;

    g_assert_true(qmp_client_send(f->client, "qom-set",
                                  slice("{\"path\":\"io0\",\"property\":\"poll-grow\",\"value\":9}"), &error));
    g_assert_true(qmp_client_send(f->client, "query-yank", slice(NULL), &error));
    /* Published, and seen by others; but the one who asked is not told yet. */
    do {
        g_assert_true(
            qmp_client_call(other, "qom-get", slice("{\"path\":\"io0\",\"property\":\"poll-grow\"}"), &value, &error));
    } while (!json_equal_bytes(value, slice("9")));
    /* A reply that came now would be missing below. */
    g_assert_true(qmp_client_wait(f->client, 50, &error));
    snapshots_settled(f->source->snapshots, watcher, (guint64)g_atomic_int_get(&watching.published));
    g_assert_true(qmp_client_receive(f->client, &value, &error));
    g_assert_true(qmp_client_receive(f->client, &value, &error));
    g_assert_no_error(error);
    snapshots_unwatch(f->source->snapshots, watcher);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function) g_test_add("/qmp-model/" name, Fixture, NULL, set_up, function, tear_down)
    ADD("identity", test_identity);
    ADD("cpus", test_cpus);
    ADD("iothreads", test_iothreads);
    ADD("types", test_types);
    ADD("list-properties", test_list_properties);
    ADD("set", test_set);
    ADD("run-states", test_run_states);
    ADD("objects", test_objects);
    ADD("devices", test_devices);
    ADD("settled", test_settled);
    return g_test_run();
}
