/* SPDX-License-Identifier: MIT */
/* See incoming.h. */
#include "qmp/incoming.h"

#include <gio/gio.h>
#include <string.h>

#include "qmp/framing.h"

struct QmpIncoming {
    Framer *framer;
    GString *text; /* of the last message's members, compact */
};

QmpIncoming *qmp_incoming_new(gsize max_bytes)
{
    QmpIncoming *incoming = g_new0(QmpIncoming, 1);

    incoming->framer = framer_new(max_bytes);
    incoming->text = g_string_new(NULL);
    return incoming;
}

void qmp_incoming_free(QmpIncoming *incoming)
{
    if (incoming != NULL) {
        framer_free(incoming->framer);
        g_string_free(incoming->text, TRUE);
        g_free(incoming);
    }
}

void qmp_incoming_add(QmpIncoming *incoming, const char *bytes, gsize n)
{
    framer_add(incoming->framer, bytes, n);
}

/* ---- members ---- */

/* Where a member stands in incoming->text, while that grows. */
typedef struct Place {
    gsize offset, length;
} Place;

/* Reads the members into incoming->text, in one go: replies can be long. */
static gboolean read_members(QmpIncoming *incoming, JsonReader *reader, QmpServerMessage *message)
{
    static const char *const names[] = {"\"QMP\"", "\"return\"", "\"error\"", "\"id\"", "\"event\""};
    JsonSlice *const members[] = {&message->greeting, &message->value, &message->problem, &message->id,
                                  &message->event};
    Place places[G_N_ELEMENTS(names)] = {{0}};
    JsonSlice name;

    g_string_truncate(incoming->text, 0);
    if (!json_reader_enter(reader, JSON_OBJECT, "a message")) {
        return FALSE;
    }
    while (json_reader_next_member(reader, &name)) {
        guint known = 0;
        gsize offset;

        while (known < G_N_ELEMENTS(names) &&
               !json_equal_bytes(name, (JsonSlice){names[known], strlen(names[known])})) {
            known++;
        }
        if (!json_reader_value(reader, &offset)) {
            return FALSE;
        }
        if (known < G_N_ELEMENTS(names)) {
            places[known] = (Place){offset, incoming->text->len - offset};
        }
    }
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        *members[i] =
            (JsonSlice){places[i].length > 0 ? incoming->text->str + places[i].offset : NULL, places[i].length};
    }
    return json_reader_end(reader);
}

static gboolean read_message(QmpIncoming *incoming, JsonSlice raw, QmpServerMessage *message, GError **error)
{
    g_autoptr(JsonReader) reader = json_reader_new(raw.text, raw.length, JSON_READER_STRICT, incoming->text);

    message->raw = raw;
    return read_members(incoming, reader, message) || json_reader_propagate(reader, error);
}

/* ---- messages ---- */

/* Nearly all servers write a message as a line; then its end need not be looked for bracket by bracket. */
static gboolean next_line(QmpIncoming *incoming, QmpServerMessage *message)
{
    JsonSlice raw;

    if (!framer_line(incoming->framer, &raw) || !read_message(incoming, raw, message, NULL)) {
        return FALSE;
    }
    framer_take_line(incoming->framer, raw);
    return TRUE;
}

static gboolean next_framed(QmpIncoming *incoming, QmpServerMessage *message, gboolean *ret_got, GError **error)
{
    g_autoptr(GError) syntax = NULL;
    const char *problem = NULL;
    JsonSlice raw;

    switch (framer_next(incoming->framer, &raw, &problem)) {
    case FRAMER_MORE:
        *ret_got = FALSE;
        return TRUE;
    case FRAMER_ERROR:
        break;
    case FRAMER_MESSAGE:
        *ret_got = TRUE;
        if (read_message(incoming, raw, message, &syntax)) {
            return TRUE;
        }
        problem = syntax->message;
        break;
    }
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "not QMP: %s", problem);
    return FALSE;
}

gboolean qmp_incoming_next(QmpIncoming *incoming, QmpServerMessage *ret_message, gboolean *ret_got, GError **error)
{
    *ret_got = next_line(incoming, ret_message);
    return *ret_got || next_framed(incoming, ret_message, ret_got, error);
}

/* ---- the greeting ---- */

static JsonSlice member_of_kind(JsonSlice object, const char *name, JsonKind kind)
{
    JsonSlice value =
        object.length > 0 && json_kind(object) == JSON_OBJECT ? json_member(object, name) : (JsonSlice){NULL, 0};

    return value.length > 0 && json_kind(value) == kind ? value : (JsonSlice){NULL, 0};
}

static guint version_part(JsonSlice version, const char *name)
{
    JsonSlice value = member_of_kind(version, name, JSON_NUMBER);
    guint64 part = 0;

    if (value.length > 0) {
        json_to_uint64(value, &part);
    }
    return (guint)MIN(part, G_MAXUINT);
}

void qmp_greeting_read(JsonSlice greeting, QmpVersion *ret_version, char **ret_package)
{
    JsonSlice version = member_of_kind(greeting, "version", JSON_OBJECT);
    JsonSlice qemu = member_of_kind(version, "qemu", JSON_OBJECT);
    JsonSlice package = member_of_kind(version, "package", JSON_STRING);

    *ret_version = (QmpVersion){.major = version_part(qemu, "major"),
                                .minor = version_part(qemu, "minor"),
                                .micro = version_part(qemu, "micro"),
                                .package = ""};
    if (ret_package != NULL) {
        *ret_package = package.length > 0 ? json_string_dup(package, NULL) : g_strdup("");
        ret_version->package = *ret_package;
    }
}
