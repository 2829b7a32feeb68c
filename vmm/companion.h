/* SPDX-License-Identifier: MIT */
/*
 * The companion socket: QMP over what a mount shows. Which commands it offers follows from
 * what the source has: see the tables of qmp-context.h.
 */
#pragma once

#include "objmodel/event-log.h"
#include "objmodel/source.h"
#include "qmp/server.h"
#include "vmm/share/share.h"
#include "vmm/vm.h"

typedef struct Companion Companion;

typedef struct CompanionOptions {
    const char *path; /* of the socket; NULL: none, events go to the log alone */
    EventLog *events; /* gets the text of all events; or NULL */
    Share *share;     /* a running QEMU's: all of its QMP is offered, as far as this lets it through; or NULL */
    /* What `quit` is to end, called on any thread; or NULL. */
    void (*quit)(void *opaque);
    void *quit_opaque;
} CompanionOptions;

/* vm: the VM behind the source, or NULL (a dump, a running QEMU). The source, the VM and the log must outlive it. It
 * listens from now on. */
Companion *companion_new(Source *source, Vm *vm, const CompanionOptions *options, GError **error);
/* Serves from now on. */
void companion_start(Companion *companion);
/* What was to be said last is still sent. */
void companion_free(Companion *companion);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Companion, companion_free)
