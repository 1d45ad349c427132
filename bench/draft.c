/* SPDX-License-Identifier: BSD-2-Clause
 * draft.c - answers with guessed tokens beside answers without
 *
 *     bench/draft MODEL FILE QUESTION [TEMPERATURE [TOKENS [THREADS [ROUNDS [READER [cpu|DEVICE]]]]]]
 *
 * Alternates both, the same answer each time, and prints the median and the quartiles of the ratios of their decode times,
 * plain by guessing: above 1 guessing is faster.  Defaults: 0, 128 tokens, two threads, 5 rounds.
 * READER: this model reads, MODEL answers from 1,024 tokens, and READER guesses, too.  mtp: a layer of MODEL guesses, too,
 * which also sees the prompt; the last figure is the time of that, plain by with guesses.  -: none of these.
 * cpu: of the process's time on processors, which other programs disturb less; how many are guessed follows from the time that
 * passes even so.  DEVICE: computes the answer, in the time that passes. */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "gemkv.h"

enum { MOST = 1000, TEXT = 1 << 20 };

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
        fprintf(stderr, "draft: %s\n", err->text);
        exit(1);
    }
}

static double processor(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* *sum: of the answer's bytes. */
static gkv_stats answer(gkv_session *s, const char *question, bool cpu, uint64_t *sum)
{
    double start;
    gkv_error err;
    gkv_stats stats;
    gkv_status status;
    const char *p;
    size_t n;

    must(gkv_ask(s, question, strlen(question), &err), &err);
    start = processor();
    *sum = 0;
    while ((status = gkv_next(s, &p, &n, &err)) == GKV_OK)
        for (size_t i = 0; i < n; i++)
            *sum = (*sum ^ (unsigned char)p[i]) * 0x100000001b3;
    must(status == GKV_END ? GKV_OK : status, &err);
    gkv_session_stats(s, &stats);
    if (cpu)
        stats.decode = processor() - start;
    return stats;
}

int main(int argc, char **argv)
{
    const size_t rounds = argc > 7 ? strtoull(argv[7], NULL, 10) : 5;
    static char text[TEXT];
    static double ratio[MOST], rate[MOST], prompt[MOST];
    const bool mtp = argc > 8 && !strcmp(argv[8], "mtp"), reader = argc > 8 && !mtp && strcmp(argv[8], "-");
    const bool cpu = argc > 9 && !strcmp(argv[9], "cpu");
    gkv_session *s[2];
    gkv_stats stats = { 0 };
    gkv_options opt;
    gkv_model *m;
    gkv_error err;
    FILE *f = argc > 3 ? fopen(argv[2], "r") : NULL;
    size_t n, others = 0;

    if (!f || !rounds || rounds > MOST) {
        fprintf(stderr, "usage: bench/draft MODEL FILE QUESTION [TEMPERATURE [TOKENS [THREADS [ROUNDS [READER [cpu|DEVICE]]]]]]\n");
        return 2;
    }
    n = fread(text, 1, sizeof text, f);
    fclose(f);
    gkv_options_init(&opt);
    opt.device = argc > 9 ? argv[9] : "cpu";
    opt.method = reader ? "gemfilter" : "full";
    opt.ignore_end = 1;
    opt.temperature = argc > 4 ? strtof(argv[4], NULL) : 0;
    opt.max_tokens = argc > 5 ? (uint32_t)atoi(argv[5]) : 128;
    opt.threads = argc > 6 ? (uint32_t)atoi(argv[6]) : 2;
    must(gkv_model_open(&m, argv[1], 0, &err), &err);
    if (reader)
        must(gkv_model_open(&opt.reader, argv[8], 0, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        opt.draft = i ? 4 : 0;
        opt.draft_reader = i && opt.reader;
        opt.draft_mtp = i && mtp;
        must(gkv_session_open(&s[i], m, &opt, &err), &err);
        must(gkv_feed(s[i], text, n, &err), &err);
    }
    for (size_t r = 0; r <= rounds; r++) {      /* the first warms up */
        const size_t k = r ? r - 1 : 0;
        uint64_t sum[2];
        const gkv_stats a = answer(s[0], argv[3], cpu, &sum[0]);
        const double plain = a.decode;

        stats = answer(s[1], argv[3], cpu, &sum[1]);
        others += sum[0] != sum[1];
        ratio[k] = plain / stats.decode;
        prompt[k] = a.second / stats.second;
        rate[k] = (double)stats.tokens_answer / plain;
    }
    printf("%.1f tokens/s, with guesses %.2f (%.2f - %.2f) of it; %d guessed, %d of them right; by the %s %d, %d",
           at(rate, rounds, 0.5), at(ratio, rounds, 0.5), at(ratio, rounds, 0.25), at(ratio, rounds, 0.75),
           (int)stats.drafted, (int)stats.accepted, mtp ? "layer" : "reader",
           (int)(stats.drafted_reader + stats.drafted_mtp), (int)(stats.accepted_reader + stats.accepted_mtp));
    if (mtp)
        printf("; prompt %.3f", at(prompt, rounds, 0.5));
    printf("; on %s%s%s\n", stats.device, stats.warning ? ", " : "", stats.warning ? stats.warning : "");
    if (others)
        printf("%zu of %zu answers are not those without guesses\n", others, rounds + 1);
    for (size_t i = 0; i < 2; i++)
        gkv_session_close(s[i]);
    gkv_model_close(m);
    gkv_model_close(opt.reader);
    return 0;
}
