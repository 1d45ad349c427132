/* SPDX-License-Identifier: BSD-2-Clause
 * niah.c - a needle in a haystack: one sentence among those of a book, at every depth of
 * every length, and a question that only it answers */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/eval.h"
#include "src/cli/material.h"
#include "src/cli/say.h"

enum { DEPTHS = 1, HAYSTACK, LENGTHS, NEEDLES, SAMPLES, MAX_LIST = 64, MAX_ANSWER = 64 };

static const struct opt opts[] = {
    { LENGTHS, 0, "lengths", "N[,N]...", "2048,4096,8192",
      "lengths of the prompt, in tokens of the model" },
    { DEPTHS, 0, "depths", "P[,P]...", "0,25,50,75,100",
      "where the needle lies, in percent of the text" },
    { SAMPLES, 0, "samples", "N", "1", "needles for each length and depth" },
    { HAYSTACK, 0, "haystack", "FILE", "the bundled book",
      "text to hide needles in; may be given several times" },
    { NEEDLES, 0, "needles", "FILE", "the bundled ones",
      "JSON array of \"needle\", \"question\" and \"answers\"" },
    OPT_EVAL
};

struct niah {
    uint64_t         length[MAX_LIST], depth[MAX_LIST], samples;
    size_t           n_length, n_depth;
    const char      *haystack_file[MAX_LIST], *needle_file;
    size_t           n_haystack;
    struct haystack  hay;
    struct needles   needles;
    /* of the row that is made */
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

/* Rows of one length follow each other, of these those of one depth. */
static int make(struct eval *e, void *arg, size_t i, struct row *row)
{
    struct niah         *n = arg;
    const size_t         sample = i % n->samples, cell = i / n->samples;
    const uint64_t       depth = n->depth[cell % n->n_depth];
    const uint64_t       length = n->length[cell / n->n_depth];
    char                *cell_name = format("niah-%" PRIu64 "-%" PRIu64, length, depth);
    struct rng           r = rng_of(e->seed, cell_name, 0);
    const struct needle *needle;

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
    const struct niah *n = arg;

    return (double)n->length[i / n->samples / n->n_depth];
}

static void parse(struct niah *n, struct eval *e, int argc, char **argv)
{
    struct args a = { e->cmd, argc, argv, NULL, NULL };

    for (int id; (id = args_next(&a));)
        switch (id) {
        case DEPTHS:  n->n_depth = args_uints(&a, 0, 100, n->depth, MAX_LIST); break;
        case LENGTHS: n->n_length = args_uints(&a, 16, UINT32_MAX, n->length, MAX_LIST); break;
        case NEEDLES: n->needle_file = a.value; break;
        case SAMPLES: n->samples = args_uint(&a, 1, 10000); break;
        case HAYSTACK:
            if (n->n_haystack == MAX_LIST)
                usage(e->cmd, "at most %d files as haystack", MAX_LIST);
            n->haystack_file[n->n_haystack++] = a.value;
            break;
        default:
            eval_option(e, &a, id);
        }
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct niah n = { .length = { 2048, 4096, 8192 }, .n_length = 3,
                      .depth = { 0, 25, 50, 75, 100 }, .n_depth = 5, .samples = 1 };
    struct eval e;
    int         code;

    eval_init(&e, self);
    parse(&n, &e, argc, argv);
    e.shown[0] = EM;
    e.shown[1] = ROUGE_1;
    e.shown[2] = ROUGE_L;
    e.n_shown = 3;
    code = eval_open(&e, argc);
    if (!code)
        code = haystack_read(&n.hay, n.haystack_file, n.n_haystack);
    if (!code)
        code = needles_read(&n.needles, n.needle_file);
    if (!code)
        code = eval_run(&e, n.n_length * n.n_depth * n.samples, make, weight, &n);
    eval_close(&e);
    haystack_free(&n.hay);
    needles_free(&n.needles);
    return code;
}

const struct cmd eval_niah = {
    "eval niah", "Needles in a haystack, by length and depth", "[options]", opts, run, NULL, NULL
};
