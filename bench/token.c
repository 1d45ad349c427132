/* SPDX-License-Identifier: BSD-2-Clause
 * token.c - how fast a vocabulary is opened and text is tokenized
 *
 *     bench/token MODEL [FILE ...]
 *
 * Prints one line of CSV per text: the files, joined, and hard texts, for instance one long word.
 * The best of five runs, one thread. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "src/token/token.h"

#define RUNS      5
#define LONG_WORD 10000000

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *p)
{
    if (!p) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return p;
}

static void measure(const struct gkv__vocab *v, const char *name, const char *text,
                    size_t len, int runs)
{
    struct gkv__range plain = { 0, len };
    double            best = 1e9;
    size_t            n = 0;
    struct rusage     use;

    for (int i = 0; i < runs; i++) {
        struct gkv__tokens t = { 0 };
        gkv_error          err;
        double             start = now(), took;

        if (gkv__tokenize(v, text, len, &plain, 1, &t, &err) != GKV_OK) {
            fprintf(stderr, "%s: %s\n", name, err.text);
            exit(1);
        }
        took = now() - start;
        best = took < best ? took : best;
        n = t.n;
        gkv__tokens_free(&t);
    }
    getrusage(RUSAGE_SELF, &use);
    printf("%s,%zu,%zu,%.4f,%.1f,%ld\n", name, len, n, best, (double)len / best * 1e-6,
           use.ru_maxrss / 1024);
    fflush(stdout);
}

static void long_words(const struct gkv__vocab *v)
{
    static const struct { const char *name, *unit; } word[] = {
        { "letters", NULL }, { "all-a", "a" }, { "all-space", " " }, { "all-dash", "-" },
        { "space-newline", " \n" }, { "digits", "7" }, { "all-newline", "\n" },
        { "chinese", "\xe5\xa4\xa9\xe5\x9c\xb0" },
    };
    char    *text = must(malloc(LONG_WORD));
    unsigned x = 1;

    for (size_t k = 0; k < sizeof word / sizeof *word; k++) {
        size_t n = word[k].unit ? strlen(word[k].unit) : 0;

        for (size_t i = 0; i < LONG_WORD; i++) {
            x = x * 1664525u + 1013904223u;
            text[i] = n ? word[k].unit[i % n] : (char)('a' + (x >> 16) % 26);
        }
        measure(v, word[k].name, text, LONG_WORD, 1);
    }
    free(text);
}

int main(int argc, char **argv)
{
    struct gkv__gguf  *g;
    struct gkv__vocab *v;
    gkv_error          err;
    char              *text = NULL;
    size_t             len = 0;
    double             best = 1e9;

    if (argc < 2) {
        fprintf(stderr, "usage: token model [file ...]\n");
        return 2;
    }
    if (gkv__gguf_open(&g, argv[1], &err) != GKV_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < RUNS; i++) {
        double start = now(), took;

        if (gkv__vocab_open(&v, g, &err) != GKV_OK) {
            fprintf(stderr, "%s: %s\n", argv[1], err.text);
            return 1;
        }
        took = now() - start;
        best = took < best ? took : best;
        if (i + 1 < RUNS)
            gkv__vocab_close(v);
    }
    for (int i = 2; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        long  n;

        if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
            perror(argv[i]);
            return 1;
        }
        text = must(realloc(text, len + (size_t)n + 1));
        len += fread(text + len, 1, (size_t)n, f);
        fclose(f);
    }
    printf("# open %.1f ms, %zu KiB held\n", best * 1e3, gkv__vocab_bytes(v) / 1024);
    printf("text,bytes,tokens,seconds,MB/s,peak MiB\n");
    if (text)
        measure(v, "files", text, len, RUNS);
    long_words(v);
    free(text);
    gkv__vocab_close(v);
    gkv__gguf_close(g);
    return 0;
}
