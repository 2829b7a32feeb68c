/* SPDX-License-Identifier: MIT */
/*
 * What the built-in VM is to be: read from a JSON file (docs/configuration.md), or the VM that
 * people first meet. Plain data; any thread, one at a time.
 */
#pragma once

#include <glib.h>

#define CONFIG_ERROR (config_error_quark())
GQuark config_error_quark(void);

typedef enum ConfigError {
    CONFIG_ERROR_INVALID, /* the message begins with LINE:COLUMN, or "option 'NAME'" */
} ConfigError;

/* Limits. */
enum {
    CONFIG_MAX_CPUS = 4096,
    CONFIG_MAX_LIST = 4096,    /* elements of a list */
    CONFIG_MAX_DEVICES = 1024, /* disks and network cards */
    CONFIG_MAX_ROOT_PORTS = 12,
};
#define CONFIG_MIN_MEMORY (G_GUINT64_CONSTANT(1) << 20)
#define CONFIG_MAX_MEMORY (G_GUINT64_CONSTANT(1) << 44)

typedef struct VmCpus {
    guint count;
    char *model;                                  /* as in query-cpu-definitions: "qemu64" */
    guint sockets, dies, modules, cores, threads; /* their product is count */
} VmCpus;

typedef struct VmDisk {
    char *id;
    guint64 size;    /* bytes */
    char *iothread;  /* the id of one of iothreads, or NULL: the main loop */
    char *serial;    /* or NULL */
    char *file;      /* where its content is; NULL: nowhere */
    gboolean direct; /* the file is used with O_DIRECT */
} VmDisk;

typedef struct VmNic {
    char *id;
    char *mac; /* "52:54:00:12:34:56" */
} VmNic;

/* What the QMP socket says it is: the model's own, or an older QEMU. */
typedef struct VmQmp {
    char *version;           /* "2.11.0", or NULL: the model's */
    GPtrArray *capabilities; /* char *: what the greeting offers */
    GPtrArray *without;      /* char *: commands and events that it does not have */
    gboolean exclusive;      /* one client at a time */
} VmQmp;

typedef struct VmConfig {
    char *name;    /* or NULL */
    char *uuid;    /* in lower case */
    char *machine; /* "q35" */
    VmCpus cpus;
    guint64 memory;       /* bytes */
    GArray *disks;        /* VmDisk */
    GArray *nics;         /* VmNic */
    GPtrArray *iothreads; /* char *, their ids */
    GPtrArray *objects;   /* char *: more of them, JSON as object-add has its arguments */
    GPtrArray *blockdevs; /* char *: block nodes, JSON as blockdev-add has its arguments */
    GPtrArray *chardevs;  /* char *: JSON as chardev-add has its arguments */
    GPtrArray *netdevs;   /* char *: JSON as netdev_add has its arguments */
    char *serial;         /* the id of the character device of the serial port; or NULL: a text console */
    GPtrArray *devices;   /* char *: more of them, JSON as device_add has its arguments */
    GPtrArray *faults;    /* char *: more of them, JSON as object-add has a qmp-fault's */
    VmQmp qmp;
    guint root_ports; /* PCIe root ports that devices can be plugged into */
    gboolean paused;  /* it does not run at first, as with QEMU's -S */
} VmConfig;

/* The VM that is mounted where nothing else is said. */
VmConfig *vm_config_new(void);
/* From the text of a file. What it leaves out is as in the default one; a list that it gives
 * replaces the default's. NULL: the error says where and what. */
VmConfig *vm_config_from_json(const char *text, gsize length, GError **error);
/* What the command line says of it; NULL: nothing. */
typedef struct VmConfigChange {
    const char *cpus;   /* their number; the topology follows from it */
    const char *cpu;    /* their model */
    const char *memory; /* a size, as in the file */
    const char *disks;  /* their number: disk0, disk1, ..., which replace those that there were */
    const char *nics;   /* likewise: nic0, ... */
} VmConfigChange;

/* Which of them is said first: its option's name; or NULL. */
const char *vm_config_change_option(const VmConfigChange *change);
gboolean vm_config_apply(VmConfig *config, const VmConfigChange *change, GError **error);

/* As vm_config_from_json() reads it, with all that is left out filled in. */
char *vm_config_print(const VmConfig *config);

/* The names of all members that a file may have, for who checks its documentation. */
GPtrArray *vm_config_member_names(void);
VmConfig *vm_config_copy(const VmConfig *config);
void vm_config_free(VmConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmConfig, vm_config_free)
