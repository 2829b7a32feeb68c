/* SPDX-License-Identifier: MIT */
/* The built-in VM as a source. */
#pragma once

#include "objmodel/source.h"
#include "vmm/vm.h"

/* NULL with an error where the VM cannot be as the configuration wants it. */
Source *model_source_new(const VmConfig *config, GError **error);

/* The VM behind it, for those that do more with it than read (the QMP commands). */
Vm *model_source_vm(Source *source);
