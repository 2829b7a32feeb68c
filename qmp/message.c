/* SPDX-License-Identifier: MIT */
/* See message.h. The format is that of QEMU's docs/interop/qmp-spec. */
#include "qmp/message.h"

#include <string.h>

#include "objmodel/error.h"

G_DEFINE_QUARK(qmp_error, qmp_error)

/* What ends a message on the wire: QEMU's monitors end lines so, and clients read lines. */
#define END_OF_LINE "\r\n"

/* ---- errors and their classes ---- */

/* All others are GenericError. */
static const struct {
    GQuark (*domain)(void);
    int code;
    const char *name;
} error_classes[] = {
    {qmp_error_quark, QMP_ERROR_GENERIC, "GenericError"},
    {qmp_error_quark, QMP_ERROR_COMMAND_NOT_FOUND, "CommandNotFound"},
    {qmp_error_quark, QMP_ERROR_DEVICE_NOT_ACTIVE, "DeviceNotActive"},
    {qmp_error_quark, QMP_ERROR_DEVICE_NOT_FOUND, "DeviceNotFound"},
    {objmodel_error_quark, OBJMODEL_ERROR_NOT_FOUND, "DeviceNotFound"},
    {objmodel_error_quark, OBJMODEL_ERROR_GONE, "DeviceNotFound"},
};

static const char *error_class(const GError *error)
{
    for (guint i = 0; i < G_N_ELEMENTS(error_classes); i++) {
        if (error->domain == error_classes[i].domain() && error->code == error_classes[i].code) {
            return error_classes[i].name;
        }
    }
    return "GenericError";
}

void qmp_error_from(GError **error, JsonSlice error_object)
{
    gboolean is_object = error_object.length > 0 && json_kind(error_object) == JSON_OBJECT;
    JsonSlice name = is_object ? json_member(error_object, "class") : (JsonSlice){NULL, 0};
    g_autofree char *description = is_object ? json_string_dup(json_member(error_object, "desc"), NULL) : NULL;
    int code = QMP_ERROR_GENERIC;

    for (guint i = 0; i < G_N_ELEMENTS(error_classes); i++) {
        if (error_classes[i].domain == qmp_error_quark && json_string_is(name, error_classes[i].name)) {
            code = error_classes[i].code;
        }
    }
    g_set_error_literal(error, QMP_ERROR, code, description != NULL ? description : "an error without description");
}

/* ---- requests ---- */

/* Bytes of a text that a message quotes. */
#define SHOWN_MAX 64

char *qmp_shown(const char *text)
{
    gsize length = strlen(text), end = SHOWN_MAX;

    if (length <= SHOWN_MAX) {
        return g_strdup(text);
    }
    while (end > 0 && ((guchar)text[end] & 0xC0) == 0x80) {
        end--;
    }
    return g_strdup_printf("%.*s...", (int)end, text);
}

static gboolean G_GNUC_PRINTF(2, 3) request_fail(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error != NULL) {
        *error = g_error_new_valist(QMP_ERROR, QMP_ERROR_GENERIC, format, args);
    }
    va_end(args);
    return FALSE;
}

/* Takes `execute` or `exec-oob`. */
static gboolean request_set_command(QmpRequest *request, JsonSlice value, gboolean oob, GError **error)
{
    gsize length;

    if (request->command != NULL) {
        return request_fail(error, "'execute' and 'exec-oob' exclude each other");
    }
    request->command = json_string_dup(value, &length);
    if (request->command == NULL) {
        return request_fail(error, "'%s' must be a string, not %s", oob ? "exec-oob" : "execute",
                            json_kind_name(json_kind(value)));
    }
    if (strlen(request->command) != length) {
        return request_fail(error, "'%s' must not contain \\u0000", oob ? "exec-oob" : "execute");
    }
    request->oob = oob;
    return TRUE;
}

static gboolean request_set_member(QmpRequest *request, JsonSlice name, JsonSlice value, GError **error)
{
    g_autofree char *text = NULL, *shown = NULL;

    if (json_string_is(name, "execute")) {
        return request_set_command(request, value, FALSE, error);
    }
    if (json_string_is(name, "exec-oob")) {
        return request_set_command(request, value, TRUE, error);
    }
    if (json_string_is(name, "id")) {
        return TRUE;
    }
    if (json_string_is(name, "arguments")) {
        request->arguments = value;
        return json_kind(value) == JSON_OBJECT ||
               request_fail(error, "'arguments' must be an object, not %s", json_kind_name(json_kind(value)));
    }
    text = json_string_dup(name, NULL);
    shown = qmp_shown(text);
    return request_fail(error, "unexpected member '%s'", shown);
}

gboolean qmp_request_parse(QmpRequest *request, JsonSlice message, GError **error)
{
    g_autoptr(GError) syntax = NULL;
    JsonSlice object, name, value;
    JsonWalk walk;

    *request = (QmpRequest){0};
    request->text = json_compact(message.text, message.length, JSON_READER_QMP, &object.length, &syntax);
    if (request->text == NULL) {
        return request_fail(error, "not JSON: %s", syntax->message);
    }
    object.text = request->text;
    if (json_kind(object) != JSON_OBJECT) {
        return request_fail(error, "a request must be an object, not %s", json_kind_name(json_kind(object)));
    }
    /* First of all: whatever else is wrong, the error is to bear it. */
    request->id = json_member(object, "id");
    walk = json_walk(object);
    while (json_walk_member(&walk, &name, &value)) {
        if (!request_set_member(request, name, value, error)) {
            return FALSE;
        }
    }
    return request->command != NULL || request_fail(error, "a request needs a member 'execute'");
}

void qmp_request_clear(QmpRequest *request)
{
    g_free(request->text);
    g_free(request->command);
    *request = (QmpRequest){0};
}

/* ---- what is sent ---- */

void qmp_append_version(GString *out, const QmpVersion *version)
{
    g_string_append_printf(out, "{\"qemu\":{\"micro\":%u,\"minor\":%u,\"major\":%u},\"package\":", version->micro,
                           version->minor, version->major);
    json_append_string(out, version->package, -1);
    g_string_append_c(out, '}');
}

void qmp_append_greeting(GString *out, const QmpVersion *version, gboolean oob)
{
    g_string_append(out, "{\"QMP\":{\"version\":");
    qmp_append_version(out, version);
    g_string_append(out, oob ? ",\"capabilities\":[\"oob\"]}}" : ",\"capabilities\":[]}}");
    g_string_append(out, END_OF_LINE);
}

void qmp_append_return(GString *out)
{
    g_string_append(out, "{\"return\":");
}

static void append_id_and_end(GString *out, JsonSlice id)
{
    if (id.length > 0) {
        g_string_append(out, ",\"id\":");
        json_append_slice(out, id);
    }
    g_string_append(out, "}" END_OF_LINE);
}

void qmp_append_return_end(GString *out, JsonSlice id)
{
    append_id_and_end(out, id);
}

void qmp_append_error(GString *out, const GError *error, JsonSlice id)
{
    g_string_append(out, "{\"error\":{\"class\":\"");
    g_string_append(out, error_class(error));
    g_string_append(out, "\",\"desc\":");
    json_append_string(out, error->message, -1);
    g_string_append_c(out, '}');
    append_id_and_end(out, id);
}

void qmp_append_event(GString *out, const char *name, JsonSlice data, gint64 time_us)
{
    g_string_append(out, "{\"timestamp\":{\"seconds\":");
    json_append_int(out, time_us / G_USEC_PER_SEC);
    g_string_append(out, ",\"microseconds\":");
    json_append_int(out, time_us % G_USEC_PER_SEC);
    g_string_append(out, "},\"event\":");
    json_append_string(out, name, -1);
    if (data.length > 0) {
        g_string_append(out, ",\"data\":");
        json_append_slice(out, data);
    }
    g_string_append(out, "}" END_OF_LINE);
}
