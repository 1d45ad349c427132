/* SPDX-License-Identifier: BSD-2-Clause
 * fuzz.c - see fuzz.h */
#include "config.h"
#include <ftw.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/fuzz/fuzz.h"

struct input take_until(struct input *in, uint8_t end)
{
    const uint8_t *at = in->n ? memchr(in->p, end, in->n) : NULL;
    struct input   part = take_bytes(in, at ? (size_t)(at - in->p) : in->n);

    take(in);
    return part;
}

char *fuzz_text(struct input in)
{
    char *text = malloc(in.n + 1);

    must(text);
    if (in.n)
        memcpy(text, in.p, in.n);
    text[in.n] = 0;
    return text;
}

const char *fuzz_file(unsigned slot, const void *data, size_t size)
{
    static int  fd[FUZZ_SLOTS];         /* 0: not open yet                                */
    static char path[FUZZ_SLOTS][32];

    if (!fd[slot]) {
        fd[slot] = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path[slot], sizeof path[slot], "/proc/self/fd/%d", fd[slot]);
    }
    must(fd[slot] > 0 && !ftruncate(fd[slot], 0) && pwrite(fd[slot], data, size, 0) == (ssize_t)size);
    return path[slot];
}

char *fuzz_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char       *path = malloc(4096);

    must(path);
    snprintf(path, 4096, "%s/gemkv-fuzz-XXXXXX", tmp ? tmp : "/tmp");
    must(mkdtemp(path));
    return path;
}

static int drop(const char *path, const struct stat *st, int what, struct FTW *at)
{
    (void)st;
    (void)what;
    (void)at;
    return remove(path);
}

void fuzz_remove(char *folder)
{
    nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

const char *fuzz_resource(const char *name)
{
    static char path[4096];
    const char *dir = getenv("FUZZ_FILES");
    ssize_t     n;

    if (!dir) {
        n = readlink("/proc/self/exe", path, sizeof path - 1);
        must(n > 0);
        path[n] = 0;
        *strrchr(path, '/') = 0;
    } else {
        snprintf(path, sizeof path, "%s", dir);
    }
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", name);
    if (access(path, R_OK)) {
        perror(path);
        exit(1);
    }
    return path;
}
