/* SPDX-License-Identifier: MIT */
/* vmm/dump.c: what comes back byte for byte, what is put in order, what is hidden, and what is refused where. */
#include "nodes.h"
#include "vmm/dump.h"
#include "vmm/views.h"

#define OBJECT(name, children, properties)                                                                             \
    "{\"name\":\"" name "\",\"children\":[" children "],\"properties\":[" properties "]}"
#define STRING(name, value) "{\"name\":\"" name "\",\"type\":\"string\",\"value\":\"" value "\"}"

typedef struct Dump {
    Source *source;
    Snapshot *snapshot;
    const Node *qom;
} Dump;

static void dump_clear(Dump *dump)
{
    snapshot_unref(dump->snapshot);
    dump->source->ops->free(dump->source);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Dump, dump_clear)

static Dump load_length(const char *text, gsize length, gboolean secrets)
{
    const DumpOptions options = {.file_name = "vm.json", .mtime = 1234567890, .secrets = secrets};
    g_autoptr(GError) error = NULL;
    /* Not one byte behind its end is looked at. */
    g_autofree char *exact = g_memdup2(text, length);
    Dump dump = {.source = dump_source_new(exact, length, &options, &error)};

    g_assert_no_error(error);
    g_assert_nonnull(dump.source);
    dump.snapshot = snapshots_current(dump.source->snapshots);
    dump.qom = views_get(dump.snapshot->root, VIEW_QOM);
    return dump;
}

static Dump load(const char *text, gboolean secrets)
{
    return load_length(text, strlen(text), secrets);
}

/* What a tree gives back, whether secrets are shown or not (there are none). */
static void check_back(const char *text, const char *expected)
{
    for (guint secrets = 0; secrets < 2; secrets++) {
        g_auto(Dump) dump = load(text, secrets != 0);
        check_tree(dump.qom, expected);
        g_assert_cmpuint(node_tree_size(dump.qom), ==, strlen(expected));
    }
}

/* ---- what comes back ---- */

static void test_source(void)
{
    g_auto(Dump) dump = load(OBJECT("/", OBJECT("a", "", ""), STRING("type", "container")), FALSE);
    const Source *source = dump.source;
    const Node *a = children_find(dump.qom->children, "a");

    g_assert_null(source->ops->set);
    g_assert_null(source->ops->fetch);
    g_assert_cmpuint(source->property_mode, ==, 0444);
    g_assert_cmpuint(source->read_only_mode, ==, 0444);
    g_assert_cmpuint(dump.snapshot->generation, ==, 1);
    g_assert_cmpuint(dump.snapshot->stamp, ==, 1234567890);
    g_assert_cmpuint(a->stamp, ==, 1234567890);
    g_assert_cmpstr(dump.qom->name, ==, "qom");
    g_assert_cmpuint(children_count(dump.snapshot->root->children), ==, N_VIEWS);
    check_tree(views_get(dump.snapshot->root, VIEW_CPU_DEFINITIONS), "[]");
    check_tree(views_get(dump.snapshot->root, VIEW_BLOCKSTATS), "[]");
    const Node *vm = views_get(dump.snapshot->root, VIEW_VM);
    check_slice(node_slot_value(vm, slot_of(vm, "version")), "\"0.0.0\"");
    check_slice(node_slot_value(vm, slot_of(vm, "source")), "\"vm.json\"");
}

static void test_round_trip(void)
{
    static const char *const texts[] = {
        OBJECT("/", "", ""),
        OBJECT("/", OBJECT("a", OBJECT("b", "", ""), "") "," OBJECT("c[0]", "", ""), STRING("type", "x")),
        /* Numbers digit for digit, escapes as they were written. */
        OBJECT("/", "",
               "{\"name\":\"n\",\"type\":\"int\",\"value\":18446744073709551615},"
               "{\"name\":\"f\",\"type\":\"number\",\"value\":1.50e+02},"
               "{\"name\":\"s\",\"type\":\"str\",\"value\":\"a\\/b\\u0041\\u00e4\\n\"},"
               "{\"name\":\"o\",\"type\":\"x\",\"value\":{\"b\":[1,{}],\"a\":null}}"),
        /* The members of an entry in any order; unknown ones; no value. */
        OBJECT("/", "",
               "{\"value\":1,\"type\":\"int\",\"name\":\"a\"},"
               "{\"extra\":{\"name\":1},\"name\":\"b\",\"more\":[],\"type\":\"int\",\"value\":2,\"last\":null},"
               "{\"name\":\"c\",\"type\":\"int\"},"
               "{\"type\":\"int\",\"description\":\"help\",\"name\":\"d\",\"default-value\":[0],\"value\":3}"),
        OBJECT("/", OBJECT("a/b", "", STRING("x/y", "")) "," OBJECT("..", "", "") "," OBJECT("", "", ""), ""),
        OBJECT("/", "", "{\"\\u006eame\":\"\\u0061\",\"type\":\"string\",\"value\":\"x\"}"),
    };

    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        check_back(texts[i], texts[i]);
}

/* The recorded trees of real QEMUs. */
static void test_recorded(void)
{
    static const char *const names[] = {"qemu-11.1-pc", "qemu-11.1-q35-rich", "qemu-7.2-pc", "qemu-7.2-q35-rich"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *name = g_strconcat(names[i], ".tree.json", NULL), *text = NULL;
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "data", name, NULL);
        g_autoptr(GError) error = NULL;
        g_file_get_contents(path, &text, NULL, &error);
        g_assert_no_error(error);
        g_strchomp(text);
        check_back(text, text);
    }
}

static void test_put_in_order(void)
{
    /* An object's members come back in the order of qom-tree-get, compact. */
    check_back(" {\n \"properties\" : [ { \"name\":\"a\", \"type\":\"int\",\t\"value\" : [ 1 , 2 ] } ] ,\r\n"
               " \"children\": [ {\"children\":[],\"name\":\"b\",\"properties\":[]} ], \"name\": \"/\" } \n",
               OBJECT("/", OBJECT("b", "", ""), "{\"name\":\"a\",\"type\":\"int\",\"value\":[1,2]}"));
    /* Beyond ASCII: as escapes. */
    check_back(OBJECT("\xC3\xA4", OBJECT("\xE2\x82\xAC", "", ""), STRING("\xF0\x9F\x98\x80", "\xC3\xBF\xEF\xBF\xBF")),
               OBJECT("\\u00E4", OBJECT("\\u20AC", "", ""), STRING("\\uD83D\\uDE00", "\\u00FF\\uFFFF")));
}

/* Text that grows as much as it can: none of what nodes point to may move. */
static void test_growing(void)
{
    g_autoptr(GString) value = g_string_new(NULL), escaped = g_string_new(NULL);

    for (guint i = 0; i < 5000; i++) {
        g_string_append(value, "\xC3\xA4");
        g_string_append(escaped, "\\u00E4");
    }
    g_autofree char *text =
        g_strdup_printf(OBJECT("/", "", STRING("a", "%s") "," STRING("b", "%s")), value->str, value->str);
    g_autofree char *expected =
        g_strdup_printf(OBJECT("/", "", STRING("a", "%s") "," STRING("b", "%s")), escaped->str, escaped->str);
    check_back(text, expected);
}

static void test_slots(void)
{
    g_auto(Dump) dump =
        load(OBJECT("/", "",
                    "{\"value\":\"/a\",\"name\":\"l\",\"type\":\"link<x>\"},"
                    "{\"name\":\"c\",\"type\":\"child<x>\",\"value\":\"/c\"},"
                    "{\"name\":\"a/b\",\"default-value\":{\"x\":1},\"description\":\"some \\u0041\",\"type\":\"int\"}"),
             FALSE);

    g_assert_true(node_slot_is_link(dump.qom, 0));
    check_slice(node_slot_value(dump.qom, 0), "\"/a\"");
    g_assert_false(node_slot_is_link(dump.qom, 1));
    const SlotInfo *info = node_slot_info(dump.qom, slot_of(dump.qom, "a%2Fb"));
    g_assert_cmpstr(info->description, ==, "some A");
    g_assert_cmpstr(info->default_value, ==, "{\"x\":1}");
    g_assert_cmpstr(info->type, ==, "int");
    g_assert_null(node_slot_value(dump.qom, 2).text);
    check_slice(node_slot_entry(dump.qom, 1), "{\"name\":\"c\",\"type\":\"child<x>\",\"value\":\"/c\"}");
}

/* ---- the whole root ---- */

static void test_root(void)
{
    static const char qom[] = OBJECT("/", OBJECT("machine", "", ""), "");
    static const char cpus[] = "[{\"name\":\"EPYC\",\"static\":false},{\"name\":\"qemu64\"}]";
    static const char disks[] = "[{\"device\":\"d\",\"stats\":{\"rd_bytes\":5},\"parent\":{\"stats\":{}}}]";
    g_autofree char *text = g_strdup_printf(
        "{\"blockstats\":%s,\"vm\":{\"name\":\"v\",\"version\":\"9.9\",\"status\":\"paused\",\"other\":1},"
        "\"cpu-definitions\": %s ,\"qom\":%s}",
        disks, cpus, qom);
    g_auto(Dump) dump = load(text, FALSE);
    const Node *vm = views_get(dump.snapshot->root, VIEW_VM);

    check_tree(dump.qom, qom);
    check_tree(views_get(dump.snapshot->root, VIEW_CPU_DEFINITIONS), cpus);
    check_tree(views_get(dump.snapshot->root, VIEW_BLOCKSTATS), disks);
    g_assert_nonnull(children_find(views_get(dump.snapshot->root, VIEW_CPU_DEFINITIONS)->children, "EPYC"));
    check_slice(node_slot_value(vm, slot_of(vm, "name")), "\"v\"");
    check_slice(node_slot_value(vm, slot_of(vm, "version")), "\"9.9\"");
    check_slice(node_slot_value(vm, slot_of(vm, "status")), "\"paused\"");
    check_slice(node_slot_value(vm, slot_of(vm, "uuid")), "\"\"");

    /* Saved and loaded again, the first three are the same. */
    g_autoptr(GString) saved = g_string_new(NULL), again = g_string_new(NULL);
    node_append_tree(dump.snapshot->root, saved);
    g_auto(Dump) second = load(saved->str, FALSE);
    node_append_tree(second.snapshot->root, again);
    gsize same = (gsize)(strstr(saved->str, "\"vm\":") - saved->str);
    g_assert_cmpmem(saved->str, same, again->str, (gsize)(strstr(again->str, "\"vm\":") - again->str));
}

static void test_root_lacks_views(void)
{
    g_auto(Dump) only_disks = load("{\"blockstats\":[]}", FALSE), no_tree = load("{\"qom\":[]}", FALSE);

    check_tree(only_disks.qom, "[]");
    check_tree(no_tree.qom, "[]");
    g_assert_cmpuint(children_count(only_disks.snapshot->root->children), ==, N_VIEWS);
}

static void test_recognise(void)
{
    static const struct {
        const char *text;
        gboolean dump;
    } rows[] = {
        {OBJECT("/", "", ""), TRUE},
        {"{\"properties\":", TRUE}, /* it looks no further */
        {"{\"name\":\"/\",\"children\":", TRUE},
        {"{\"vm\":{},\"qom\":", TRUE},
        {"{\"cpu-definitions\":[]}", TRUE},
        {" \n{\"blockstats\":[]}", TRUE},
        {"{\"q\\u006fm\":[]}", TRUE},
        {"{\"vm\":{}}", FALSE},
        {"{}", FALSE},
        {"{\"name\":\"vm1\",\"machine\":\"q35\"}", FALSE},
        {"{\"x\":{\"qom\":1,\"children\":[]}}", FALSE},
        {"[{\"qom\":1}]", FALSE},
        {"\"qom\"", FALSE},
        {"", FALSE},
        {"{\"a\":,\"qom\":[]}", FALSE},
        {"qom", FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        gsize length = strlen(rows[i].text);
        g_autofree char *exact = g_memdup2(rows[i].text, length);
        g_assert_cmpint(dump_recognise(exact ? exact : "", length), ==, rows[i].dump);
    }
}

/* ---- secrets ---- */

#define TYPE_ENTRY STRING("type", "secret")

/* properties: of an object of type secret, with the secret value s3cret somewhere. */
static void check_hidden(const char *properties, const char *expected)
{
    g_autofree char *inner = g_strdup_printf(OBJECT("sec0", "", "%s"), properties);
    g_autofree char *text = g_strdup_printf(OBJECT("/", "%s," OBJECT("after", "", ""), STRING("x", "y")), inner);
    g_autofree char *all =
        g_strdup_printf(OBJECT("/", OBJECT("sec0", "", "%s") "," OBJECT("after", "", ""), STRING("x", "y")), expected);
    g_auto(Dump) hidden = load(text, FALSE), shown = load(text, TRUE);
    const Node *node = children_find(hidden.qom->children, "sec0");
    const Node *open_node = children_find(shown.qom->children, "sec0");
    guint data = slot_of(node, "data");

    check_tree(hidden.qom, all);
    check_tree(shown.qom, text);
    g_assert_true(node_slot_info(node, data)->flags & SLOT_SECRET);
    g_assert_false(node_slot_info(open_node, data)->flags & SLOT_SECRET);
    g_assert_null(node_slot_value(node, data).text);
    check_slice(node_slot_value(open_node, data), "\"s3cret\"");
    /* Nothing is left in the memory that nodes refer to either. */
    gsize size;
    const char *memory = g_bytes_get_data(node->bytes, &size);
    g_assert_null(memmem(memory, size, "s3cret", strlen("s3cret")));
    /* The others are where they were. */
    for (guint slot = 0; slot < node_slot_count(node); slot++) {
        JsonSlice entry = node_slot_entry(node, slot), open_entry = node_slot_entry(open_node, slot);
        g_autofree char *checked = json_compact(entry.text, entry.length, JSON_READER_STRICT, NULL, NULL);
        g_assert_nonnull(checked);
        if (slot == data)
            continue;
        g_assert_true(json_equal_bytes(entry, open_entry));
        g_assert_true(json_equal_bytes(node_slot_value(node, slot), node_slot_value(open_node, slot)));
    }
}

static void test_secrets(void)
{
    /* The entry first, in the middle, last, alone. */
    check_hidden(STRING("data", "s3cret") "," TYPE_ENTRY "," STRING("file", "f"),
                 "{\"name\":\"data\",\"type\":\"string\"}," TYPE_ENTRY "," STRING("file", "f"));
    check_hidden(TYPE_ENTRY "," STRING("data", "s3cret") "," STRING("file", "f") "," STRING("iv", "v"),
                 TYPE_ENTRY ",{\"name\":\"data\",\"type\":\"string\"}," STRING("file", "f") "," STRING("iv", "v"));
    check_hidden(STRING("file", "f") "," TYPE_ENTRY "," STRING("data", "s3cret"),
                 STRING("file", "f") "," TYPE_ENTRY ",{\"name\":\"data\",\"type\":\"string\"}");
    /* The value first and in the middle of its entry, with more behind it. */
    check_hidden(TYPE_ENTRY ",{\"value\":\"s3cret\",\"name\":\"data\",\"type\":\"string\"}," STRING("iv", "v"),
                 TYPE_ENTRY ",{\"name\":\"data\",\"type\":\"string\"}," STRING("iv", "v"));
    check_hidden(TYPE_ENTRY ",{\"name\":\"data\",\"value\":\"s3cret\",\"type\":\"string\"}," STRING("iv", "v"),
                 TYPE_ENTRY ",{\"name\":\"data\",\"type\":\"string\"}," STRING("iv", "v"));
    /* Names that are written with escapes. */
    check_hidden(STRING("typ\\u0065", "secre\\u0074") ",{\"name\":\"d\\u0061ta\",\"type\":\"string\","
                                                      "\"v\\u0061lue\":\"s3cret\",\"x\":1}," STRING("iv", "v"),
                 STRING("typ\\u0065", "secre\\u0074") ",{\"name\":\"d\\u0061ta\",\"type\":\"string\","
                                                      "\"x\":1}," STRING("iv", "v"));
    check_hidden("{\"\\u0076alue\":\"s3cret\",\"name\":\"data\",\"type\":\"string\"}," TYPE_ENTRY,
                 "{\"name\":\"data\",\"type\":\"string\"}," TYPE_ENTRY);
    check_hidden(STRING("type", "secret_keyring") "," STRING("data", "s3cret"),
                 STRING("type", "secret_keyring") ",{\"name\":\"data\",\"type\":\"string\"}");
}

/* A secret in an object whose children stand behind its properties. */
static void test_secret_before_children(void)
{
    static const char properties[] = TYPE_ENTRY "," STRING("data", "s3cret") "," STRING("iv", "v");
    g_autofree char *text = g_strdup_printf("{\"properties\":[%s],\"name\":\"sec0\",\"children\":[%s]}", properties,
                                            OBJECT("child", "", STRING("data", "none")));

    g_auto(Dump) dump = load(text, FALSE);
    check_tree(dump.qom, OBJECT("sec0", OBJECT("child", "", STRING("data", "none")),
                                TYPE_ENTRY ",{\"name\":\"data\",\"type\":\"string\"}," STRING("iv", "v")));
}

static void test_no_secrets(void)
{
    check_back(OBJECT("/", "", STRING("type", "other") "," STRING("data", "shown")),
               OBJECT("/", "", STRING("type", "other") "," STRING("data", "shown")));
    check_back(OBJECT("/", "", STRING("data", "shown")), OBJECT("/", "", STRING("data", "shown")));
    /* A secret that had no value in the dump already. */
    check_back(OBJECT("/", "", TYPE_ENTRY ",{\"name\":\"data\",\"type\":\"string\"}"),
               OBJECT("/", "", TYPE_ENTRY ",{\"name\":\"data\",\"type\":\"string\"}"));
}

/* ---- what is refused ---- */

static void test_errors(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "1:1: "},
        {"[]", "1:1: an object of a dump must be an object, not an array"},
        {"{}", "1:1: an object without \"name\""},
        {"{\"children\":[],\"properties\":[]}", "1:1: an object without \"name\""},
        {"{\"name\":\"/\",\"properties\":[]}", "1:1: an object without \"children\""},
        {"{\"name\":\"/\",\"children\":[]}", "1:1: an object without \"properties\""},
        {"{\"name\":1,\"children\":[],\"properties\":[]}", "1:9: the name of an object must be a string, not a number"},
        {"{\"name\":\"/\",\"children\":{}", "1:24: \"children\" must be an array, not an object"},
        {"{\"name\":\"/\",\n \"children\":[],\n \"properties\":5}",
         "3:15: \"properties\" must be an array, not a number"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[\n 5]}", "2:2: a property must be an object, not a number"},
        {"{\"name\":\"/\",\"children\":[ 5],\"properties\":[]}",
         "1:26: an object of a dump must be an object, not a number"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[\n{\"name\":\"a\"}]}", "2:1: a property without a type"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[\n  {\"type\":\"a\"}]}", "2:3: a property without a name"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[\n{\"name\":\"a\",\"type\":7}]}",
         "2:20: the type of a property must be a string, not a number"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[\n{\"name\":null,\"type\":\"b\"}]}",
         "2:9: the name of a property must be a string, not null"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[\n{\"description\":true}]}",
         "2:16: the description of a property must be a string, not a boolean"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[\n" STRING("a", "") ",\n" STRING("a", "") "]}",
         "3:1: 'a' stands twice in one object"},
        {"{\"name\":\"/\",\"properties\":[" STRING("a", "") "],\"children\":[\n   " OBJECT("a", "", "") "]}",
         "2:4: 'a' stands twice in one object"},
        {"{\"name\":\"/\",\"properties\":[],\"children\":[\n" OBJECT("a", "", "") ",\n\n" OBJECT("a", "", "") "]}",
         "4:1: 'a' stands twice in one object"},
        {"{\"qom\":{\"name\":\"/\",\"children\":[],\"properties\":[]},\n\"cpu-definitions\":[1]}",
         "2:20: an element of \"cpu-definitions\" must be an object, not a number"},
        {"{\"qom\":[],\n\"blockstats\":{}}", "2:14: \"blockstats\" must be an array, not an object"},
        {"{\"qom\":[],\"vm\":\n{\"uuid\":\"\",\"name\":1}}", "2:1: \"name\" of \"vm\" must be a string, not a number"},
        {"{\"qom\":[],\"vm\":\n[]}", "2:1: \"vm\" must be an object, not an array"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[],\"name\":\"/\"}", "1:43: the member \"name\" is repeated"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[]} x", "1:44: the end of the text expected, not 'x'"},
        {"{\"name\":\"/\",\"children\":[],\"properties\":[]", "1:42: ',' or '}' expected, but the text ends"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        const DumpOptions options = {.file_name = "vm.json"};
        g_autoptr(GError) error = NULL;
        g_assert_null(dump_source_new(rows[i].text, strlen(rows[i].text), &options, &error));
        g_assert_nonnull(error);
        g_assert_cmpuint(error->domain, ==, JSON_ERROR);
        if (!g_str_has_prefix(error->message, rows[i].message))
            g_assert_cmpstr(error->message, ==, rows[i].message);
    }
}

/* These are told wherever in the member they are noticed. */
static void test_unknown_members(void)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"{\"name\":\"/\",\"children\":[],\"properties\":[],\"more\":1}", "\"more\""},
        {"{\"qom\":[],\"query\":1}", "'query'"},
        {"{\"qom\":[5]}", "\"qom\" must be an object or an empty list"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        const DumpOptions options = {.file_name = "vm.json"};
        g_autoptr(GError) error = NULL;
        g_assert_null(dump_source_new(rows[i].text, strlen(rows[i].text), &options, &error));
        g_assert_error(error, JSON_ERROR, JSON_ERROR_SHAPE);
        g_assert_true(g_str_has_prefix(error->message, "1:"));
        g_assert_nonnull(strstr(error->message, rows[i].word));
    }
}

/* Wherever a dump is cut off it is refused, with nothing left behind. */
static void test_cut_off(void)
{
    static const char text[] =
        "{\"qom\":" OBJECT("/", OBJECT("s", "", TYPE_ENTRY "," STRING("data", "x")),
                           "") ",\"cpu-definitions\":[{\"name\":\"a\"}],\"blockstats\":[],\"vm\":{\"name\":\"n\"}}";
    const DumpOptions options = {.file_name = "vm.json"};

    for (gsize length = 0; length < strlen(text); length++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *exact = g_memdup2(text, length);
        g_assert_null(dump_source_new(exact ? exact : "", length, &options, &error));
        g_assert_nonnull(error);
    }
    g_auto(Dump) whole = load(text, FALSE);
    g_assert_nonnull(children_find(whole.qom->children, "s"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dump/source", test_source);
    g_test_add_func("/dump/round-trip", test_round_trip);
    g_test_add_func("/dump/recorded", test_recorded);
    g_test_add_func("/dump/put-in-order", test_put_in_order);
    g_test_add_func("/dump/growing", test_growing);
    g_test_add_func("/dump/slots", test_slots);
    g_test_add_func("/dump/root", test_root);
    g_test_add_func("/dump/root-lacks-views", test_root_lacks_views);
    g_test_add_func("/dump/recognise", test_recognise);
    g_test_add_func("/dump/secrets", test_secrets);
    g_test_add_func("/dump/secret-before-children", test_secret_before_children);
    g_test_add_func("/dump/no-secrets", test_no_secrets);
    g_test_add_func("/dump/errors", test_errors);
    g_test_add_func("/dump/unknown-members", test_unknown_members);
    g_test_add_func("/dump/cut-off", test_cut_off);
    return g_test_run();
}
