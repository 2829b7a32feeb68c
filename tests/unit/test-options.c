/* SPDX-License-Identifier: MIT */
/* fs/options.c: every option in all its forms, what mount(8) adds, and what is wrong usage. */
#include <string.h>
#include <unistd.h>

#include "fs/options.h"

/* Words behind the program's name, apart by blanks. */
static gboolean parse(Options *options, const char *words, GError **error)
{
    g_autofree char *line = g_strconcat("qomfs", *words ? " " : "", words, NULL);
    g_auto(GStrv) argv = g_strsplit(line, " ", 0);

    return options_parse(options, (int)g_strv_length(argv), argv, error);
}

static void parse_ok(Options *options, const char *words)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(parse(options, words, &error));
    g_assert_no_error(error);
}

static void check_error(const char *words, const char *says)
{
    g_auto(Options) options;
    g_autoptr(GError) error = NULL;

    g_assert_false(parse(&options, words, &error));
    g_assert_nonnull(error);
    if (!strstr(error->message, says))
        g_assert_cmpstr(error->message, ==, says);
    g_assert_nonnull(strstr(error->message, "--help"));
}

/* ---- operands ---- */

static void test_defaults(void)
{
    g_auto(Options) options;

    parse_ok(&options, "/mnt");
    g_assert_null(options.source);
    g_assert_null(options.qmp);
    g_assert_cmpstr(options.mount_point, ==, "/mnt");
    g_assert_false(options.foreground || options.debug || options.help || options.version);
    g_assert_false(options.read_only || options.read_write || options.allow_other || options.nonempty);
    g_assert_false(options.hide_tree || options.secrets);
    g_assert_cmpfloat(options.timeout, ==, 5);
    g_assert_cmpfloat(options.ttl, ==, 1);
    g_assert_cmpuint(options.uid, ==, getuid());
    g_assert_cmpuint(options.gid, ==, getgid());
    g_assert_cmpuint(options.umask, ==, 0);
    g_assert_cmpstr(options.kernel->str, ==, "");
}

static void test_operands(void)
{
    static const struct {
        const char *words, *source, *mount_point;
    } rows[] = {
        {"vm.json /mnt", "vm.json", "/mnt"},
        {"model /mnt -o ro", "model", "/mnt"},
        {"-o ro vm.json -f /mnt", "vm.json", "/mnt"},
        {"vm.json -- -mnt", "vm.json", "-mnt"},
        {"-- --ro --", "--ro", "--"},
        {"- /mnt", "-", "/mnt"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(Options) options;
        parse_ok(&options, rows[i].words);
        g_assert_cmpstr(options.source, ==, rows[i].source);
        g_assert_cmpstr(options.mount_point, ==, rows[i].mount_point);
    }
}

/* ---- options ---- */

#define FLAG(field) offsetof(Options, field)

static const struct {
    const char *name;
    char letter;
    gsize offset;
} flags[] = {
    {"foreground", 'f', FLAG(foreground)},
    {"debug", 'd', FLAG(debug)},
    {"version", 'V', FLAG(version)},
    {"help", 'h', FLAG(help)},
    {"ro", 0, FLAG(read_only)},
    {"rw", 0, FLAG(read_write)},
    {"allow_other", 0, FLAG(allow_other)},
    {"hide_tree", 0, FLAG(hide_tree)},
    {"secrets", 0, FLAG(secrets)},
    {"nonempty", 0, FLAG(nonempty)},
};

static void check_flag(guint flag, const char *words)
{
    g_auto(Options) options;

    parse_ok(&options, words);
    for (guint i = 0; i < G_N_ELEMENTS(flags); i++)
        g_assert_cmpint(*(gboolean *)(gpointer)((char *)&options + flags[i].offset), ==, i == flag);
}

static void test_flags(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(flags); i++) {
        static const char *const forms[] = {"--%s /mnt", "/mnt --%s", "-o %s /mnt", "-o%s /mnt", "/mnt -o noatime,%s"};
        for (guint form = 0; form < G_N_ELEMENTS(forms); form++) {
            g_autoptr(GString) words = g_string_new(forms[form]);
            g_string_replace(words, "%s", flags[i].name, 0);
            check_flag(i, words->str);
        }
        if (flags[i].letter) {
            g_autofree char *words = g_strdup_printf("/mnt -%c", flags[i].letter);
            check_flag(i, words);
        }
        g_autofree char *with_value = g_strdup_printf("/mnt --%s=1", flags[i].name);
        check_error(with_value, "takes no value");
        g_autofree char *mount_value = g_strdup_printf("/mnt -o %s=1", flags[i].name);
        check_error(mount_value, "takes no value");
    }
}

static void test_values(void)
{
    static const char *const forms[] = {
        "/mnt --qmp=/run/s --uid=7 --gid=8 --umask=027 --timeout=2.5 --ttl=0",
        "-o qmp=/run/s,uid=7,gid=8,umask=027,timeout=2.5,ttl=0 /mnt",
        "-oqmp=/run/s -o uid=7,gid=8 /mnt -o umask=27 --timeout=2.5 -o ttl=0.0",
        "--qmp=/else --uid=1 --umask=0 --ttl=8 -o gid=1 /mnt -o qmp=/run/s,uid=7,gid=8,umask=27,timeout=2.5,ttl=0",
    };

    for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_auto(Options) options;
        parse_ok(&options, forms[i]);
        g_assert_cmpstr(options.qmp, ==, "/run/s");
        g_assert_cmpuint(options.uid, ==, 7);
        g_assert_cmpuint(options.gid, ==, 8);
        g_assert_cmpuint(options.umask, ==, 027);
        g_assert_cmpfloat(options.timeout, ==, 2.5);
        g_assert_cmpfloat(options.ttl, ==, 0);
    }
    g_auto(Options) equals;
    parse_ok(&equals, "/mnt --qmp=/a=b");
    g_assert_cmpstr(equals.qmp, ==, "/a=b");
}

static void test_bad_values(void)
{
    static const char *const names[] = {"qmp", "uid", "gid", "umask", "timeout", "ttl"};
    static const char *const bad[] = {
        "uid=x",      "uid=-1",     "uid=+1",       "uid=1.5",     "uid=0x10",    "uid=4294967295", "uid=99999999999",
        "gid=root",   "umask=8",    "umask=0x1",    "umask=1000",  "umask=7777",  "umask=-1",       "timeout=x",
        "timeout=-1", "timeout=1s", "timeout=1,5x", "timeout=nan", "timeout=inf", "ttl=1e99",       "ttl=infinity",
    };

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *bare = g_strdup_printf("/mnt --%s", names[i]);
        g_autofree char *empty = g_strdup_printf("/mnt --%s=", names[i]);
        g_autofree char *mount_bare = g_strdup_printf("/mnt -o %s", names[i]);
        check_error(bare, "needs a value");
        check_error(mount_bare, "needs a value");
        check_error(empty, names[i]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *name = g_strndup(bad[i], strcspn(bad[i], "="));
        g_autofree char *long_form = g_strdup_printf("/mnt --%s", bad[i]);
        check_error(long_form, name);
    }
    check_error("/mnt -o umask=9", "'umask': '9'");
}

static void test_letters(void)
{
    g_auto(Options) options, no_operands;

    parse_ok(&options, "-fdo ro,uid=3 /mnt");
    g_assert_true(options.foreground && options.debug && options.read_only);
    g_assert_cmpuint(options.uid, ==, 3);
    g_assert_cmpstr(options.mount_point, ==, "/mnt");
    parse_ok(&no_operands, "-fV"); /* these need no mount point */
    g_assert_true(no_operands.version && no_operands.foreground);
    g_auto(Options) help;
    parse_ok(&help, "-h a b c d");
    g_assert_true(help.help);
}

static void test_wrong_usage(void)
{
    check_error("", "a mount point is missing");
    check_error("-f", "a mount point is missing");
    check_error("a b c", "'c'");
    check_error("/mnt -x", "'-x'");
    check_error("/mnt -fx", "'-x'");
    check_error("/mnt --nonsense", "'--nonsense'");
    check_error("/mnt --nonsense=1", "'--nonsense=1'");
    check_error("/mnt --foregroun", "'--foregroun'");
    check_error("/mnt --foregrounds", "'--foregrounds'");
    check_error("/mnt -o nonsense", "'-o nonsense'");
    check_error("/mnt -o ro,nonsense=3", "nonsense=3");
    check_error("/mnt -o RO", "'-o RO'");
    check_error("/mnt -o", "-o needs options");
    check_error("/mnt --noatime", "'--noatime'"); /* of mount options only */
    check_error("/mnt --=x", "'--=x'");
    check_error("/mnt -o ro,rw", "ro and rw");
    check_error("/mnt --ro -o rw", "ro and rw");
}

/* ---- what comes by mount(8) ---- */

static void check_mount(const char *list, const char *kernel, gboolean read_only, gboolean read_write)
{
    g_auto(Options) options;
    g_autofree char *words = g_strdup_printf("model /mnt -o %s", list);

    parse_ok(&options, words);
    g_assert_cmpstr(options.kernel->str, ==, kernel);
    g_assert_cmpint(options.read_only, ==, read_only);
    g_assert_cmpint(options.read_write, ==, read_write);
}

static void test_mount(void)
{
    /* "rw" is mount's own where it stands with what mount always says; a user's where he says it. */
    check_mount("rw", "", FALSE, TRUE);
    check_mount("rw,noatime", "noatime", FALSE, TRUE);
    check_mount("rw,dev,suid", "dev,suid", FALSE, FALSE);
    check_mount("rw,nodev,nosuid,noexec", "nodev,nosuid,noexec", FALSE, FALSE);
    check_mount("ro,dev,suid", "dev,suid", TRUE, FALSE);
    check_mount("rw,nosuid", "nosuid", FALSE, TRUE);
    check_mount("rw,dev,suid,ro", "dev,suid", TRUE, FALSE);
    check_mount("dev,rw,nosuid -o rw", "dev,nosuid", FALSE, TRUE);
    /* fstab, systemd and the kernel. */
    check_mount("defaults,noauto,user,_netdev,nofail,x-systemd.automount,x-y=z,comment=a", "", FALSE, FALSE);
    check_mount("exec,atime,sync,async,dirsync,auto_unmount,context=a_u:b,fscontext=c",
                "exec,atime,sync,async,dirsync,auto_unmount,context=a_u:b,fscontext=c", FALSE, FALSE);
    check_mount("noatime -o noexec", "noatime,noexec", FALSE, FALSE);
    check_mount(",,noatime,,", "noatime", FALSE, FALSE);
    check_mount("default_permissions", "", FALSE, FALSE);
}

/* ---- the help ---- */

static void test_help(void)
{
    static const char *const others[] = {"qmp=", "uid=", "gid=", "umask=", "timeout=", "ttl="};
    g_autofree char *help = options_help();

    g_assert_true(g_str_has_suffix(help, "\n"));
    for (guint i = 0; i < G_N_ELEMENTS(flags); i++) {
        g_autofree char *alone = g_strdup_printf(" --%s ", flags[i].name);
        g_autofree char *with_others = g_strdup_printf(" --%s, ", flags[i].name);
        g_autofree char *letter = g_strdup_printf(" -%c,", flags[i].letter);
        g_assert_true(strstr(help, alone) || strstr(help, with_others));
        g_assert_true(!flags[i].letter || strstr(help, letter));
    }
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autofree char *name = g_strdup_printf(" --%s", others[i]);
        g_assert_nonnull(strstr(help, name));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/options/defaults", test_defaults);
    g_test_add_func("/options/operands", test_operands);
    g_test_add_func("/options/flags", test_flags);
    g_test_add_func("/options/values", test_values);
    g_test_add_func("/options/bad-values", test_bad_values);
    g_test_add_func("/options/letters", test_letters);
    g_test_add_func("/options/wrong-usage", test_wrong_usage);
    g_test_add_func("/options/mount", test_mount);
    g_test_add_func("/options/help", test_help);
    return g_test_run();
}
