/* SPDX-License-Identifier: BSD-2-Clause
 * kv.c - retrieval of meaningless data, as in InfiniteBench: the value of one key among many, a
 * pass key or a number in a text without content, a number of a list */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/eval.h"
#include "src/cli/material.h"
#include "src/cli/say.h"

enum { MAX_ANSWER = 64 };

struct kind;

struct spec {                           /* describes one row                              */
    const struct kind *kind;
    uint64_t           length, sample;
    double             depth;           /* -1: none                                       */
};

struct kv {
    struct eval     e;                  /* must be first                                  */
    const char     *kinds;
    struct spec    *spec;
    size_t          n;
    struct haystack stock;
    /* of the row being built  */
    const struct spec *now;
    const char     *id;
    char           *hidden;             /* a sentence, or "key": "value"                  */
};

static const struct opt own[] = {
    { 0, 0, "kinds", "KIND[,KIND]...", NULL, "which of kv, passkey, number and math.find",
      opt_text, offsetof(struct kv, kinds), 0, 0 },
    { .name = NULL }
};

static const struct opt_default defaults[] = {
    { "kinds", "kv" }, { "lengths", "2048,4096,8192" }, { "depths", "0,25,50,75,100" },
    { "samples", "1" }, { NULL, NULL }
};

struct kind {
    const char *name;
    void      (*ask)(struct kv *k, struct rng *r, struct row *row);
    eval_build *build;
    size_t      least;
    bool        deep;                   /* the answer has a depth */
};

/* The no.-th random stream of the row: it does not depend on other rows. */
static struct rng stream(const struct kv *k, uint64_t no)
{
    return rng_of(k->e.o.gkv.seed, k->id, no);
}

/* ---- a JSON object of UUIDs ---------------------------------------------------------- */
static void ask_kv(struct kv *k, struct rng *r, struct row *row)
{
    char *key = rng_uuid(r), *value = rng_uuid(r);

    k->hidden = format("\"%s\": \"%s\"", key, value);
    row->question = format("What is the value of the key \"%s\" in this JSON object?", key);
    row_answer(row, value);
    free(key);
}

static void build_kv(void *arg, size_t units, struct row *row)
{
    const struct kv *k = arg;
    struct rng       r = stream(k, 1);
    struct text      t = { NULL, 0, 0 };
    const size_t     at = (size_t)lround(k->now->depth / 100 * (double)units);

    text_puts(&t, "{");
    for (size_t i = 0; i <= units; i++) {
        if (i == at) {
            text_printf(&t, "%s%s", i ? ",\n " : "", k->hidden);
        } else {
            char *key = rng_uuid(&r), *value = rng_uuid(&r);

            text_printf(&t, "%s\"%s\": \"%s\"", i ? ",\n " : "", key, value);
            free(key);
            free(value);
        }
    }
    text_puts(&t, "}");
    row->context = t.p;
}

/* ---- one sentence among stock sentences ---------------------------------------------- */
static void ask_passkey(struct kv *k, struct rng *r, struct row *row)
{
    char *number = rng_digits(r, 5);

    k->hidden = format("The pass key is %s. Remember it. %s is the pass key.", number, number);
    row->question = format("What is the pass key?");
    row_answer(row, number);
}

/* The digits come in runs of equal ones, which are hard to copy. */
static void ask_number(struct kv *k, struct rng *r, struct row *row)
{
    char *number = rng_digits(r, 10);

    for (int i = 1; i < 10; i++)
        if (rng_below(r, 2))
            number[i] = number[i - 1];
    k->hidden = format("The sequence of digits is %s. Remember it. %s is the sequence of "
                       "digits.", number, number);
    row->question = format("What is the sequence of digits?");
    row_answer(row, number);
}

static void build_sentences(void *arg, size_t units, struct row *row)
{
    const struct kv *k = arg;
    struct text      t = { NULL, 0, 0 };

    text_puts(&t, "Something important is hidden in a lot of text that means nothing. Find it "
              "and remember it: it will be asked for.\n\n");
    haystack_build(&k->stock, units,
                   &(struct insert){ haystack_at(&k->stock, units, k->now->depth), k->hidden }, 1,
                   &t);
    row->context = t.p;
}

/* ---- numbers of a list --------------------------------------------------------------- */
static const struct { const char *name; int from_below, from_above; } wanted[] = {
    { "largest", -1, 0 }, { "smallest", 0, -1 }, { "second largest", -1, 1 },
    { "second smallest", 1, -1 }, { "median", -1, -1 }
};

enum { N_WANTED = sizeof wanted / sizeof *wanted, LARGEST_NUMBER = 1000000 };

static void ask_math(struct kv *k, struct rng *r, struct row *row)
{
    (void)r;
    row->question = format("What is the %s number in this list? Answer with the number alone.",
                           wanted[k->now->sample % N_WANTED].name);
    row_answer(row, format("%s", ""));
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* An odd count of different numbers, so that each question has one answer. */
static void build_math(void *arg, size_t units, struct row *row)
{
    const struct kv *k = arg;
    const size_t     n = 2 * units + 1, q = k->now->sample % N_WANTED;
    struct rng       r = stream(k, 1);
    struct text      t = { NULL, 0, 0 };
    uint64_t        *v = grow(NULL, n, sizeof *v), *sorted = grow(NULL, n, sizeof *v);
    size_t           i;

    for (i = 0; i < n; i++) {
        /* Each number comes from its own part of the range; then they are shuffled. */
        const uint64_t part = LARGEST_NUMBER / n;

        v[i] = sorted[i] = i * part + rng_below(&r, part);
    }
    for (i = n; i > 1; i--) {
        size_t   j = (size_t)rng_below(&r, i);
        uint64_t swap = v[i - 1];

        v[i - 1] = v[j];
        v[j] = swap;
    }
    for (i = 0; i < n; i++)
        text_printf(&t, "%s%" PRIu64, i ? ", " : "[", v[i]);
    text_puts(&t, "]");
    qsort(sorted, n, sizeof *sorted, by_value);
    i = wanted[q].from_below >= 0 ? (size_t)wanted[q].from_below
      : wanted[q].from_above >= 0 ? n - 1 - (size_t)wanted[q].from_above : n / 2;
    free(row->answers.ref[0]);
    row->answers.ref[0] = format("%" PRIu64, sorted[i]);
    row->context = t.p;
    free(v);
    free(sorted);
}

static const struct kind kinds[] = {
    { "kv", ask_kv, build_kv, 1, true },
    { "passkey", ask_passkey, build_sentences, 1, true },
    { "number", ask_number, build_sentences, 1, true },
    { "math.find", ask_math, build_math, 2, false }
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* ---- rows ---------------------------------------------------------------------------- */
static void add(struct kv *k, const struct kind *kind, uint64_t length, double depth)
{
    for (uint64_t i = 0; i < k->e.o.samples; i++) {
        k->spec = grow(k->spec, k->n + 1, sizeof *k->spec);
        k->spec[k->n++] = (struct spec){ kind, length, i, depth };
    }
}

static void add_kind(struct kv *k, const struct kind *kind)
{
    for (size_t i = 0; i < k->e.o.lengths.n; i++) {
        if (!kind->deep)
            add(k, kind, k->e.o.lengths.v[i], -1);
        for (size_t j = 0; kind->deep && j < k->e.o.depths.n; j++)
            add(k, kind, k->e.o.lengths.v[i], (double)k->e.o.depths.v[j]);
    }
}

static int add_kinds(struct kv *k)
{
    for (const char *s = k->kinds; *s; s += *s == ',') {
        const size_t n = strcspn(s, ",");
        size_t       i = 0;

        while (i < N_KINDS && (strlen(kinds[i].name) != n || memcmp(kinds[i].name, s, n)))
            i++;
        if (i == N_KINDS)
            return usage(k->e.o.io, k->e.o.cmd, "option '--kinds': no kind '%.*s'; there are kv, passkey, number and "
                         "math.find", (int)n, s);
        add_kind(k, &kinds[i]);
        s += n;
    }
    return 0;
}

static int make(struct eval *e, void *arg, size_t i, struct row *row)
{
    struct kv  *k = arg;
    const struct spec *s = k->now = &k->spec[i];
    struct rng  r;
    int         code;

    row->group = s->kind->name;
    row->depth = s->depth;
    row->metric = CONTAINS;
    row->max_tokens = MAX_ANSWER;
    row->id = s->depth < 0
            ? format("%s-%" PRIu64 "-%" PRIu64 "-%" PRIu64, row->group, s->length, s->sample,
                     e->o.gkv.seed)
            : format("%s-%" PRIu64 "-%.0f-%" PRIu64 "-%" PRIu64, row->group, s->length, s->depth,
                     s->sample, e->o.gkv.seed);
    k->id = row->id;
    k->hidden = NULL;
    r = stream(k, 0);
    s->kind->ask(k, &r, row);
    code = eval_fit(e, s->length, s->kind->least,
                    s->kind->deep ? (size_t)s->length : LARGEST_NUMBER / 4, s->kind->build, k,
                    row);
    free(k->hidden);
    return code;
}

static double weight(const void *arg, size_t i)
{
    const struct kv *k = arg;

    return (double)k->spec[i].length;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct kv k = { .e = { .shown = { EM }, .n_shown = 1 } };
    int       code;

    code = eval_parse(&k.e, self, io, argc, argv);
    if (!code)
        code = add_kinds(&k);
    haystack_of(&k.stock, stock_sentences, " ");
    if (!code)
        code = eval_open(&k.e);
    if (!code)
        code = eval_run(&k.e, k.n, make, weight, &k);
    eval_close(&k.e);
    haystack_free(&k.stock);
    free(k.spec);
    return code;
}

const struct cmd eval_kv = {
    .name = "eval kv", .summary = "Keys and values, pass keys, numbers", .synopsis = "[options]",
    .takes = FOR_ROWS | FOR_LENGTHS | FOR_DEPTHS, .own = own, .defaults = defaults, .run = run
};
