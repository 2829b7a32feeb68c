/* SPDX-License-Identifier: MIT */
/* Calls a fuzzer with each file of a folder, and reports in TAP. usage: fuzz-NAME FOLDER */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
    g_autoptr(GDir) folder = argc == 2 ? g_dir_open(argv[1], 0, NULL) : NULL;
    const char *name;
    guint n = 0;

    if (folder == NULL) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    while ((name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *path = g_build_filename(argv[1], name, NULL);
        g_autofree char *bytes = NULL, *exact = NULL;
        gsize length;

        if (!g_file_get_contents(path, &bytes, &length, NULL)) {
            printf("not ok %u - %s cannot be read\n", ++n, name);
            continue;
        }
        /* Without the NUL that GLib adds, so that a sanitizer sees a read beyond the end. */
        exact = g_memdup2(bytes, length);
        LLVMFuzzerTestOneInput((const uint8_t *)exact, length);
        printf("ok %u - %s\n", ++n, name);
    }
    printf("1..%u\n", n);
    return n > 0 ? 0 : 1;
}
