/* SPDX-License-Identifier: BSD-2-Clause
 * niah.c - needle in a haystack: one sentence among those of a book, at every depth of every
 * length, and a question that only this sentence answers */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/eval.h"
#include "src/cli/material.h"

enum { MAX_ANSWER = 64 };

static const struct opt_default defaults[] = {
    { "lengths", "2048,4096,8192" }, { "depths", "0,25,50,75,100" }, { "samples", "1" },
    { NULL, NULL }
};

struct niah {
    struct eval      e;                 /* must be first */
    struct haystack  hay;
    struct needles   needles;
    /* of the row being built  */
    double           percent;
    const char      *needle;
};

static void build(void *arg, size_t units, struct row *row)
{
    const struct niah *n = arg;
    struct insert      in = { haystack_at(&n->hay, units, n->percent), n->needle };
    struct text        t = { NULL, 0, 0 };

    haystack_build(&n->hay, units, &in, 1, &t);
    row->context = t.p;
}

/* Rows of one length are consecutive, and among them rows of one depth. */
static int make(struct eval *e, void *arg, size_t i, struct row *row)
{
    struct niah          *n = arg;
    const struct options *o = &e->o;
    const size_t          sample = i % o->samples, cell = i / o->samples;
    const uint64_t        depth = o->depths.v[cell % o->depths.n];
    const uint64_t        length = o->lengths.v[cell / o->depths.n];
    char                 *cell_name = format("niah-%" PRIu64 "-%" PRIu64, length, depth);
    struct rng            r = rng_of(e->o.gkv.seed, cell_name, 0);
    const struct needle  *needle;

    needle = &n->needles.needle[(rng_below(&r, n->needles.n) + sample) % n->needles.n];
    n->percent = row->depth = (double)depth;
    n->needle = needle->text;
    row->id = format("%s-%zu-%s", cell_name, sample, needle->id);
    free(cell_name);
    row->question = format("%s", needle->question);
    row->metric = CONTAINS;
    row->max_tokens = MAX_ANSWER;
    for (size_t j = 0; j < needle->n_answer; j++)
        row_answer(row, format("%s", needle->answer[j]));
    return eval_fit(e, length, 1, (size_t)length, build, n, row);
}

static double weight(const void *arg, size_t i)
{
    const struct niah    *n = arg;
    const struct options *o = &n->e.o;

    return (double)o->lengths.v[i / o->samples / o->depths.n];
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct niah           n = { .e = { .shown = { EM, ROUGE_1, ROUGE_L }, .n_shown = 3 } };
    const struct options *o = &n.e.o;
    int                   code;

    code = eval_parse(&n.e, self, io, argc, argv);
    if (!code)
        code = eval_open(&n.e);
    if (!code)
        code = haystack_read(&n.hay, io, o->haystack.v, o->haystack.n);
    if (!code)
        code = needles_read(&n.needles, io, o->needles);
    if (!code)
        code = eval_run(&n.e, o->lengths.n * o->depths.n * o->samples, make, weight, &n);
    eval_close(&n.e);
    haystack_free(&n.hay);
    needles_free(&n.needles);
    return code;
}

const struct cmd eval_niah = {
    .name = "eval niah", .summary = "Needles in a haystack, by length and depth",
    .synopsis = "[options]", .takes = FOR_ROWS | FOR_LENGTHS | FOR_DEPTHS | FOR_HAYSTACK | FOR_NEEDLES,
    .defaults = defaults, .run = run
};
