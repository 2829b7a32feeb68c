/* SPDX-License-Identifier: MIT */
/*
 * vmm/live/link.c, with connect.c, diagnosis.c, private-monitor.c and process.c: what a scripted target is taken for,
 * and real QEMUs, where they are installed.
 */
#include "vmm/live/link.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "objmodel/error.h"

/* ---- a link, and what it tells ---- */

typedef struct Watched {
    LiveLink *link;
    GString *states; /* "U" UP of a new process, "u" of the same; "R" released; "C", "A" */
    char *error;     /* of the last AWAY */
    GString *events;
    GString *replies; /* values and errors, one a line */
} Watched;

static void changed(LiveLink *link, LiveLinkState state, gboolean new_process, const GError *error, void *opaque)
{
    Watched *watched = opaque;
    char letter = "CURA"[state];

    (void)link;
    g_assert_true((error != NULL) == (state == LIVE_LINK_AWAY));
    g_string_append_c(watched->states, state == LIVE_LINK_UP && !new_process ? 'u' : letter);
    if (error != NULL) {
        g_free(watched->error);
        watched->error = g_strdup(error->message);
    }
}

static void event(LiveLink *link, const char *name, JsonSlice message, void *opaque)
{
    Watched *watched = opaque;

    (void)link;
    (void)message;
    g_string_append_printf(watched->events, "%s,", name);
}

static void replied(JsonSlice value, const GError *error, void *opaque)
{
    Watched *watched = opaque;

    if (error == NULL) {
        g_string_append_len(watched->replies, value.text, (gssize)value.length);
    } else {
        g_string_append(watched->replies,
                        g_error_matches(error, OBJMODEL_ERROR, OBJMODEL_ERROR_UNAVAILABLE) ? "unavailable"
                        : g_error_matches(error, OBJMODEL_ERROR, OBJMODEL_ERROR_TIMED_OUT) ? "timed out"
                                                                                           : "error");
    }
    g_string_append_c(watched->replies, '\n');
}

static Watched *watch(const char *target, gint64 release_us)
{
    static const LiveLinkEvents events = {changed, event};
    Watched *watched = g_new0(Watched, 1);

    watched->states = g_string_new(NULL);
    watched->events = g_string_new(NULL);
    watched->replies = g_string_new(NULL);
    watched->link = live_link_new(&(LiveLinkOptions){.target = target, .release_us = release_us}, &events, watched);
    return watched;
}

static void unwatch(Watched *watched)
{
    live_link_free(watched->link);
    g_string_free(watched->states, TRUE);
    g_string_free(watched->events, TRUE);
    g_string_free(watched->replies, TRUE);
    g_free(watched->error);
    g_free(watched);
}

static gboolean wake(gpointer data)
{
    *(gboolean *)data = TRUE;
    return G_SOURCE_REMOVE;
}

/* Runs the loop until the text has so much in it, for at most so long. */
static void run_until(const GString *text, const char *wanted, guint ms)
{
    gboolean over = FALSE;
    guint timer = g_timeout_add(ms, wake, &over);

    while (!over && strstr(text->str, wanted) == NULL) {
        g_main_context_iteration(NULL, TRUE);
    }
    if (!over) {
        g_source_remove(timer);
    }
    if (strstr(text->str, wanted) == NULL) {
        g_test_message("'%s' did not come to hold '%s' within %u ms", text->str, wanted, ms);
        g_test_fail();
    }
}

static void run_for(guint ms)
{
    gboolean over = FALSE;

    g_timeout_add(ms, wake, &over);
    while (!over) {
        g_main_context_iteration(NULL, TRUE);
    }
}

static void ask(Watched *watched, const char *command, const char *arguments)
{
    live_link_send(watched->link, command, (JsonSlice){arguments, arguments != NULL ? strlen(arguments) : 0}, replied,
                   watched);
}

/* ---- a folder, and a socket that listens in it ---- */

typedef struct Place {
    char *folder;
    char *path;
} Place;

static void place_make(Place *place)
{
    place->folder = g_dir_make_tmp("qomfs-link-XXXXXX", NULL);
    place->path = g_build_filename(place->folder, "qmp", NULL);
}

static void place_remove(Place *place)
{
    g_unlink(place->path);
    g_rmdir(place->folder);
    g_free(place->path);
    g_free(place->folder);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    g_unlink(path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    return fd;
}

/* What each target is taken for: it says `text` to whoever connects, and answers nothing. */
typedef struct Speaker {
    const char *text;
    const char *wanted; /* in the message */
    gboolean silent;    /* a time-out, then */
} Speaker;

static gpointer speak(gpointer data)
{
    const Speaker *speaker = ((gpointer *)data)[0];
    int listener = GPOINTER_TO_INT(((gpointer *)data)[1]), fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    g_assert_cmpint(send(fd, speaker->text, strlen(speaker->text), MSG_NOSIGNAL), ==, (int)strlen(speaker->text));
    return GINT_TO_POINTER(fd);
}

static void test_speaker(gconstpointer data)
{
    const Speaker *speaker = data;
    gint64 start = g_get_monotonic_time();
    Place place;
    GThread *thread;
    Watched *watched;
    int listener;

    place_make(&place);
    listener = listen_at(place.path);
    thread = g_thread_new("speaker", speak, (gpointer[]){(gpointer)(guintptr)speaker, GINT_TO_POINTER(listener)});
    watched = watch(place.path, -1);
    run_until(watched->states, "A", 2500);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 2000000);
    g_assert_nonnull(watched->error);
    if (strstr(watched->error, speaker->wanted) == NULL) {
        g_test_message("%s", watched->error);
        g_test_fail();
    }
    ask(watched, "query-status", NULL);
    g_assert_cmpstr(watched->replies->str, ==, "");
    run_until(watched->replies, speaker->silent ? "timed out" : "unavailable", 1000);
    close(GPOINTER_TO_INT(g_thread_join(thread)));
    close(listener);
    unwatch(watched);
    place_remove(&place);
}

static const Speaker speakers[] = {
    {"", "no greeting", TRUE},
    {"QEMU 7.2.22 monitor - type 'help' for more information\r\n(qemu) ", "human monitor", FALSE},
    {"SSH-2.0-OpenSSH_9.2\r\n", "speaks no QMP, but says \"SSH-2.0", FALSE},
    {"{\"QMP\":{\"version\":{\"qemu\":{\"micro\":0,\"minor\":2,\"major\":7},\"package\":\"\"},\"capabilities\":[]}}"
     "\r\n",
     "answers no command", TRUE},
};

static void test_nobody(void)
{
    Watched *watched = watch("/nonexistent/qmp", -1);
    int listener;
    Place place;

    run_until(watched->states, "A", 500);
    g_assert_nonnull(strstr(watched->error, "is QEMU running"));
    unwatch(watched);

    place_make(&place);
    listener = listen_at(place.path);
    close(listener);
    watched = watch(place.path, -1);
    run_until(watched->states, "A", 500);
    g_assert_nonnull(strstr(watched->error, "nobody listens"));
    unwatch(watched);
    place_remove(&place);

    watched = watch("localhost:1", -1);
    run_until(watched->states, "A", 2000);
    g_assert_nonnull(strstr(watched->error, "cannot attach to 'localhost:1'"));
    unwatch(watched);
}

/* ---- real ones ---- */

/* NULL where it is not installed. */
static GPid start(const char *program, const char *const *options)
{
    g_autoptr(GPtrArray) arguments = g_ptr_array_new();
    g_autofree char *found = g_find_program_in_path(program);
    GPid pid = 0;

    if (found == NULL) {
        return 0;
    }
    g_ptr_array_add(arguments, found);
    for (; *options != NULL; options++) {
        g_ptr_array_add(arguments, (gpointer)(guintptr)*options);
    }
    g_ptr_array_add(arguments, NULL);
    g_assert_true(g_spawn_async(NULL, (char **)arguments->pdata, NULL,
                                G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, &pid, NULL));
    return pid;
}

static void end(GPid pid)
{
    if (pid != 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static GPid start_qemu(const char *program, const char *path, const char *more)
{
    g_autofree char *qmp = g_strdup_printf("unix:%s,server=on,wait=off", path);
    const char *options[] = {"-S",       "-nodefaults", "-display", "none", "-machine", "none",
                             "-monitor", "none",        "-qmp",     qmp,    more,       NULL};

    return start(program, options);
}

static gboolean greets(const char *path, guint ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte;
    gboolean greeted;

    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    greeted = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && recv(fd, &byte, 1, 0) == 1;
    close(fd);
    return greeted;
}

/* It starts later than the link, is used, let go of, taken again, and comes again as another process. */
static void test_qemu(gconstpointer data)
{
    const char *program = data;
    gboolean is_private;
    Watched *watched;
    Place place;
    GPid pid;

    place_make(&place);
    watched = watch(place.path, 300000);
    run_until(watched->states, "A", 500);
    pid = start_qemu(program, place.path, NULL);
    if (pid == 0) {
        g_test_skip("not installed");
        goto end;
    }
    run_until(watched->states, "AU", 20000);
    is_private = live_link_private_id(watched->link) != NULL;
    g_assert_cmpint(is_private, ==, live_link_version(watched->link)->major >= 11);
    ask(watched, "query-name", NULL);
    ask(watched, "nonsense", "{}");
    run_until(watched->replies, "{}\nerror\n", 5000);
    g_string_truncate(watched->states, 0);
    if (is_private) {
        g_assert_true(greets(place.path, 2000)); /* it is others' from the beginning */
        g_assert_cmpstr(watched->states->str, ==, "");
    } else {
        run_until(watched->states, "R", 2000);
        g_assert_true(greets(place.path, 2000));
        ask(watched, "query-name", NULL);
        run_until(watched->replies, "error\n{}\n", 5000);
        g_assert_cmpstr(watched->states->str, ==, "RCu");
        live_link_hold(watched->link, TRUE);
        run_for(600);
        g_assert_cmpstr(watched->states->str, ==, "RCu");
        g_assert_false(greets(place.path, 300)); /* held */
        live_link_hold(watched->link, FALSE);
        run_until(watched->states, "RCuR", 2000);
        live_link_hold(watched->link, TRUE);
        run_until(watched->states, "RCuRCu", 2000);
    }
    g_string_truncate(watched->states, 0);
    g_string_truncate(watched->replies, 0);
    kill(pid, SIGSTOP);
    ask(watched, "query-name", NULL);
    run_for(100);
    g_assert_cmpstr(watched->replies->str, ==, "");
    end(pid);
    run_until(watched->states, "A", 2000);
    g_assert_cmpstr(watched->replies->str, ==, "unavailable\n");
    pid = start_qemu(program, place.path, NULL);
    run_until(watched->states, "AU", 20000);
    ask(watched, "stop", NULL);
    ask(watched, "cont", NULL);
    run_until(watched->replies, "unavailable\n", 1000);
    run_until(watched->events, "RESUME", 5000);
    /* Stopped before it is connected to. */
    kill(pid, SIGSTOP);
    unwatch(watched);
    watched = watch(place.path, 300000);
    run_until(watched->states, "A", 2000);
    g_assert_nonnull(strstr(watched->error, "kill -CONT"));
    kill(pid, SIGCONT);
    run_until(watched->states, "AU", 5000);
end:
    end(pid);
    unwatch(watched);
    place_remove(&place);
}

static void test_storage_daemon(void)
{
    g_autofree char *chardev = NULL;
    const char *options[] = {"--chardev", NULL, "--monitor", "chardev=c", NULL};
    Watched *watched;
    Place place;
    GPid pid;

    place_make(&place);
    chardev = g_strdup_printf("socket,path=%s,server=on,wait=off,id=c", place.path);
    options[1] = chardev;
    pid = start("qemu-storage-daemon", options);
    watched = watch(place.path, -1);
    if (pid == 0) {
        g_test_skip("qemu-storage-daemon is not installed");
    } else {
        run_until(watched->states, "A", 2000);
        for (guint i = 0; i < 40 && strstr(watched->error, "storage daemon") == NULL; i++) {
            run_for(100);
        }
        g_assert_nonnull(strstr(watched->error, "storage daemon"));
    }
    end(pid);
    unwatch(watched);
    place_remove(&place);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"silence", "human-monitor", "ssh", "stuck"};

    g_test_init(&argc, &argv, NULL);
    signal(SIGPIPE, SIG_IGN);
    for (guint i = 0; i < G_N_ELEMENTS(speakers); i++) {
        g_autofree char *name = g_strdup_printf("/live-link/%s", names[i]);

        g_test_add_data_func(name, &speakers[i], test_speaker);
    }
    g_test_add_func("/live-link/nobody", test_nobody);
    g_test_add_data_func("/live-link/qemu", "qemu-system-x86_64", test_qemu);
    g_test_add_data_func("/live-link/qemu-11.1", "/opt/qemu-11.1/qemu-system-x86_64", test_qemu);
    g_test_add_func("/live-link/storage-daemon", test_storage_daemon);
    return g_test_run();
}
