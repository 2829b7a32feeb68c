/* SPDX-License-Identifier: MIT */
/*
 * The strict JSON reader, and what relies on it: what is accepted is compact, ASCII, and the same when it is read
 * again; its values can be walked; what is refused is said where. The first byte chooses the flags.
 */
#include <string.h>

#include "fuzz.h"
#include "objmodel/json.h"

static void use_string(JsonSlice string)
{
    gsize length;
    g_autofree char *bytes = json_string_dup(string, &length);
    g_autoptr(GString) again = g_string_new(NULL);
    g_autofree char *twice = NULL;
    gsize twice_length;

    g_assert_cmpuint(length, ==, json_string_length(string));
    g_assert_true(strlen(bytes) != length || json_string_is(string, bytes));
    json_append_string(again, bytes, (gssize)length);
    twice = json_string_dup((JsonSlice){again->str, again->len}, &twice_length);
    g_assert_cmpmem(twice, twice_length, bytes, length);
}

static void use_number(JsonSlice number)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint64 positive;
    gint64 value;

    if (json_to_int64(number, &value)) {
        json_append_int(text, value);
    } else if (json_to_uint64(number, &positive)) {
        json_append_uint(text, positive);
    } else {
        return;
    }
    g_assert_true(json_equal_bytes(number, (JsonSlice){text->str, text->len}) || strncmp(number.text, "-0", 2) == 0);
}

/* Returns the number of bytes that all parts together have. */
static gsize use_value(JsonSlice value)
{
    JsonSlice name, part;
    JsonWalk walk;
    gsize length = 2;

    switch (json_kind(value)) {
    case JSON_STRING:
        use_string(value);
        return value.length;
    case JSON_NUMBER:
        use_number(value);
        return value.length;
    case JSON_ARRAY:
        walk = json_walk(value);
        while (json_walk_element(&walk, &part)) {
            length += use_value(part) + (length > 2);
        }
        return length;
    case JSON_OBJECT:
        walk = json_walk(value);
        while (json_walk_member(&walk, &name, &part)) {
            use_string(name);
            length += name.length + 1 + use_value(part) + (length > 2);
        }
        return length;
    default:
        return value.length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    JsonReaderFlags flags = size > 0 && data[0] & 1 ? JSON_READER_QMP : JSON_READER_STRICT;
    const char *text = (const char *)data + (size > 0);
    g_autoptr(GError) error = NULL;
    JsonSlice compact;
    g_autofree char *first = json_compact(text, size > 0 ? size - 1 : 0, flags, &compact.length, &error);
    g_autofree char *second = NULL;

    if (first == NULL) {
        g_assert_true(error->domain == JSON_ERROR && g_ascii_isdigit(error->message[0]));
        return 0;
    }
    compact.text = first;
    for (gsize i = 0; i < compact.length; i++) {
        g_assert_true(first[i] >= 0x20);
    }
    second = json_compact(first, compact.length, JSON_READER_STRICT, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(first, ==, second);
    g_assert_cmpuint(use_value(compact), ==, compact.length);
    return 0;
}
