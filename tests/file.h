/* SPDX-License-Identifier: BSD-2-Clause
 * file.h - reads a file of the source tree. */
#ifndef TESTS_FILE_H
#define TESTS_FILE_H

#include <stdio.h>
#include <stdlib.h>

/* The whole of $srcdir/name: *len bytes and a NUL; the test bails out when it cannot be read. */
static void *slurp(const char *name, size_t *len)
{
    char path[512], *p = NULL;
    long end = -1;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", getenv("srcdir") ? getenv("srcdir") : ".", name);
    f = fopen(path, "rb");
    if (f && !fseek(f, 0, SEEK_END))
        end = ftell(f);
    if (end >= 0)
        p = malloc((size_t)end + 1);
    if (p) {
        rewind(f);
        *len = fread(p, 1, (size_t)end, f);
        p[*len] = 0;
    }
    if (!p || *len != (size_t)end) {
        printf("Bail out! %s: cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    return p;
}

#endif
