/* SPDX-License-Identifier: MIT */
/*
 * What vmm/data/queries.json says of queries: which type each returns, and what, where that is constant.
 * Read when first asked for, then kept for the process's life; any thread.
 *
 *     "types":    names for types that stand in several places
 *     "commands": "query-NAME": {"returns": TYPE, and for a constant one "value": ..., or
 *                                "error": {"class": ..., "desc": ...}}; with "chosen": true the value is a list that
 *                                an argument chooses from (query-options.c); "deprecated": true where QEMU says so
 *
 * A TYPE is "str", "int", "bool", "number", "any" or "null"; a name of "types"; [TYPE], a list; {"enum": [VALUE,...]};
 * {"alternate": [TYPE,...]}; or {"members": {NAME: TYPE,...}, "tag": NAME, "variants": {VALUE: TYPE,...}}, an object,
 * where a NAME that ends in '?' is optional, and the last two may be missing.
 */
#pragma once

#include "qmp/schema.h"
#include "vmm/query.h"

/* What a command returns; NULL: the file does not have it. */
const QmpType *query_data_type(const char *command);
/* The constant answer; absent where there is none. */
JsonSlice query_data_value(const char *command);
/* Why it always fails, or NULL. */
const char *query_data_error(const char *command);
