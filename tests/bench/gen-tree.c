/* SPDX-License-Identifier: MIT */
/*
 * gen-tree PROPERTIES: writes a dump with exactly that many properties to the standard
 * output, for measuring what large trees cost. Equal numbers give equal bytes.
 *
 * The proportions are those of a large virtual machine: more than half of all properties are
 * the features of CPUs, some 500 an object; a quarter stands in memory regions, five an
 * object, all side by side in one directory; the rest in disks, some 60 an object, with a
 * child each.
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CPU_FEATURES = 492,
    DISK_OPTIONS = 50,
    CONTAINERS = 5,
};

/* How many properties are still to be written. All writers stop at 0. */
static gint64 left;
static GRand *randomness;

/* The list of properties that is being written: nothing before its first. */
static gboolean first_property;

G_GNUC_PRINTF(3, 4)
static void property(const char *name, const char *type, const char *value_format, ...)
{
    if (left <= 0)
        return;
    left--;
    va_list args;
    va_start(args, value_format);
    printf("%s{\"name\":\"%s\",\"type\":\"%s\",\"value\":", first_property ? "" : ",", name, type);
    vprintf(value_format, args);
    va_end(args);
    putchar('}');
    first_property = FALSE;
}

static void object_begin(const char *name, guint number, gboolean first)
{
    if (!first)
        putchar(',');
    printf("{\"name\":\"%s", name);
    if (number != G_MAXUINT)
        printf("[%u]", number);
    printf("\",\"children\":[");
}

static void object_properties(const char *type)
{
    printf("],\"properties\":[");
    first_property = TRUE;
    property("type", "string", "\"%s\"", type);
}

static void object_end(void)
{
    printf("]}");
}

static const char *random_bool(void)
{
    return g_rand_boolean(randomness) ? "true" : "false";
}

static void write_cpu(guint number, gboolean first)
{
    object_begin("cpu", number, first);
    object_properties("synthetic-x86_64-cpu");
    property("parent_bus", "link<bus>", "\"\"");
    property("realized", "bool", "true");
    property("socket-id", "int32", "%u", number / 64);
    property("core-id", "int32", "%u", number / 2 % 32);
    property("thread-id", "int32", "%u", number % 2);
    property("tsc-frequency", "int", "%u", 2000000000 + number);
    property("model-id", "string", "\"Synthetic Processor at 2.%u GHz\"", number % 10);
    for (guint i = 0; i < CPU_FEATURES; i++) {
        char name[32];
        snprintf(name, sizeof name, "feature-%03u", i);
        property(name, "bool", "%s", random_bool());
    }
    object_end();
}

static void write_region(guint number, gboolean first)
{
    object_begin("region", number, first);
    object_properties("memory-region");
    property("container", "link<memory-region>", "\"/machine/regions/region[%u]\"", number / 16);
    property("addr", "uint64", "%" G_GUINT64_FORMAT, (guint64)number << 12);
    property("size", "uint64", "%u", 4096u << g_rand_int_range(randomness, 0, 16));
    property("priority", "uint32", "%u", number % 3);
    object_end();
}

static void write_disk(guint number, gboolean first)
{
    object_begin("disk", number, first);
    object_begin("virtio-backend", G_MAXUINT, TRUE);
    object_properties("virtio-blk-device");
    property("realized", "bool", "true");
    property("drive", "str", "\"drive%u\"", number);
    property("serial", "str", "\"QM%08u\"", number);
    property("size", "size", "%" G_GUINT64_FORMAT, (guint64)(number + 1) << 30);
    object_end();
    object_properties("virtio-blk-pci");
    property("drive", "str", "\"drive%u\"", number);
    property("bootindex", "int32", "%u", number);
    for (guint i = 0; i < DISK_OPTIONS; i++) {
        char name[32];
        snprintf(name, sizeof name, "option-%03u", i);
        if (i % 3 == 0)
            property(name, "OnOffAuto", "\"%s\"", i % 2 ? "auto" : "on");
        else if (i % 3 == 1)
            property(name, "uint32", "%u", g_rand_int_range(randomness, 0, 65536));
        else
            property(name, "bool", "%s", random_bool());
    }
    object_end();
}

/* Ends an object that has nothing but its type: one of CONTAINERS, not taken from `left`. */
static void container_end(const char *type)
{
    printf("],\"properties\":[{\"name\":\"type\",\"type\":\"string\",\"value\":\"%s\"}]}", type);
}

/* A container whose children take this many properties together, or a few more. */
static void write_container(const char *name, gboolean first, gint64 share, void (*write_child)(guint, gboolean))
{
    gint64 stop = MAX(left - share, 0);
    object_begin(name, G_MAXUINT, first);
    for (guint number = 0; left > stop; number++)
        write_child(number, number == 0);
    container_end("container");
}

int main(int argc, char **argv)
{
    char *end = NULL;
    left = argc == 2 ? g_ascii_strtoll(argv[1], &end, 10) : 0;
    if (left < 1000 || *end) {
        fprintf(stderr, "usage: gen-tree PROPERTIES, at least 1000\n");
        return 2;
    }
    randomness = g_rand_new_with_seed(1);

    left -= CONTAINERS;
    gint64 total = left;
    object_begin("/", G_MAXUINT, TRUE);
    object_begin("machine", G_MAXUINT, TRUE);
    write_container("regions", TRUE, total / 4, write_region);
    write_container("disks", FALSE, total * 15 / 100, write_disk);
    write_container("cpus", FALSE, left, write_cpu);
    container_end("synthetic-machine");
    container_end("container");
    putchar('\n');
    g_rand_free(randomness);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "gen-tree: cannot write: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
