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
gboolean x86_features_has(const X86Features *features, const uint32_t *words, const char *name);
/* Takes away what cannot be without something else that is missing. */
void x86_features_settle(const X86Features *features, uint32_t *words);

/* The last leaf of CPUID in each of its ranges, and the last sub-leaf of leaf 7. */
typedef struct X86Levels {
    guint32 level, xlevel, xlevel2, func7;
} X86Levels;

/* Raises them to where all features can be told. */
void x86_features_raise(const X86Features *features, const uint32_t *words, X86Levels *levels);
/* Fills in what follows from other bits: the parts of the state that XSAVE saves, what AMD says twice. */
void x86_features_complete(const X86Features *features, uint32_t *words, gboolean is_amd);

/* Property -> value: what all models have but where they say otherwise; the same of properties that a static
 * expansion does not show; and what one model says ("like": the model that it differs from). Absent where nothing
 * is known of it. */
JsonSlice x86_features_common_values(void);
JsonSlice x86_features_further_values(void);
JsonSlice x86_features_model_values(const char *model);
/* As query-cpu-definitions returns them. */
JsonSlice x86_features_definitions(void);
