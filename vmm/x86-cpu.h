/* SPDX-License-Identifier: MIT */
/*
 * x86 CPUs. One type for each model; all share one list of properties: those in C, and one for each
 * feature bit of vmm/data/cpu-features.json. What a model has is read from cpu-models.json and
 * cpu-definitions.json; listing models makes no CPU.
 */
#pragma once

#include "vmm/vm.h"

/* The types, and their memory: keep it as long as `types`. */
typedef struct X86CpuTypes X86CpuTypes;

X86CpuTypes *x86_cpu_types_new(Types *types);
void x86_cpu_types_free(X86CpuTypes *self);

/* The type of a model by the name that definitions have ("EPYC"); NULL with an error where there is
 * none, or where it needs what the model does not have (KVM). */
Class *x86_cpu_class(const Types *types, const char *model, GError **error);

/* Makes all CPUs of the configuration, with what comes with them. The main loop. */
void x86_cpus_make(Vm *vm);
