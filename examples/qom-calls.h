/* SPDX-License-Identifier: MIT */
/*
 * The requests that qom.c and qom-tree.c make. A value that is returned is good until the next call. One
 * thread.
 */
#pragma once

#include "qmp/client.h"

/* Adds a member to an object of arguments that is being written, whose end qom_call() adds. */
void qom_append_member(GString *out, const char *name, const char *text);
gboolean qom_call(QmpClient *qmp, const char *command, GString *arguments, JsonSlice *ret, GError **error);
/* A command whose one argument is `path`. */
gboolean qom_call_path(QmpClient *qmp, const char *command, const char *path, JsonSlice *ret, GError **error);
gboolean qom_call_get(QmpClient *qmp, const char *path, const char *property, JsonSlice *ret, GError **error);

/* For a reply that is not what it should be. Returns FALSE. */
gboolean qom_fail_shape(const char *what, GError **error);
