/* SPDX-License-Identifier: MIT */
/* The VM model: what it shows, beside what QEMU 11.1 showed; and how it changes. */
#include <string.h>

#include "objmodel/path.h"
#include "vmm/devices.h"
#include "vmm/model.h"
#include "vmm/views.h"

/* ---- a VM to ask ---- */

typedef struct Model {
    Source *source;
    Vm *vm;
} Model;

static Model model_new(const char *json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(VmConfig) config = vm_config_from_json(json, strlen(json), &error);
    Model model = {0};

    g_assert_no_error(error);
    model.source = model_source_new(config, &error);
    g_assert_no_error(error);
    model.vm = model_source_vm(model.source);
    return model;
}

static void model_clear(Model *model)
{
    model->source->ops->free(model->source);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Model, model_clear)

/* The newest value of a property, or "!" where there is none. */
static char *value_of(const Model *model, const char *path, const char *property)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(model->source->snapshots);
    const Node *node = path_resolve(views_get(snapshot->root, VIEW_QOM), path, NULL);
    int slot = node ? node_find_slot(node, property) : -1;
    JsonSlice value = slot >= 0 ? node_slot_value(node, (guint)slot) : (JsonSlice){0};
    return value.length ? g_strndup(value.text, value.length) : g_strdup("!");
}

static void check_value(const Model *model, const char *path, const char *property, const char *expected)
{
    g_autofree char *value = value_of(model, path, property);
    g_assert_cmpstr(value, ==, expected);
}

static gboolean exists(const Model *model, const char *path)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(model->source->snapshots);
    return path_resolve(views_get(snapshot->root, VIEW_QOM), path, NULL) != NULL;
}

/* ---- jobs that the test waits for ---- */

typedef struct Wait {
    GMutex lock;
    GCond cond;
    gboolean done;
    char *error; /* its message, or NULL */
    void (*run)(Vm *vm, struct Wait *wait, GError **error);
    const char *argument, *property;
} Wait;

static void wait_finish(Wait *wait, const GError *error)
{
    g_mutex_lock(&wait->lock);
    wait->error = error ? g_strdup(error->message) : NULL;
    wait->done = TRUE;
    g_cond_signal(&wait->cond);
    g_mutex_unlock(&wait->lock);
}

static void wait_until_done(Wait *wait)
{
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    g_mutex_lock(&wait->lock);
    while (!wait->done)
        g_assert_true(g_cond_wait_until(&wait->cond, &wait->lock, end));
    g_mutex_unlock(&wait->lock);
}

static void job_run(Vm *vm, gpointer data)
{
    Wait *wait = data;
    g_autoptr(GError) error = NULL;
    wait->run(vm, wait, &error);
    wait->error = error ? g_strdup(error->message) : NULL;
}

static void job_done(Vm *vm G_GNUC_UNUSED, gpointer data)
{
    Wait *wait = data;
    g_mutex_lock(&wait->lock);
    wait->done = TRUE;
    g_cond_signal(&wait->cond);
    g_mutex_unlock(&wait->lock);
}

/* Runs it on the main loop; expected: the error's message, or NULL. */
static void check_job(const Model *model, void (*run)(Vm *vm, Wait *wait, GError **error), const char *argument,
                      const char *expected)
{
    Wait wait = {.run = run, .argument = argument};
    vm_call(model->vm, job_run, job_done, &wait);
    wait_until_done(&wait);
    g_assert_cmpstr(wait.error, ==, expected);
    g_free(wait.error);
}

static void run_device_add(Vm *vm, Wait *wait, GError **error)
{
    device_add(vm, (JsonSlice){wait->argument, strlen(wait->argument)}, error);
}

static void run_device_del(Vm *vm, Wait *wait, GError **error)
{
    device_del(vm, wait->argument, error);
}

static void run_object_add(Vm *vm, Wait *wait, GError **error)
{
    object_add(vm, (JsonSlice){wait->argument, strlen(wait->argument)}, error);
}

static void run_object_del(Vm *vm, Wait *wait, GError **error)
{
    object_del(vm, wait->argument, error);
}

static void set_done(const GError *error, void *opaque)
{
    wait_finish(opaque, error);
}

/* Sets a property as the mount does; expected: the error's message, or NULL. */
static void check_set(const Model *model, const char *path, const char *property, const char *json,
                      const char *expected)
{
    Wait wait = {0};
    model->source->ops->set(model->source, path, property, (JsonSlice){json, strlen(json)}, set_done, &wait);
    wait_until_done(&wait);
    g_assert_cmpstr(wait.error, ==, expected);
    g_free(wait.error);
}

/* ---- events ---- */

typedef struct Events {
    GMutex lock;
    GString *text;
} Events;

static void note_event(const char *name, const char *data, gint64 time_us, gpointer opaque)
{
    Events *events = opaque;
    g_assert_cmpint(time_us, >, 0);
    g_mutex_lock(&events->lock);
    g_string_append_printf(events->text, "%s%s%s\n", name, data ? " " : "", data ? data : "");
    g_mutex_unlock(&events->lock);
}

static Events *listening;

static void run_listen(Vm *vm, Wait *wait G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    vm_set_event_listener(vm, listening ? note_event : NULL, listening);
}

static void check_events(Events *events, const char *expected)
{
    g_mutex_lock(&events->lock);
    g_assert_cmpstr(events->text->str, ==, expected);
    g_string_truncate(events->text, 0);
    g_mutex_unlock(&events->lock);
}

/* ---- beside the recorded tree ---- */

/* "type|property[N]|property type" of all objects of a tree. */
static void collect(const Node *node, GHashTable *types, GHashTable *rows)
{
    g_autofree char *type = json_string_dup(node_type(node), NULL);
    ChildrenIter iter = children_iter(node->children, 0);
    const Node *child;

    g_hash_table_add(types, g_strdup(type));
    for (guint slot = 0; slot < node_slot_count(node); slot++) {
        const SlotInfo *info = node_slot_info(node, slot);
        g_autoptr(GRegex) number = g_regex_new("\\[[0-9]+\\]$", 0, 0, NULL);
        g_autofree char *name = g_regex_replace_literal(number, info->name, -1, 0, "[N]", 0, NULL);
        g_hash_table_add(rows, g_strdup_printf("%s|%s|%s", type, name, info->type));
    }
    while ((child = children_next(&iter)))
        collect(child, types, rows);
}

/* The same of a recorded ObjectNode. */
static void collect_json(JsonSlice object, GHashTable *types, GHashTable *rows)
{
    JsonWalk properties = json_walk(json_member(object, "properties"));
    JsonWalk children = json_walk(json_member(object, "children"));
    g_autofree char *type = NULL;
    JsonSlice entry;

    while (json_walk_element(&properties, &entry)) {
        g_autofree char *name = json_string_dup(json_member(entry, "name"), NULL);
        g_autofree char *kind = json_string_dup(json_member(entry, "type"), NULL);
        g_autoptr(GRegex) number = g_regex_new("\\[[0-9]+\\]$", 0, 0, NULL);
        g_autofree char *plain = g_regex_replace_literal(number, name, -1, 0, "[N]", 0, NULL);
        if (!type) /* the first one */
            type = json_string_dup(json_member(entry, "value"), NULL);
        g_hash_table_add(rows, g_strdup_printf("%s|%s|%s", type, plain, kind));
    }
    g_hash_table_add(types, g_strdup(type));
    while (json_walk_element(&children, &entry))
        collect_json(entry, types, rows);
}

static char *read_recorded(JsonSlice *ret)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "data", "qemu-11.1-q35-rich.tree.json", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    gsize length;
    char *compact;

    if (!g_file_get_contents(path, &text, &length, &error)) {
        g_test_skip(error->message);
        return NULL;
    }
    compact = json_compact(text, length, JSON_READER_STRICT, &ret->length, &error);
    g_assert_no_error(error);
    ret->text = compact;
    return compact;
}

static const char recorded_config[] =
    "{\"cpus\":{\"count\":4,\"model\":\"Skylake-Server\"},\"disks\":[{\"id\":\"disk0\",\"size\":\"64M\","
    "\"iothread\":\"iothread0\"}],\"nics\":[{\"id\":\"nic0\"}],\"iothreads\":[\"iothread0\"],\"root-ports\":2}";

/* All types that both have have the same properties of the same types, but for links of buses to types that the
 * model's configuration has none of. */
static void test_recorded_types(void)
{
    g_auto(Model) model = model_new(recorded_config);
    g_autoptr(Snapshot) snapshot = snapshots_current(model.source->snapshots);
    g_autoptr(GHashTable) types = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) their_types = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) their_rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    JsonSlice recorded = {0};
    g_autofree char *text = read_recorded(&recorded);
    GHashTableIter iter;
    gpointer key;
    guint compared = 0;

    if (!text)
        return;
    collect(views_get(snapshot->root, VIEW_QOM), types, rows);
    collect_json(recorded, their_types, their_rows);

    g_hash_table_iter_init(&iter, rows);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        if (!g_hash_table_contains(their_rows, key))
            g_error("only the model has %s", (char *)key);
    }
    g_hash_table_iter_init(&iter, their_rows);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        g_auto(GStrv) row = g_strsplit(key, "|", 3);
        if (!g_hash_table_contains(types, row[0]) || strcmp(row[1], "child[N]") == 0)
            continue;
        compared++;
        if (!g_hash_table_contains(rows, key))
            g_error("the model lacks %s", (char *)key);
    }
    g_assert_cmpuint(compared, >, 1200);
}

/* Every value of every CPU, and of all that comes with it. */
static void compare_values(const Model *model, JsonSlice object, const char *path)
{
    JsonWalk properties = json_walk(json_member(object, "properties"));
    JsonWalk children = json_walk(json_member(object, "children"));
    JsonSlice entry;

    while (json_walk_element(&properties, &entry)) {
        g_autofree char *name = json_string_dup(json_member(entry, "name"), NULL);
        JsonSlice value = json_member(entry, "value");
        g_autofree char *expected = value.length ? g_strndup(value.text, value.length) : g_strdup("!");
        g_autofree char *mine = value_of(model, path, name);
        if (strcmp(mine, expected) != 0)
            g_error("%s/%s is %s, not %s", path, name, mine, expected);
    }
    while (json_walk_element(&children, &entry)) {
        g_autofree char *name = json_string_dup(json_member(entry, "name"), NULL);
        g_autofree char *below = g_strdup_printf("%s/%s", path, name);
        compare_values(model, entry, below);
    }
}

static JsonSlice recorded_child(JsonSlice object, const char *name)
{
    JsonWalk walk = json_walk(json_member(object, "children"));
    JsonSlice child;
    while (json_walk_element(&walk, &child)) {
        if (json_string_is(json_member(child, "name"), name))
            return child;
    }
    g_assert_not_reached();
}

static void test_recorded_values(void)
{
    static const char *const unattached[] = {
        "device[0]",  "device[1]",  "device[2]",  "device[3]",  "device[4]",  "device[6]",  "device[7]",  "device[8]",
        "device[9]",  "device[10]", "device[12]", "device[13]", "device[14]", "device[15]", "device[16]", "device[17]",
        "device[18]", "device[20]", "device[27]", "sysbus",     "system[0]",  "io[0]",      "pci[0]"};
    g_auto(Model) model = model_new(recorded_config);
    JsonSlice recorded = {0};
    g_autofree char *text = read_recorded(&recorded);
    JsonSlice machine;

    if (!text)
        return;
    machine = recorded_child(recorded, "machine");
    for (gsize i = 0; i < G_N_ELEMENTS(unattached); i++) {
        g_autofree char *path = g_strdup_printf("/machine/unattached/%s", unattached[i]);
        compare_values(&model, recorded_child(recorded_child(machine, "unattached"), unattached[i]), path);
    }
    compare_values(&model, recorded_child(recorded_child(machine, "q35"), "mch"), "/machine/q35/mch");
    compare_values(&model, recorded_child(recorded_child(machine, "q35"), "ioapic"), "/machine/q35/ioapic");
    compare_values(&model, recorded_child(machine, "fw_cfg"), "/machine/fw_cfg");
    compare_values(&model, recorded_child(recorded_child(recorded, "objects"), "pc.ram"), "/objects/pc.ram");
    compare_values(&model, recorded_child(recorded_child(recorded, "objects"), "iothread0"), "/objects/iothread0");
}

/* ---- the VM that is mounted where nothing is said ---- */

static void test_default(void)
{
    g_auto(Model) model = model_new("{}");
    g_autoptr(Snapshot) snapshot = snapshots_current(model.source->snapshots);
    const Node *disks = views_get(snapshot->root, VIEW_BLOCKSTATS);

    g_assert_cmpuint(children_count(views_get(snapshot->root, VIEW_CPU_DEFINITIONS)->children), ==, 189);
    g_assert_cmpuint(children_count(disks->children), ==, 2);
    g_assert_nonnull(children_find(children_find(disks->children, "disk0")->children, "parent"));
    check_value(&model, "/machine", "type", "\"pc-q35-11.1-machine\"");
    check_value(&model, "/machine/unattached/device[0]", "type", "\"qemu64-x86_64-cpu\"");
    check_value(&model, "/machine/peripheral/disk0", "iothread", "\"/objects/iothread0\"");
    check_value(&model, "/machine/peripheral/disk0/virtio-backend", "drive", "\"disk0-format\"");
    check_value(&model, "/machine/peripheral/disk0/virtio-backend/iothread", "poll-max-ns", "32768");
    check_value(&model, "/machine/peripheral/nic0", "mac", "\"52:54:00:12:34:56\"");
    check_value(&model, "/machine/unattached/device[0]", "crash-information", "!");
    g_assert_cmpint(vm_iothread_thread_id(model.vm, "iothread0"), >, 0);
    g_assert_cmpint(vm_iothread_thread_id(model.vm, "nope"), ==, 0);
    g_assert_cmpint(vm_thread_id(model.vm), >, 0);
}

static void test_topology(void)
{
    g_auto(Model) model = model_new("{\"cpus\":{\"count\":12,\"sockets\":2,\"threads\":2},\"memory\":\"6G\"}");

    /* The last one: socket 1, core 2, thread 1; three cores need two bits. */
    check_value(&model, "/machine/unattached/device[12]", "socket-id", "1");
    check_value(&model, "/machine/unattached/device[12]", "core-id", "2");
    check_value(&model, "/machine/unattached/device[12]", "thread-id", "1");
    check_value(&model, "/machine/unattached/device[12]", "apic-id", "13");
    check_value(&model, "/machine/unattached/device[12]/lapic", "id", "13");
    check_value(&model, "/machine/unattached/ram-below-4g[0]", "size", "2147483648");
    check_value(&model, "/machine/unattached/ram-above-4g[0]", "addr", "4294967296");
    check_value(&model, "/machine/unattached/ram-above-4g[0]", "size", "4294967296");
    check_value(&model, "/machine/q35", "pci-hole64-start", "8589934592");
}

/* Every model that can run makes a CPU, and has what its definition says. */
static void test_all_models(void)
{
    static const char *const names[] = {"max", "base", "486", "Haswell-v4", "EPYC-Genoa", "SapphireRapids", "Dhyana"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *json = g_strdup_printf("{\"cpus\":{\"count\":1,\"model\":\"%s\"}}", names[i]);
        g_autofree char *type = g_strdup_printf("\"%s-x86_64-cpu\"", names[i]);
        g_auto(Model) model = model_new(json);
        check_value(&model, "/machine/unattached/device[0]", "type", type);
    }
    {
        g_auto(Model) model = model_new("{\"cpus\":{\"count\":1,\"model\":\"EPYC-Genoa\"}}");
        check_value(&model, "/machine/unattached/device[0]", "vendor", "\"AuthenticAMD\"");
        check_value(&model, "/machine/unattached/device[0]", "sse4-1", "true");
        check_value(&model, "/machine/unattached/device[0]", "sse4.1", "true");
        check_value(&model, "/machine/unattached/device[0]", "ht", "false");
        /* In the model, and lacking in the accelerator. */
        check_value(&model, "/machine/unattached/device[0]", "avx512f", "false");
    }
}

static void check_no_vm(const char *json, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(VmConfig) config = vm_config_from_json(json, strlen(json), NULL);
    Source *source = model_source_new(config, &error);
    g_assert_null(source);
    g_assert_cmpstr(error->message, ==, expected);
}

static void test_impossible(void)
{
    check_no_vm("{\"cpus\":{\"model\":\"nope\"}}", "there is no CPU model 'nope'");
    check_no_vm("{\"cpus\":{\"model\":\"host\"}}", "CPU model 'host' requires KVM or HVF");
    check_no_vm("{\"nics\":[{\"id\":\"rp0\"}]}", "Duplicate device ID 'rp0'");
}

/* ---- change ---- */

static void test_clock(void)
{
    g_auto(Model) model = model_new("{}");
    g_autofree char *first = value_of(&model, "/machine", "rtc-time");
    g_autoptr(Snapshot) before = snapshots_current(model.source->snapshots);
    gint64 end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

    g_assert_true(g_str_has_prefix(first, "{\"tm_year\":"));
    for (;;) {
        g_autoptr(Snapshot) now = snapshots_current(model.source->snapshots);
        const Node *qom = views_get(now->root, VIEW_QOM);
        const Node *machine = path_resolve(qom, "/machine", NULL);
        const Node *rtc = path_resolve(qom, "/machine/unattached/device[5]/rtc", NULL);
        JsonSlice time = node_slot_value(machine, (guint)node_find_slot(machine, "rtc-time"));
        JsonSlice date = node_slot_value(rtc, (guint)node_find_slot(rtc, "date"));

        g_assert_true(json_equal_bytes(time, date)); /* in every version */
        if (now->generation > before->generation) {
            const Node *old = path_resolve(views_get(before->root, VIEW_QOM), "/machine/unattached/device[0]", NULL);
            g_assert_true(path_resolve(qom, "/machine/unattached/device[0]", NULL) == old);
            g_assert_cmpint(memcmp(time.text, first, strlen(first)), !=, 0);
            break;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
}

static void test_set(void)
{
    g_auto(Model) model = model_new("{}");

    check_set(&model, "qom/objects/iothread0", "poll-max-ns", "5", NULL);
    check_value(&model, "/objects/iothread0", "poll-max-ns", "5");
    check_set(&model, "qom/objects/iothread0", "poll-max-ns", "-1",
              "poll-max-ns value must be in range [0, 9223372036854775807]");
    check_set(&model, "qom/objects/iothread0", "thread-pool-min", "65", "bad thread-pool-min/thread-pool-max values");
    check_set(&model, "qom/objects/iothread0", "nope", "1", "Property 'iothread.nope' not found");
    check_set(&model, "qom/machine/unattached/device[0]", "apic-id", "3",
              "Attempt to set property 'apic-id' on anonymous device (type 'qemu64-x86_64-cpu') after it was realized");
    check_set(&model, "qom/machine/peripheral/disk0", "vectors", "3",
              "Attempt to set property 'vectors' on device 'disk0' (type 'virtio-blk-pci') after it was realized");
    check_set(&model, "qom/machine", "rtc-time", "{}", "Property 'mc146818rtc.date' is not writable");
    check_set(&model, "qom/objects/pc.ram", "size", "4096", "cannot change property size of memory-backend-ram ");
    check_set(&model, "qom/nope", "x", "1", "Device '/nope' not found");
    check_set(&model, "vm", "name", "\"x\"", "it is no property of an object");
    check_set(&model, "qomfs", "name", "\"x\"", "it is no property of an object");

    /* An alias and what it stands for are one value. */
    check_set(&model, "qom/machine/peripheral/disk0", "bootindex", "3", NULL);
    check_value(&model, "/machine/peripheral/disk0/virtio-backend", "bootindex", "3");
    check_value(&model, "/machine/peripheral/disk0", "bootindex", "3");
    check_set(&model, "qom/machine/peripheral/disk0/virtio-backend", "bootindex", "4", NULL);
    check_value(&model, "/machine/peripheral/disk0", "bootindex", "4");
    check_set(&model, "qom/machine/peripheral/disk0", "bootindex", "1099511627776",
              "Parameter 'bootindex' expects int32_t");
}

static void test_plug(void)
{
    g_auto(Model) model = model_new("{}");
    Events events = {.text = g_string_new(NULL)};

    listening = &events;
    check_job(&model, run_listen, NULL, NULL);
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"rng9\",\"max-bytes\":1024}", NULL);
    check_value(&model, "/machine/peripheral/rng9", "hotplugged", "true");
    check_value(&model, "/machine/peripheral/rng9/virtio-backend", "max-bytes", "1024");
    check_value(&model, "/machine/peripheral/rng9", "rng",
                "\"/machine/peripheral/rng9/virtio-backend/default-backend\"");
    check_value(&model, "/machine/peripheral/rng9", "disable-legacy", "\"on\"");
    check_value(&model, "/machine/peripheral/rp0/rp0", "child[0]", "\"/machine/peripheral/rng9\"");
    check_events(&events, "");

    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"rng9\"}", "Duplicate device ID 'rng9'");
    check_job(&model, run_device_add, "{\"driver\":\"nope\",\"id\":\"n\"}", "'nope' is not a valid device model name");
    check_job(&model, run_device_add, "{\"driver\":\"iothread\",\"id\":\"n\"}",
              "'iothread' is not a valid device model name");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-device\",\"id\":\"n\"}",
              "Parameter 'driver' expects a non-abstract device type");
    check_job(&model, run_device_add, "{\"driver\":\"mch\",\"id\":\"n\"}",
              "Parameter 'driver' expects a pluggable device type");
    check_job(&model, run_device_add, "{\"id\":\"n\"}", "Parameter 'driver' is missing");
    /* Values are of the kind of the property, as QEMU 11 has it: no number in a string. */
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"max-bytes\":\"1024\"}",
              "Parameter 'max-bytes' expects uint64");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"multifunction\":\"on\"}",
              "Invalid parameter type for 'multifunction', expected: boolean");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"addr\":1.5}",
              "Invalid parameter type for 'addr', expected: integer");
    check_job(&model, run_device_add, "{\"driver\":3}", "Invalid parameter type for 'driver', expected: string");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"9n\"}", "Invalid qdev ID '9n'");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"bus\":\"nope\"}", "Bus 'nope' not found");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"bus\":\"pcie.0\"}",
              "Bus 'pcie.0' does not support hotplugging");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"bus\":\"rp0\",\"id\":\"n\"}",
              "PCI: slot 0 function 0 already occupied by virtio-rng-pci, new func virtio-rng-pci cannot be exposed to "
              "guest.");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"n\",\"nope\":1}",
              "Property 'virtio-rng-pci.nope' not found");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"n\",\"rng\":\"zz\"}",
              "Device 'zz' not found");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-blk-pci\",\"id\":\"n\"}", "drive property not set");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-blk-pci\",\"id\":\"n\",\"drive\":\"zz\"}",
              "Property 'virtio-blk-device.drive' can't find value 'zz'");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-blk-pci\",\"id\":\"n\",\"drive\":\"disk0-format\"}",
              "Permission conflict on node 'disk0-format': permissions 'write' are both required by block device "
              "'/machine/peripheral/disk0/virtio-backend' (uses node 'disk0-format' as 'root' child) and unshared by "
              "block device '/machine/peripheral/n/virtio-backend' (uses node 'disk0-format' as 'root' child).");
    g_assert_false(exists(&model, "/machine/peripheral/n"));
    check_value(&model, "/machine/peripheral/rp1/rp1", "child[0]", "!");
    check_events(&events, "");

    check_job(&model, run_device_del, "nope", "Device 'nope' not found");
    check_job(&model, run_device_del, "disk0", "Bus 'pcie.0' does not support hotplugging");
    check_job(&model, run_device_del, "/objects/iothread0", "/objects/iothread0 is not a device");
    check_job(&model, run_device_del, "rng9", NULL);
    g_assert_false(exists(&model, "/machine/peripheral/rng9"));
    check_value(&model, "/machine/peripheral/rp0/rp0", "child[0]", "!");
    check_events(&events, "DEVICE_DELETED {\"path\":\"/machine/peripheral/rng9/virtio-backend\"}\n"
                          "DEVICE_DELETED {\"device\":\"rng9\",\"path\":\"/machine/peripheral/rng9\"}\n");

    listening = NULL;
    check_job(&model, run_listen, NULL, NULL);
    g_string_free(events.text, TRUE);
}

static guint n_plugged;

static void run_plug_all(Vm *vm, Wait *wait G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    g_autoptr(GPtrArray) classes = types_list(vm_types(vm), "device", FALSE);

    for (guint i = 0; i < classes->len; i++) {
        const char *type = class_name(classes->pdata[i]);
        g_autofree char *json = g_strdup_printf("{\"driver\":\"%s\",\"id\":\"hot\"}", type);
        if (!device_add(vm, (JsonSlice){json, strlen(json)}, NULL))
            continue;
        n_plugged++;
        device_del(vm, "hot", NULL);
        g_assert_null(object_child(vm_peripheral(vm), "hot"));
    }
}

/* Whatever a client plugs, the VM goes on. */
static void test_all_devices(void)
{
    g_auto(Model) model = model_new("{}");

    check_value(&model, "/machine/peripheral/rp0/rp0", "child[0]", "!");
    check_job(&model, run_plug_all, NULL, NULL);
    g_assert_cmpuint(n_plugged, >, 8);
    check_value(&model, "/machine/peripheral/rp0/rp0", "realized", "true");
}

/* Devices of many kinds, as a client would list them. */
static void test_listed(void)
{
    g_auto(Model) model = model_new(
        "{\"disks\":[],\"nics\":[],\"objects\":[{\"qom-type\":\"rng-random\",\"id\":\"r\"}],\"devices\":["
        "{\"driver\":\"virtio-rng-pci\",\"id\":\"rng0\",\"rng\":\"r\"},"
        "{\"driver\":\"virtio-scsi-pci\",\"id\":\"scsi0\"},{\"driver\":\"scsi-hd\",\"id\":\"hd\",\"drive\":\"b\"},"
        "{\"driver\":\"qemu-xhci\",\"id\":\"usb\"},{\"driver\":\"usb-tablet\",\"id\":\"tablet\"},"
        "{\"driver\":\"nvme\",\"id\":\"n\",\"serial\":\"s\"}],"
        "\"blockdevs\":[{\"driver\":\"null-co\",\"node-name\":\"b\",\"size\":1048576}]}");

    check_value(&model, "/machine/peripheral/rng0", "rng", "\"/objects/r\"");
    check_value(&model, "/machine/peripheral/hd", "parent_bus", "\"/machine/peripheral/scsi0/virtio-backend/scsi0.0\"");
    check_value(&model, "/machine/peripheral/tablet", "parent_bus", "\"/machine/peripheral/usb/usb.0\"");
    check_value(&model, "/machine/peripheral/usb/usb.0", "hotplug-handler", "\"/machine/peripheral/usb/usb.0\"");
    check_value(&model, "/machine/peripheral/usb/msix-table[0]", "container",
                "\"/machine/peripheral/usb/xhci-core/xhci[0]\"");
    check_value(&model, "/machine/peripheral/n/n", "hotplug-handler", "\"/machine/peripheral/n/n\"");
    check_no_vm("{\"devices\":[{\"driver\":\"nope\"}]}", "devices[0]: 'nope' is not a valid device model name");
    check_no_vm("{\"objects\":[{\"qom-type\":\"iothread\"}]}", "objects[0]: Parameter 'id' is missing");
}

static void test_full_ports(void)
{
    g_auto(Model) model = model_new("{\"root-ports\":2}");

    check_job(&model, run_device_add, "{\"driver\":\"virtio-net-pci\",\"id\":\"a\"}", NULL);
    check_value(&model, "/machine/peripheral/a", "mac", "\"52:54:00:12:34:57\"");
    check_job(&model, run_device_add, "{\"driver\":\"virtio-balloon-pci\"}", NULL);
    g_assert_true(exists(&model, "/machine/peripheral-anon/device[0]"));
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"c\"}",
              "Bus 'pcie.0' does not support hotplugging");
    check_job(&model, run_device_del, "/machine/peripheral-anon/device[0]", NULL);
    check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"c\",\"addr\":\"0x0\"}", NULL);
    check_value(&model, "/machine/peripheral/c", "parent_bus", "\"/machine/peripheral/rp1/rp1\"");
}

static void test_objects(void)
{
    g_auto(Model) model = model_new("{}");

    check_job(&model, run_object_add, "{\"qom-type\":\"iothread\",\"id\":\"io9\",\"poll-max-ns\":7}", NULL);
    check_value(&model, "/objects/io9", "poll-max-ns", "7");
    g_assert_cmpint(vm_iothread_thread_id(model.vm, "io9"), >, 0);
    check_job(&model, run_object_add, "{\"qom-type\":\"iothread\",\"id\":\"io9\"}",
              "attempt to add duplicate property 'io9' to object (type 'container')");
    check_job(&model, run_object_add, "{\"qom-type\":\"nope\",\"id\":\"x\"}",
              "Parameter 'qom-type' does not accept value 'nope'");
    check_job(&model, run_object_add, "{\"qom-type\":\"device\",\"id\":\"x\"}",
              "Parameter 'qom-type' does not accept value 'device'");
    check_job(&model, run_object_add, "{\"qom-type\":\"iothread\"}", "Parameter 'id' is missing");
    check_job(&model, run_object_add, "{\"qom-type\":\"iothread\",\"id\":\"x\",\"poll-max-ns\":\"7\"}",
              "Invalid parameter type for 'poll-max-ns', expected: integer");
    check_job(&model, run_object_add, "{\"qom-type\":\"iothread\",\"id\":\"1x\"}",
              "Parameter 'id' expects an identifier");
    check_job(&model, run_object_add, "{\"qom-type\":\"iothread\",\"id\":\"x\",\"foo\":1}",
              "Parameter 'foo' is unexpected");
    check_job(&model, run_object_add, "{\"qom-type\":\"iothread\",\"id\":\"x\",\"poll-max-ns\":\"x\"}",
              "Invalid parameter type for 'poll-max-ns', expected: integer");
    check_job(&model, run_object_add, "{\"qom-type\":\"memory-backend-ram\",\"id\":\"x\"}",
              "Parameter 'size' is missing");
    check_job(&model, run_object_add, "{\"qom-type\":\"memory-backend-ram\",\"id\":\"x\",\"size\":0}",
              "property 'size' of memory-backend-ram doesn't take value '0'");
    check_job(&model, run_object_add, "{\"qom-type\":\"rng-random\",\"id\":\"x\",\"filename\":\"/dev/nope\"}",
              "Could not open '/dev/nope': No such file or directory");
    check_job(&model, run_object_add, "{\"qom-type\":\"secret\",\"id\":\"x\"}",
              "Either 'file' or 'data' must be provided");
    g_assert_false(exists(&model, "/objects/x"));

    check_job(&model, run_object_add, "{\"qom-type\":\"secret\",\"id\":\"s\",\"data\":\"hush\"}", NULL);
    check_value(&model, "/objects/s", "data", "!");
    {
        g_autoptr(Snapshot) snapshot = snapshots_current(model.source->snapshots);
        g_autoptr(GString) all = g_string_new(NULL);
        node_append_tree(snapshot->root, all);
        g_assert_null(strstr(all->str, "hush"));
    }
    check_job(&model, run_object_add, "{\"qom-type\":\"memory-backend-ram\",\"id\":\"m\",\"size\":4096}", NULL);
    check_value(&model, "/objects/m/m[0]", "size", "4096");

    check_job(&model, run_object_del, "nope", "object 'nope' not found");
    check_job(&model, run_object_del, "pc.ram", "Cannot delete host memory backend 'pc.ram' which is mapped");
    check_job(&model, run_object_del, "io9", NULL);
    g_assert_false(exists(&model, "/objects/io9"));
    g_assert_cmpint(vm_iothread_thread_id(model.vm, "io9"), ==, 0);
    /* A link to what goes is unset. */
    check_job(&model, run_object_del, "iothread0", NULL);
    check_value(&model, "/machine/peripheral/disk0", "iothread", "\"\"");
}

static void run_stop_twice(Vm *vm, Wait *wait G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    vm_stop(vm);
    vm_stop(vm);
}

static void run_cont(Vm *vm, Wait *wait G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    vm_cont(vm);
    vm_reset(vm);
}

static void check_status(const Model *model, const char *expected)
{
    g_autoptr(Snapshot) snapshot = snapshots_current(model->source->snapshots);
    const Node *vm = views_get(snapshot->root, VIEW_VM);
    JsonSlice status = node_slot_value(vm, (guint)node_find_slot(vm, "status"));
    JsonSlice generation = node_slot_value(vm, (guint)node_find_slot(vm, "generation"));
    guint64 number = 0;

    g_assert_true(json_string_is(status, expected));
    g_assert_true(json_to_uint64(generation, &number));
    g_assert_cmpuint(number, ==, snapshot->generation);
}

static void test_run_state(void)
{
    g_auto(Model) model = model_new("{\"paused\":true}");
    Events events = {.text = g_string_new(NULL)};

    listening = &events;
    check_job(&model, run_listen, NULL, NULL);
    check_status(&model, "prelaunch");
    check_job(&model, run_cont, NULL, NULL);
    check_status(&model, "running");
    check_job(&model, run_stop_twice, NULL, NULL);
    check_status(&model, "paused");
    check_events(&events, "RESUME\nRESET {\"guest\":false,\"reason\":\"host-qmp-system-reset\"}\nSTOP\n");
    listening = NULL;
    check_job(&model, run_listen, NULL, NULL);
    g_string_free(events.text, TRUE);
}

/* ---- size, and readers while it changes ---- */

static void test_million(void)
{
    gint64 start = g_get_monotonic_time();
    g_auto(Model) model = model_new("{\"cpus\":{\"count\":2000}}");
    gint64 took = g_get_monotonic_time() - start;
    g_autoptr(Snapshot) snapshot = snapshots_current(model.source->snapshots);

    g_test_message("a million properties took %" G_GINT64_FORMAT " ms", took / 1000);
    check_value(&model, "/machine/unattached/device[2000]", "core-id", "1999");
    g_assert_cmpuint(node_tree_size(snapshot->root), >, 60000000);
}

static gpointer crawl(gpointer opaque)
{
    const Model *model = opaque;
    for (int i = 0; i < 60; i++) {
        g_autoptr(Snapshot) snapshot = snapshots_current(model->source->snapshots);
        g_autoptr(GString) text = g_string_new(NULL);
        const Node *rng;

        node_append_tree(snapshot->root, text);
        g_assert_cmpuint(text->len, >, 100000);
        rng = path_resolve(views_get(snapshot->root, VIEW_QOM), "/machine/peripheral/hot", NULL);
        if (rng) /* never half of it */
            g_assert_true(json_string_is(node_slot_value(rng, (guint)node_find_slot(rng, "parent_bus")),
                                         "/machine/peripheral/rp0/rp0"));
    }
    return NULL;
}

static void test_readers(void)
{
    g_auto(Model) model = model_new("{}");
    GThread *threads[2];

    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("crawler", crawl, &model);
    for (int i = 0; i < 200; i++) {
        check_job(&model, run_device_add, "{\"driver\":\"virtio-rng-pci\",\"id\":\"hot\",\"bus\":\"rp0\"}", NULL);
        check_job(&model, run_device_del, "hot", NULL);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/model/recorded-types", test_recorded_types);
    g_test_add_func("/model/recorded-values", test_recorded_values);
    g_test_add_func("/model/default", test_default);
    g_test_add_func("/model/topology", test_topology);
    g_test_add_func("/model/all-models", test_all_models);
    g_test_add_func("/model/impossible", test_impossible);
    g_test_add_func("/model/clock", test_clock);
    g_test_add_func("/model/set", test_set);
    g_test_add_func("/model/plug", test_plug);
    g_test_add_func("/model/all-devices", test_all_devices);
    g_test_add_func("/model/listed", test_listed);
    g_test_add_func("/model/full-ports", test_full_ports);
    g_test_add_func("/model/objects", test_objects);
    g_test_add_func("/model/run-state", test_run_state);
    g_test_add_func("/model/million", test_million);
    g_test_add_func("/model/readers", test_readers);
    return g_test_run();
}
