/* SPDX-License-Identifier: BSD-2-Clause
 * gguf.c - fuzzes the reader of GGUF files.  With -fsanitize=fuzzer and -DGKV_LIBFUZZER it is a
 * libFuzzer target, otherwise a program that replays the files it is given. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/gguf-walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reader maps files, so the input is written to a file without a name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int        fd = -1;
    static char       path[64];
    struct gkv__gguf *g;
    gkv_error         err;

    if (fd < 0) {
        char name[] = "/tmp/gemkv-fuzz-XXXXXX";

        fd = mkstemp(name);
        unlink(name);
        snprintf(path, sizeof path, "/dev/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    if (gkv__gguf_open(&g, path, &err) == GKV_OK) {
        gguf_walk(g);
        gkv__gguf_close(g);
    } else if (!*err.text) {
        abort();                /* a refusal without a reason */
    }
    return 0;
}

#ifndef GKV_LIBFUZZER
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE    *f = fopen(argv[i], "rb");
        uint8_t *data = NULL;
        size_t   size = 0, n;

        if (!f) {
            perror(argv[i]);
            return 1;
        }
        do {
            data = realloc(data, size + (1 << 16));
            if (!data)
                return 1;
            n = fread(data + size, 1, 1 << 16, f);
            size += n;
        } while (n);
        fclose(f);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    return 0;
}
#endif
