/* SPDX-License-Identifier: MIT */
/*
 * A part of the object tree, fetched over QMP by one of four methods; what is fetched is the same whatever the method.
 * For qom.c, and for tests/bench, which measures them. One thread.
 *
 *     get         qom-list of each object, qom-get of each property
 *     list-get    qom-list-get of each object
 *     list-getv   qom-list-getv, or a QEMU's qom-list-get, of each level of the tree
 *     tree-get    one qom-tree-get
 */
#pragma once

#include "qmp/client.h"

/* An object that was fetched. */
typedef struct QomItem {
    char *path;          /* "" for the root, so that names can follow it */
    GString *lines;      /* what is printed of it */
    GPtrArray *children; /* QomItem */
} QomItem;

/* path: of the object; "" for the root. */
QomItem *qom_item_new(const char *path);
void qom_item_free(gpointer item);
/* Fetches it and all below it. method NULL: the best that the server has. */
gboolean qom_item_fetch(QmpClient *qmp, QomItem *item, const char *method, GError **error);
/* Fetches many objects (QomItem) by one command that takes `paths`. */
gboolean qom_items_fetch(QmpClient *qmp, const char *command, const GPtrArray *items, GError **error);
