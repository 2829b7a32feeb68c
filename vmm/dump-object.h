/* SPDX-License-Identifier: MIT */
/*
 * Reads the objects of a dump: the JSON of qom-tree-get becomes nodes, whose texts are parts of
 * the loader's copy. For dump.c, which knows what else a dump has.
 */
#pragma once

#include "objmodel/json.h"
#include "objmodel/node.h"
#include "vmm/dump.h"

typedef struct DumpLoader {
    JsonReader *reader;
    GString *copy; /* never grows beyond what it was made with: nodes may point into it */
    GBytes *bytes; /* the same memory, as the owner that nodes refer to */
    ShapePool *shapes;
    GHashTable *names; /* of the object that has just been read: to find repeated ones */
    const DumpOptions *options;
    guint64 stamp;
} DumpLoader;

/* What the reader copied last, from this offset of the copy on. */
static inline JsonSlice dump_loader_slice(const DumpLoader *loader, gsize offset)
{
    return (JsonSlice){loader->copy->str + offset, loader->copy->len - offset};
}

/* Where the next value begins: behind the white space before it. */
static inline gsize dump_loader_position(DumpLoader *loader)
{
    JsonKind kind;
    json_reader_peek(loader->reader, &kind);
    return json_reader_position(loader->reader);
}

/* The reader's next value as an object; NULL where the reader failed. file_name: what it is called; NULL:
 * what its member "name" says. */
Node *dump_read_object(DumpLoader *loader, const char *file_name);
