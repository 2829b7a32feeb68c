/* SPDX-License-Identifier: MIT */
/* objmodel/type.c and property.c: rows become fields, ranges, heads and shapes; classes are shared. */
#include <string.h>

#include "objmodel/error.h"
#include "objmodel/property.h"

typedef struct Sample {
    Object base;
    bool flag;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    char *text;
    int mode;
    uint32_t bits[3];
} Sample;

static const char *const modes[] = {"off", "on", "auto", NULL};

static const Property sample_props[] = {
    PROP_FIELD(Sample, flag, "flag", .initial = TRUE),
    PROP_FIELD(Sample, i8, "i8", .flags = PROP_WRITABLE),
    PROP_FIELD(Sample, u8, "u8", .flags = PROP_WRITABLE),
    PROP_FIELD(Sample, i16, "i16", .flags = PROP_WRITABLE),
    PROP_FIELD(Sample, u16, "u16", .flags = PROP_WRITABLE),
    PROP_FIELD(Sample, i32, "i32", .flags = PROP_WRITABLE, .initial = -1),
    PROP_FIELD(Sample, u32, "u32", .flags = PROP_WRITABLE),
    PROP_FIELD(Sample, i64, "i64", .flags = PROP_WRITABLE, .max = 100, .help = "up to a hundred"),
    PROP_FIELD(Sample, u64, "u64", .type = "size", .flags = PROP_WRITABLE, .initial = -1),
    PROP_FIELD(Sample, text, "text", .type = "str", .flags = PROP_WRITABLE, .initial_text = "first"),
    PROP_ENUM(Sample, mode, "mode", "OnOffAuto", modes, .flags = PROP_WRITABLE, .initial = 2),
    PROP_BIT(Sample, bits, 0, "bit-0", .flags = PROP_WRITABLE),
    PROP_BIT(Sample, bits, 95, "bit-95", .flags = PROP_WRITABLE, .initial = TRUE),
    {0},
};

static const ObjectType abstract_type = {.name = "abstract", .instance_size = sizeof(Sample), .abstract = TRUE};

static const ObjectType sample_type = {
    .name = "sample",
    .parent = &abstract_type,
    .instance_size = sizeof(Sample),
    .user_creatable = TRUE,
    .props = sample_props,
};

static void model_init(const Class *class, Object *initial)
{
    g_autoptr(GError) error = NULL;

    ((Sample *)initial)->i64 = *(const int *)class_type(class)->data;
    g_assert_true(class_init_value(class, initial, "text", (JsonSlice){"\"model\"", 7}, &error));
    g_assert_false(class_init_value(class, initial, "type", (JsonSlice){"\"x\"", 3}, &error));
    g_assert_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_NO_PROPERTY);
}

static const int model_value = 7;
static const ObjectType model_type = {
    .name = "model", .parent = &sample_type, .class_init = model_init, .data = &model_value};

static const Property other_props[] = {
    PROP_FIELD(Sample, i16, "u8", .help = "in the place of the parent's"),
    {0},
};
static const ObjectType other_type = {.name = "other", .parent = &sample_type, .props = other_props};

/* ---- classes ---- */

static void test_rows(void)
{
    g_autoptr(Types) types = types_new();
    Class *class = types_add(types, &sample_type);
    const SlotInfo *info;
    JsonSlice head;

    g_assert_true(types_add(types, &sample_type) == class);
    g_assert_true(types_find(types, "sample") == class);
    g_assert_null(types_find(types, "samples"));
    g_assert_true(class_is_a(class, "abstract"));
    g_assert_true(class_is_a(class, "object"));
    g_assert_false(class_is_a(class, "model"));

    g_assert_cmpuint(class_prop_count(class), ==, G_N_ELEMENTS(sample_props)); /* one more: type */
    g_assert_cmpstr(class_prop(class, 0)->name, ==, "type");
    g_assert_cmpint(class_find_prop(class, "i64"), ==, 8);
    g_assert_cmpint(class_find_prop(class, "i65"), ==, -1);
    head = class_prop_head(class, 9);
    static const char expected_head[] = "{\"name\":\"u64\",\"type\":\"size\",\"value\":";
    g_assert_cmpmem(head.text, head.length, expected_head, strlen(expected_head));

    info = shape_info(class_shape(class), 8);
    g_assert_cmpstr(info->name, ==, "i64");
    g_assert_cmpstr(info->type, ==, "int");
    g_assert_cmpstr(info->description, ==, "up to a hundred");
    g_assert_cmpstr(info->default_value, ==, "0");
    g_assert_cmpint(info->flags, ==, SLOT_WRITABLE);
    g_assert_cmpstr(shape_info(class_shape(class), 9)->default_value, ==, "18446744073709551615");
    g_assert_cmpstr(shape_info(class_shape(class), 10)->default_value, ==, "\"first\"");
    g_assert_cmpstr(shape_info(class_shape(class), 11)->default_value, ==, "\"auto\"");
    g_assert_null(shape_info(class_shape(class), 1)->default_value);
}

static void test_inheritance(void)
{
    g_autoptr(Types) types = types_new();
    Class *model = types_add(types, &model_type);
    Class *sample = types_find(types, "sample");
    Class *other = types_add(types, &other_type);
    Sample *a, *b;

    /* A type without rows costs no list. */
    g_assert_nonnull(sample);
    g_assert_true(class_shape(model) == class_shape(sample));
    g_assert_true(class_parent(model) == sample);

    /* A row in the place of the parent's. */
    g_assert_cmpuint(class_prop_count(other), ==, class_prop_count(sample));
    g_assert_cmpint(class_prop(other, 3)->kind, ==, PROP_KIND_INT16);
    g_assert_cmpint(class_find_prop(other, "u8"), ==, 3);

    a = class_instance_new(model);
    b = class_instance_new(sample);
    g_assert_cmpint(a->i64, ==, 7);
    g_assert_cmpint(b->i64, ==, 0);
    g_assert_true(a->flag);
    g_assert_cmpint(a->i32, ==, -1);
    g_assert_cmpint(a->bits[2], ==, 0x80000000);
    g_assert_cmpstr(a->text, ==, "model");
    g_assert_cmpstr(b->text, ==, "first");
    class_instance_free(model, a);
    class_instance_free(sample, b);
}

static void test_list(void)
{
    g_autoptr(Types) types = types_new();
    GPtrArray *found;

    types_add(types, &model_type);
    found = types_list(types, NULL, FALSE);
    g_assert_cmpuint(found->len, ==, 2);
    g_assert_cmpstr(class_name(found->pdata[0]), ==, "sample");
    g_ptr_array_unref(found);
    found = types_list(types, "abstract", TRUE);
    g_assert_cmpuint(found->len, ==, 3);
    g_ptr_array_unref(found);
    found = types_list(types, "user-creatable", FALSE);
    g_assert_cmpuint(found->len, ==, 1);
    g_ptr_array_unref(found);
    found = types_list(types, "nope", TRUE);
    g_assert_cmpuint(found->len, ==, 0);
    g_ptr_array_unref(found);
}

/* ---- values ---- */

/* Sets one row; expected: the value afterwards, or "!" and the error's message. */
static void check_set(const char *name, const char *json, const char *expected)
{
    g_autoptr(Types) types = types_new();
    Class *class = types_add(types, &sample_type);
    const Property *prop = class_prop(class, (guint)class_find_prop(class, name));
    gpointer instance = class_instance_new(class);
    g_autoptr(GString) before = g_string_new(NULL), after = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    property_append_field(prop, instance, before);
    if (property_set_field(prop, instance, (JsonSlice){json, strlen(json)}, &error)) {
        g_assert_no_error(error);
        property_append_field(prop, instance, after);
        g_assert_cmpstr(after->str, ==, expected);
    } else {
        g_assert_cmpint(expected[0], ==, '!');
        g_assert_cmpstr(error->message, ==, expected + 1);
        g_assert_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE);
        property_append_field(prop, instance, after);
        g_assert_cmpstr(after->str, ==, before->str);
    }
    class_instance_free(class, instance);
}

static void test_numbers(void)
{
    check_set("i8", "127", "127");
    check_set("i8", "-128", "-128");
    check_set("i8", "128", "!Parameter 'i8' expects int8_t");
    check_set("u8", "255", "255");
    check_set("u8", "-1", "!Parameter 'u8' expects uint8_t");
    check_set("i16", "-32768", "-32768");
    check_set("i16", "32768", "!Parameter 'i16' expects int16_t");
    check_set("u16", "65535", "65535");
    check_set("i32", "-2147483648", "-2147483648");
    check_set("u32", "4294967295", "4294967295");
    check_set("u32", "4294967296", "!Parameter 'u32' expects uint32_t");
    check_set("i64", "100", "100");
    check_set("i64", "101", "!i64 value must be in range [0, 100]");
    check_set("i64", "-1", "!i64 value must be in range [0, 100]");
    check_set("i64", "18446744073709551615", "!Parameter 'i64' expects int64_t");
    check_set("i64", "18446744073709551616", "!Invalid parameter type for 'i64', expected: integer");
    check_set("i64", "1.5", "!Invalid parameter type for 'i64', expected: integer");
    check_set("i64", "\"1\"", "!Invalid parameter type for 'i64', expected: integer");
    check_set("u64", "18446744073709551615", "18446744073709551615");
    check_set("u64", "0", "0");
    check_set("u64", "-1", "!Parameter 'u64' expects uint64_t");
    check_set("u64", "1.5", "!Parameter 'u64' expects uint64");
    check_set("u8", "\"1\"", "!Parameter 'u8' expects uint64");
}

static void test_others(void)
{
    check_set("flag", "false", "false");
    check_set("flag", "0", "!Invalid parameter type for 'flag', expected: boolean");
    check_set("bit-0", "true", "true");
    check_set("bit-95", "false", "false");
    check_set("bit-95", "null", "!Invalid parameter type for 'bit-95', expected: boolean");
    check_set("text", "\"a\\u00e9\\n\"", "\"a\\u00E9\\n\"");
    check_set("text", "\"\"", "\"\"");
    check_set("text", "\"a\\u0000b\"", "!Parameter 'text' must not contain NUL");
    check_set("text", "[]", "!Invalid parameter type for 'text', expected: string");
    check_set("mode", "\"off\"", "\"off\"");
    check_set("mode", "\"of\"", "!Parameter 'mode' does not accept value 'of'");
    check_set("mode", "1", "!Invalid parameter type for 'mode', expected: string");
}

static void test_bits_apart(void)
{
    g_autoptr(Types) types = types_new();
    Class *class = types_add(types, &sample_type);
    Sample *sample = class_instance_new(class);
    const Property *prop = class_prop(class, (guint)class_find_prop(class, "bit-0"));

    sample->bits[0] = 0xfffffffe;
    g_assert_true(property_set_field(prop, sample, (JsonSlice){"true", 4}, NULL));
    g_assert_cmpuint(sample->bits[0], ==, 0xffffffff);
    g_assert_true(property_set_field(prop, sample, (JsonSlice){"false", 5}, NULL));
    g_assert_cmpuint(sample->bits[0], ==, 0xfffffffe);
    g_assert_cmpuint(sample->bits[2], ==, 0x80000000);
    class_instance_free(class, sample);
}

static void test_stored(void)
{
    static const Property addr = {
        .name = "addr", .type = "uint8", .kind = PROP_KIND_STORED, .initial_text = "0", .flags = PROP_INITIAL};
    static const Property size = {.name = "size", .type = "size", .kind = PROP_KIND_STORED, .initial_text = "0"};
    static const Property lies = {.name = "lies", .type = "str", .kind = PROP_KIND_STORED, .initial_text = "-1"};
    static const Property list = {.name = "l", .type = "list", .kind = PROP_KIND_STORED, .initial_text = "[]"};
    static const Property any = {.name = "any", .type = "any", .kind = PROP_KIND_STORED, .initial_text = "null"};

    g_assert_true(property_check_stored(&addr, (JsonSlice){"255", 3}, NULL));
    g_assert_false(property_check_stored(&addr, (JsonSlice){"256", 3}, NULL));
    g_assert_false(property_check_stored(&addr, (JsonSlice){"\"x\"", 3}, NULL));
    g_assert_true(property_check_stored(&size, (JsonSlice){"18446744073709551615", 20}, NULL));
    g_assert_false(property_check_stored(&size, (JsonSlice){"-1", 2}, NULL));
    g_assert_false(property_check_stored(&size, (JsonSlice){"1.5", 3}, NULL));
    g_assert_true(property_check_stored(&lies, (JsonSlice){"8", 1}, NULL));
    g_assert_false(property_check_stored(&lies, (JsonSlice){"1.5", 3}, NULL));
    g_assert_true(property_check_stored(&list, (JsonSlice){"[1]", 3}, NULL));
    g_assert_false(property_check_stored(&list, (JsonSlice){"{}", 2}, NULL));
    g_assert_true(property_check_stored(&any, (JsonSlice){"{}", 2}, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/type/rows", test_rows);
    g_test_add_func("/type/inheritance", test_inheritance);
    g_test_add_func("/type/list", test_list);
    g_test_add_func("/property/numbers", test_numbers);
    g_test_add_func("/property/others", test_others);
    g_test_add_func("/property/bits-apart", test_bits_apart);
    g_test_add_func("/property/stored", test_stored);
    return g_test_run();
}
