/* SPDX-License-Identifier: MIT */
/* See diagnosis.h. Any thread. */
#include "vmm/live/diagnosis.h"

#include <string.h>

#include "objmodel/error.h"

/* So much of what was said is quoted. */
#define QUOTE_MAX 60

static void set_error(GError **error, ObjmodelError code, char *message)
{
    g_set_error_literal(error, OBJMODEL_ERROR, (int)code, message);
    g_free(message);
}

/* " (process 17, qemu-system-x86)", or nothing. */
static char *describe(const LiveProcess *process)
{
    g_autofree char *name = g_strescape(process->name, NULL);

    return process->pid > 0 ? g_strdup_printf(" (process %" G_GINT64_FORMAT ", %s)", process->pid, name) : g_strdup("");
}

static gboolean is_stopped(const LiveProcess *process)
{
    return process->pid > 0 && (process->state == 'T' || process->state == 't');
}

static char *stopped_message(const char *target, const LiveProcess *process)
{
    return g_strdup_printf("cannot attach to '%s': its process %" G_GINT64_FORMAT
                           " is stopped; 'kill -CONT %" G_GINT64_FORMAT "' lets it go on",
                           target, process->pid, process->pid);
}

void diagnose_text(const char *target, const char *text, GError **error)
{
    g_autofree char *start = g_strndup(text, strcspn(text, "\r\n"));
    g_autofree char *quote = g_strescape(start, NULL);

    if (strstr(text, "(qemu)") != NULL || strstr(text, "monitor - type") != NULL) {
        set_error(error, OBJMODEL_ERROR_UNAVAILABLE,
                  g_strdup_printf("cannot attach to '%s': it is a human monitor, which speaks no QMP; name the "
                                  "socket of -qmp, or of a -mon with mode=control",
                                  target));
    } else {
        set_error(error, OBJMODEL_ERROR_UNAVAILABLE,
                  g_strdup_printf("cannot attach to '%s': it speaks no QMP, but says \"%.*s\"; name the socket "
                                  "of a QEMU's -qmp",
                                  target, QUOTE_MAX, quote));
    }
}

void diagnose_silence(const char *target, const LiveProcess *process, GError **error)
{
    g_autofree char *who = describe(process);

    if (is_stopped(process)) {
        set_error(error, OBJMODEL_ERROR_TIMED_OUT, stopped_message(target, process));
    } else if (g_str_has_prefix(process->name, "qemu-ga")) {
        set_error(error, OBJMODEL_ERROR_UNAVAILABLE,
                  g_strdup_printf("cannot attach to '%s': it is a guest agent%s, not a monitor; name the socket "
                                  "of a QEMU's -qmp",
                                  target, who));
    } else {
        set_error(error, OBJMODEL_ERROR_TIMED_OUT,
                  g_strdup_printf("cannot attach to '%s': no greeting%s. Another client holds this monitor, "
                                  "since QEMU serves one at a time: end that one, or give QEMU a second -qmp. Or "
                                  "it is no monitor, but the socket of a guest agent or a serial port; or QEMU "
                                  "hangs",
                                  target, who));
    }
}

void diagnose_stuck(const char *target, const LiveProcess *process, GError **error)
{
    g_autofree char *who = describe(process);

    if (is_stopped(process)) {
        set_error(error, OBJMODEL_ERROR_TIMED_OUT, stopped_message(target, process));
    } else {
        set_error(error, OBJMODEL_ERROR_TIMED_OUT,
                  g_strdup_printf("cannot attach to '%s': it greets, but answers no command%s: its main loop "
                                  "hangs, or a command of another monitor takes long",
                                  target, who));
    }
}

void diagnose_no_machine(const char *target, GError **error)
{
    set_error(error, OBJMODEL_ERROR_UNAVAILABLE,
              g_strdup_printf("cannot attach to '%s': it speaks QMP, but has no /machine: a storage daemon, not a "
                              "virtual machine; name the socket of a qemu-system's -qmp",
                              target));
}
