/* SPDX-License-Identifier: MIT */
/* The features of x86 CPUs. */
#include "vmm/x86-features.h"

#include <string.h>

#include "vmm/data.h"

/* A word of CPUID: leaf, sub-leaf, register. */
typedef struct Word {
    guint64 eax, ecx;
    gboolean has_ecx;
    gboolean raises;     /* any of its bits: CPUID has its leaf */
    char *json_register; /* with its quotes */
} Word;

typedef struct Feature {
    const char *name; /* owned by strings */
    guint bit;
    gboolean initial;
} Feature;

/* Where a feature is missing, those of these words are as well. */
typedef struct Need {
    guint bit;
    uint32_t words[X86_MAX_WORDS];
} Need;

/* With this feature, CPUID has that leaf. */
typedef struct Level {
    guint bit;
    guint32 leaf;
} Level;

struct X86Features {
    GArray *words;    /* Word */
    GArray *features; /* Feature, in the order of the file */
    GHashTable *bits; /* name -> bit + 1 */
    GStringChunk *strings;
    GArray *needs;                    /* Need */
    GArray *levels;                   /* Level */
    uint32_t kvm_only[X86_MAX_WORDS]; /* features that are there with KVM alone */
    guint n_bits;                     /* taken, words and what stands behind them */
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

/* {"eax": LEAF, "ecx": SUBLEAF, "raises": true, "register": "ECX", "bits": {"0": NAME, "1": [NAME, ...]}} */
static void add_word(X86Features *self, JsonSlice json)
{
    JsonSlice reg = json_member(json, "register");
    Word word = {.json_register = g_strndup(reg.text, reg.length)};
    guint first = self->words->len * 32;
    JsonWalk walk = json_walk(json_member(json, "bits"));
    JsonSlice key, names, name;

    json_to_uint64(json_member(json, "eax"), &word.eax);
    word.has_ecx = json_member(json, "ecx").length && json_to_uint64(json_member(json, "ecx"), &word.ecx);
    word.raises = json_member(json, "raises").length > 0;
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

/* The bit of a name that must be there. */
static guint known_bit(X86Features *self, JsonSlice name)
{
    int bit = x86_features_bit(self, keep(self, name));

    if (bit < 0)
        g_error("vmm/data/%s: there is no %.*s", data_name(DATA_CPU_FEATURES), (int)name.length, name.text);
    return (guint)bit;
}

/* [NAME, ...] */
static void set_bits(X86Features *self, JsonSlice names, uint32_t *words)
{
    JsonWalk walk = json_walk(names);
    JsonSlice name;

    while (json_walk_element(&walk, &name)) {
        guint bit = known_bit(self, name);
        words[bit / 32] |= (uint32_t)1 << (bit % 32);
    }
}

static void read_rules(X86Features *self, JsonSlice json)
{
    JsonWalk needs = json_walk(json_member(json, "needs")), levels = json_walk(json_member(json, "levels"));
    JsonSlice key, value;

    set_bits(self, json_member(json, "kvm-only"), self->kvm_only);
    while (json_walk_member(&needs, &key, &value)) {
        Need need = {.bit = known_bit(self, key)};
        set_bits(self, value, need.words);
        g_array_append_val(self->needs, need);
    }
    while (json_walk_member(&levels, &key, &value)) {
        Level level = {.bit = known_bit(self, key)};
        guint64 leaf = 0;
        json_to_uint64(value, &leaf);
        level.leaf = (guint32)leaf;
        g_array_append_val(self->levels, level);
    }
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
    self->needs = g_array_new(FALSE, FALSE, sizeof(Need));
    self->levels = g_array_new(FALSE, FALSE, sizeof(Level));
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
        add_feature(self, key, known_bit(self, value), FALSE);
    }
    if (self->n_bits > X86_MAX_WORDS * 32)
        g_error("vmm/data/%s: more features than X86_MAX_WORDS can hold", data_name(DATA_CPU_FEATURES));
    read_rules(self, json);
    return self;
}

void x86_features_free(X86Features *self)
{
    if (!self)
        return;
    g_array_unref(self->words);
    g_array_unref(self->features);
    g_array_unref(self->needs);
    g_array_unref(self->levels);
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

static gboolean has_bit(const uint32_t *words, guint bit)
{
    return words[bit / 32] >> (bit % 32) & 1;
}

gboolean x86_features_has(const X86Features *self, const uint32_t *words, const char *name)
{
    int bit = x86_features_bit(self, name);
    return bit >= 0 && has_bit(words, (guint)bit);
}

static void clear_bit(uint32_t *words, int bit)
{
    words[bit / 32] &= ~((uint32_t)1 << (bit % 32));
}

static void take_away(uint32_t *words, const uint32_t *which)
{
    for (guint i = 0; i < X86_MAX_WORDS; i++)
        words[i] &= ~which[i];
}

void x86_features_settle(const X86Features *self, uint32_t *words)
{
    int apx = x86_features_bit(self, "apxf"), mpx = x86_features_bit(self, "mpx");

    take_away(words, self->kvm_only);
    if (!x86_features_has(self, words, "pmu") && !x86_features_has(self, words, "x-pdcm-on-even-without-pmu"))
        clear_bit(words, x86_features_bit(self, "pdcm"));
    /* Each names all that goes with it, however indirectly: once through is enough. */
    for (guint i = 0; i < self->needs->len; i++) {
        const Need *need = &g_array_index(self->needs, Need, i);
        if (!has_bit(words, need->bit))
            take_away(words, need->words);
    }
    /* Both want the same place in the saved state: then neither has it. */
    if (has_bit(words, (guint)apx) && has_bit(words, (guint)mpx)) {
        clear_bit(words, apx);
        clear_bit(words, mpx);
    }
}

static void raise_to(X86Levels *levels, guint32 leaf)
{
    guint32 *level = leaf >= 0xc0000000 ? &levels->xlevel2 : leaf >= 0x80000000 ? &levels->xlevel : &levels->level;
    *level = MAX(*level, leaf);
}

void x86_features_raise(const X86Features *self, const uint32_t *words, X86Levels *levels)
{
    for (guint i = 0; i < self->words->len; i++) {
        const Word *word = &g_array_index(self->words, Word, i);
        if (!word->raises || !words[i])
            continue;
        raise_to(levels, (guint32)word->eax);
        if (word->eax == 7)
            levels->func7 = MAX(levels->func7, (guint32)word->ecx);
    }
    for (guint i = 0; i < self->levels->len; i++) {
        const Level *level = &g_array_index(self->levels, Level, i);
        if (has_bit(words, level->bit))
            raise_to(levels, level->leaf);
    }
}

/* The word of that leaf (its sub-leaf 0) and register; it must be there. */
static guint find_word(const X86Features *self, guint64 leaf, const char *json_register)
{
    for (guint i = 0; i < self->words->len; i++) {
        const Word *word = &g_array_index(self->words, Word, i);
        if (word->eax == leaf && word->ecx == 0 && strcmp(word->json_register, json_register) == 0)
            return i;
    }
    g_error("vmm/data/%s: there is no %s of leaf %#" G_GINT64_MODIFIER "x", data_name(DATA_CPU_FEATURES), json_register,
            leaf);
}

void x86_features_complete(const X86Features *self, uint32_t *words, gboolean is_amd)
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
    /* What AMD's leaf 0x80000001 repeats of leaf 1 (AMD APM, volume 3, E.4.2). */
    static const uint32_t repeated = 0x0183f3ff;

    if (is_amd)
        words[find_word(self, 0x80000001, "\"EDX\"")] |= words[find_word(self, 1, "\"EDX\"")] & repeated;
    for (guint i = 0; i < G_N_ELEMENTS(saved) && x86_features_has(self, words, "xsave"); i++) {
        if (x86_features_has(self, words, saved[i].feature))
            words[find_word(self, 13, "\"EAX\"")] |= saved[i].parts;
    }
}

JsonSlice x86_features_common_values(void)
{
    return json_member(data_json(DATA_CPU_MODELS), "common");
}

JsonSlice x86_features_further_values(void)
{
    return json_member(data_json(DATA_CPU_MODELS), "further");
}

JsonSlice x86_features_model_values(const char *model)
{
    return json_member(json_member(data_json(DATA_CPU_MODELS), "models"), model);
}

JsonSlice x86_features_definitions(void)
{
    return data_json(DATA_CPU_DEFINITIONS);
}
