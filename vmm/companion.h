/* SPDX-License-Identifier: MIT */
/*
 * The companion socket: QMP over what a mount shows. Which commands it offers follows from
 * what the source has: see the tables of qmp-context.h.
 */
#pragma once

#include "objmodel/source.h"
#include "qmp/server.h"
#include "vmm/vm.h"

/* What a source's server offers. vm: the VM behind the source, or NULL (a dump). *ret_context is the
 * context of all commands: free it (g_free) after whatever uses the registry. */
QmpRegistry *companion_registry_new(Source *source, Vm *vm, gpointer *ret_context);

typedef struct Companion Companion;

/* path NULL: no socket, the events alone. The source (and the VM) must outlive it. */
Companion *companion_new(Source *source, Vm *vm, const char *path, GError **error);
/* Serves from now on. */
void companion_start(Companion *companion);
void companion_free(Companion *companion);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Companion, companion_free)

QmpServer *companion_server(Companion *companion);
