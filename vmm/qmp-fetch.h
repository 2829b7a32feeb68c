/* SPDX-License-Identifier: MIT */
/*
 * What a command reads is made current first, where its source is one that has to be asked (a running QEMU): by the
 * same fetches as those of files, so that no client costs the target more than a mount does. A call waits for that
 * without a thread. Called by handlers, on the monitor thread or a worker; the context of the call is a QmpContext, or
 * begins with the pointer to one.
 */
#pragma once

#include "vmm/qmp-context.h"

typedef void (*QmpFetched)(QmpCall *call, const void *args);

/* An object, by its QOM path: what `scope` says of it, property (as QOM names it) included; or several (NULL-ended),
 * with all values. Then, or at once where nothing is to be fetched, `then` goes on with the call; it finds out itself
 * what is not there. Where a fetch fails, so does the call. */
void qmp_fetch_object(QmpCall *call, const void *args, Source *source, const char *path, const char *property,
                      SourceScope scope, QmpFetched then);
void qmp_fetch_objects(QmpCall *call, const void *args, Source *source, char *const *paths, QmpFetched then);
/* Something else: path and property as a source takes them. */
void qmp_fetch_path(QmpCall *call, const void *args, Source *source, const char *path, const char *property,
                    SourceScope scope, QmpFetched then);
