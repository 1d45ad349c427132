/* SPDX-License-Identifier: BSD-2-Clause
 * bench/read.c - what reading alone gives, as writing an answer reads a model's weights:
 *
 *     bench/read FILE [THREADS]
 *
 * GB/s of FILE, mapped and in memory already, in pieces as long as those that the engine deals out;
 * median of nine and the range.  Nothing is done with what is read. */
#include "config.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "src/thread.h"

enum { RUNS = 9, PIECE = 512 << 10, AHEAD = 4096 };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In two streams with prefetches, as products with one row do it. */
static void piece(void *arg, size_t i, unsigned thread)
{
    typedef uint64_t line __attribute__((vector_size(32)));
    const char *p = (const char *)arg + i * PIECE, *q = p + PIECE / 2;
    line a = { 0 }, b = a;

    (void)thread;
    for (size_t o = 0; o < PIECE / 2; o += 64) {
        __builtin_prefetch(p + o + AHEAD, 0, 2);
        __builtin_prefetch(q + o + AHEAD, 0, 2);
        a ^= *(const line *)(const void *)(p + o) ^ *(const line *)(const void *)(p + o + 32);
        b ^= *(const line *)(const void *)(q + o) ^ *(const line *)(const void *)(q + o + 32);
    }
    a ^= b;
    __asm__ volatile("" : : "r"(a[0] ^ a[1] ^ a[2] ^ a[3]));
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const unsigned n_threads = argc > 2 ? (unsigned)atoi(argv[2]) : 2;
    const int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    double rate[RUNS];
    struct stat st;
    size_t n;
    void *p;

    if (fd < 0 || fstat(fd, &st) || (n = (size_t)st.st_size / PIECE) == 0) {
        fprintf(stderr, "usage: bench/read FILE [THREADS]\n");
        return 2;
    }
    p = mmap(NULL, n * PIECE, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    for (int r = -1; r < RUNS; r++) {           /* the first brings the file into memory */
        const double start = seconds();

        gkv__for(n_threads, n, piece, p);
        if (r >= 0)
            rate[r] = (double)n * PIECE / (seconds() - start) * 1e-9;
    }
    qsort(rate, RUNS, sizeof *rate, compare);
    printf("%.1f GB/s (%.1f - %.1f)\n", rate[RUNS / 2], rate[0], rate[RUNS - 1]);
    close(fd);
    return 0;
}
