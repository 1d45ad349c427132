/* SPDX-License-Identifier: BSD-2-Clause
 * golden.c - the engine against the float64 oracle (tests/files/golden, made by build-aux/golden.py,
 * golden-arch.py, golden-rounding.py and golden-finch.py): scores, selected tokens, logits and greedy
 * continuations, and the same bytes from one thread and from three.  Where the engine rounds, it may differ by what
 * rounding does and no more (see "comparing").  All cases are run at the level that this CPU takes by itself,
 * every SHARE-th at each of the others, fewer of the long ones, since levels differ in their kernels only, which
 * kernels.c proves by themselves; what is left out is skipped by name.  GOLDEN_SHARE=1 runs all.
 * For slow machines, emulators and sanitizers, GOLDEN_TOKENS=N leaves out prompts of more than N
 * tokens, and GOLDEN_EVERY=N all but every Nth case of what is left.  GOLDEN_SHOW=1 says what each case that
 * rounds differs by. */
#include "config.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/gemm.h"
#include "src/answer/decode.h"
#include "src/run.h"
#include "tests/file.h"
#include "tests/kernels.h"
#include "tests/tap.h"
#include "tests/worse.h"

enum { MAX_TOKENS = 1024, N_VOCAB = 256, MAX_NEW = 16, MAX_PROMPTS = 64, MAX_LAYERS = 8, MAX_HEADS = 8,
       SHORT = 200,                 /* tokens of a prompt for plain C, ...           */
       LONG = 400,                  /* ... of one that is run once per level         */
       SHARE = 3, LONG_SHARE = 9,   /* levels that are not the usual one: every so many     */
       QUESTION = 24 };             /* tokens of it at the end of a prompt */

/* Tokens that each head of each layer keeps. */
struct set { size_t n; uint16_t at[MAX_TOKENS]; };

struct golden {
    char     model[32], prompt[8], method[32];
    unsigned layer, k, keep_first, keep_last, budget, n_new;
    char     spec[160], schedule[96];   /* as a user would write the method and the schedule */
    bool     spill;
    const char *gemm;                   /* who multiplies (gemm.h)                           */
    double   margin, gap;
    float    logits[N_VOCAB], score[MAX_TOKENS];
    uint32_t token[MAX_NEW];
    struct set sel[MAX_LAYERS][MAX_HEADS];
    unsigned n_sel;                     /* lines "sel"; one is of all layers and heads       */
    size_t   n_score;
};

static struct prompt { char model[32], name[8]; uint32_t id[MAX_TOKENS]; size_t n; } prompts[MAX_PROMPTS];
static size_t n_prompts;
static uint8_t *blob;

static const char *value(const char *line, const char *key)
{
    const char *p = strstr(line, key);

    return p ? p + strlen(key) : NULL;
}

static unsigned number(const char *line, const char *key, unsigned fallback)
{
    const char *p = value(line, key);

    return p ? (unsigned)strtoul(p, NULL, 10) : fallback;
}

static void parse_prompt(char *line)
{
    struct prompt *p = &prompts[n_prompts++];
    int at;
    char *s;

    sscanf(line, "prompt %31s %7s %zu%n", p->model, p->name, &p->n, &at);
    s = line + at;
    for (size_t i = 0; i < p->n; i++)
        p->id[i] = (uint32_t)strtoul(s, &s, 10);
}

/* The oracle's methods, the names and parameters that they have here. */
static const struct { const char *oracle, *spec; } methods[] = {
    { "gemfilter-one-run", "gemfilter-onerun" },    { "gemfilter", "gemfilter" },
    { "stream-", "gemfilter" },                     { "snapkv", "snapkv" },
    { "h2o", "h2o" },                               { "streaming-online", "streamingllm-online" },
    { "streaming", "streamingllm" },
    { "fastkv", "fastkv" },                         { "asl-2pass", "asl-2pass" },
    { "asl", "asl" },                               { "pyramidinfer", "pyramidinfer" },
    { "finch", "finch" },                           { "full", "full" },
    { "truncate", "truncate" },
};

static const struct { const char *spec, *oracle, *param; } params[] = {
    { "gemfilter", " pool=", "pool" },              { "gemfilter", " kernel=", "kernel" },
    { "snapkv", " window=", "window" },             { "snapkv", " kernel=", "kernel" },
    { "snapkv", " pool=", "pool" },                 { "h2o", " recent=", "recent" },
    { "streamingllm", " sinks=", "sinks" },         { "streamingllm-online", " sinks=", "sinks" },
    { "fastkv", " layer=", "tsp" },                 { "fastkv", " tsp_rate=", "tsp_rate" },
    { "fastkv", " kv_rate=", "kv_rate" },           { "fastkv", " tsp_len=", "tsp_len" },
    { "fastkv", " kv_len=", "kv_len" },             { "fastkv", " window=", "window" },
    { "fastkv", " kernel=", "kernel" },             { "fastkv", " pool=", "pool" },
    { "asl", " window=", "window" },                { "asl", " kernel=", "kernel" },
    { "asl", " l_min=", "lmin" },                   { "asl", " l_obs=", "lobs" },
    { "asl", " tau=", "tau" },                      { "asl-2pass", " score=", "score" },
    { "asl-2pass", " window=", "window" },          { "asl-2pass", " kernel=", "kernel" },
    { "asl-2pass", " l_min=", "lmin" },             { "asl-2pass", " l_obs=", "lobs" },
    { "asl-2pass", " tau=", "tau" },
    { "pyramidinfer", " recent_ratio=", "recent" }, { "pyramidinfer", " decay=", "decay" },
    { "pyramidinfer", " min_ctx=", "least" },       { "pyramidinfer", " sinks=", "sinks" },
    { "pyramidinfer", " weight=", "weight" },       { "finch", " chunk=", "chunk" },
    { "finch", " heads=", "heads" },                { "finch", " guide=", "guide" },
};

static void parse_spec(const char *line, struct golden *g)
{
    const char *name = NULL;
    size_t at;

    for (size_t i = 0; !name; i++)
        if (!strncmp(g->method, methods[i].oracle, strlen(methods[i].oracle)))
            name = methods[i].spec;
    at = (size_t)snprintf(g->spec, sizeof g->spec, "%s:", name);
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        const char *p = strcmp(params[i].spec, name) ? NULL : value(line, params[i].oracle);

        if (p)
            at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "%s=%.*s,", params[i].param,
                                   (int)strcspn(p, " \n"), p);
    }
    if (value(line, " row=mid") || value(line, " row=maxnorm"))
        at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "row=%s,",
                               value(line, " row=mid") ? "middle" : "largest");
    if (value(line, " full_before=1"))
        at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "kv=full,");
    if (value(line, " heads=q"))
        at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "heads=query,");
    if (value(line, " dynamic=1"))
        at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "evict=step,");
    if (value(line, " reposition=1"))
        at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "positions=cache,");
    if (value(line, " normalize=0"))
        at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "normalize=off,");
    if (!strcmp(name, "finch"))
        at += (size_t)snprintf(g->spec + at, sizeof g->spec - at, "ratio=%s,",
                               value(line, " sigma=exact") ? "exact" : "ceil");
    g->spec[at - 1] = 0;
}

static void parse_case(const char *line, struct golden *g)
{
    memset(g, 0, sizeof *g);
    g->gemm = "own";
    sscanf(line, "case %31s %7s %31s", g->model, g->prompt, g->method);
    parse_spec(line, g);
    g->layer = number(line, " layer=", 0);
    g->k = number(line, " k=", 0);
    g->keep_first = number(line, " keep_first=", 0);
    g->keep_last = number(line, " keep_last=", 0);
    g->budget = number(line, " budget=", 0);
    g->n_new = number(line, " n_new=", 0);
    g->margin = strtod(value(line, " margin="), NULL);
    g->gap = strtod(value(line, " gap="), NULL);
    if (!g->k)
        g->k = g->budget;
    if (value(line, " heavy="))
        g->k = number(line, " heavy=", 0) + number(line, " recent=", 0);
    if (value(line, " target="))
        g->k = number(line, " target=", 0) + QUESTION;
    strcpy(g->schedule, "layer");
    if (!strncmp(g->method, "stream-", 7)) {
        snprintf(g->schedule, sizeof g->schedule, "stream:budget=%u,step=%u,warm=%u,recent=32,keys=f32,refine=0,"
                 "place=%s", g->budget, number(line, " chunk=", 0), number(line, " overlap=", 0),
                 g->method + 7);
        g->keep_first = 4;
        g->keep_last = QUESTION;
    }
}

/* ---- running a case --------------------------------------------------------------------- */

struct result {
    float    score[MAX_TOKENS], logits[N_VOCAB];
    uint32_t kept[MAX_TOKENS], token[MAX_NEW];
    size_t   n_kept;
    struct set sel[MAX_LAYERS][MAX_HEADS];
};

static void holds(void *arg, uint32_t il, uint32_t ih, const uint32_t *at, size_t n)
{
    struct result *r = arg;

    r->sel[il][ih].n = n;
    for (size_t i = 0; i < n; i++)
        r->sel[il][ih].at[i] = (uint16_t)at[i];
}

/* What the case asks, as a session would ask it. */
static struct gkv__task task_of(const gkv_model *m, const struct golden *g, const struct prompt *p)
{
    struct gkv__task t = {
        .m = m, .layer = (int32_t)g->layer, .filter = g->layer, .spill = g->spill,
        .kv_first = gkv__quant_named("f32"), .kv = gkv__quant_named("f32"), .n = p->n, .n_tail = QUESTION,
        .k = g->k ? g->k : p->n, .keep_first = g->keep_first, .keep_last = g->keep_last, .n_new = g->n_new,
    };

    if (gkv__select_parse(g->spec, &t.method, t.param, NULL) != GKV_OK ||
        gkv__schedule_parse(g->schedule, &t.schedule, t.schedule_param, NULL) != GKV_OK)
        exit(1);
    if (t.method->row)
        t.row = t.method->row(t.param);
    return t;
}

static void run(const gkv_model *m, const struct golden *g, const struct prompt *p,
                const struct gkv__simd *simd, unsigned threads, uint32_t chunk, struct result *r)
{
    const struct gkv__task t = task_of(m, g, p);
    struct gkv__exec e = { 0 };
    struct gkv__context c = { .t = &t, .e = &e, .id = p->id, .holds = holds, .holds_arg = r };
    struct gkv__decode d = { .e = &e, .m = m, .kv = t.kv, .n_new = g->n_new ? g->n_new : 1,
                             .n_most = g->n_new ? g->n_new : 1 };

    memset(r, 0, sizeof *r);
    if (gkv__exec_open(&e, simd, gkv__gemm_named(g->gemm), &m->shape, threads, chunk, NULL) != GKV_OK ||
        gkv__run(&c, NULL) != GKV_OK || gkv__decode_begin(&d, &c, GKV_STAGE_PREFILL, NULL) != GKV_OK)
        exit(1);
    r->n_kept = c.n_kept;
    memcpy(r->kept, c.kept, c.n_kept * sizeof *c.kept);
    if (c.score)
        memcpy(r->score, c.score, p->n * sizeof *c.score);
    memcpy(r->logits, d.logits, N_VOCAB * sizeof *d.logits);
    for (unsigned i = 0; i < g->n_new; i++) {
        if (gkv__decode_next(&d, &r->token[i], NULL) != GKV_OK)
            exit(1);
        gkv__decode_append(&d, r->token[i]);
    }
    gkv__decode_close(&d);
    gkv__run_close(&c);
    gkv__exec_close(&e);
}

static const gkv_model *model_named(const char *name)
{
    static struct { char name[32]; gkv_model *m; } open[16];
    char path[512];
    gkv_error err;
    size_t i = 0;

    for (; open[i].m; i++)
        if (!strcmp(open[i].name, name))
            return open[i].m;
    snprintf(path, sizeof path, "%s/tests/files/golden/%s.gguf",
             getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&open[i].m, path, 0, &err) != GKV_OK) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    strcpy(open[i].name, name);
    return open[i].m;
}

/* ---- comparing -------------------------------------------------------------------------- */

/* Two things round on purpose.  Attention in bfloat16 (simd.h) rounds q, k, v and the weights of the
 * softmax to 8 bits, each by up to half a unit in its last place: 2^-9 to 2^-8 of itself, 2^-9.3 in
 * the root mean square.  Products with quantised weights (gemm_int.h) round activations to 8 bits in
 * blocks of 32, each by up to max|x| / 254.  Bounds from adding up the worst of every step would be larger than
 * logits are.  Errors of different numbers being as good as independent, what remains of them is their root
 * mean square, and that build-aux/golden-rounding.py computes: the oracle once more, each number to be
 * rounded moved by a random part of half a unit.  rounding.txt has, of each case, what that moves.
 *
 * NEAR is derived, from the oracle alone.  Of one case there were 4 or 8 computations with errors; how much they
 * differ among themselves says that their squared errors have 12 to 30 degrees of freedom
 * (build-aux/golden-spread.py).  So another computation exceeds 2.4 times their root mean square once in 100,000;
 * with as few as 8 degrees, 2.8 times.  Of the oracle's own 1,904, one exceeds three times that of the others.
 *
 * FAR, POOLED and the factors in most() and check_pools() are fitted: they were set after seeing what this engine
 * gives, to the nearest round number that leaves room for chance, because what a token more or less does later is not
 * a rounding error and has no such distribution.  Over all cases of a method chance evens out: the deviation of
 * a pool's ratio is 0.2 / sqrt(cases) by the same degrees of freedom, and 1.5 / sqrt(cases) is allowed for cases that
 * are not independent.  Tokens may be others than the oracle's where their scores are as close as scores move: as
 * many as in those computations, with room for chance.  Logits of a second pass over other tokens are compared with
 * those in floats over the same. */
struct loss {
    double logit, score;                /* root mean squares, while the selection is the oracle's */
    double far;                         /* the most of a logit when it is not                */
    double swaps, most;                 /* tokens that the oracle did not select: mean, most */
    bool   rounds, activations;         /* anything; those beside quantised weights          */
};
#define NEAR 3.0
#define FAR 1.5
#define POOLED 1.15
static const struct loss exact = { .score = 1e-5, .logit = 1e-3 };

struct bound { char model[32], prompt[8], method[32], form[8]; bool on_the_way; struct loss l; };
static struct bound bounds[1024];
static size_t n_bounds;

/* What the logits of a method depend on. */
enum kind {
    PREFILL,                            /* all tokens; what is selected comes later          */
    SECOND,                             /* the selected tokens, and nothing else             */
    ON_THE_WAY,                         /* what layers or chunks before selected             */
};

static enum kind kind_of(const struct golden *g)
{
    static const char *const prefill[] = { "gemfilter-onerun", "snapkv", "h2o", "streamingllm" };
    const struct gkv__select *method;
    double param[GKV__MAX_PARAMS];

    if (gkv__select_parse(g->spec, &method, param, NULL) != GKV_OK)
        exit(1);
    for (size_t i = 0; i < sizeof prefill / sizeof *prefill; i++)
        if (!strcmp(method->name, prefill[i]))
            return PREFILL;
    return method->kind >= GKV__SWEEPS && strcmp(method->name, "asl-2pass") ? ON_THE_WAY : SECOND;
}

/* Files of few methods lack it. */
static bool has_truncate(const char *model)
{
    for (const struct bound *b = bounds; b < bounds + n_bounds; b++)
        if (!strcmp(b->model, model) && !strcmp(b->method, "truncate"))
            return true;
    return false;
}

static const struct bound *bound_of(const struct golden *g, const char *method, const char *form)
{
    for (const struct bound *b = bounds; b < bounds + n_bounds; b++)
        if (!strcmp(b->form, form) && !strcmp(b->model, g->model) && !strcmp(b->prompt, g->prompt) &&
            !strcmp(b->method, method))
            return b;
    printf("Bail out! rounding.txt lacks %s %s %s %s\n", g->model, g->prompt, method, form);
    exit(1);
}

/* What rounding in a form is to move, a part of it where steps are smaller.  Few members or none may have kept to
 * the oracle's selection, so that what "full" and "truncate" compute says what a logit moves at least.
 * A selection on the way changes those that follow, and schedule stream's what is scored, which is rare and then
 * much: for that bounds are from all prompts and all such methods of the model. */
static void add_loss(struct loss *to, const struct golden *g, const char *form, double part)
{
    const struct bound *own = bound_of(g, g->method, form);
    const enum kind kind = kind_of(g);
    const bool stream = !strncmp(g->schedule, "stream", 6), second = kind == SECOND && has_truncate(g->model);
    double far = own->l.far, logit = own->l.logit, score = own->l.score;

    for (const struct bound *b = bounds; b < bounds + n_bounds && stream; b++)
        if (!strcmp(b->form, form) && !strcmp(b->model, g->model) && !strncmp(b->method, "stream-", 7))
            score = fmax(score, b->l.score);
    for (const struct bound *b = bounds; b < bounds + n_bounds && kind == ON_THE_WAY; b++)
        if (!strcmp(b->form, form) && !strcmp(b->model, g->model) && b->on_the_way) {
            far = fmax(far, b->l.far);
            to->most = fmax(to->most, b->l.most);
        }
    if (kind != ON_THE_WAY)
        logit = fmax(logit, bound_of(g, second ? "truncate" : "full", form)->l.logit);
    else if (!(logit > 0))
        logit = own->l.far;
    if (strstr(g->spec, "row=largest"))         /* of another row */
        to->most = fmax(to->most, own->l.most);
    to->rounds = true;
    to->logit = hypot(to->logit, part * logit);
    to->score = hypot(to->score, part * score);
    to->swaps += part * own->l.swaps;
    to->far = hypot(to->far, part * far);
}

/* The step of activations beside the coarsest of a model's types, in 8 bits: 1.  With one scale for 128 or 256 the largest of a
 * block is larger by a quarter or by three eighths, and weights are rounded as much as activations. */
static double step_of(const gkv_model *m, const struct gkv__simd *simd, const char *gemm)
{
    const struct gkv__layer_weights *w = m->layer;
    const struct gkv__mat *mats[] = { &w->q, &w->k, &w->v, &w->o, &w->gate, &w->up, &w->down, &m->output };
    double step = 0;

    for (size_t i = 0; i < sizeof mats / sizeof *mats; i++) {
        const struct gkv__product *p = mats[i]->format ? &simd->product[mats[i]->format->type] : NULL;

        if (p && p->form)
            step = fmax(step, strcmp(p->form, "i8") ? 127.0 / 32767 : 1);
        if (p && !strcmp(gemm, "coarse") && simd->many_coarse[mats[i]->format->type].form)
            step = hypot(1.375, 1.375);
        else if (p && !strcmp(gemm, "coarse") && simd->coarse[mats[i]->format->type].form)
            step = hypot(1.25, 1.25);
    }
    return step;
}

static struct loss loss_of(const struct golden *g, const struct gkv__simd *simd)
{
    const bool rounded = !strcmp(g->gemm, "own") || !strcmp(g->gemm, "coarse");
    const double step = rounded ? step_of(model_named(g->model), simd, g->gemm) : 0;
    struct loss l = { 0 };

    if (simd->attend.pairs)
        add_loss(&l, g, "attend", 1);
    if (step > 0)
        add_loss(&l, g, "gemm", step);
    l.activations = step > 0;
    return l.rounds ? l : exact;
}

/* What was seen of a method in an arithmetic, over all its cases. */
static struct pool {
    char     method[32], what[96];
    double   moved, swaps, expected, tokens;
    unsigned cases;
    bool     cascades;                  /* a selection changes others                        */
} pools[512];
static double worst_logit, worst_score;

static struct pool *pool_of(const char *method, const char *what)
{
    struct pool *p = pools;

    while (p->method[0] && (strcmp(p->method, method) || strcmp(p->what, what)))
        p++;
    snprintf(p->method, sizeof p->method, "%s", method);
    snprintf(p->what, sizeof p->what, "%s", what);
    return p;
}

/* Tokens that the oracle did not select, over all layers and heads, and of how many. */
struct selected { size_t other, of; bool same, sizes; };

static void compare(struct selected *s, const struct set *is, const struct set *want)
{
    bool there[MAX_TOKENS] = { false };

    for (size_t i = 0; i < want->n; i++)
        there[want->at[i]] = true;
    for (size_t i = 0; i < is->n; i++)
        s->other += !there[is->at[i]];
    s->of += want->n;
    s->sizes &= is->n == want->n;
    s->same &= is->n == want->n && !memcmp(is->at, want->at, is->n * sizeof *is->at);
}

/* One line "sel" is what all layers hold, or what the second pass sees; the first head's alone in a
 * layer is that of all; a layer without a line holds everything. */
static struct selected selected(const struct golden *g, const struct result *r)
{
    const gkv_model *m = model_named(g->model);
    const bool query = strstr(g->spec, "heads=query");
    const unsigned last = m->shape.n_layer - 1;
    struct selected s = { 0, 0, true, true };

    if (!r->sel[0][0].n || !strncmp(g->spec, "asl-2pass", 9)) {
        struct set kept = { .n = r->n_kept };

        for (size_t i = 0; i < r->n_kept; i++)
            kept.at[i] = (uint16_t)r->kept[i];
        compare(&s, &kept, &g->sel[0][0]);
        return s;
    }
    for (unsigned il = 0; il <= last; il++)
        for (unsigned ih = 0; ih < (query ? m->shape.n_head : m->shape.n_head_kv); ih++) {
            const struct set *want = &g->sel[g->n_sel == 1 ? 0 : il][0], *is = &r->sel[il][ih];

            const bool shared = ih && !want[ih].n;
            struct selected one = { 0, 0, true, true };

            want = want[ih].n ? &want[ih] : want;
            if (want->n)
                compare(&one, is, want);
            else if (is->n < g->sel[last][0].n)
                one.same = one.sizes = false;
            s.same &= one.same;
            s.sizes &= one.sizes;
            if (!shared && (!il || g->n_sel > 1)) {     /* the oracle has it once */
                s.other += one.other;
                s.of += one.of;
            }
        }
    return s;
}

static int equal_exactly(const struct golden *g, const struct result *r)
{
    double score_error = 0, score_max = 0;
    int good = 1;

    for (size_t i = 0; i < g->n_score; i++) {
        score_error = worse(score_error, fabs((double)r->score[i] - (double)g->score[i]));
        score_max = fmax(score_max, fabs((double)g->score[i]));
    }
    if (!strcmp(g->spec, "gemfilter-onerun"))       /* it reports how many heads keep a token */
        score_error = 0;
    if (g->n_score && score_error > exact.score * score_max)
        good = 0, printf("# scores differ by %g of %g\n", score_error, score_max);
    if (g->n_score)
        worst_score = worse(worst_score, score_error / score_max);
    if (g->n_sel && !selected(g, r).same)
        good = 0, printf("# selected tokens differ (margin %g)\n", g->margin);
    for (size_t i = 0; i < N_VOCAB; i++) {
        double d = fabs((double)r->logits[i] - (double)g->logits[i]);

        worst_logit = worse(worst_logit, d);
        if (!(d < exact.logit)) {
            good = 0, printf("# logit %zu differs by %g\n", i, d);
            break;
        }
    }
    for (unsigned i = 0; i < g->n_new; i++)
        if (r->token[i] != g->token[i]) {
            good = 0, printf("# token %u is %u, not %u (gap %g)\n", i, r->token[i], g->token[i], g->gap);
            break;
        }
    return good;
}

/* The root mean square of a - b. */
static double moved(const float *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum / (double)n);
}

/* Tokens other than the oracle's that chance brings when so many are to be expected: they come several at a time,
 * for pooling ties neighbours, and a token lost in one layer lacks in all that follow. */
static double most(double expected)
{
    return 2 * expected + 6 * sqrt(expected) + 6;
}

/* In floats, the logits of the second pass over what was selected. */
static void second_logits(const struct golden *g, const struct prompt *p, const struct result *r, float *logits)
{
    static struct prompt kept;
    static struct golden other;
    static struct result is;
    struct gkv__simd simd;

    kept.n = r->n_kept;
    for (size_t i = 0; i < r->n_kept; i++)
        kept.id[i] = p->id[r->kept[i]];
    other = *g;
    strcpy(other.spec, "full");
    strcpy(other.schedule, "layer");
    other.gemm = "exact";
    other.k = 0;
    gkv__simd_init(&simd, 0);
    run(model_named(g->model), &other, &kept, &simd, 1, 128, &is);
    memcpy(logits, is.logits, sizeof is.logits);
}

static void add_to(struct pool *pool, double moved, bool logits, const struct selected *s, double expected)
{
    pool->moved += logits ? moved * moved : 0;
    pool->cases += logits;
    pool->swaps += (double)s->other;
    pool->expected += expected;
    pool->tokens += (double)s->of;
}

static int equal_roundly(const struct golden *g, const struct prompt *p, const struct result *r, const struct loss *l,
                         const char *what, bool counts)
{
    const bool scores = g->n_score && strcmp(g->spec, "gemfilter-onerun");
    const struct selected s = g->n_sel ? selected(g, r) : (struct selected){ 0, 0, true, true };
    const enum kind kind = kind_of(g);
    const bool far = s.other && kind == ON_THE_WAY;
    const double score = scores ? moved(r->score, g->score, g->n_score) : 0;
    float want[N_VOCAB];
    double logit, bound;
    int good = 1;

    memcpy(want, g->logits, sizeof want);
    if (s.other && kind == SECOND)
        second_logits(g, p, r, want);
    logit = moved(r->logits, want, N_VOCAB);
    bound = far ? FAR * fmax(l->far, NEAR * l->logit) : NEAR * l->logit;
    if (getenv("GOLDEN_SHOW"))
        printf("# %s %s %s, %s: logits %.2g, expected %.2g, bound %.2g; scores %.2g, %.2g; others %zu of %zu, %g\n",
               g->model, g->prompt, g->method, what, logit, l->logit, bound, score, l->score, s.other, s.of,
               l->swaps);
    if (!(score <= NEAR * l->score))
        good = 0, printf("# scores differ by %g, %g is to be expected\n", score, l->score);
    if (!s.sizes && strncmp(g->spec, "asl", 3))
        good = 0, printf("# other numbers of tokens\n");
    if ((double)s.other > fmax(most(l->swaps), FAR * l->most))
        good = 0, printf("# %zu of %zu tokens are others, %g are to be expected\n", s.other, s.of, l->swaps);
    if (!(logit <= bound))
        good = 0, printf("# logits differ by %g, %g is to be expected, %g the most\n", logit, l->logit, bound);
    for (unsigned i = 0; i < g->n_new && !s.other && g->gap > 4 * NEAR * l->logit; i++)
        if (r->token[i] != g->token[i]) {
            good = 0, printf("# token %u is %u, not %u (gap %g)\n", i, r->token[i], g->token[i], g->gap);
            break;
        }
    if (counts) {
        pool_of("all methods", what)->cascades = true;
        add_to(pool_of(g->method, what), logit / l->logit, !far, &s, l->swaps);
        pool_of(g->method, what)->cascades = kind == ON_THE_WAY || strstr(g->spec, "row=largest");
        add_to(pool_of("all methods", what), logit / l->logit, !far, &s, l->swaps);
    }
    return good;
}

static int equal(const struct golden *g, const struct prompt *p, const struct result *r, const struct gkv__simd *simd,
                 bool counts)
{
    const struct loss l = loss_of(g, simd);
    char what[96];

    snprintf(what, sizeof what, "%s%s, gemm %s", simd->level, l.activations ? ", rounded activations" : "", g->gemm);
    return l.rounds ? equal_roundly(g, p, r, &l, what, counts) : equal_exactly(g, r);
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *s = getenv(name);
    const unsigned long n = s ? strtoul(s, NULL, 10) : 0;

    return n ? n : otherwise;
}

/* Names a check: the case, the kernels, and who multiplies if that is not as usual. */
#define SAYS "%s %s %s: %s%s%s"
#define ANOTHER "another case proves this level; GOLDEN_SHARE=1 runs all"
#define SAID(g, simd) (g)->model, (g)->prompt, (g)->method, (simd)->level,              \
    strcmp((g)->gemm, "own") ? ", gemm " : "", strcmp((g)->gemm, "own") ? (g)->gemm : ""

/* The bytes that other threads, another schedule or a file give. */
static void check_same(const struct golden *g, const struct prompt *p, const struct gkv__simd *simd,
                       const struct result *is, unsigned threads, const char *what)
{
    static struct result r;

    run(model_named(g->model), g, p, simd, threads, 128, &r);
    ok(!memcmp(is, &r, sizeof r), SAYS ", same bytes %s", SAID(g, simd), what);
}

/* odd: every second case sees one chunk, the others more threads, another schedule and a file. */
static void check_table(const struct golden *g, const struct prompt *p, const struct gkv__simd *simd, bool odd)
{
    static struct golden other;             /* large, as these */
    static struct result a, b;
    const gkv_model *m = model_named(g->model);
    const struct gkv__select *method;
    double param[GKV__MAX_PARAMS];
    const bool one_pass = gkv__select_parse(g->spec, &method, param, NULL) == GKV_OK && method->kind >= GKV__SWEEPS;

    if (!strcmp(simd->level, "ref") && p->n > (one_pass ? SHORT : LONG)) {
        skip("plain C is slow: short prompts only", SAYS, SAID(g, simd));
        return;
    }
    run(m, g, p, simd, 1, 128, &a);
    ok(equal(g, p, &a, simd, true), SAYS, SAID(g, simd));
    if (!strcmp(simd->level, "ref") || (one_pass && p->n > LONG)) {
        skip("it takes long: once", SAYS ", other threads and chunks", SAID(g, simd));
        return;
    }
    if (odd) {
        run(m, g, p, simd, 2, 1024, &b);
        ok(equal(g, p, &b, simd, false), SAYS ", one chunk", SAID(g, simd));
        return;
    }
    check_same(g, p, simd, &a, 3, "with 3 threads");
    if (strncmp(g->spec, "gemfilter", 9) || one_pass || strstr(g->spec, "row=") || strcmp(g->schedule, "layer"))
        return;                             /* it has no such schedule, no such file */
    other = *g;
    strcpy(other.schedule, "chunk");
    check_same(&other, p, simd, &a, 2, "with schedule chunk");
    strcpy(other.schedule, "layer");
    other.spill = true;
    check_same(&other, p, simd, &a, 2, "from a file");
}

/* With our products; exactly, where ours round; and by the libraries of this build. */
static void check_level(const struct golden *g, const struct prompt *p, const struct gkv__simd *simd, bool odd)
{
    static struct golden other;
    const double own = step_of(model_named(g->model), simd, "own");
    const bool quantised = own > 0, coarse = step_of(model_named(g->model), simd, "coarse") > own;
    const char *name;

    check_table(g, p, simd, odd);
    other = *g;
    for (size_t i = 0; (name = gkv__gemm_at(i)); i++) {
        other.gemm = name;
        if (!strcmp(name, "own") || !strcmp(simd->level, "ref") || (!strcmp(name, "exact") && !quantised) ||
            (!strcmp(name, "coarse") && !coarse))
            continue;                   /* the same as our own */
        check_table(&other, p, simd, !odd);
    }
}

/* The level that this CPU takes by itself proves all cases, each of the others its share of them. */
static void check(const struct golden *g)
{
    const struct prompt *p = prompts;
    const unsigned cpu = gkv__cpu_detect();
    const unsigned long most = setting("GOLDEN_TOKENS", ULONG_MAX), every = setting("GOLDEN_EVERY", 1);
    const char *level;
    static unsigned long n_cases, n_run;
    struct gkv__simd simd;
    unsigned mask, share;
    size_t i;

    while (strcmp(p->model, g->model) || strcmp(p->name, g->prompt))
        p++;
    if (p->n > most || n_cases++ % every) {
        skip("$GOLDEN_TOKENS, $GOLDEN_EVERY", "%s %s %s", g->model, g->prompt, g->method);
        return;
    }
    n_run++;
    share = (unsigned)setting("GOLDEN_SHARE", p->n > LONG ? LONG_SHARE : SHARE);
    for (i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        const bool usual = gkv__simd() && !strcmp(gkv__simd()->level, level);

        if ((mask & cpu) != mask) {
            skip("this CPU lacks it", "%s %s %s: %s", g->model, g->prompt, g->method, level);
        } else if (!usual && (n_run + i) % share) {
            skip(ANOTHER, "%s %s %s: %s", g->model, g->prompt, g->method, level);
        } else {
            gkv__simd_init(&simd, mask);
            check_level(g, p, &simd, n_run % 2);
        }
    }
#if HAVE_ISA_AVX2
    if (!(cpu & GKV__CPU_AVX2)) {
        skip("this CPU lacks AVX2", "%s %s %s: avx512bf16's shapes", g->model, g->prompt, g->method);
    } else if ((n_run + i) % setting("GOLDEN_SHARE", LONG_SHARE)) {      /* vectors wider than the CPU's are slow */
        skip(ANOTHER, "%s %s %s: avx512bf16's shapes on avx2", g->model, g->prompt, g->method);
    } else {
        fill_wide_bf16_table(&simd);
        check_level(g, p, &simd, n_run % 2);
    }
#endif
}

static void parse_rounding(void)
{
    static const char *const on_the_way[] = { "asl", "fastkv", "finch", "pyramidinfer", "streaming-online" };
    size_t len;
    char *text = slurp("tests/files/golden/rounding.txt", &len), *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct bound *b = &bounds[n_bounds++];

        if (n_bounds > sizeof bounds / sizeof *bounds ||
            sscanf(line, "%31s %7s %31s %7s %lf %lf %lf %lf %lf", b->model, b->prompt, b->method, b->form,
                   &b->l.logit, &b->l.score, &b->l.swaps, &b->l.most, &b->l.far) != 9) {
            printf("Bail out! rounding.txt: %s\n", line);
            exit(1);
        }
        for (size_t i = 0; i < sizeof on_the_way / sizeof *on_the_way; i++)
            b->on_the_way |= !strncmp(b->method, on_the_way[i], strlen(on_the_way[i])) &&
                             strncmp(b->method, "asl-2pass", 9);
    }
    free(text);
}

/* What chance does to one case evens out over many. */
static void check_pools(void)
{
    for (const struct pool *p = pools; p->method[0]; p++) {
        const double ratio = p->cases ? sqrt(p->moved / p->cases) : 0;

        if (p->cases)
            ok(ratio <= POOLED + 1.5 / sqrt(p->cases), "%s, %s: logits move %.2f of what rounding does, %u cases",
               p->method, p->what, ratio, p->cases);
        if (p->tokens > 0)
            ok(p->swaps <= POOLED * p->expected + (p->cascades ? 25 : 6) * sqrt(p->expected) + 6,
               "%s, %s: %.4f of the oracle's tokens, %.4f to be expected", p->method, p->what,
               1 - p->swaps / p->tokens, 1 - p->expected / p->tokens);
    }
}

/* The cases of tests/files/golden/NAME.txt, numbers in NAME.bin. */
static void check_all(const char *name)
{
    static struct golden g;
    size_t len, off, n;
    char path[64], *text, *line, *save = NULL;
    unsigned layer, grp;

    snprintf(path, sizeof path, "tests/files/golden/%s.txt", name);
    text = slurp(path, &len);
    snprintf(path, sizeof path, "tests/files/golden/%s.bin", name);
    blob = slurp(path, &len);
    for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!strncmp(line, "prompt ", 7)) {
            parse_prompt(line);
        } else if (!strncmp(line, "case ", 5)) {
            parse_case(line, &g);
        } else if (sscanf(line, "logits %zu %zu", &off, &n) == 2) {
            memcpy(g.logits, blob + off, n * sizeof *g.logits);
        } else if (sscanf(line, "scores %zu %zu", &off, &n) == 2) {
            memcpy(g.score, blob + off, n * sizeof *g.score);
            g.n_score = n;
        } else if (sscanf(line, "sel %u %u %zu %zu", &layer, &grp, &off, &n) == 4) {
            memcpy(g.sel[layer][grp].at, blob + off, n * sizeof(uint16_t));
            g.sel[layer][grp].n = n;
            g.n_sel++;
        } else if (!strncmp(line, "tokens ", 7)) {
            char *s = line + 7;
            for (unsigned i = 0; i < g.n_new; i++)
                g.token[i] = (uint32_t)strtoul(s, &s, 10);
        } else if (!strcmp(line, "end")) {
            check(&g);
        }
    }
    free(text);
    free(blob);
}

int main(void)
{
    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    parse_rounding();
    check_all("cases");
    check_all("arch");
    check_all("heads");
    check_all("finch");
    check_pools();
    printf("# worst error: logits %.2g, scores %.2g of the largest\n", worst_logit, worst_score);
    return done();
}
