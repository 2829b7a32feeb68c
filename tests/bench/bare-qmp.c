/* SPDX-License-Identifier: MIT */
/*
 * bare-qmp SOCKET FILE: the limit of a QMP server. Greets, and answers every line with what FILE holds, from memory:
 * one read and one write a request, nothing is looked at. One client at a time; ends by a signal.
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static G_NORETURN void die(const char *what)
{
    fprintf(stderr, "bare-qmp: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static gboolean send_whole(int fd, const char *text, gsize length)
{
    while (length > 0) {
        ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);

        if (sent < 0) {
            return FALSE;
        }
        text += sent;
        length -= (gsize)sent;
    }
    return TRUE;
}

static void serve(int fd, const GString *reply)
{
    static const char greeting[] =
        "{\"QMP\":{\"version\":{\"qemu\":{\"micro\":0,\"minor\":1,\"major\":11},\"package\":\"\"},"
        "\"capabilities\":[]}}\r\n",
                      negotiated[] = "{\"return\":{}}\r\n";
    static char request[1 << 20];
    gboolean first = TRUE, ok = send_whole(fd, greeting, strlen(greeting));
    ssize_t got;

    while (ok && (got = read(fd, request, sizeof request)) > 0) {
        /* Each line ends a request. */
        for (const char *at = request; ok && (at = memchr(at, '\n', (gsize)(request + got - at))) != NULL; at++) {
            ok = first ? send_whole(fd, negotiated, strlen(negotiated)) : send_whole(fd, reply->str, reply->len);
            first = FALSE;
        }
    }
    close(fd);
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_autoptr(GString) reply = g_string_new("{\"return\":");
    g_autofree char *text = NULL;
    int listener, fd;

    if (argc != 3 || strlen(argv[1]) >= sizeof address.sun_path || !g_file_get_contents(argv[2], &text, NULL, NULL)) {
        fprintf(stderr, "usage: bare-qmp SOCKET FILE\n");
        return 2;
    }
    g_string_append(reply, g_strchomp(text));
    g_string_append(reply, "}\r\n");
    g_strlcpy(address.sun_path, argv[1], sizeof address.sun_path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 8) != 0) {
        die(argv[1]);
    }
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        serve(fd, reply);
    }
    die("accept");
}
