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

/* The same for every definition, also those that no CPU can be made of here; NULL: there is none. */
Class *x86_cpu_model_class(const Types *types, const char *model);

/* Gives a CPU, before it begins to work, what follows from the values that were set: features that need others go,
 * levels of CPUID are raised. */
void x86_cpu_expand(Object *cpu);
/* Whether a static expansion shows that property. */
gboolean x86_cpu_is_static(const char *property);

/* Makes all CPUs of the configuration, with what comes with them. The main loop. */
void x86_cpus_make(Vm *vm);
