/* SPDX-License-Identifier: MIT */
/* vmm/open.c: what a user may name, and what each error says. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "nodes.h"
#include "objmodel/error.h"
#include "vmm/open.h"
#include "vmm/views.h"

static const char tree[] = "{\"name\":\"/\",\"children\":[],\"properties\":[]}";

/* A folder of the test's own; all names stand in it. */
static char *folder;

static char *path_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static char *file_with(const char *name, const char *text, gsize length)
{
    char *path = path_of(name);
    g_autoptr(GError) error = NULL;

    g_file_set_contents(path, text, (gssize)length, &error);
    g_assert_no_error(error);
    return path;
}

static Source *open_source(const char *spec)
{
    const OpenOptions options = {0};
    g_autoptr(GError) error = NULL;
    Source *source = source_open(spec, &options, &error);

    g_assert_no_error(error);
    g_assert_nonnull(source);
    g_autoptr(Snapshot) first = snapshots_current(source->snapshots);
    g_assert_nonnull(first);
    return source;
}

/* The error names what was to be opened, and says this of it. */
static void check_error(const char *spec, const char *says)
{
    const OpenOptions options = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *quoted = g_strdup_printf("'%s'", spec);

    g_assert_null(source_open(spec, &options, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, quoted));
    if (!strstr(error->message, says))
        g_assert_cmpstr(error->message, ==, says);
}

static void test_model(void)
{
    static const char *const specs[] = {NULL, "model"};

    for (guint i = 0; i < G_N_ELEMENTS(specs); i++) {
        Source *source = open_source(specs[i]);
        g_assert_nonnull(source->ops->set);
        source->ops->free(source);
    }
}

/* A file that is called so goes before the word. */
static void test_file_before_word(void)
{
    g_autofree char *before = g_get_current_dir(), *path = file_with("model", tree, strlen(tree));
    Source *source;

    g_assert_cmpint(chdir(folder), ==, 0);
    source = open_source("model");
    g_assert_cmpint(chdir(before), ==, 0);
    g_assert_null(source->ops->set);
    source->ops->free(source);
    g_unlink(path);
}

static void test_dump(void)
{
    g_autofree char *path = file_with("tree.json", tree, strlen(tree));
    const struct timespec times[] = {{.tv_sec = 1000000000, .tv_nsec = 5},
                                     {.tv_sec = 1234567890, .tv_nsec = 123456789}};
    struct stat st;
    Source *source;

    g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
    g_assert_cmpint(stat(path, &st), ==, 0);
    source = open_source(path);
    g_autoptr(Snapshot) snapshot = snapshots_current(source->snapshots);
    check_tree(views_get(snapshot->root, VIEW_QOM), tree);
    g_assert_cmpuint(snapshot->stamp, ==, G_GUINT64_CONSTANT(1234567890000000000) + (guint64)st.st_mtim.tv_nsec);
    const Node *vm = views_get(snapshot->root, VIEW_VM);
    g_autofree char *shown = json_string_dup(node_slot_value(vm, slot_of(vm, "source")), NULL);
    g_assert_cmpstr(shown, ==, path);
    source->ops->free(source);
    g_unlink(path);
}

static void test_dump_options(void)
{
    static const char text[] = "{\"name\":\"/\",\"children\":[],\"properties\":["
                               "{\"name\":\"type\",\"type\":\"string\",\"value\":\"secret\"},"
                               "{\"name\":\"data\",\"type\":\"string\",\"value\":\"x\"}]}";
    g_autofree char *path = file_with("secret.json", text, strlen(text));
    const OpenOptions rw = {.read_write = TRUE};
    g_autoptr(GError) error = NULL;

    for (guint shown = 0; shown < 2; shown++) {
        const OpenOptions options = {.secrets = shown != 0};
        Source *source = source_open(path, &options, NULL);
        g_autoptr(Snapshot) snapshot = snapshots_current(source->snapshots);
        const Node *qom = views_get(snapshot->root, VIEW_QOM);
        check_slice(node_slot_value(qom, slot_of(qom, "data")), shown ? "\"x\"" : NULL);
        source->ops->free(source);
    }
    g_assert_null(source_open(path, &rw, &error));
    g_assert_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY); /* wrong usage: main.c looks for it */
    g_assert_nonnull(strstr(error->message, path));
    g_unlink(path);
}

static void test_configuration(void)
{
    static const char text[] = "{\"name\":\"my-vm\"}";
    g_autofree char *path = file_with("vm.json", text, strlen(text));
    Source *source = open_source(path);
    g_autoptr(Snapshot) snapshot = snapshots_current(source->snapshots);
    const Node *vm = views_get(snapshot->root, VIEW_VM);

    g_assert_nonnull(source->ops->set);
    check_slice(node_slot_value(vm, slot_of(vm, "name")), "\"my-vm\"");
    g_clear_pointer(&snapshot, snapshot_unref);
    source->ops->free(source);
    g_unlink(path);
}

/* White space before the text, also more than is looked at first. */
static void test_blank_head(void)
{
    static const gsize blanks[] = {1, 65535, 65536, 65537, 200000};

    for (guint i = 0; i < G_N_ELEMENTS(blanks); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (gsize n = 0; n < blanks[i]; n++)
            g_string_append_c(text, n % 80 ? ' ' : '\n');
        g_string_append(text, tree);
        g_autofree char *path = file_with("blank.json", text->str, text->len);
        Source *source = open_source(path);
        g_assert_null(source->ops->set);
        source->ops->free(source);
        g_unlink(path);
    }
}

static void test_bad_files(void)
{
    static const struct {
        const char *text;
        gsize length;
        const char *says;
    } rows[] = {
        {"", 0, "it is empty"},
        {"hello", 5, "1:1: "},
        {"\n\n  [1]", 7, "3:3: "},
        {"\0{}", 3, "1:1: "},
        {"\x7f"
         "ELF",
         4, "1:1: "},
        {"   ", 3, "1:4: "},
        {"{\"name\":\"/\",\n\"children\":5}", 26, "2:12: "},
        {"{\n \"nonsense\":1}", 16, "2:"},
        {"{", 1, "1:2: "},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = file_with("bad.json", rows[i].text, rows[i].length);
        check_error(path, rows[i].says);
        g_unlink(path);
    }
}

static void test_no_files(void)
{
    g_autofree char *nobody = path_of("nobody"), *below = path_of("file/x"), *pipe = path_of("pipe"),
                    *file = file_with("file", "{}", 2), *large = file_with("large", "{}", 2);

    check_error(nobody, "No such file or directory");
    check_error(below, "Not a directory");
    check_error(folder, "it is a directory");
    g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
    check_error(pipe, "it is neither a file nor a socket"); /* and nobody waits for a writer */
    check_error("/dev/null", "it is neither a file nor a socket");
    g_assert_cmpint(truncate(large, ((off_t)1 << 30) + 1), ==, 0);
    check_error(large, "it has more than 1 GiB");
    g_unlink(pipe);
    g_unlink(file);
    g_unlink(large);
}

static void test_socket(void)
{
    g_autofree char *path = path_of("s");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpuint(g_strlcpy(address.sun_path, path, sizeof address.sun_path), <, sizeof address.sun_path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    check_error(path, "cannot attach to");
    close(fd);
    g_unlink(path);
}

static void test_unreadable(void)
{
    g_autofree char *path = NULL;

    if (geteuid() == 0) {
        g_test_skip("root may read everything");
        return;
    }
    path = file_with("closed", "{}", 2);
    g_assert_cmpint(chmod(path, 0), ==, 0);
    check_error(path, "Permission denied");
    g_unlink(path);
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("qomfs-open-XXXXXX", NULL);
    g_assert_nonnull(folder);
    g_test_add_func("/open/model", test_model);
    g_test_add_func("/open/file-before-word", test_file_before_word);
    g_test_add_func("/open/dump", test_dump);
    g_test_add_func("/open/dump-options", test_dump_options);
    g_test_add_func("/open/configuration", test_configuration);
    g_test_add_func("/open/blank-head", test_blank_head);
    g_test_add_func("/open/bad-files", test_bad_files);
    g_test_add_func("/open/no-files", test_no_files);
    g_test_add_func("/open/socket", test_socket);
    g_test_add_func("/open/unreadable", test_unreadable);
    status = g_test_run();
    g_rmdir(folder);
    g_free(folder);
    return status;
}
