/* SPDX-License-Identifier: BSD-2-Clause
 * niah.c - needle in a haystack: one sentence among those of a book, at every depth of every
 * length, and a question that only this sentence answers */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/confine.h"
#include "src/cli/eval/niah.h"

enum { MAX_ANSWER = 64 };

static const struct opt_default defaults[] = {
    { "lengths", "2048,4096,8192" }, { "depths", "0,25,50,75,100" }, { "samples", "1" },
    { NULL, NULL }
};

int niah_read(struct niah *n)
{
    const struct options *o = &n->e.o;
    const int             code = haystack_read(&n->hay, o->io, o->haystack.v, o->haystack.n);

    confine_read(o);
    return code ? code : needles_read(&n->needles, o->io, o->needles);
}

void niah_free(struct niah *n)
{
    haystack_free(&n->hay);
    needles_free(&n->needles);
}

size_t niah_rows(const struct niah *n)
{
    return n->e.o.lengths.n * n->e.o.depths.n * n->e.o.samples;
}

static void build(void *arg, size_t units, struct row *row)
{
    struct niah  *n = arg;
    struct insert in = { haystack_at(&n->hay, units, n->percent), n->needle };
    struct text   t = { NULL, 0, 0 };

    n->units = units;
    haystack_build(&n->hay, units, &in, 1, &t);
    row->context = t.p;
}

/* Rows of one length are consecutive, and among them rows of one depth. */
int niah_make(struct eval *e, void *arg, size_t i, struct row *row)
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

double niah_weight(const void *arg, size_t i)
{
    const struct niah    *n = arg;
    const struct options *o = &n->e.o;
    const size_t          length = i / o->samples / o->depths.n;

    return (double)o->lengths.v[length];
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct niah n = { .e = { .shown = { EM, ROUGE_1, ROUGE_L }, .n_shown = 3 } };
    int         code = eval_parse(&n.e, self, io, argc, argv);

    if (!code)
        code = eval_open(&n.e);
    if (!code)
        code = niah_read(&n);
    if (!code)
        code = eval_run(&n.e, niah_rows(&n), niah_make, niah_weight, &n);
    eval_close(&n.e);
    niah_free(&n);
    return code;
}

const struct cmd eval_niah = {
    .name = "eval niah", .summary = "Needles in a haystack, by length and depth",
    .synopsis = "[options]", .takes = FOR_ROWS | FOR_LENGTHS | FOR_DEPTHS | FOR_HAYSTACK | FOR_NEEDLES,
    .defaults = defaults, .needs = NEEDS_PROGRAMS, .run = run
};
