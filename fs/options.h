/* SPDX-License-Identifier: MIT */
/* The command line. */
#pragma once

#include <glib.h>

typedef struct Options {
    char *source;      /* NULL: the built-in VM */
    char *qmp;         /* where the companion socket listens; "none"; NULL: where it usually does */
    char *mount_point; /* as given; NULL where nothing is mounted */

    gboolean foreground, debug, help, version, print_config;

    gboolean read_only, read_write; /* as asked for; neither: as the source has it */
    gboolean allow_other, nonempty, hide_tree, secrets;
    double timeout; /* seconds */
    double ttl;     /* seconds */
    double duty;    /* percent */
    double release; /* seconds; negative: never */
    gboolean all_queries;
    char *share;                              /* NULL: not; "": all that may be; else commands, separated by ':' */
    char *cpus, *cpu, *memory, *disks, *nics; /* of the built-in VM, as given; NULL: as it has them */
    guint uid, gid;
    guint umask;
    GString *kernel; /* options for mount(2) and libfuse */
} Options;

/* Fills in options; FALSE with an error that says what is wrong. */
gboolean options_parse(Options *options, int argc, char **argv, GError **error);
void options_clear(Options *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* What --help prints. */
char *options_help(void);
