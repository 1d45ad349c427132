/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-calibrate.c - find the layers of a model that select best, and remember them
 *
 * Prompts with a needle are read through all layers.  The filter layer is the first one at which
 * GemFilter keeps all of the needle in most prompts (Shi et al. 2024, Algorithm 2; their figure 5
 * counts touching it, which is shown too).  Nothing is forced to be kept.  The layer after which
 * FastKV lets go of tokens is the earliest whose error is close to the least (Jo et al. 2025,
 * equation 3), in the first half of the model: at the last layer the error is 0 by definition. */
#include "config.h"
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/eval/eval.h"
#include "src/cli/json.h"
#include "src/cli/material.h"
#include "src/cli/plot.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum {
    CHUNK = 1, CPU, DEPTHS, DRY_RUN, FORGET, FRACTION, GEMM, HAYSTACK, JSON, KEEP, LENGTHS, MEMORY,
    MODEL, NEEDLES, PLOT, QUIET, SAMPLES, SEED, TEMPLATE, THREADS, TTY, MAX_LIST = 64,
    TSP_EVERY = 4               /* FastKV multiplies the work: some of the prompts are enough */
};

static const struct opt opts[] = {
    { MODEL, 'm', "model", "FILE", "$GEMKV_MODEL, else the bundled model", "GGUF model" },
    { KEEP, 'k', "keep", "N|P%", "20%", "tokens to keep, or percent of the prompt" },
    { LENGTHS, 0, "lengths", "N[,N]...", "1024,2048",
      "lengths of the prompt, in tokens of the model" },
    { DEPTHS, 0, "depths", "P[,P]...", "50", "where the needle lies, in percent of the text" },
    { SAMPLES, 0, "samples", "N", "10", "needles for each length and depth" },
    { FRACTION, 0, "fraction", "P%", "90%", "prompts whose needle the layer must keep" },
    { HAYSTACK, 0, "haystack", "FILE", "the bundled book",
      "text to hide needles in; may be given several times" },
    { NEEDLES, 0, "needles", "FILE", "the bundled ones",
      "JSON array of \"needle\", \"question\" and \"answers\"" },
    { SEED, 0, "seed", "N", "0", "start of the random numbers that rows are made with" },
    { TEMPLATE, 0, "template", "NAME", "the model's", "chat template" },
    { CHUNK, 0, "chunk", "N", "1024", "tokens computed at a time" },
    { MEMORY, 0, "memory", "SIZE", "80 % of what is available",
      "refuse what would need more memory, such as 512M or 1.5G" },
    { THREADS, 't', "threads", "N", "one per physical core", "threads" },
    { CPU, 0, "cpu", "LEVEL", "$GEMKV_CPU, else the best",
      "cap the instruction sets used" },
    { GEMM, 0, "gemm", "own|exact|openblas|onednn", "own", "who multiplies matrices" },
    { PLOT, 0, "plot", "FILE", NULL, "write the curves to this new file as an SVG picture" },
    { DRY_RUN, 0, "dry-run", NULL, NULL, "do not store what was found" },
    { FORGET, 0, "forget", NULL, NULL, "remove what is stored of the model" },
    { JSON, 0, "json", NULL, NULL, "write one JSON object to standard output" },
    { QUIET, 'q', "quiet", NULL, NULL, "only the result, and errors" },
    { TTY, 0, "tty", NULL, NULL, NULL },
    OPT_COMMON
};

struct sums {                           /* of one layer, over the prompts                 */
    double whole, touched, part, error;
};

struct calibrate {
    struct eval      e;                 /* model, options and counting of tokens          */
    uint64_t         length[MAX_LIST], depth[MAX_LIST], samples;
    size_t           n_length, n_depth, n_haystack;
    const char      *haystack_file[MAX_LIST], *needle_file;
    double           fraction;
    bool             dry_run, forget;
    struct haystack  hay;
    struct needles   needles;
    gkv_model_info   m;
    uint32_t         n_tsp;
    struct sums     *layer;             /* [n_layer]                                      */
    gkv_layer_probe *probe;             /* [n_layer]                                      */
    size_t           n, n_tried, n_all; /* prompts read, with FastKV too; all             */
    uint32_t         filter, touch, tsp;
    bool             reached;           /* the layer keeps the needle often enough        */
    /* of the prompt that is made */
    double           percent;
    const char      *needle;
};

static double parse_percent(const struct args *a)
{
    double      v;
    const char *end = parse_real(a->value, 0, 100, &v);

    if (!end || strcmp(end, "%") || v <= 0)
        args_bad(a, "a percentage like 90%");
    return v / 100;
}

static void parse(struct calibrate *c, int argc, char **argv)
{
    struct args  a = { c->e.cmd, argc, argv, NULL, NULL };
    gkv_options *o = &c->e.opt;

    for (int id; (id = args_next(&a));)
        switch (id) {
        case CHUNK:    o->chunk = (uint32_t)args_uint(&a, 16, 65536); break;
        case CPU:      c->e.cpu = a.value; break;
        case DEPTHS:   c->n_depth = args_uints(&a, 0, 100, c->depth, MAX_LIST); break;
        case DRY_RUN:  c->dry_run = true; break;
        case FORGET:   c->forget = true; break;
        case FRACTION: c->fraction = parse_percent(&a); break;
        case GEMM:     o->gemm = args_choice(&a); break;
        case HAYSTACK:
            if (c->n_haystack == MAX_LIST)
                usage(c->e.cmd, "at most %d files as haystack", MAX_LIST);
            c->haystack_file[c->n_haystack++] = a.value;
            break;
        case JSON:     c->e.json = true; break;
        case KEEP:     run_parse_keep(&a, o); break;
        case LENGTHS:  c->n_length = args_uints(&a, 16, UINT32_MAX, c->length, MAX_LIST); break;
        case MEMORY:   o->memory_limit = args_size(&a); break;
        case MODEL:    c->e.model_arg = a.value; break;
        case NEEDLES:  c->needle_file = a.value; break;
        case PLOT:     c->e.plot_path = a.value; break;
        case QUIET:    c->e.quiet = true; break;
        case SAMPLES:  c->samples = args_uint(&a, 1, 10000); break;
        case SEED:     c->e.seed = args_uint(&a, 0, UINT64_MAX); break;
        case TEMPLATE: o->chat_template = a.value; break;
        case THREADS:  o->threads = (uint32_t)args_uint(&a, 1, 4096); break;
        case TTY:      c->e.tty = true; break;
        }
    if (optind < argc)
        usage(c->e.cmd, "no operands; the model is given with -m");
}

/* ---- one prompt ---------------------------------------------------------------------- */
static void build(void *arg, size_t units, struct row *row)
{
    const struct calibrate *c = arg;
    struct insert           in = { haystack_at(&c->hay, units, c->percent), c->needle };
    struct text             t = { NULL, 0, 0 };

    haystack_build(&c->hay, units, &in, 1, &t);
    row->context = t.p;
}

static void within(void *arg, const gkv_progress *g)
{
    const struct calibrate *c = arg;

    progress_show("calibrate", ((double)c->n + g->fraction)
                  / (double)c->n_all, c->n_all * g->tokens);
}

static gkv_status probe(struct calibrate *c, const struct row *row, gkv_error *err)
{
    const char   *at = strstr(row->context, c->needle);
    gkv_session  *s = NULL;
    gkv_options   opt = c->e.opt;
    gkv_status    status;
    const uint64_t start = (uint64_t)(at - row->context);

    opt.progress = within;
    opt.progress_arg = c;
    status = gkv_session_open(&s, c->e.model, &opt, err);
    if (!status) {
        progress_watch(s);
        status = gkv_feed(s, row->context, strlen(row->context), err);
    }
    if (!status)
        status = gkv_probe(s, row->question, strlen(row->question), start,
                           start + strlen(c->needle), c->n % TSP_EVERY ? 0 : c->n_tsp, c->probe,
                           err);
    progress_watch(NULL);
    gkv_session_close(s);
    return status;
}

static void add(struct calibrate *c)
{
    for (uint32_t il = 0; il < c->m.n_layer; il++) {
        const gkv_layer_probe *p = &c->probe[il];

        c->layer[il].whole += p->covered >= 1;
        c->layer[il].touched += p->distance == 0;
        c->layer[il].part += p->covered;
        c->layer[il].error += c->n % TSP_EVERY ? 0 : p->error;
    }
    c->n_tried += c->n % TSP_EVERY == 0;
    c->n++;
}

static int one(struct calibrate *c, size_t i)
{
    const size_t   cell = i / c->samples;
    const uint64_t length = c->length[cell / c->n_depth], depth = c->depth[cell % c->n_depth];
    const struct needle *needle = &c->needles.needle[(i + c->e.seed) % c->needles.n];
    struct row     row = { .depth = -1 };
    gkv_error      err = { 0 };
    gkv_status     status;
    int            code;

    c->percent = (double)depth;
    c->needle = needle->text;
    row.id = format("%" PRIu64 "-%" PRIu64 "-%s", length, depth, needle->id);
    row.question = format("%s", needle->question);
    code = eval_fit(&c->e, length, 1, (size_t)length, build, c, &row);
    if (!code) {
        status = probe(c, &row, &err);
        if (status)
            code = run_failed(status, &err);
        else
            add(c);
    }
    row_free(&row);
    return code;
}

/* ---- what it comes to ---------------------------------------------------------------- */
/* The first layer at which enough prompts are well; else the one with the most, and of several
 * with as many the one that keeps the largest part. */
static uint32_t first_good(const struct calibrate *c, bool touching, bool *reached)
{
    uint32_t best = 0;

    *reached = true;
    for (uint32_t il = 0; il < c->m.n_layer; il++)
        if ((touching ? c->layer[il].touched : c->layer[il].whole) >= c->fraction)
            return il;
    *reached = false;
    for (uint32_t il = 1; il < c->m.n_layer; il++) {
        const struct sums *a = &c->layer[il], *b = &c->layer[best];
        const double       more = touching ? a->touched - b->touched : a->whole - b->whole;

        if (more > 0 || (!(more < 0) && a->part > b->part))
            best = il;
    }
    return best;
}

/* Relative to the least of those that were tried. */
static double relative(const struct calibrate *c, uint32_t il)
{
    double least = INFINITY;

    for (uint32_t i = 0; i < c->n_tsp; i++)
        least = c->layer[i].error < least ? c->layer[i].error : least;
    return il < c->n_tsp ? least > 0 ? c->layer[il].error / least : 1 : NAN;
}

static void choose(struct calibrate *c)
{
    const double TOLERANCE = 1.05;
    bool         ignored;

    for (uint32_t il = 0; il < c->m.n_layer; il++) {
        c->layer[il].whole /= (double)c->n;
        c->layer[il].touched /= (double)c->n;
        c->layer[il].part /= (double)c->n;
        c->layer[il].error /= (double)c->n_tried;
    }
    c->filter = first_good(c, false, &c->reached);
    c->touch = first_good(c, true, &ignored);
    while (relative(c, c->tsp) > TOLERANCE)
        c->tsp++;
}

static void write_json(const struct calibrate *c)
{
    json_open('{');
    json_named_uint("layer", c->filter);
    json_named_uint("tsp_layer", c->tsp);
    json_named_uint("touch_layer", c->touch);
    json_key("model");
    json_string(c->m.name);
    json_named_uint("layers", c->m.n_layer);
    json_named_uint("prompts", c->n);
    json_named_real("fraction", c->fraction);
    json_key("lengths");
    json_open('[');
    for (size_t i = 0; i < c->n_length; i++)
        json_uint(c->length[i]);
    json_close();
    json_named_real(c->e.opt.keep_percent > 0 ? "keep_percent" : "keep",
               c->e.opt.keep_percent > 0 ? (double)c->e.opt.keep_percent : c->e.opt.keep);
    json_key("curve");
    json_open('[');
    for (uint32_t il = 0; il < c->m.n_layer; il++) {
        json_open('{');
        json_named_uint("layer", il);
        json_named_real("whole", c->layer[il].whole);
        json_named_real("touched", c->layer[il].touched);
        json_named_real("part", c->layer[il].part);
        json_named_real("error", c->layer[il].error);
        json_close();
    }
    json_close();
    json_close();
}

/* Columns of the curves: shares of prompts and of needles, and the least error by each one's. */
struct columns { double *whole, *touched, *part, *near; };

static struct columns columns_of(const struct calibrate *c)
{
    const size_t   n = c->m.n_layer;
    double        *v = grow(NULL, 4 * n, sizeof *v);
    struct columns k = { v, v + n, v + 2 * n, v + 3 * n };

    for (uint32_t il = 0; il < n; il++) {
        k.whole[il] = c->layer[il].whole;
        k.touched[il] = c->layer[il].touched;
        k.part[il] = c->layer[il].part;
        k.near[il] = 1 / relative(c, il);
    }
    return k;
}

static void show(const struct calibrate *c)
{
    const struct columns k = columns_of(c);
    const struct curve   curve[] = { { "whole", k.whole }, { "touched", k.touched } };

    out_printf("needle kept, %zu prompts:\n", c->n);
    plot_curve(curve, 2, c->m.n_layer, c->filter);
    out_printf("\nerror of FastKV, by the least one:\n");
    for (uint32_t il = 0; il < c->n_tsp; il++)
        out_printf("%c layer %3u  %8.3f\n", il == c->tsp ? '*' : ' ', il, relative(c, il));
    out_printf("\nfilter layer %u (touched from layer %u on), TSP layer %u\n", c->filter, c->touch,
               c->tsp);
    free(k.whole);
}

static int plot(struct calibrate *c)
{
    const struct columns k = columns_of(c);
    const struct curve   curve[] = { { "whole needle", k.whole }, { "touched", k.touched },
                                     { "part kept", k.part }, { "least TSP error / its", k.near } };
    char *title = format("%s: filter layer %u, TSP layer %u", c->m.name, c->filter, c->tsp);
    int   code = plot_curves_svg(&c->e.plot, title, "layer", curve, 4, c->m.n_layer, c->filter);

    free(title);
    free(k.whole);
    return code;
}

static int store(const struct calibrate *c)
{
    struct text t = { NULL, 0, 0 };
    char       *path;
    int         code;

    json_into(&t);
    write_json(c);
    json_into(NULL);
    code = calibrated_store(c->e.model, t.p, t.n);
    path = code ? NULL : calibrated_path(c->e.model);
    if (path)
        say("stored in %s", path);
    free(path);
    text_free(&t);
    return code;
}

static int forget(const struct calibrate *c)
{
    int gone, code = calibrated_forget(c->e.model, &gone);

    if (!code)
        say(gone ? "forgotten" : "nothing was stored of this model");
    return code;
}

static int measure(struct calibrate *c)
{
    int code = c->e.plot_path ? output_new(&c->e.plot, c->e.plot_path) : 0;

    if (!code)
        code = haystack_read(&c->hay, c->haystack_file, c->n_haystack);
    if (!code)
        code = needles_read(&c->needles, c->needle_file);
    c->n_all = c->n_length * c->n_depth * c->samples;
    c->n_tsp = c->m.n_layer / 2 + 1;
    c->layer = grow(NULL, c->m.n_layer, sizeof *c->layer);
    c->probe = grow(NULL, c->m.n_layer, sizeof *c->probe);
    memset(c->layer, 0, c->m.n_layer * sizeof *c->layer);
    for (size_t i = 0; i < c->n_all && !code; i++)
        code = one(c, i);
    progress_erase();
    if (code)
        return code;
    choose(c);
    if (!c->reached)
        warn("no layer keeps all of the needle in %g %% of the prompts; layer %u comes nearest",
             100 * c->fraction, c->filter);
    if (c->e.json)
        write_json(c);
    else
        show(c);
    out_flush();
    code = c->e.plot_path ? plot(c) : 0;
    return code || c->dry_run ? code : store(c);
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct calibrate c = { .length = { 1024, 2048 }, .n_length = 2, .depth = { 50 }, .n_depth = 1,
                           .samples = 10, .fraction = 0.9 };
    gkv_error        err = { 0 };
    gkv_status       status;
    int              code;

    c.e = (struct eval){ .cmd = self, .task = self->name };
    gkv_options_init(&c.e.opt);
    c.e.opt.keep_percent = 20;
    parse(&c, argc, argv);
    if (c.e.quiet)
        say_quiet();
    run_cap_cpu(c.e.cpu);
    c.e.path = run_model_path(self, c.e.model_arg);
    status = gkv_model_open(&c.e.model, c.e.path, 0, &err);
    if (status) {
        code = run_failed(status, &err);
    } else {
        gkv_model_describe(c.e.model, &c.m);
        progress_start(!c.e.quiet && (c.e.tty || isatty(STDERR_FILENO)));
        code = c.forget ? forget(&c) : measure(&c);
    }
    eval_close(&c.e);
    haystack_free(&c.hay);
    needles_free(&c.needles);
    free(c.layer);
    free(c.probe);
    return code;
}

const struct cmd cmd_calibrate = {
    "calibrate", "Find the layers of a model that select best, and remember them", "[options]",
    opts, run, NULL, NULL
};
