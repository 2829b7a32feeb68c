/* SPDX-License-Identifier: MIT */
/*
 * vmm/qmp-qom.c, qmp-path.c, qmp-query.c and companion.c: a recorded tree of a real QEMU behind our own server,
 * asked by our own client; every answer is compared with the recorded JSON itself.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "qmp/client.h"
#include "vmm/companion.h"
#include "vmm/dump.h"

#define TIMEOUT_MS 20000

typedef struct Fixture {
    char *text; /* the dump */
    gsize length;
    char *folder, *path;
    Source *source;
    Companion *companion;
    QmpClient *client;
} Fixture;

static void serve(Fixture *f)
{
    static const DumpOptions options = {.file_name = "test"};
    CompanionOptions companion = {0};
    g_autoptr(GError) error = NULL;

    f->source = dump_source_new(f->text, f->length, &options, &error);
    g_assert_no_error(error);
    f->folder = g_dir_make_tmp("qmp-XXXXXX", NULL);
    f->path = g_build_filename(f->folder, "sock", NULL);
    companion.path = f->path;
    f->companion = companion_new(f->source, NULL, &companion, &error);
    g_assert_no_error(error);
    companion_start(f->companion);
    f->client = qmp_client_new(f->path, TIMEOUT_MS, &error);
    g_assert_no_error(error);
}

/* data: the name of a recorded tree, or (beginning with '{') a dump itself. */
static void set_up(Fixture *f, gconstpointer data)
{
    if (*(const char *)data == '{') {
        f->text = g_strdup(data);
        f->length = strlen(data);
    } else {
        g_autofree char *file = g_test_build_filename(G_TEST_DIST, "..", "data", data, NULL);

        g_assert_true(g_file_get_contents(file, &f->text, &f->length, NULL));
    }
    serve(f);
}

static void tear_down(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    qmp_client_free(f->client);
    companion_free(f->companion);
    f->source->ops->free(f->source);
    g_assert_cmpint(g_rmdir(f->folder), ==, 0);
    g_free(f->folder);
    g_free(f->path);
    g_free(f->text);
}

/* ---- helpers ---- */

static JsonSlice slice(const char *text)
{
    return (JsonSlice){text, text != NULL ? strlen(text) : 0};
}

/* The return value of a command; good until the next. */
static JsonSlice call(Fixture *f, const char *command, const char *arguments)
{
    g_autoptr(GError) error = NULL;
    JsonSlice value = {NULL, 0};

    qmp_client_call(f->client, command, slice(arguments), &value, &error);
    g_assert_no_error(error);
    return value;
}

static void assert_fails(Fixture *f, const char *command, const char *arguments, int code)
{
    g_autoptr(GError) error = NULL;
    JsonSlice value;

    g_assert_false(qmp_client_call(f->client, command, slice(arguments), &value, &error));
    g_assert_error(error, QMP_ERROR, code);
}

static void assert_slice(JsonSlice got, const char *expected)
{
    g_autofree char *text = g_strndup(got.text != NULL ? got.text : "", got.length);

    g_assert_cmpstr(text, ==, expected);
}

/* ---- everything of a recorded tree ---- */

/* What the commands must say of one object, made from its JSON in the plainest way. */
typedef struct Expected {
    GString *list, *list_get; /* without the outer brackets */
} Expected;

static void append_comma(GString *out)
{
    if (out->len > 0) {
        g_string_append_c(out, ',');
    }
}

static char *member_text(JsonSlice object, const char *name)
{
    JsonSlice value = json_member(object, name);

    return g_strndup(value.text, value.length);
}

static void expect_properties(JsonSlice object, Expected *e)
{
    JsonWalk walk = json_walk(json_member(object, "properties"));
    JsonSlice entry;

    while (json_walk_element(&walk, &entry)) {
        g_autofree char *name = member_text(entry, "name"), *type = member_text(entry, "type");

        append_comma(e->list);
        g_string_append_printf(e->list, "{\"name\":%s,\"type\":%s}", name, type);
        append_comma(e->list_get);
        json_append_slice(e->list_get, entry);
    }
}

static JsonSlice find_named(JsonSlice array, const char *name)
{
    JsonWalk walk = json_walk(array);
    JsonSlice element;

    while (json_walk_element(&walk, &element)) {
        if (json_string_is(json_member(element, "name"), name)) {
            return element;
        }
    }
    g_assert_not_reached();
}

static void expect_children(JsonSlice object, const char *path, Expected *e)
{
    JsonWalk walk = json_walk(json_member(object, "children"));
    JsonSlice child;

    while (json_walk_element(&walk, &child)) {
        g_autofree char *name = json_string_dup(json_member(child, "name"), NULL);
        g_autofree char *type =
            json_string_dup(json_member(find_named(json_member(child, "properties"), "type"), "value"), NULL);
        g_autofree char *full_type = g_strdup_printf("child<%s>", type);
        g_autofree char *child_path = g_strdup_printf("%s/%s", path, name);

        append_comma(e->list);
        append_comma(e->list_get);
        for (guint i = 0; i < 2; i++) {
            GString *out = i == 0 ? e->list : e->list_get;

            g_string_append(out, "{\"name\":");
            json_append_string(out, name, -1);
            g_string_append(out, ",\"type\":");
            json_append_string(out, full_type, -1);
            if (i == 1) {
                g_string_append(out, ",\"value\":");
                json_append_string(out, child_path, -1);
            }
            g_string_append_c(out, '}');
        }
    }
}

/* Arguments {"path":...} or {"path":...,"property":...}. */
static char *path_arguments(const char *path, const char *property)
{
    GString *out = g_string_new("{\"path\":");

    json_append_string(out, *path != '\0' ? path : "/", -1);
    if (property != NULL) {
        g_string_append(out, ",\"property\":");
        json_append_string(out, property, -1);
    }
    g_string_append_c(out, '}');
    return g_string_free(out, FALSE);
}

static void check_values(Fixture *f, JsonSlice object, const char *path)
{
    JsonWalk walk = json_walk(json_member(object, "properties"));
    JsonSlice entry;

    while (json_walk_element(&walk, &entry)) {
        g_autofree char *name = json_string_dup(json_member(entry, "name"), NULL);
        g_autofree char *arguments = path_arguments(path, name);
        JsonSlice value = json_member(entry, "value");

        if (value.length > 0) {
            g_assert_true(json_equal_bytes(call(f, "qom-get", arguments), value));
        } else {
            assert_fails(f, "qom-get", arguments, QMP_ERROR_GENERIC);
        }
    }
}

/* Checks this object and all below; collects what qom-list-get of all is to say. */
static guint check_object(Fixture *f, JsonSlice object, const char *path, GString *paths, GString *all)
{
    Expected e = {g_string_new(NULL), g_string_new(NULL)};
    g_autofree char *arguments = path_arguments(path, NULL);
    JsonWalk walk = json_walk(json_member(object, "children"));
    JsonSlice child, got;
    guint n = 1;

    expect_properties(object, &e);
    expect_children(object, path, &e);
    got = call(f, "qom-list", arguments);
    g_assert_cmpmem(got.text + 1, got.length - 2, e.list->str, e.list->len);
    got = call(f, "qom-list-get", arguments);
    g_assert_cmpmem(got.text + 1, got.length - 2, e.list_get->str, e.list_get->len);
    g_assert_true(json_equal_bytes(call(f, "qom-tree-get", arguments), object));
    check_values(f, object, path);

    append_comma(paths);
    json_append_string(paths, *path != '\0' ? path : "/", -1);
    append_comma(all);
    g_string_append_printf(all, "{\"properties\":[%s]}", e.list_get->str);
    g_string_free(e.list, TRUE);
    g_string_free(e.list_get, TRUE);
    while (json_walk_element(&walk, &child)) {
        g_autofree char *name = json_string_dup(json_member(child, "name"), NULL);
        g_autofree char *child_path = g_strdup_printf("%s/%s", path, name);

        n += check_object(f, child, child_path, paths, all);
    }
    return n;
}

static void test_crawl(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(GString) paths = g_string_new(NULL), all = g_string_new(NULL);
    JsonSlice root = slice(g_strchomp(f->text)), got;
    guint n = check_object(f, root, "", paths, all);

    g_assert_cmpuint(n, >, 280);
    g_string_prepend(paths, "{\"paths\":[");
    g_string_append(paths, "]}");
    got = call(f, "qom-list-get", paths->str);
    g_assert_cmpmem(got.text + 1, got.length - 2, all->str, all->len);
    got = call(f, "qom-list-getv", paths->str);
    g_assert_cmpmem(got.text + 1, got.length - 2, all->str, all->len);
}

/* ---- paths, names, errors ---- */

#define OBJECT(name, children, properties)                                                                             \
    "{\"name\":\"" name "\",\"children\":[" children                                                                   \
    "],\"properties\":[{\"name\":\"type\",\"type\":\"string\",\"value\":\"t\"}" properties "]}"

static const char odd_tree[] = OBJECT(
    "/",
    OBJECT("a",
           OBJECT("same", "", "") "," OBJECT("x\\\\x2fy \\\"q\\\"", OBJECT("..", "", ""), "") "," OBJECT("\\u00e9/b",
                                                                                                         "", ""),
           ",{\"name\":\"to\",\"type\":\"link<t>\",\"value\":\"/b/"
           "deep\"},{\"name\":\"unset\",\"type\":\"link<t>\",\"value\":\"\"},"
           "{\"name\":\"broken\",\"type\":\"int\"},{\"name\":\"n\",\"type\":\"uint64\",\"value\":18446744073709551615},"
           "{\"name\":\"lie\",\"type\":\"bool\",\"value\":[-1,1.50]}") "," OBJECT("b",
                                                                                  OBJECT("same", "", "") "," OBJECT(
                                                                                      "deep", OBJECT("end", "", ""),
                                                                                      ",{\"name\":\"back\",\"type\":"
                                                                                      "\"link<t>\",\"value\":\"/a\"}"),
                                                                                  ""),
    "");

static void test_paths(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    /* An object's own path, whichever way it was reached. */
    static const char end[] = "[{\"properties\":[{\"name\":\"type\",\"type\":\"string\",\"value\":\"t\"},{\"name\":"
                              "\"back\",\"type\":\"link<t>\","
                              "\"value\":\"/a\"},{\"name\":\"end\",\"type\":\"child<t>\",\"value\":\"/b/deep/end\"}]}]";

    assert_slice(call(f, "qom-list-get", "{\"paths\":[\"/b/deep\"]}"), end);
    assert_slice(call(f, "qom-list-get", "{\"paths\":[\"//b///deep/\"]}"), end);
    assert_slice(call(f, "qom-list-get", "{\"paths\":[\"/a/to\"]}"), end);
    assert_slice(call(f, "qom-list-get", "{\"paths\":[\"/b/deep/back/to/back/to\"]}"), end);
    assert_slice(call(f, "qom-list-get", "{\"paths\":[\"deep\"]}"), end);
    assert_slice(call(f, "qom-get", "{\"path\":\"/a/to\",\"property\":\"end\"}"), "\"/b/deep/end\"");
    assert_slice(call(f, "qom-get", "{\"path\":\"b/deep\",\"property\":\"end\"}"), "\"/b/deep/end\"");
    assert_slice(call(f, "qom-get", "{\"path\":\"/\",\"property\":\"a\"}"), "\"/a\"");
    assert_fails(f, "qom-list", "{\"path\":\"/a/unset\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "qom-list", "{\"path\":\"/a/..\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "qom-list", "{\"path\":\"/a/n\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "qom-list", "{\"path\":\"same\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-list-get", "{\"paths\":[\"/a\",\"same\"]}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-list-get", "{\"paths\":[\"/a\",\"/nope\"]}", QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "qom-get", "{\"path\":\"same\",\"property\":\"type\"}", QMP_ERROR_DEVICE_NOT_FOUND);
    assert_fails(f, "qom-tree-get", "{\"path\":\"\"}", QMP_ERROR_GENERIC);
}

static void test_odd_names(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    assert_slice(call(f, "qom-get", "{\"path\":\"/a\",\"property\":\"x\\\\x2fy \\\"q\\\"\"}"),
                 "\"/a/x\\\\x2fy \\\"q\\\"\"");
    assert_slice(call(f, "qom-get", "{\"path\":\"/a/x\\\\x2fy \\\"q\\\"/..\",\"property\":\"type\"}"), "\"t\"");
    assert_slice(call(f, "qom-get", "{\"path\":\"/a\",\"property\":\"\\u00e9/b\"}"), "\"/a/\\u00e9/b\"");
}

static void test_values(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    assert_slice(call(f, "qom-get", "{\"path\":\"/a\",\"property\":\"n\"}"), "18446744073709551615");
    assert_slice(call(f, "qom-get", "{\"path\":\"/a\",\"property\":\"lie\"}"), "[-1,1.50]");
    assert_slice(call(f, "qom-get", "{\"path\":\"/a\",\"property\":\"unset\"}"), "\"\"");
    assert_fails(f, "qom-get", "{\"path\":\"/a\",\"property\":\"broken\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-get", "{\"path\":\"/a\",\"property\":\"nope\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "qom-list-get", NULL, QMP_ERROR_GENERIC);
    assert_fails(f, "qom-list-get", "{\"path\":\"/\",\"paths\":[]}", QMP_ERROR_GENERIC);
    assert_slice(call(f, "qom-list-get", "{\"paths\":[]}"), "[]");
    assert_slice(call(f, "qom-list", "{\"path\":\"/b/same\"}"), "[{\"name\":\"type\",\"type\":\"string\"}]");
}

/* What would change a saved tree is offered, and fails. */
static void test_read_only(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    assert_fails(f, "qom-set", "{\"path\":\"/a\",\"property\":\"n\",\"value\":1}", QMP_ERROR_GENERIC);
    assert_fails(f, "stop", NULL, QMP_ERROR_GENERIC);
    assert_fails(f, "quit", NULL, QMP_ERROR_GENERIC);
    assert_fails(f, "object-add", "{\"qom-type\":\"iothread\",\"id\":\"i\"}", QMP_ERROR_GENERIC);
    assert_fails(f, "device_add", "{\"driver\":\"x\"}", QMP_ERROR_GENERIC);
}

/* A tree alone offers nothing of what it lacks. */
static void test_lacking(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    guint major, minor, micro;

    assert_fails(f, "query-blockstats", NULL, QMP_ERROR_COMMAND_NOT_FOUND);
    assert_fails(f, "query-cpu-definitions", NULL, QMP_ERROR_COMMAND_NOT_FOUND);
    assert_fails(f, "query-uuid", NULL, QMP_ERROR_COMMAND_NOT_FOUND);
    assert_fails(f, "qom-list-types", NULL, QMP_ERROR_COMMAND_NOT_FOUND);
    qmp_client_version(f->client, &major, &minor, &micro);
    g_assert_cmpuint(major + minor + micro, ==, 0);
}

/* ---- the other views ---- */

#define STATS(rd)                                                                                                      \
    "{\"rd_bytes\":" rd ",\"wr_highest_offset\":7,\"account_failed\":true,\"timed_stats\":[{}],\"idle_time_ns\":3}"
#define NODE_STATS "{\"rd_bytes\":0,\"wr_highest_offset\":7,\"account_failed\":false,\"timed_stats\":[]}"
#define DISKS                                                                                                          \
    "[{\"device\":\"d0\",\"stats\":" STATS("1") ",\"node-name\":\"top\",\"qdev\":\"q\",\"parent\":{\"node-name\":"     \
                                                "\"file\",\"stats\":" STATS("2") "},\"backing\":{\"stats\":" STATS(    \
                                                    "3") "}},{\"qdev\":\"empty\",\"stats\":" STATS("4") "}]"
#define DEFINITIONS "[{\"name\":\"m\",\"typename\":\"m-cpu\",\"static\":false,\"deprecated\":false}]"

static const char root_dump[] =
    "{\"qom\":{\"name\":\"/\",\"children\":[],\"properties\":[]},\"cpu-definitions\":" DEFINITIONS
    ",\"blockstats\":" DISKS ",\"vm\":{\"name\":\"n\",\"uuid\":\"u\",\"status\":\"running\",\"version\":\"9.2.1\"}}";

static void test_views(Fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    guint major, minor, micro;

    assert_slice(call(f, "query-cpu-definitions", NULL), DEFINITIONS);
    assert_slice(call(f, "query-blockstats", NULL), DISKS);
    assert_slice(call(f, "query-blockstats", "{\"query-nodes\":false}"), DISKS);
    assert_slice(call(f, "query-blockstats", "{\"query-nodes\":true}"),
                 "[{\"node-name\":\"file\",\"stats\":" NODE_STATS "},{\"stats\":" NODE_STATS
                 ",\"node-name\":\"top\",\"parent\":{\"node-name\":\"file\",\"stats\":" STATS("2") "}}]");
    assert_slice(call(f, "query-status", NULL), "{\"status\":\"running\",\"running\":true}");
    assert_slice(call(f, "query-name", NULL), "{\"name\":\"n\"}");
    assert_slice(call(f, "query-uuid", NULL), "{\"UUID\":\"u\"}");
    qmp_client_version(f->client, &major, &minor, &micro);
    g_assert_cmpuint(major, ==, 9);
    g_assert_cmpuint(minor, ==, 2);
    g_assert_cmpuint(micro, ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, dump, function) g_test_add("/qmp-qom/" name, Fixture, dump, set_up, function, tear_down)
    ADD("crawl/11.1-q35-rich", "qemu-11.1-q35-rich.tree.json", test_crawl);
    ADD("crawl/7.2-pc", "qemu-7.2-pc.tree.json", test_crawl);
    ADD("paths", odd_tree, test_paths);
    ADD("odd-names", odd_tree, test_odd_names);
    ADD("values", odd_tree, test_values);
    ADD("read-only", odd_tree, test_read_only);
    ADD("lacking", odd_tree, test_lacking);
    ADD("views", root_dump, test_views);
    return g_test_run();
}
