/* SPDX-License-Identifier: BSD-2-Clause
 * decode.c - decode compared with a loop that only reads memory
 *
 *     bench/decode MODEL [KV [DEPTH [THREADS [ROUNDS]]]]
 *
 * Alternates, every few tenths of a second, between decoding eight tokens after DEPTH others and reading
 * the model's file from end to end: on a shared machine the bandwidth changes from one second to the next,
 * so that a loop before a run and one after it say little.  Prints medians, and quartiles of
 * the ratios.  Defaults: KV f16, DEPTH 0, two threads, 25 rounds. */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "bench/peak.h"
#include "gemkv.h"
#include "src/base/thread.h"

enum { PIECE = 512 << 10, STEPS = 8, MOST = 1000 };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pieces(void *arg, size_t from, size_t to, unsigned thread)
{
    volatile double sum = bench_read((const char *)arg + from * PIECE, (to - from) * PIECE);

    (void)sum;
    (void)thread;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double at(double *x, size_t n, double part)
{
    qsort(x, n, sizeof *x, compare);
    return x[(size_t)((double)(n - 1) * part + 0.5)];
}

static void must(gkv_status status, const gkv_error *err)
{
    if (status) {
        fprintf(stderr, "decode: %s\n", err->text);
        exit(1);
    }
}

static void context(gkv_eval *e, size_t n)
{
    uint32_t *id = malloc((n + 1) * sizeof *id);
    gkv_error err;

    for (size_t i = 0; id && i < n; i++)
        id[i] = (uint32_t)(3 + i * 7 % 100);
    must(id && n ? gkv_eval_tokens(e, id, n, NULL, &err) : GKV_OK, &err);
    free(id);
}

int main(int argc, char **argv)
{
    const size_t depth = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    const size_t rounds = argc > 5 ? strtoull(argv[5], NULL, 10) : 25;
    const int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    static double ours[MOST], reading[MOST], fraction[MOST];
    gkv_options opt;
    gkv_eval_info info;
    gkv_model *m;
    gkv_eval *e;
    gkv_error err;
    struct stat st;
    double bytes;
    size_t n;
    void *p;

    if (fd < 0 || fstat(fd, &st) || (n = (size_t)st.st_size / PIECE) == 0 || !rounds || rounds > MOST) {
        fprintf(stderr, "usage: bench/decode MODEL [KV [DEPTH [THREADS [ROUNDS]]]]\n");
        return 2;
    }
    p = mmap(NULL, n * PIECE, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    gkv_options_init(&opt);
    opt.kv_type = argc > 2 ? argv[2] : "f16";
    opt.threads = argc > 4 ? (uint32_t)atoi(argv[4]) : 2;
    must(gkv_model_open(&m, argv[1], 0, &err), &err);
    must(gkv_eval_open(&e, m, &opt, depth + STEPS + 1, &err), &err);
    gkv_eval_describe(e, &info);
    bytes = STEPS * ((double)info.bytes_weights + (double)info.bytes_position * ((double)depth + STEPS / 2.0));
    context(e, depth);
    for (size_t r = 0; r <= rounds; r++) {      /* the first warms up */
        const size_t k = r ? r - 1 : 0;
        uint32_t id = 3;
        double start;

        must(gkv_eval_truncate(e, depth, &err), &err);
        start = seconds();
        for (int i = 0; i < STEPS; i++) {
            must(gkv_eval_tokens(e, &id, 1, NULL, &err), &err);
            must(gkv_eval_next(e, &id, &err), &err);
        }
        ours[k] = bytes / (seconds() - start) * 1e-9;
        start = seconds();
        gkv__for_parts(opt.threads, n, 1, pieces, p);
        reading[k] = (double)n * PIECE / (seconds() - start) * 1e-9;
        fraction[k] = ours[k] / reading[k];
    }
    printf("%.1f tokens/s  %.1f GB/s  reading %.1f GB/s (%.1f - %.1f)  fraction %.2f (%.2f - %.2f)\n",
           STEPS * at(ours, rounds, 0.5) / bytes * 1e9, at(ours, rounds, 0.5), at(reading, rounds, 0.5),
           at(reading, rounds, 0), at(reading, rounds, 1), at(fraction, rounds, 0.5),
           at(fraction, rounds, 0.25), at(fraction, rounds, 0.75));
    gkv_eval_close(e);
    gkv_model_close(m);
    munmap(p, n * PIECE);
    close(fd);
    return 0;
}
