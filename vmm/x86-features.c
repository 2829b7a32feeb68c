/* SPDX-License-Identifier: MIT */
/* The features of x86 CPUs. */
#include "vmm/x86-features.h"

#include <string.h>

#include "vmm/data.h"

/* A word of CPUID: leaf, sub-leaf, register. */
typedef struct Word {
    guint64 eax, ecx;
    gboolean has_ecx;
    char *json_register; /* with its quotes */
} Word;

typedef struct Feature {
    const char *name; /* owned by strings */
    guint bit;
    gboolean initial;
} Feature;

struct X86Features {
    GArray *words;    /* Word */
    GArray *features; /* Feature, in the order of the file */
    GHashTable *bits; /* name -> bit + 1 */
    GStringChunk *strings;
    guint n_bits; /* taken, words and what stands behind them */
};

static const char *keep(X86Features *self, JsonSlice string)
{
    g_autofree char *text = json_string_dup(string, NULL);
    return g_string_chunk_insert_const(self->strings, text);
}

static void add_feature(X86Features *self, JsonSlice name, guint bit, gboolean initial)
{
    Feature feature = {.name = keep(self, name), .bit = bit, .initial = initial};
    g_array_append_val(self->features, feature);
    g_hash_table_insert(self->bits, (gpointer)feature.name, GUINT_TO_POINTER(bit + 1));
}

/* {"eax": LEAF, "ecx": SUBLEAF, "register": "ECX", "bits": {"0": NAME, "1": [NAME, ...]}} */
static void add_word(X86Features *self, JsonSlice json)
{
    JsonSlice reg = json_member(json, "register");
    Word word = {.json_register = g_strndup(reg.text, reg.length)};
    guint first = self->words->len * 32;
    JsonWalk walk = json_walk(json_member(json, "bits"));
    JsonSlice key, names, name;

    json_to_uint64(json_member(json, "eax"), &word.eax);
    word.has_ecx = json_member(json, "ecx").length && json_to_uint64(json_member(json, "ecx"), &word.ecx);
    g_array_append_val(self->words, word);
    while (json_walk_member(&walk, &key, &names)) {
        g_autofree char *number = json_string_dup(key, NULL);
        guint bit = first + (guint)g_ascii_strtoull(number, NULL, 10);
        JsonWalk each = json_walk(names);

        if (json_kind(names) == JSON_STRING)
            add_feature(self, names, bit, FALSE);
        while (json_kind(names) == JSON_ARRAY && json_walk_element(&each, &name))
            add_feature(self, name, bit, FALSE);
    }
}

static void word_clear(gpointer data)
{
    g_free(((Word *)data)->json_register);
}

X86Features *x86_features_new(void)
{
    X86Features *self = g_new0(X86Features, 1);
    JsonSlice json = data_json(DATA_CPU_FEATURES);
    JsonWalk words = json_walk(json_member(json, "words"));
    JsonWalk options = json_walk(json_member(json, "options"));
    JsonWalk aliases = json_walk(json_member(json, "aliases"));
    JsonSlice key, value;

    self->words = g_array_new(FALSE, FALSE, sizeof(Word));
    g_array_set_clear_func(self->words, word_clear);
    self->features = g_array_new(FALSE, FALSE, sizeof(Feature));
    self->bits = g_hash_table_new(g_str_hash, g_str_equal);
    self->strings = g_string_chunk_new(4096);

    while (json_walk_element(&words, &value))
        add_word(self, value);
    self->n_bits = self->words->len * 32;
    while (json_walk_member(&options, &key, &value)) {
        gboolean initial = FALSE;
        json_to_bool(value, &initial);
        add_feature(self, key, self->n_bits++, initial);
    }
    while (json_walk_member(&aliases, &key, &value)) {
        int bit = x86_features_bit(self, keep(self, value));
        if (bit < 0)
            g_error("vmm/data/%s: there is no %.*s", data_name(DATA_CPU_FEATURES), (int)value.length, value.text);
        add_feature(self, key, (guint)bit, FALSE);
    }
    if (self->n_bits > X86_MAX_WORDS * 32)
        g_error("vmm/data/%s: more features than X86_MAX_WORDS can hold", data_name(DATA_CPU_FEATURES));
    return self;
}

void x86_features_free(X86Features *self)
{
    if (!self)
        return;
    g_array_unref(self->words);
    g_array_unref(self->features);
    g_hash_table_unref(self->bits);
    g_string_chunk_free(self->strings);
    g_free(self);
}

int x86_features_bit(const X86Features *self, const char *name)
{
    return (int)GPOINTER_TO_UINT(g_hash_table_lookup(self->bits, name)) - 1;
}

void x86_features_add_rows(const X86Features *self, gsize words, GArray *rows)
{
    for (guint i = 0; i < self->features->len; i++) {
        const Feature *feature = &g_array_index(self->features, Feature, i);
        Property row = {
            .name = feature->name,
            .kind = PROP_KIND_BIT,
            .flags = PROP_INITIAL,
            .offset = (guint)words,
            .bit = feature->bit,
            .initial = feature->initial,
        };
        g_array_append_val(rows, row);
    }
}

void x86_features_append_words(const X86Features *self, const uint32_t *words, GString *out)
{
    for (guint i = 0; i < self->words->len; i++) {
        const Word *word = &g_array_index(self->words, Word, i);

        g_string_append(out, i ? ",{\"cpuid-register\":" : "[{\"cpuid-register\":");
        g_string_append(out, word->json_register);
        if (word->has_ecx) {
            g_string_append(out, ",\"cpuid-input-ecx\":");
            json_append_uint(out, word->ecx);
        }
        g_string_append(out, ",\"cpuid-input-eax\":");
        json_append_uint(out, word->eax);
        g_string_append(out, ",\"features\":");
        json_append_uint(out, words[i]);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static gboolean has(const X86Features *self, const uint32_t *words, const char *name)
{
    int bit = x86_features_bit(self, name);
    return bit >= 0 && (words[bit / 32] >> (bit % 32) & 1);
}

void x86_features_complete(const X86Features *self, uint32_t *words)
{
    /* Leaf 13, sub-leaf 0: one bit for each part of the state (Intel SDM, volume 1, 13.1). */
    static const struct {
        const char *feature;
        uint32_t parts;
    } saved[] = {
        {"xsave", 0x3},    /* x87 and SSE */
        {"avx", 0x4},      /* the upper halves of YMM */
        {"mpx", 0x18},     /* bounds */
        {"avx512f", 0xe0}, /* masks, upper halves of ZMM, upper ZMM */
        {"pku", 0x200},    /* PKRU */
        {"amx-tile", 0x60000},
    };

    if (!has(self, words, "xsave"))
        return;
    for (guint i = 0; i < self->words->len; i++) {
        const Word *word = &g_array_index(self->words, Word, i);
        if (word->eax != 13 || word->ecx != 0 || strcmp(word->json_register, "\"EAX\"") != 0)
            continue;
        for (guint k = 0; k < G_N_ELEMENTS(saved); k++)
            words[i] |= has(self, words, saved[k].feature) ? saved[k].parts : 0;
    }
}

JsonSlice x86_features_common_values(void)
{
    return json_member(data_json(DATA_CPU_MODELS), "common");
}

JsonSlice x86_features_model_values(JsonSlice model_name)
{
    g_autofree char *name = json_string_dup(model_name, NULL);
    return json_member(json_member(data_json(DATA_CPU_MODELS), "models"), name);
}

JsonSlice x86_features_definitions(void)
{
    return data_json(DATA_CPU_DEFINITIONS);
}
