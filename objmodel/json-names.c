/* SPDX-License-Identifier: MIT */
/* The names of open containers: see json-names.h. */
#include "objmodel/json-names.h"

#include <string.h>

static inline guint64 load(const char *bytes, guint n)
{
    guint64 word = 0;

    memcpy(&word, bytes, n);
    return word;
}

static inline guint64 mix(guint64 hash, guint64 word)
{
    hash = (hash ^ word) * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* Loads of fixed sizes, which overlap where the length is no multiple: names are short. */
static inline guint32 name_hash(guint64 seed, const char *bytes, gsize length)
{
    guint64 hash = seed ^ length;

    if (length >= 8) {
        for (gsize i = 0; i + 8 < length; i += 8) {
            hash = mix(hash, load(bytes + i, 8));
        }
        hash = mix(hash, load(bytes + length - 8, 8));
    } else if (length >= 4) {
        hash = mix(hash, load(bytes, 4) << 32 | load(bytes + length - 4, 4));
    } else if (length > 0) {
        hash = mix(hash, load(bytes, 1) << 16 | load(bytes + length / 2, 1) << 8 | load(bytes + length - 1, 1));
    }
    return (guint32)(hash ^ hash >> 32);
}

static const char *name_bytes(const JsonNames *names, const JsonName *name)
{
    return (name->is_decoded ? names->decoded->str : names->text) + name->offset;
}

static gboolean name_equal(const JsonNames *names, const JsonName *a, const JsonName *b)
{
    return a->hash == b->hash && a->length == b->length &&
           memcmp(name_bytes(names, a), name_bytes(names, b), a->length) == 0;
}

static void set_put(JsonNameSet *set, guint32 hash, guint32 value)
{
    guint32 mask = (1u << set->table_bits) - 1, i = hash & mask;

    while (set->table[i] != 0) {
        i = (i + 1) & mask;
    }
    set->table[i] = value;
}

/* Makes the table anew, twice as large as before. */
static void set_grow(const JsonNames *names, JsonNameSet *set)
{
    const JsonName *list = names->list + set->first;
    guint n = names->n - set->first;

    set->table_bits = set->table != NULL ? set->table_bits + 1 : 6;
    g_free(set->table);
    set->table = g_new0(guint32, (gsize)1 << set->table_bits);
    for (guint i = 0; i < n; i++) {
        set_put(set, list[i].hash, i + 1);
    }
}

static gboolean set_has(const JsonNames *names, const JsonNameSet *set, const JsonName *name)
{
    const JsonName *list = names->list + set->first;
    guint n = names->n - set->first;

    if (set->table == NULL) {
        for (guint i = 0; i < n; i++) {
            if (name_equal(names, &list[i], name)) {
                return TRUE;
            }
        }
        return FALSE;
    }
    for (guint32 mask = (1u << set->table_bits) - 1, i = name->hash & mask; set->table[i] != 0; i = (i + 1) & mask) {
        if (name_equal(names, &list[set->table[i] - 1], name)) {
            return TRUE;
        }
    }
    return FALSE;
}

void json_names_init(JsonNames *names, const char *text)
{
    memset(names, 0, G_STRUCT_OFFSET(JsonNames, few));
    names->text = text;
    names->list = names->few;
    names->size = JSON_FEW_NAMES;
    names->seed = (guint64)g_random_int() << 32 | g_random_int();
}

void json_names_clear(JsonNames *names)
{
    if (names->list != names->few) {
        g_free(names->list);
    }
    if (names->decoded != NULL) {
        g_string_free(names->decoded, TRUE);
    }
}

void json_names_begin(const JsonNames *names, JsonNameSet *set)
{
    *set = (JsonNameSet){
        .first = names->n,
        .first_decoded = names->decoded != NULL ? names->decoded->len : 0,
    };
}

void json_names_end(JsonNames *names, JsonNameSet *set)
{
    if (G_UNLIKELY(set->table != NULL)) {
        g_free(set->table);
    }
    if (G_UNLIKELY(names->decoded != NULL && names->decoded->len != set->first_decoded)) {
        g_string_truncate(names->decoded, set->first_decoded);
    }
    names->n = set->first;
}

gboolean json_names_add(JsonNames *names, JsonNameSet *set, JsonSlice string, gboolean escapes)
{
    JsonName name = {.is_decoded = (guint32)escapes};
    guint n;

    if (escapes) {
        if (names->decoded == NULL) {
            names->decoded = g_string_new(NULL);
        }
        name.offset = (guint32)names->decoded->len;
        json_string_decode(string, names->decoded);
        name.length = (guint32)names->decoded->len - name.offset;
    } else {
        name.offset = (guint32)(string.text + 1 - names->text);
        name.length = (guint32)string.length - 2;
    }
    name.hash = name_hash(names->seed, name_bytes(names, &name), name.length);
    if (set_has(names, set, &name)) {
        return FALSE;
    }
    if (names->n == names->size) {
        names->list = json_grown(names->list, names->few, &names->size, sizeof *names->list);
    }
    names->list[names->n++] = name;
    n = names->n - set->first;
    if (set->table != NULL && n < (1u << set->table_bits) / 2) {
        set_put(set, name.hash, n);
    } else if (n > JSON_FEW_NAMES) {
        set_grow(names, set);
    }
    return TRUE;
}
