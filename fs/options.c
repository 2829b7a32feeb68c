/* SPDX-License-Identifier: MIT */
/*
 * The command line: one table of options, each of which can be given as --name[=VALUE] and as
 * -o name[=VALUE]; some have a letter. What mount(8) adds for the kernel is passed on or passed over.
 */
#include "fs/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum OptionKind {
    OPTION_FLAG,          /* gboolean */
    OPTION_SECONDS,       /* double, not negative, decimal */
    OPTION_NUMBER,        /* guint */
    OPTION_OCTAL,         /* guint */
    OPTION_TEXT,          /* char * */
    OPTION_SECONDS_NEVER, /* the same, or "never": -1 */
    OPTION_PERCENT,
    OPTION_ALL,      /* "all": TRUE */
    OPTION_OPTIONAL, /* char *, "" where no value is given */
} OptionKind;

typedef struct Option {
    const char *name;
    char letter;
    OptionKind kind;
    gsize offset;
    const char *value; /* its name in the help; NULL: none */
    const char *help;  /* NULL: it shares the next row's line */
} Option;

#define FIELD(field) offsetof(Options, field)

static const Option option_rows[] = {
    {"foreground", 'f', OPTION_FLAG, FIELD(foreground), NULL, "stay in the foreground"},
    {"debug", 'd', OPTION_FLAG, FIELD(debug), NULL, "log each FUSE request to stderr; implies -f"},
    {"version", 'V', OPTION_FLAG, FIELD(version), NULL, "print the version"},
    {"help", 'h', OPTION_FLAG, FIELD(help), NULL, "print this"},
    {"qmp", 0, OPTION_TEXT, FIELD(qmp), "PATH", "the companion QMP socket, or 'none'; M/qmp tells"},
    {"ro", 0, OPTION_FLAG, FIELD(read_only), NULL, NULL},
    {"rw", 0, OPTION_FLAG, FIELD(read_write), NULL, "read-only or not (default: rw for the built-in VM)"},
    {"allow_other", 0, OPTION_FLAG, FIELD(allow_other), NULL, "let other users in, as far as modes and owner permit"},
    {"uid", 0, OPTION_NUMBER, FIELD(uid), "N", NULL},
    {"gid", 0, OPTION_NUMBER, FIELD(gid), "N", "owner and group of all files (default: who mounts)"},
    {"umask", 0, OPTION_OCTAL, FIELD(umask), "OCTAL", "permission bits to take away"},
    {"hide_tree", 0, OPTION_FLAG, FIELD(hide_tree), NULL, "do not list .tree.json (it can be opened still)"},
    {"secrets", 0, OPTION_FLAG, FIELD(secrets), NULL, "show secrets"},
    {"nonempty", 0, OPTION_FLAG, FIELD(nonempty), NULL, "mount on a directory that is not empty"},
    {"cpus", 0, OPTION_TEXT, FIELD(cpus), "N", NULL},
    {"cpu", 0, OPTION_TEXT, FIELD(cpu), "MODEL", NULL},
    {"memory", 0, OPTION_TEXT, FIELD(memory), "SIZE", NULL},
    {"disks", 0, OPTION_TEXT, FIELD(disks), "N", NULL},
    {"nics", 0, OPTION_TEXT, FIELD(nics), "N", "of the model"},
    {"print-config", 0, OPTION_FLAG, FIELD(print_config), NULL, "print the built-in VM's configuration, mount nothing"},
    {"timeout", 0, OPTION_SECONDS, FIELD(timeout), "SECONDS", "longest wait for a live VM (default 5)"},
    {"duty", 0, OPTION_PERCENT, FIELD(duty), "PERCENT", "of a live VM's main loop that may be used (default 5)"},
    {"release", 0, OPTION_SECONDS_NEVER, FIELD(release), "SECONDS",
     "idle time until the only monitor is let go, or 'never'"},
    {"query", 0, OPTION_ALL, FIELD(all_queries), "all", "all queries of a live VM in query/, costly ones too"},
    {"share", 0, OPTION_OPTIONAL, FIELD(share), "A:B", "all of a live VM's QMP for many clients, or only A, B"},
    {"ttl", 0, OPTION_SECONDS, FIELD(ttl), "SECONDS", "age up to which a live VM's value serves (default 1)"},
};

/* What the kernel or libfuse understands, passed on as it is. */
static const char *const kernel_options[] = {"suid",    "nosuid",       "dev",     "nodev",    "exec",
                                             "noexec",  "atime",        "noatime", "sync",     "async",
                                             "dirsync", "auto_unmount", "context", "fscontext"};

/* What is said to mount(8) and systemd; nothing for us. */
static const char *const mount_options[] = {"defaults", "auto",  "noauto",  "user",   "nouser",  "users",
                                            "owner",    "group", "_netdev", "nofail", "comment", "default_permissions"};

static const Option *option_find(const char *name, gsize length)
{
    for (guint i = 0; i < G_N_ELEMENTS(option_rows); i++)
        if (strlen(option_rows[i].name) == length && !strncmp(option_rows[i].name, name, length))
            return &option_rows[i];
    return NULL;
}

static const Option *option_find_letter(char letter)
{
    for (guint i = 0; i < G_N_ELEMENTS(option_rows); i++)
        if (letter && option_rows[i].letter == letter)
            return &option_rows[i];
    return NULL;
}

static gboolean in_list(const char *const *list, guint n, const char *option)
{
    gsize length = strcspn(option, "=");
    for (guint i = 0; i < n; i++)
        if (strlen(list[i]) == length && !strncmp(list[i], option, length))
            return TRUE;
    return FALSE;
}

static gboolean usage_error(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean usage_error(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s (see qomfs --help)", text);
    return FALSE;
}

static gboolean parse_seconds(const char *text, double *ret)
{
    char *end;
    double seconds = g_ascii_strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds < 0 || seconds > 1e9)
        return FALSE;
    *ret = seconds;
    return TRUE;
}

static gboolean parse_number(const char *text, guint base, guint *ret)
{
    guint64 number;
    if (!g_ascii_string_to_unsigned(text, base, 0, G_MAXUINT32 - 1, &number, NULL))
        return FALSE;
    *ret = (guint)number;
    return TRUE;
}

/* What a value has to be, for messages. */
static const char *const kind_names[] = {
    [OPTION_NUMBER] = "such number",
    [OPTION_OCTAL] = "such number",
    [OPTION_SECONDS] = "number of seconds",
    [OPTION_SECONDS_NEVER] = "number of seconds, nor 'never'",
    [OPTION_PERCENT] = "percentage from 0.1 to 100",
};

static gboolean parse_value(OptionKind kind, const char *text, gpointer field)
{
    switch (kind) {
    case OPTION_SECONDS_NEVER:
        if (!strcmp(text, "never")) {
            *(double *)field = -1;
            return TRUE;
        }
        return parse_seconds(text, field);
    case OPTION_SECONDS:
        return parse_seconds(text, field);
    case OPTION_PERCENT:
        return parse_seconds(text, field) && *(double *)field >= 0.1 && *(double *)field <= 100;
    case OPTION_OCTAL:
        return parse_number(text, 8, field) && *(guint *)field <= 0777;
    default:
        return parse_number(text, 10, field);
    }
}

/* value: what stands behind '=', or NULL. */
static gboolean option_apply(const Option *option, const char *value, Options *options, GError **error)
{
    gpointer field = (char *)options + option->offset;
    if (option->kind == OPTION_FLAG) {
        if (value)
            return usage_error(error, "option '%s' takes no value", option->name);
        *(gboolean *)field = TRUE;
        return TRUE;
    }
    if (option->kind == OPTION_OPTIONAL) {
        g_free(*(char **)field);
        *(char **)field = g_strdup(value ? value : "");
        return !value || *value || usage_error(error, "option '%s' names no command", option->name);
    }
    if (!value)
        return usage_error(error, "option '%s' needs a value: %s=%s", option->name, option->name, option->value);
    if (option->kind == OPTION_ALL) {
        *(gboolean *)field = TRUE;
        return !strcmp(value, "all") ||
               usage_error(error, "option '%s' can be '%s=all' only, not '%s'", option->name, option->name, value);
    }
    if (option->kind == OPTION_TEXT) {
        if (!*value)
            return usage_error(error, "option '%s' needs a value", option->name);
        g_free(*(char **)field);
        *(char **)field = g_strdup(value);
        return TRUE;
    }
    return parse_value(option->kind, value, field) ||
           usage_error(error, "option '%s': '%s' is no %s", option->name, value, kind_names[option->kind]);
}

static gboolean parse_mount_option(const char *text, Options *options, GError **error)
{
    gsize length = strcspn(text, "=");
    const Option *option = option_find(text, length);
    if (option)
        return option_apply(option, text[length] ? text + length + 1 : NULL, options, error);
    if (in_list(kernel_options, G_N_ELEMENTS(kernel_options), text)) {
        if (options->kernel->len > 0)
            g_string_append_c(options->kernel, ',');
        g_string_append(options->kernel, text);
        return TRUE;
    }
    if (in_list(mount_options, G_N_ELEMENTS(mount_options), text) || g_str_has_prefix(text, "x-"))
        return TRUE;
    return usage_error(error, "unknown option '-o %s'", text);
}

/* mount(8) says "rw" wherever nobody said "ro", together with what it thinks of devices and
 * set-user-id files: that is no wish of the user's. */
static gboolean is_from_mount(char *const *words)
{
    const char *const *list = (const char *const *)words;
    return (g_strv_contains(list, "dev") || g_strv_contains(list, "nodev")) &&
           (g_strv_contains(list, "suid") || g_strv_contains(list, "nosuid"));
}

static gboolean parse_mount_options(const char *text, Options *options, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", 0);
    gboolean from_mount = is_from_mount(words);
    for (char **word = words; *word; word++)
        if (**word && !(from_mount && !strcmp(*word, "rw")) && !parse_mount_option(*word, options, error))
            return FALSE;
    return TRUE;
}

static gboolean parse_long(const char *text, Options *options, GError **error)
{
    gsize length = strcspn(text, "=");
    const Option *option = option_find(text, length);
    if (!option)
        return usage_error(error, "unknown option '--%s'", text);
    return option_apply(option, text[length] ? text + length + 1 : NULL, options, error);
}

/* The letters of one argument; -o takes what is left of it, else the next one. */
static gboolean parse_letters(const char *letters, char **next, gboolean *ret_used_next, Options *options,
                              GError **error)
{
    for (; *letters; letters++) {
        const Option *option = option_find_letter(*letters);
        if (*letters == 'o') {
            *ret_used_next = !letters[1];
            const char *text = letters[1] ? letters + 1 : *next;
            return text ? parse_mount_options(text, options, error) : usage_error(error, "-o needs options");
        }
        if (!option)
            return usage_error(error, "unknown option '-%s'", letters);
        if (!option_apply(option, NULL, options, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean take_operands(GPtrArray *operands, Options *options, GError **error)
{
    if (options->help || options->version)
        return TRUE;
    if (operands->len == 0 && !options->print_config)
        return usage_error(error, "a mount point is missing");
    if (operands->len > 2)
        return usage_error(error, "one operand too many: '%s'", (char *)g_ptr_array_index(operands, 2));
    const char *last = operands->len > 0 ? g_ptr_array_index(operands, operands->len - 1) : NULL;
    /* What mounts nothing needs no mount point. */
    gboolean only_source = options->print_config && operands->len == 1 && !g_file_test(last, G_FILE_TEST_IS_DIR);
    if (operands->len == 2 || only_source)
        options->source = g_strdup(g_ptr_array_index(operands, 0));
    if (!only_source)
        options->mount_point = g_strdup(last);
    if (options->read_only && options->read_write)
        return usage_error(error, "ro and rw are given both");
    return TRUE;
}

gboolean options_parse(Options *options, int argc, char **argv, GError **error)
{
    *options = (Options){.timeout = 5,
                         .ttl = 1,
                         .duty = 5,
                         .release = 3,
                         .uid = getuid(),
                         .gid = getgid(),
                         .kernel = g_string_new(NULL)};
    g_autoptr(GPtrArray) operands = g_ptr_array_new();
    gboolean only_operands = FALSE;
    for (int i = 1; i < argc; i++) {
        gboolean used_next = FALSE, ok = TRUE;
        if (only_operands || argv[i][0] != '-' || !argv[i][1])
            g_ptr_array_add(operands, argv[i]);
        else if (!strcmp(argv[i], "--"))
            only_operands = TRUE;
        else if (argv[i][1] == '-')
            ok = parse_long(argv[i] + 2, options, error);
        else
            ok = parse_letters(argv[i] + 1, &argv[i + 1], &used_next, options, error);
        if (!ok)
            return FALSE;
        i += used_next;
    }
    return take_operands(operands, options, error);
}

void options_clear(Options *options)
{
    g_free(options->source);
    g_free(options->qmp);
    g_free(options->share);
    g_free(options->mount_point);
    g_free(options->cpus);
    g_free(options->cpu);
    g_free(options->memory);
    g_free(options->disks);
    g_free(options->nics);
    if (options->kernel)
        g_string_free(options->kernel, TRUE);
}

char *options_help(void)
{
    GString *help = g_string_new("usage: qomfs [SOURCE] MOUNTPOINT [-o OPTION[,OPTION...]]\n"
                                 "Mounts a running QEMU (SOURCE is its QMP socket's path, or HOST:PORT), a dump or\n"
                                 "a VM's configuration (JSON files), or the built-in VM ('model', the default).\n"
                                 "Options, also as -o NAME or -o NAME=VALUE:\n");
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(option_rows); i++) {
        const Option *option = &option_rows[i];
        if (names->len == 0 && option->letter)
            g_string_append_printf(names, "-%c, ", option->letter);
        else
            g_string_append(names, names->len > 0 ? ", " : "    ");
        g_string_append_printf(names, "--%s", option->name);
        if (option->value)
            g_string_append_printf(names, option->kind == OPTION_OPTIONAL ? "[=%s]" : "=%s", option->value);
        if (option->help) {
            g_string_append_printf(help, "  %-22s %s\n", names->str, option->help);
            g_string_truncate(names, 0);
        }
    }
    return g_string_free(help, FALSE);
}
