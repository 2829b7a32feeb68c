/* SPDX-License-Identifier: MIT */
/*
 * The features of x86 CPUs: which bit of which CPUID word each is, by vmm/data/cpu-features.json. What CPUID
 * does not tell (virtualisation details, options of the emulation) has bits behind those words.
 * Constant once made; any thread.
 */
#pragma once

#include "objmodel/type.h"

enum {
    X86_MAX_WORDS = 48, /* of CPUID, and of what stands behind them */
};

typedef struct X86Features X86Features;

X86Features *x86_features_new(void);
void x86_features_free(X86Features *features);

/* The bit of that name (word * 32 + bit), or -1. */
int x86_features_bit(const X86Features *features, const char *name);
/* Appends a row for each feature to an array of Property. words: where the words are in the
 * instance. */
void x86_features_add_rows(const X86Features *features, gsize words, GArray *rows);
/* Appends the CPUID words as QEMU's feature-words has them. */
void x86_features_append_words(const X86Features *features, const uint32_t *words, GString *out);
/* Fills in what follows from other bits: the parts of the state that XSAVE saves. */
void x86_features_complete(const X86Features *features, uint32_t *words);

/* What all models have but where they say otherwise, and what one says: property -> value. Absent
 * where nothing is known of it. */
JsonSlice x86_features_common_values(void);
JsonSlice x86_features_model_values(JsonSlice model_name);
/* As query-cpu-definitions returns them. */
JsonSlice x86_features_definitions(void);
