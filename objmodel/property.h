/* SPDX-License-Identifier: MIT */
/*
 * Values of properties: reading and writing what a row describes. Used by object.c; the
 * objects' thread.
 */
#pragma once

#include "objmodel/object.h"

/* What is appended after the value where it stands in an entry, and what is cut off the
 * head where there is no value. */
#define PROPERTY_HEAD_VALUE ",\"value\":"

/* Whether the value is a number, boolean, bit, enum or string in the instance's memory. */
gboolean property_is_field(const Property *prop);
/* Appends the value that stands in the memory of an instance (or of a class's template). */
void property_append_field(const Property *prop, gconstpointer instance, GString *out);
/* Checks the value and takes it; an error changes nothing. */
gboolean property_set_field(const Property *prop, gpointer instance, JsonSlice value, GError **error);
/* Writes the initial value. */
void property_init_field(const Property *prop, gpointer instance);
/* Appends the initial value as JSON; FALSE where the row gives none. */
gboolean property_append_initial(const Property *prop, GString *out);
/* Whether a value may be stored: its kind is that of the initial one, numbers in range. */
gboolean property_check_stored(const Property *prop, JsonSlice value, GError **error);
/* The field of a link or an alias. */
Object **property_link_field(const Property *prop, gpointer instance);

/* The error for a value of a kind that was not expected; returns FALSE. */
gboolean property_wrong_kind(const Property *prop, JsonKind expected, GError **error);
