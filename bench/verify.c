/* SPDX-License-Identifier: BSD-2-Clause
 * verify.c - what a step of a few rows costs beside a step of one, as speculative decoding makes them
 *
 *     bench/verify MODEL [DEPTH [THREADS [ROUNDS [cpu]]]]
 *
 * Alternates steps of 1 and of 2 to 8 rows after DEPTH tokens, with the logits of each row; prints medians of the
 * ratios, and their quartiles.  Defaults: DEPTH 1024, two threads, 15 rounds.  cpu: of the process's time on processors, which
 * other programs disturb less, instead of the time that passes. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "gemkv.h"

enum { ROWS = 8, MOST = 1000 };

static clockid_t which = CLOCK_MONOTONIC;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
        fprintf(stderr, "verify: %s\n", err->text);
        exit(1);
    }
}

static double step(gkv_eval *e, size_t depth, const uint32_t *id, size_t n, float *logits)
{
    gkv_error err;
    double start;

    must(gkv_eval_truncate(e, depth, &err), &err);
    start = seconds();
    must(gkv_eval_tokens(e, id, n, logits, &err), &err);
    return seconds() - start;
}

int main(int argc, char **argv)
{
    const size_t depth = argc > 2 ? strtoull(argv[2], NULL, 10) : 1024;
    const size_t rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : 15;
    static double one[MOST], ratio[ROWS + 1][MOST];
    gkv_options opt;
    gkv_model_info info;
    gkv_model *m;
    gkv_eval *e;
    gkv_error err;
    uint32_t *id = malloc((depth + ROWS) * sizeof *id);
    float *logits;

    if (argc < 2 || !rounds || rounds > MOST || !depth || !id) {
        fprintf(stderr, "usage: bench/verify MODEL [DEPTH [THREADS [ROUNDS [cpu]]]]\n");
        return 2;
    }
    for (size_t i = 0; i < depth + ROWS; i++)
        id[i] = (uint32_t)(3 + i * 7 % 100);
    gkv_options_init(&opt);
    opt.threads = argc > 3 ? (uint32_t)atoi(argv[3]) : 2;
    which = argc > 5 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    must(gkv_model_open(&m, argv[1], 0, &err), &err);
    must(gkv_eval_open(&e, m, &opt, depth + ROWS, &err), &err);
    gkv_model_describe(m, &info);
    logits = malloc(ROWS * (size_t)info.n_vocab * sizeof *logits);
    must(logits ? gkv_eval_tokens(e, id, depth, NULL, &err) : GKV_NOMEM, &err);
    for (size_t r = 0; r <= rounds; r++)        /* the first warms up */
        for (size_t n = 2; n <= ROWS; n++) {
            const size_t k = r ? r - 1 : 0;

            one[k] = step(e, depth, id, 1, logits);
            ratio[n][k] = step(e, depth, id, n, logits) / one[k];
        }
    printf("1 row %.2f ms", 1e3 * at(one, rounds, 0.5));
    for (size_t n = 2; n <= ROWS; n++)
        printf("  %zu rows %.2f (%.2f - %.2f)", n, at(ratio[n], rounds, 0.5), at(ratio[n], rounds, 0.25),
               at(ratio[n], rounds, 0.75));
    printf("\n");
    free(logits);
    free(id);
    gkv_eval_close(e);
    gkv_model_close(m);
    return 0;
}
