/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-calibrate.c - find the layers of a model that select best, and remember them
 *
 * Prompts with a needle go through all layers.  The filter layer is the first one at which
 * GemFilter keeps all of the needle in most prompts (Shi et al. 2024, Algorithm 2; their figure 5
 * counts prompts of which it keeps some of the needle, which is shown too).  No token is forced to be
 * kept.  FastKV's TSP layer is the earliest whose error is close to the least (Jo et al. 2025,
 * equation 3), in the first half of the model: at the last layer the error is 0 by definition. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/eval/eval.h"
#include "src/cli/json.h"
#include "src/cli/material.h"
#include "src/cli/plot.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum { TSP_EVERY = 4 };         /* FastKV takes much longer, so it is tried on every fourth prompt only */

struct sums {                           /* of one layer, over the prompts                 */
    double whole, touched, part, error;
};

struct calibrate {
    struct eval      e;                 /* must be first: model, options, token counts */
    double           fraction;
    bool             dry_run, forget;
    struct haystack  hay;
    struct needles   needles;
    gkv_model_info   m;
    uint32_t         n_tsp;
    struct sums     *layer;             /* [n_layer]                                      */
    gkv_layer_probe *probe;             /* [n_layer]                                      */
    size_t           n, n_tried, n_all; /* prompts done; with FastKV too; all             */
    uint32_t         filter, touch, tsp;
    bool             reached;           /* whether a layer keeps the needle often enough  */
    /* of the prompt being built  */
    double           percent;
    const char      *needle;
};

/* A double: "90%" is 0.9 */
static int opt_percent(const struct args *a, void *at)
{
    double      v;
    const char *end = parse_real(a->value, 0, 100, &v);

    if (!end || strcmp(end, "%") || v <= 0)
        return args_bad(a, "a percentage like 90%");
    *(double *)at = v / 100;
    return 0;
}

static const struct opt own[] = {
    { 0, 0, "fraction", "P%", NULL, "share of prompts whose needle the layer must keep",
      opt_percent, offsetof(struct calibrate, fraction), 0, 0 },
    { 0, 0, "dry-run", NULL, NULL, "do not store what was found",
      opt_flag, offsetof(struct calibrate, dry_run), 0, 0 },
    { 0, 0, "forget", NULL, NULL, "remove what is stored of the model",
      opt_flag, offsetof(struct calibrate, forget), 0, 0 },
    { .name = NULL }
};

static const struct opt_default defaults[] = {
    { "keep", "20%" }, { "lengths", "1024,2048" }, { "depths", "50" }, { "samples", "10" },
    { "fraction", "90%" }, { NULL, NULL }
};

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
    struct calibrate *c = arg;

    progress_show(&c->e.progress, c->e.task, ((double)c->n + g->fraction) / (double)c->n_all,
                  c->n_all * g->tokens);
}

static gkv_status probe(struct calibrate *c, const struct row *row, gkv_error *err)
{
    const char   *at = strstr(row->context, c->needle);
    gkv_session  *s = NULL;
    gkv_options   opt = c->e.o.gkv;
    gkv_status    status;
    const uint64_t start = (uint64_t)(at - row->context);

    opt.progress = within;
    opt.progress_arg = c;
    status = gkv_session_open(&s, c->e.model, &opt, err);
    if (!status) {
        progress_watch(&c->e.progress, s);
        status = gkv_feed(s, row->context, strlen(row->context), err);
    }
    if (!status)
        status = gkv_probe(s, row->question, strlen(row->question), start,
                           start + strlen(c->needle), c->n % TSP_EVERY ? 0 : c->n_tsp, c->probe,
                           err);
    progress_watch(&c->e.progress, NULL);
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
    const struct options *o = &c->e.o;
    const size_t   cell = i / o->samples;
    const uint64_t length = o->lengths.v[cell / o->depths.n], depth = o->depths.v[cell % o->depths.n];
    const struct needle *needle = &c->needles.needle[(i + o->gkv.seed) % c->needles.n];
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
            code = run_failed(c->e.o.io, &c->e.progress, status, &err);
        else
            add(c);
    }
    row_free(&row);
    return code;
}

/* ---- evaluation ---------------------------------------------------------------------- */
/* The first layer at which enough prompts keep the needle; else the one with most such prompts, and among
 * several the one that keeps the largest part. */
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

/* The layer's error, relative to the least of all layers that were tried. */
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
    if (isnan(c->layer[0].error)) {             /* FastKV does not work with this model */
        c->n_tsp = 0;
        c->tsp = c->filter;
    }
    while (relative(c, c->tsp) > TOLERANCE)
        c->tsp++;
}

static void write_json(struct json *j, const struct calibrate *c)
{
    json_open(j, '{');
    json_named_uint(j, "layer", c->filter);
    json_named_uint(j, "tsp_layer", c->tsp);
    json_named_uint(j, "touch_layer", c->touch);
    json_key(j, "model");
    json_string(j, c->m.name);
    json_named_uint(j, "layers", c->m.n_layer);
    json_named_uint(j, "prompts", c->n);
    json_named_real(j, "fraction", c->fraction);
    json_named_open(j, "lengths", '[');
    for (size_t i = 0; i < c->e.o.lengths.n; i++)
        json_uint(j, c->e.o.lengths.v[i]);
    json_close(j);
    json_named_real(j, c->e.o.gkv.keep_percent > 0 ? "keep_percent" : "keep",
               c->e.o.gkv.keep_percent > 0 ? (double)c->e.o.gkv.keep_percent : c->e.o.gkv.keep);
    json_named_open(j, "curve", '[');
    for (uint32_t il = 0; il < c->m.n_layer; il++) {
        json_open(j, '{');
        json_named_uint(j, "layer", il);
        json_named_real(j, "whole", c->layer[il].whole);
        json_named_real(j, "touched", c->layer[il].touched);
        json_named_real(j, "part", c->layer[il].part);
        json_named_real(j, "error", c->layer[il].error);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

/* Curves by layer: shares of prompts, shares of the needle, and the least error divided by the layer's. */
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

    out_printf(c->e.o.io, "needle kept, %zu prompts:\n", c->n);
    plot_curve(c->e.o.io, curve, 2, c->m.n_layer, c->filter);
    if (c->n_tsp)
        out_printf(c->e.o.io, "\nerror of FastKV, by the least one:\n");
    for (uint32_t il = 0; il < c->n_tsp; il++)
        out_printf(c->e.o.io, "%c layer %3u  %8.3f\n", il == c->tsp ? '*' : ' ', il, relative(c, il));
    out_printf(c->e.o.io, "\nfilter layer %u (touched from layer %u on), TSP layer %u\n", c->filter, c->touch,
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
    struct json j = { .depth = 0 };
    char       *path;
    int         code;

    write_json(&j, c);
    code = calibrated_store(c->e.o.io, c->e.model, j.text.p, j.text.n);
    path = code ? NULL : calibrated_path(c->e.model);
    if (path)
        say(c->e.o.io, "stored in %s", path);
    free(path);
    text_free(&j.text);
    return code;
}

static int forget(const struct calibrate *c)
{
    int gone, code = calibrated_forget(c->e.o.io, c->e.model, &gone);

    if (!code)
        say(c->e.o.io, gone ? "forgotten" : "nothing was stored of this model");
    return code;
}

static int measure(struct calibrate *c)
{
    const struct options *o = &c->e.o;
    struct json j = { .depth = 0 };
    int         code = o->plot ? output_new(&c->e.plot, o->io, o->plot, o->force) : 0;

    if (!code)
        code = haystack_read(&c->hay, o->io, o->haystack.v, o->haystack.n);
    confine_read(o);
    if (!code)
        code = needles_read(&c->needles, o->io, o->needles);
    c->n_all = o->lengths.n * o->depths.n * o->samples;
    c->n_tsp = c->m.n_layer / 2 + 1;
    c->layer = grow(NULL, c->m.n_layer, sizeof *c->layer);
    c->probe = grow(NULL, c->m.n_layer, sizeof *c->probe);
    memset(c->layer, 0, c->m.n_layer * sizeof *c->layer);
    for (size_t i = 0; i < c->n_all && !code; i++)
        code = one(c, i);
    progress_erase(&c->e.progress);
    if (code)
        return code;
    choose(c);
    if (!c->reached)
        warn(c->e.o.io, "no layer keeps all of the needle in %g %% of the prompts; layer %u comes nearest",
             100 * c->fraction, c->filter);
    if (o->json) {
        write_json(&j, c);
        json_print(c->e.o.io, &j);
    } else {
        show(c);
    }
    code = out_flush(o->io);
    if (!code && o->plot)
        code = plot(c);
    return code || c->dry_run ? code : store(c);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct calibrate c = { .n = 0 };
    gkv_error        err = { 0 };
    gkv_status       status;
    int              code = options_parse(&c.e.o, self, io, argc, argv);

    c.e.task = self->name;
    if (!code && c.e.o.n_operand)
        code = usage(io, self, "no operands; the model is given with -m");
    if (!code)
        code = run_begin(&c.e.o, &c.e.path);
    if (!code) {
        confine(&c.e.o, c.e.path);
        status = gkv_model_open(&c.e.model, c.e.path, 0, &err);
        code = status ? run_failed(io, &c.e.progress, status, &err) : 0;
    }
    if (!code) {
        gkv_model_describe(c.e.model, &c.m);
        progress_start(&c.e.progress, io, run_draws(&c.e.o));
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
    .name = "calibrate", .summary = "Find the layers of a model that select best, and remember them",
    .synopsis = "[options]",
    .needs = NEEDS_PROGRAMS | NEEDS_LAYERS, .takes = FOR_CALIBRATE | FOR_LENGTHS | FOR_DEPTHS | FOR_HAYSTACK | FOR_NEEDLES,
    .own = own, .defaults = defaults, .run = run
};
