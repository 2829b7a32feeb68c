/* SPDX-License-Identifier: MIT */
/*
 * Reading a configuration file by tables: which members an object has, of what kind, and where
 * in a struct each goes. Errors say LINE:COLUMN and the member's path. Used by config.c.
 */
#pragma once

#include <glib.h>

typedef struct ConfigReader ConfigReader;
typedef struct ConfigObject ConfigObject;

typedef enum ConfigKind {
    CONFIG_STRING,  /* char *, owned; null clears it */
    CONFIG_UINT,    /* guint, from min to max */
    CONFIG_SIZE,    /* guint64: bytes, or a string with a suffix, "4G" */
    CONFIG_BOOL,    /* gboolean */
    CONFIG_STRINGS, /* GPtrArray * of char *, which are replaced */
    CONFIG_JSON,    /* GPtrArray * of char *: the elements, JSON objects, as they are */
    CONFIG_OBJECT,  /* a struct in place */
    CONFIG_OBJECTS, /* GArray * of structs, which are replaced */
} ConfigKind;

typedef struct ConfigMember {
    const char *name; /* NULL ends a table */
    ConfigKind kind;
    gsize offset;
    guint64 min, max;
    const char *(*check)(const char *text); /* of strings: NULL, or what it must be */
    gboolean required;
    const ConfigObject *object;
} ConfigMember;

struct ConfigObject {
    const ConfigMember *members;
    gsize size;
    gboolean (*end)(ConfigReader *reader, gpointer target); /* after the last member; or NULL */
    gconstpointer defaults;                                 /* of an element of a list; or NULL: zeros */
};

ConfigReader *config_reader_new(const char *text, gsize length);
/* Reads the whole text as one object; FALSE after an error. */
gboolean config_reader_object(ConfigReader *reader, const ConfigObject *object, gpointer target);
/* Whether the outermost object had that member. */
gboolean config_reader_saw(const ConfigReader *reader, const char *name);
/* The place in its list of the element that is being read. */
guint config_reader_index(const ConfigReader *reader);
/* What comes next is about that member of the outermost object. */
void config_reader_point_at(ConfigReader *reader, const char *name);
/* Notes an error at the start of the value that was read last, or pointed at; returns FALSE. */
gboolean config_reader_fail(ConfigReader *reader, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Frees the reader and returns ok, or FALSE and its error. */
gboolean config_reader_end(ConfigReader *reader, gboolean ok, GError **error);

/* Appends a text that config_reader_object() reads as the same: config-write.c. */
void config_write_object(const ConfigObject *object, gconstpointer source, GString *out);
