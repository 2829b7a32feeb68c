/* SPDX-License-Identifier: MIT */
/* File descriptors of the caller. Called by main.c before there are threads. */
#include "fs/descriptors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void descriptors_fill_standard(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

GArray *descriptors_inherited(void)
{
    GArray *listed = g_array_new(FALSE, FALSE, sizeof(int));
    GDir *open_ones = g_dir_open("/proc/self/fd", 0, NULL);
    for (const char *name; open_ones && (name = g_dir_read_name(open_ones));) {
        int fd = atoi(name);
        if (fd > STDERR_FILENO)
            g_array_append_val(listed, fd);
    }
    g_clear_pointer(&open_ones, g_dir_close);
    /* One of them was the listing's own. */
    for (guint i = listed->len; i-- > 0;)
        if (fcntl(g_array_index(listed, int, i), F_GETFD) < 0)
            g_array_remove_index(listed, i);
    return listed;
}

void descriptors_close(GArray *descriptors)
{
    for (guint i = 0; i < descriptors->len; i++)
        close(g_array_index(descriptors, int, i));
}
