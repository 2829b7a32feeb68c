/* SPDX-License-Identifier: MIT */
/* See qom-calls.h. */
#include "examples/qom-calls.h"

void qom_append_member(GString *out, const char *name, const char *text)
{
    g_string_append_c(out, out->len > 0 ? ',' : '{');
    json_append_string(out, name, -1);
    g_string_append_c(out, ':');
    json_append_string(out, text, -1);
}

gboolean qom_call(QmpClient *qmp, const char *command, GString *arguments, JsonSlice *ret, GError **error)
{
    g_string_append_c(arguments, '}');
    return qmp_client_call(qmp, command, (JsonSlice){arguments->str, arguments->len}, ret, error);
}

gboolean qom_call_path(QmpClient *qmp, const char *command, const char *path, JsonSlice *ret, GError **error)
{
    g_autoptr(GString) arguments = g_string_new(NULL);

    qom_append_member(arguments, "path", path);
    return qom_call(qmp, command, arguments, ret, error);
}

gboolean qom_call_get(QmpClient *qmp, const char *path, const char *property, JsonSlice *ret, GError **error)
{
    g_autoptr(GString) arguments = g_string_new(NULL);

    qom_append_member(arguments, "path", path);
    qom_append_member(arguments, "property", property);
    return qom_call(qmp, "qom-get", arguments, ret, error);
}

gboolean qom_fail_shape(const char *what, GError **error)
{
    g_set_error(error, QMP_ERROR, QMP_ERROR_GENERIC, "the reply is not what it should be: %s", what);
    return FALSE;
}
