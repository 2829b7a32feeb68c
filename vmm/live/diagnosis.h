/* SPDX-License-Identifier: MIT */
/* What stands at the other end where it is no monitor that answers us: in words for a user, and what to do. */
#pragma once

#include <glib.h>

#include "vmm/live/process.h"

/* It speaks, but no QMP: `text` is what it said first. */
void diagnose_text(const char *target, const char *text, GError **error);
/* It says nothing at all. */
void diagnose_silence(const char *target, const LiveProcess *process, GError **error);
/* It is QMP, and greeted us, and then answers nothing. */
void diagnose_stuck(const char *target, const LiveProcess *process, GError **error);
/* It is QMP, but there is no VM. */
void diagnose_no_machine(const char *target, GError **error);
