/* SPDX-License-Identifier: BSD-2-Clause
 * sparse.c - first passes with sparse attention beside dense ones
 *
 *     bench/sparse MODEL FILE QUESTION TOKENS [KEEP [THREADS [SCHEDULE [ROUNDS [THRESHOLD...]]]]]
 *
 * The prompt is the first tokens of FILE and, as its end, QUESTION, word for word: TOKENS in all.  In each round the
 * dense pass runs, and one with each threshold.  Prints the medians of their seconds, what share of the blocks of keys
 * was taken, the ratio of the dense pass' seconds to those, round by round, with its range, and how many of the KEEP
 * tokens that GemFilter keeps after the dense pass are kept, too.  With random weights a threshold is about the share
 * of the blocks.  Defaults: 1024, 2, layer, 3 rounds, 0.8 0.9 0.95 0.99 1. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/first/schedule.h"
#include "src/engine/gemm.h"
#include "src/run.h"

enum { MOST = 16, ROUNDS = 100, TEXT = 1 << 23 };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(gkv_status status, const gkv_error *err)
{
    if (status) {
        fprintf(stderr, "sparse: %s\n", err->text);
        exit(1);
    }
}

static int ascending(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;

    return (p > q) - (p < q);
}

static size_t tokens(const gkv_model *m, const char *text, size_t n, uint32_t *to, size_t most)
{
    uint32_t *id;
    size_t count;
    gkv_error err;

    must(gkv_tokenize(m, text, n, GKV_TOKENS_SPECIAL, &id, &count, &err), &err);
    count = count < most ? count : most;
    memcpy(to, id, count * sizeof *id);
    free(id);
    return count;
}

/* Marks what is kept. */
static double pass(struct gkv__task *t, const uint32_t *id, unsigned n_threads, double *density, uint8_t *kept)
{
    struct gkv__exec e = { 0 };
    float *score = malloc((size_t)t->n * sizeof *score), *spare = malloc((size_t)t->n * sizeof *spare);
    uint32_t *at = malloc((size_t)t->n * sizeof *at);
    const struct gkv__first f = { .t = t, .id = id, .score = score, .density = density };
    double took;
    gkv_error err;
    size_t n;

    must(gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), &t->m->shape, n_threads, 1024, &err), &err);
    took = seconds();
    must(t->schedule->run(&e, &f, &err), &err);
    took = seconds() - took;
    gkv__exec_close(&e);
    memset(kept, 0, (size_t)t->n);
    n = t->method->pick(t, score, spare, at);
    for (size_t i = 0; i < n; i++)
        kept[at[i]] = 1;
    free(score);
    free(spare);
    free(at);
    return took;
}

int main(int argc, char **argv)
{
    static const char *const few[] = { "0.8", "0.9", "0.95", "0.99", "1" };
    const size_t n_wanted = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    const size_t keep = argc > 5 ? strtoull(argv[5], NULL, 10) : 1024;
    const unsigned n_threads = argc > 6 ? (unsigned)atoi(argv[6]) : 2;
    const size_t rounds = argc > 8 ? strtoull(argv[8], NULL, 10) : 3;
    const size_t n_thresholds = argc > 9 ? (size_t)argc - 9 : sizeof few / sizeof *few;
    static double took[MOST + 1][ROUNDS], density[MOST + 1];
    uint8_t *kept[2];
    double same[MOST + 1] = { 0 };
    struct gkv__task t = { 0 };
    gkv_model *m;
    gkv_error err;
    FILE *f = argc > 4 ? fopen(argv[2], "r") : NULL;
    char *text = malloc(TEXT);
    uint32_t *id = malloc(2 * TEXT * sizeof *id), *tail = id + TEXT;
    size_t n;

    if (!f || !text || !id || !rounds || rounds > ROUNDS || n_thresholds > MOST) {
        fprintf(stderr, "usage: bench/sparse MODEL FILE QUESTION TOKENS "
                "[KEEP [THREADS [SCHEDULE [ROUNDS [THRESHOLD...]]]]]\n");
        return 2;
    }
    must(gkv_model_open(&m, argv[1], 0, &err), &err);
    n = tokens(m, text, fread(text, 1, TEXT, f), id, TEXT);
    fclose(f);
    t.m = m;
    t.n_tail = tokens(m, argv[3], strlen(argv[3]), tail, TEXT);
    if (n + t.n_tail < n_wanted || n_wanted <= t.n_tail || n_wanted < keep) {
        fprintf(stderr, "sparse: %zu tokens of text and %zu of question\n", n, t.n_tail);
        return 1;
    }
    t.n = n_wanted;
    memcpy(id + t.n - t.n_tail, tail, t.n_tail * sizeof *id);
    t.filter = m->filter_layer;
    t.layer = -1;
    t.k = t.k_pick = keep;
    t.keep_last = t.n_tail;
    t.kv_first = t.kv = gkv__quant_named("f32");
    must(gkv__select_parse("gemfilter", &t.method, t.param, &err), &err);
    must(gkv__schedule_parse(argc > 7 ? argv[7] : "layer", &t.schedule, t.schedule_param, &err), &err);
    kept[0] = malloc(n_wanted);
    kept[1] = malloc(n_wanted);
    for (size_t r = 0; r < rounds; r++)
        for (size_t i = 0; i <= n_thresholds; i++) {
            t.sparse = i ? strtod(argc > 9 ? argv[8 + i] : few[i - 1], NULL) : 0;
            took[i][r] = pass(&t, id, n_threads, &density[i], kept[i > 0]);
            same[i] = 0;
            for (size_t x = 0; i && x < n_wanted; x++)
                same[i] += kept[0][x] && kept[1][x];
        }
    printf("level %s, %u threads, %zu tokens, filter layer %u, schedule %s\n", gkv__simd()->level, n_threads, n_wanted,
           t.filter, t.schedule->name);
    for (size_t i = 1; i <= n_thresholds; i++) {
        double ratio[ROUNDS];

        for (size_t r = 0; r < rounds; r++)
            ratio[r] = took[0][r] / took[i][r];
        qsort(ratio, rounds, sizeof *ratio, ascending);
        qsort(took[i], rounds, sizeof **took, ascending);
        printf("threshold %-5s %8.2f s  %5.1f %% of the blocks  %.2f (%.2f - %.2f) times as fast  "
               "%.1f %% of the tokens\n", argc > 9 ? argv[8 + i] : few[i - 1], took[i][rounds / 2], 100 * density[i],
               ratio[rounds / 2], ratio[0], ratio[rounds - 1], 100 * same[i] / (double)keep);
    }
    qsort(took[0], rounds, sizeof **took, ascending);
    printf("dense           %8.2f s\n", took[0][rounds / 2]);
    gkv_model_close(m);
    return 0;
}
