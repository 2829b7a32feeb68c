/* SPDX-License-Identifier: MIT */
/* Going into the background. Called by main.c. */
#include "fs/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/message.h"

static int ready_pipe = -1;

/* The parent: until the child has written its byte, or has closed the pipe by ending. */
static G_NORETURN void daemon_wait(pid_t child, int pipe, const char *mount_point)
{
    char byte;
    gssize got;
    int status;
    do
        got = read(pipe, &byte, 1);
    while (got < 0 && errno == EINTR);
    struct statvfs answer;
    if (got == 1 && statvfs(mount_point, &answer) == 0)
        _exit(EXIT_SUCCESS);
    if (waitpid(child, &status, 0) != child)
        _exit(EXIT_FAILURE);
    if (WIFSIGNALED(status))
        message_print("ended by signal %d before the mount answered", WTERMSIG(status));
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

void daemon_begin(const char *mount_point)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0) {
        message_print("cannot go into the background: %s", g_strerror(errno));
        _exit(EXIT_FAILURE);
    }
    if (child > 0) {
        close(ends[1]);
        daemon_wait(child, ends[0], mount_point);
    }
    close(ends[0]);
    ready_pipe = ends[1];
}

void daemon_ready(void)
{
    if (ready_pipe < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    if (chdir("/") < 0)
        message_print("cannot leave the current directory: %s", g_strerror(errno));
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    while (write(ready_pipe, "", 1) < 0 && errno == EINTR)
        continue;
    close(ready_pipe);
    ready_pipe = -1;
}
