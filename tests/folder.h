/* SPDX-License-Identifier: BSD-2-Clause
 * folder.h - puts files into the folder of a server and counts them; what files a process has open, and how large they may be */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "src/cli/serve/folder.h"

static inline void put_in(const struct folder *f, const char *name, const char *content)
{
    char *to = folder_file(f, name);
    FILE *out = fopen(to, "w");

    if (!out || fputs(content, out) < 0 || fclose(out))
        printf("# %s cannot be written\n", to);
    free(to);
}

/* How many files begin so. */
static inline size_t files_in(const struct folder *f, const char *begin)
{
    size_t n;
    char **list = folder_list(f, begin, &n);

    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
    return n;
}

/* No file of this process becomes larger, which is an error and no signal; RLIM_INFINITY: any may. */
static inline void limit_files(rlim_t bytes)
{
    struct rlimit r;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &r);
    r.rlim_cur = bytes < r.rlim_max ? bytes : r.rlim_max;
    setrlimit(RLIMIT_FSIZE, &r);
}

/* 0: they cannot be counted. */
static inline size_t descriptors(void)
{
    DIR   *d = opendir("/proc/self/fd");
    size_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

#endif
