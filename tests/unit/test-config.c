/* SPDX-License-Identifier: MIT */
/* vmm/config.c, config-members.c, config-change.c, config-write.c: what a file says, what it leaves out, and what is
 * wrong with it. */
#include <string.h>

#include "vmm/config.h"

static VmConfig *parse(const char *json)
{
    g_autoptr(GError) error = NULL;
    VmConfig *config = vm_config_from_json(json, strlen(json), &error);
    g_assert_no_error(error);
    g_assert_nonnull(config);
    return config;
}

static void check_error(const char *json, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(VmConfig) config = vm_config_from_json(json, strlen(json), &error);
    g_assert_null(config);
    g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, expected);
}

static void test_default(void)
{
    g_autoptr(VmConfig) empty = parse("{}");
    g_autoptr(VmConfig) copy = vm_config_copy(empty);

    g_assert_cmpstr(copy->machine, ==, "q35");
    g_assert_cmpuint(copy->cpus.count, ==, 4);
    g_assert_cmpuint(copy->cpus.cores, ==, 4);
    g_assert_cmpuint(copy->memory, ==, 512u << 20);
    g_assert_cmpuint(copy->disks->len, ==, 2);
    g_assert_cmpstr(g_array_index(copy->disks, VmDisk, 0).iothread, ==, "iothread0");
    g_assert_cmpuint(copy->nics->len, ==, 1);
    g_assert_false(copy->paused);
}

static void test_all(void)
{
    g_autoptr(VmConfig) config =
        parse("{\"name\":\"vm1\",\"uuid\":\"0000000A-0000-0000-0000-00000000000B\",\"machine\":\"q35\","
              "\"cpus\":{\"count\":48,\"model\":\"EPYC\",\"sockets\":2,\"threads\":2},\"memory\":\"4G\","
              "\"disks\":[{\"id\":\"a\",\"size\":1048576,\"iothread\":\"t\",\"serial\":\"s\"},{\"id\":\"b\"}],"
              "\"nics\":[{\"id\":\"n\",\"mac\":\"52:54:00:AB:cd:01\"},{\"id\":\"m\"}],\"iothreads\":[\"t\"],"
              "\"root-ports\":0,\"paused\":true}");
    const VmDisk *disks = (const VmDisk *)(gpointer)config->disks->data;
    const VmNic *nics = (const VmNic *)(gpointer)config->nics->data;

    g_assert_cmpstr(config->name, ==, "vm1");
    g_assert_cmpstr(config->uuid, ==, "0000000a-0000-0000-0000-00000000000b");
    g_assert_cmpuint(config->cpus.sockets, ==, 2);
    g_assert_cmpuint(config->cpus.cores, ==, 12);
    g_assert_cmpuint(config->cpus.threads, ==, 2);
    g_assert_cmpstr(config->cpus.model, ==, "EPYC");
    g_assert_cmpuint(config->memory, ==, G_GUINT64_CONSTANT(4) << 30);
    g_assert_cmpuint(config->disks->len, ==, 2);
    g_assert_cmpuint(disks[0].size, ==, 1048576);
    g_assert_cmpstr(disks[0].serial, ==, "s");
    g_assert_cmpuint(disks[1].size, ==, G_GUINT64_CONSTANT(8) << 30);
    g_assert_null(disks[1].iothread);
    g_assert_cmpstr(nics[0].mac, ==, "52:54:00:AB:cd:01");
    g_assert_cmpstr(nics[1].mac, ==, "52:54:00:12:34:57");
    g_assert_cmpuint(config->root_ports, ==, 0);
    g_assert_true(config->paused);
}

/* A list replaces the default's; what pointed into it lets go. */
static void test_lists(void)
{
    g_autoptr(VmConfig) threads = parse("{\"iothreads\":[\"other\"]}");
    g_autoptr(VmConfig) none = parse("{\"disks\":[],\"nics\":[],\"iothreads\":[]}");

    g_assert_cmpuint(threads->disks->len, ==, 2);
    g_assert_null(g_array_index(threads->disks, VmDisk, 0).iothread);
    g_assert_cmpuint(none->disks->len, ==, 0);
    g_assert_cmpuint(none->nics->len, ==, 0);
}

/* What is passed on stays as it is, but for its blanks. */
static void test_devices(void)
{
    g_autoptr(VmConfig) config = parse("{\"devices\":[ { \"driver\" : \"x\" } ]}");
    g_autoptr(VmConfig) copy = vm_config_copy(config);

    g_assert_cmpuint(copy->devices->len, ==, 1);
    g_assert_cmpstr(copy->devices->pdata[0], ==, "{\"driver\":\"x\"}");
}

static void test_qmp(void)
{
    g_autoptr(VmConfig) usual = parse("{}");
    g_autoptr(VmConfig) config = parse("{\"faults\":[{\"do\":\"hang\"},{}],\"qmp\":{\"version\":\"2.11.0\","
                                       "\"capabilities\":[],\"without\":[\"stop\",\"no\"],\"exclusive\":true}}");
    g_autoptr(VmConfig) copy = vm_config_copy(config);

    g_assert_cmpuint(usual->faults->len, ==, 0);
    g_assert_null(usual->qmp.version);
    g_assert_cmpuint(usual->qmp.capabilities->len, ==, 1);
    g_assert_cmpuint(usual->qmp.without->len, ==, 0);
    g_assert_false(usual->qmp.exclusive);
    g_assert_cmpuint(copy->faults->len, ==, 2);
    g_assert_cmpstr(copy->faults->pdata[0], ==, "{\"do\":\"hang\"}");
    g_assert_cmpstr(copy->qmp.version, ==, "2.11.0");
    g_assert_cmpuint(copy->qmp.capabilities->len, ==, 0);
    g_assert_cmpuint(copy->qmp.without->len, ==, 2);
    g_assert_cmpstr(copy->qmp.without->pdata[1], ==, "no");
    g_assert_true(copy->qmp.exclusive);
}

static void check_size(const char *json, guint64 expected)
{
    g_autofree char *text = g_strdup_printf("{\"memory\":%s}", json);
    g_autoptr(VmConfig) config = parse(text);
    g_assert_cmpuint(config->memory, ==, expected);
}

static void test_sizes(void)
{
    check_size("1048576", 1048576);
    check_size("\"1048576\"", 1048576);
    check_size("\"1048576B\"", 1048576);
    check_size("\"1024k\"", 1048576);
    check_size("\"16T\"", G_GUINT64_CONSTANT(1) << 44);
}

static void test_errors(void)
{
    check_error("[]", "1:1: the configuration must be an object, not an array");
    check_error("{\"cpus\":3}", "1:9: cpus must be an object, not a number");
    check_error("{\n \"cpus\": {\"count\": \"x\"}}", "2:20: cpus.count: must be a number, not a string");
    check_error("{\"cpus\":{\"count\":0}}", "1:18: cpus.count: must be from 1 to 4096, not 0");
    check_error("{\"cpus\":{\"count\":1.5}}", "1:18: cpus.count: must be a whole number, not 1.5");
    check_error("{\"cpus\":{\"count\":4,\"sockets\":3}}",
                "1:9: cpus: sockets (3) * dies (1) * modules (1) * cores (1) * threads (1) is not count (4)");
    check_error("{\"memory\":\"12 apples\"}",
                "1:11: memory: must be bytes, or a string like \"512M\" (K, M, G, T, P), not \"12 apples\"");
    check_error("{\"memory\":\"99999999999999P\"}",
                "1:11: memory: must be bytes, or a string like \"512M\" (K, M, G, T, P), not \"99999999999999P\"");
    check_error("{\"memory\":5}", "1:11: memory: must be from 1048576 to 17592186044416, not 5");
    check_error("{\"memory\":true}", "1:11: memory: must be a number, not a boolean");
    check_error("{\"disks\":{}}", "1:10: disks must be an array, not an object");
    check_error("{\"disks\":[{}]}", "1:11: disks[0]: the member \"id\" is missing");
    check_error("{\"disks\":[{\"id\":\"a\"},{\"id\":\"1a\"}]}",
                "1:28: disks[1].id: must be a letter, then letters, digits, '-', '.' or '_', not \"1a\"");
    check_error("{\"disks\":[{\"id\":\"a\",\"iothread\":\"zz\"}]}",
                "1:10: disks[0].iothread: there is no iothread 'zz'");
    check_error("{\"disks\":[{\"id\":\"a\"},{\"id\":\"a\"}]}", "1:10: disks: the id 'a' stands twice");
    check_error("{\"nics\":[{\"id\":\"disk0\"}]}", "1:9: nics: the id 'disk0' stands twice");
    check_error("{\"iothreads\":[\"a\",\"a\"],\"disks\":[]}", "1:14: iothreads: the id 'a' stands twice");
    check_error("{\"nics\":[{\"id\":\"n\",\"mac\":\"1:2\"}]}",
                "1:26: nics[0].mac: must be a MAC address, six pairs of hexadecimal digits with ':' between them, not "
                "\"1:2\"");
    check_error("{\"qmp\":{\"version\":\"2.11\"}}",
                "1:19: qmp.version: must be a version, such as \"2.11.0\", not \"2.11\"");
    check_error("{\"qmp\":{\"capabilities\":[\"x\"]}}", "1:25: qmp.capabilities[0]: must be \"oob\", not \"x\"");
    check_error("{\"faults\":[1]}", "1:12: faults[0]: must be an object, not a number");
    check_error("{\"devices\":[{},3]}", "1:16: devices[1]: must be an object, not a number");
    check_error("{\"uuid\":\"x\"}", "1:9: uuid: must be a UUID, not \"x\"");
    check_error("{\"machine\":\"pc\"}", "1:12: machine: must be \"q35\", not \"pc\"");
    check_error("{\"name\":\"a\\u0000b\"}", "1:9: name: must not contain NUL");
    check_error("{\"paused\":1}", "1:11: paused: must be a boolean, not a number");
}

/* Where exactly the JSON reader points is its own test's matter. */
static void check_fails(const char *json, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(VmConfig) config = vm_config_from_json(json, strlen(json), &error);
    g_assert_null(config);
    g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, part));
}

static void test_not_json(void)
{
    check_fails("", "1:1:");
    check_fails("{\"name\":\"x\"", "1:");
    check_fails("{\"name\":\"x\"} x", "1:14:");
    check_fails("{\"name\":\"x\",\"name\":\"y\"}", "1:");
    check_fails("{\"nope\":1}", "there is no member \"nope\"");
    check_fails("{\"cpus\":{\"nope\":1}}", "cpus: there is no member \"nope\"");
}

static void test_too_many(void)
{
    g_autoptr(GString) json = g_string_new("{\"iothreads\":[\"t0\"");
    for (int i = 1; i <= CONFIG_MAX_LIST; i++)
        g_string_append_printf(json, ",\"t%d\"", i);
    g_string_append(json, "]}");
    check_fails(json->str, "more than 4096");

    g_string_assign(json, "{\"disks\":[{\"id\":\"d0\"}");
    for (int i = 1; i <= CONFIG_MAX_DEVICES; i++)
        g_string_append_printf(json, ",{\"id\":\"d%d\"}", i);
    g_string_append(json, "],\"nics\":[]}");
    check_fails(json->str, "1:10: 1025 disks and nics are more than the board has places for (1024)");
}

/* Every member stands in the document, quoted as it quotes them. */
static void check_document(const char *name, const char *quote)
{
    g_autoptr(GPtrArray) members = vm_config_member_names();
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "docs", name, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (!g_file_get_contents(path, &text, NULL, &error)) {
        g_test_skip(error->message);
        return;
    }
    g_assert_cmpuint(members->len, >, 0);
    for (guint i = 0; i < members->len; i++) {
        g_autofree char *quoted = g_strconcat(quote, members->pdata[i], quote, NULL);
        if (!strstr(text, quoted))
            g_error("docs/%s does not name %s", name, quoted);
    }
}

static void test_documentation(void)
{
    check_document("configuration.md", "`");
    check_document("vm-config.schema.json", "\"");
}

/* ---- what the command line says, and printing ---- */

static void test_change(void)
{
    g_autoptr(VmConfig) config = parse("{\"cpus\":{\"count\":8,\"threads\":2},\"nics\":[{\"id\":\"a\"}]}");
    const VmConfigChange change = {.cpus = "3", .memory = "3G", .disks = "1023", .nics = "1"};
    g_autoptr(GError) error = NULL;

    g_assert_null(vm_config_change_option(&(VmConfigChange){0}));
    g_assert_cmpstr(vm_config_change_option(&(VmConfigChange){.nics = "1"}), ==, "nics");
    g_assert_true(vm_config_apply(config, &change, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(config->cpus.cores, ==, 3);
    g_assert_cmpuint(config->cpus.threads, ==, 1);
    g_assert_cmpuint(config->memory, ==, G_GUINT64_CONSTANT(3) << 30);
    g_assert_cmpuint(config->disks->len, ==, 1023);
    g_assert_cmpstr(g_array_index(config->disks, VmDisk, 1022).id, ==, "disk1022");
    g_assert_cmpstr(g_array_index(config->nics, VmNic, 0).id, ==, "nic0");
    g_assert_false(vm_config_apply(config, &(VmConfigChange){.disks = "1024"}, &error));
    g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==,
                    "option 'disks': 1025 disks and nics are more than the board has places for (1024)");
}

/* What is printed is read as the same, and says all there is. */
static void test_print(void)
{
    g_autoptr(VmConfig) config = parse("{\"name\":\"a\\\"b\",\"cpus\":{\"count\":8,\"threads\":2},\"memory\":\"1G\","
                                       "\"disks\":[{\"id\":\"a\",\"file\":\"/f\"}],"
                                       "\"nics\":[],\"iothreads\":[],\"objects\":[{\"qom-type\":\"x\",\"id\":\"y\"}],"
                                       "\"qmp\":{\"version\":\"7.2.0\"}}");
    g_autofree char *text = vm_config_print(config);
    g_autoptr(VmConfig) again = parse(text);
    g_autofree char *same = vm_config_print(again);

    g_assert_cmpstr(text, ==, same);
    g_assert_cmpstr(text, ==,
                    "{\n  \"name\": \"a\\\"b\",\n  \"uuid\": \"00000000-0000-0000-0000-000000000000\",\n"
                    "  \"machine\": \"q35\",\n  \"cpus\": {\"count\": 8, \"model\": \"qemu64\", \"sockets\": 1, "
                    "\"dies\": 1, \"modules\": 1, \"cores\": 4, \"threads\": 2},\n  \"memory\": 1073741824,\n"
                    "  \"disks\": [\n    {\"id\": \"a\", \"file\": \"/f\", \"direct\": false}\n  ],\n  \"nics\": [],\n"
                    "  \"iothreads\": [],\n  \"objects\": [\n    {\"qom-type\":\"x\",\"id\":\"y\"}\n  ],\n"
                    "  \"blockdevs\": [],\n  \"chardevs\": [],\n  \"netdevs\": [],\n  \"devices\": [],\n"
                    "  \"faults\": [],\n  \"qmp\": {\"version\": \"7.2.0\", \"capabilities\": [\"oob\"], "
                    "\"without\": [], \"exclusive\": false},\n  \"root-ports\": 4,\n  \"paused\": false\n}\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/config/default", test_default);
    g_test_add_func("/config/all", test_all);
    g_test_add_func("/config/lists", test_lists);
    g_test_add_func("/config/devices", test_devices);
    g_test_add_func("/config/qmp", test_qmp);
    g_test_add_func("/config/sizes", test_sizes);
    g_test_add_func("/config/errors", test_errors);
    g_test_add_func("/config/not-json", test_not_json);
    g_test_add_func("/config/too-many", test_too_many);
    g_test_add_func("/config/documentation", test_documentation);
    g_test_add_func("/config/change", test_change);
    g_test_add_func("/config/print", test_print);
    return g_test_run();
}
