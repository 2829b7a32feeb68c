/* SPDX-License-Identifier: MIT */
/* What the files of the configuration (config.c, config-new.c, config-change.c) share with each other alone. */
#pragma once

#include "vmm/config-members.h"
#include "vmm/config.h"

#define GIB (G_GUINT64_CONSTANT(1) << 30)
#define MIB (G_GUINT64_CONSTANT(1) << 20)
/* Of a disk of which nothing else is said. */
#define CONFIG_DISK_SIZE (8 * GIB)

/* The outermost object of a file. */
extern const ConfigObject config_object;

/* The default with its topology left open. */
VmConfig *config_new_open(void);
/* What is left open of the topology follows from the count; the cores take what the others
 * leave. FALSE where the product is not the count. */
gboolean config_resolve_topology(VmCpus *cpus);
/* The addresses that QEMU gives where none is given. */
char *config_default_mac(guint index);
