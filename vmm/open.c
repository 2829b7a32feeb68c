/* SPDX-License-Identifier: MIT */
/* From what a user names to a source. Called once by main.c, before the mount. */
#include "vmm/open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objmodel/error.h"
#include "vmm/config.h"
#include "vmm/dump.h"
#include "vmm/live/live.h"
#include "vmm/model.h"

#define FILE_MAX ((gsize)1 << 30)
/* As much is looked at before the rest of a file is read. */
#define HEAD_MAX ((gsize)65536)

static void set_reason(GError **error, const char *path, const char *reason)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "cannot read '%s': %s", path, reason);
}

/* Appends up to `count` bytes of the file. */
static gboolean read_bytes(int fd, gsize count, GString *out, const char *path, GError **error)
{
    while (count > 0) {
        gsize before = out->len;
        g_string_set_size(out, before + count);
        gssize got = read(fd, out->str + before, count);
        g_string_truncate(out, before + (gsize)MAX(got, 0));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            set_reason(error, path, g_strerror(errno));
            return FALSE;
        }
        if (got == 0)
            break;
        count -= (gsize)got;
    }
    return TRUE;
}

/* Whether a text can be a JSON object at all; the message is that of the reader. */
static gboolean check_head(const GString *head, const char *path, GError **error)
{
    gsize blank = strspn(head->str, " \t\r\n");
    if (head->str[blank] == '{' || (blank == head->len && head->len == HEAD_MAX))
        return TRUE;
    g_autoptr(JsonReader) reader = json_reader_new(head->str, head->len, JSON_READER_STRICT, NULL);
    g_autoptr(GError) problem = NULL;
    json_reader_enter(reader, JSON_OBJECT, "a dump or a configuration");
    json_reader_propagate(reader, &problem);
    set_reason(error, path, problem ? problem->message : "it is empty");
    return FALSE;
}

static GString *read_file(const char *path, struct stat *ret_stat, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    gboolean ok = FALSE;
    if (fd < 0 || fstat(fd, ret_stat) < 0)
        set_reason(error, path, g_strerror(errno));
    else if (S_ISDIR(ret_stat->st_mode))
        set_reason(error, path, "it is a directory");
    else if (!S_ISREG(ret_stat->st_mode))
        set_reason(error, path, "it is neither a file nor a socket");
    else if ((gsize)ret_stat->st_size > FILE_MAX)
        set_reason(error, path, "it has more than 1 GiB");
    else if (ret_stat->st_size == 0)
        set_reason(error, path, "it is empty");
    else
        ok = read_bytes(fd, MIN((gsize)ret_stat->st_size, HEAD_MAX), text, path, error) &&
             check_head(text, path, error) &&
             read_bytes(fd, (gsize)ret_stat->st_size - MIN((gsize)ret_stat->st_size, text->len), text, path, error);
    if (fd >= 0)
        close(fd);
    return ok ? g_steal_pointer(&text) : NULL;
}

static Source *open_dump(const char *path, const GString *text, const struct stat *st, const OpenOptions *options,
                         GError **error)
{
    DumpOptions dump = {.file_name = path,
                        .mtime =
                            (guint64)st->st_mtim.tv_sec * G_GUINT64_CONSTANT(1000000000) + (guint64)st->st_mtim.tv_nsec,
                        .secrets = options->secrets};
    if (options->read_write) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "-o rw: '%s' is a dump, which never changes",
                    path);
        return NULL;
    }
    Source *source = dump_source_new(text->str, text->len, &dump, error);
    if (!source)
        g_prefix_error(error, "cannot read '%s': ", path);
    return source;
}

/* text: of a file; NULL: the default. */
static VmConfig *read_config(const char *path, const GString *text, const OpenOptions *options, GError **error)
{
    g_autoptr(VmConfig) config = text ? vm_config_from_json(text->str, text->len, error) : vm_config_new();
    if (!config)
        g_prefix_error(error, "cannot read '%s': ", path);
    return config && vm_config_apply(config, &options->change, error) ? g_steal_pointer(&config) : NULL;
}

static Source *open_model(const char *path, const GString *text, const OpenOptions *options, GError **error)
{
    g_autoptr(VmConfig) config = read_config(path, text, options, error);
    g_autoptr(GError) problem = NULL;
    Source *source = config ? model_source_new(config, &problem) : NULL;
    if (problem) {
        g_propagate_error(error, g_steal_pointer(&problem));
        if (path)
            g_prefix_error(error, "cannot read '%s': ", path);
    }
    return source;
}

static Source *open_live(const char *spec, const OpenOptions *options, GError **error)
{
    return live_source_new(&(LiveOptions){.target = spec,
                                          .release_us = options->release_us,
                                          .ttl_us = options->ttl_us,
                                          .timeout_us = options->timeout_us,
                                          .duty = options->duty,
                                          .secrets = options->secrets,
                                          .read_write = options->read_write,
                                          .all_queries = options->all_queries},
                           error);
}

/* HOST:PORT, [ADDRESS]:PORT; a path has a '/' somewhere. */
static gboolean is_host_and_port(const char *spec)
{
    const char *colon = strrchr(spec, ':');

    return colon && colon > spec && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
           !strchr(spec, '/');
}

/* What a user names. */
typedef enum SourceKind { SOURCE_NONE, SOURCE_MODEL, SOURCE_DUMP, SOURCE_LIVE } SourceKind;

static const char *const kind_names[] = {[SOURCE_DUMP] = "a dump", [SOURCE_LIVE] = "a running QEMU"};

/* *ret_text: that of a file. */
static SourceKind recognise(const char *spec, GString **ret_text, struct stat *ret_stat, GError **error)
{
    gboolean exists = spec && stat(spec, ret_stat) == 0;
    if (!spec || (!exists && !strcmp(spec, "model")))
        return SOURCE_MODEL;
    if ((exists && S_ISSOCK(ret_stat->st_mode)) || (!exists && is_host_and_port(spec)))
        return SOURCE_LIVE;
    *ret_text = read_file(spec, ret_stat, error);
    if (!*ret_text)
        return SOURCE_NONE;
    return dump_recognise((*ret_text)->str, (*ret_text)->len) ? SOURCE_DUMP : SOURCE_MODEL;
}

/* Options of the built-in VM are for that alone. */
static gboolean check_change(const char *spec, SourceKind kind, const VmConfigChange *change, GError **error)
{
    const char *option = vm_config_change_option(change);
    if (!option || kind == SOURCE_MODEL || kind == SOURCE_NONE)
        return kind != SOURCE_NONE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "option '%s': '%s' is %s, not the built-in VM", option,
                spec, kind_names[kind]);
    return FALSE;
}

Source *source_open(const char *spec, const OpenOptions *options, GError **error)
{
    struct stat st;
    GString *text = NULL;
    Source *source = NULL;
    SourceKind kind = recognise(spec, &text, &st, error);
    if (check_change(spec, kind, &options->change, error))
        source = kind == SOURCE_LIVE   ? open_live(spec, options, error)
                 : kind == SOURCE_DUMP ? open_dump(spec, text, &st, options, error)
                                       : open_model(text ? spec : NULL, text, options, error);
    if (text)
        g_string_free(text, TRUE);
    return source;
}

char *source_print_config(const char *spec, const OpenOptions *options, GError **error)
{
    struct stat st;
    GString *text = NULL;
    SourceKind kind = recognise(spec, &text, &st, error);
    g_autoptr(VmConfig) config = kind == SOURCE_MODEL ? read_config(spec, text, options, error) : NULL;
    if (kind != SOURCE_MODEL && kind != SOURCE_NONE)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "'%s' is %s, which has no configuration", spec,
                    kind_names[kind]);
    if (text)
        g_string_free(text, TRUE);
    return config ? vm_config_print(config) : NULL;
}
