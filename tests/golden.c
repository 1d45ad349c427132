/* SPDX-License-Identifier: BSD-2-Clause
 * golden.c - the engine against the float64 oracle (tests/files/golden, made by
 * build-aux/golden.py and golden-arch.py): scores, selected tokens, logits and greedy
 * continuations, at every kernel level that this CPU has, and the same bytes from one thread and
 * from three.  Methods of one pass leave the longest prompts to the faster levels, and run each once.
 * For slow machines, emulators and sanitizers, GOLDEN_TOKENS=N leaves out prompts of more than N
 * tokens, and GOLDEN_EVERY=N all but every Nth case of what is left. */
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

enum { MAX_TOKENS = 1024, N_VOCAB = 256, MAX_NEW = 16, MAX_PROMPTS = 32, MAX_LAYERS = 8, MAX_HEADS = 8,
       LONG = 400,                  /* tokens of a prompt that is run once per level */
       QUESTION = 24 };             /* tokens of it at the end of a prompt */

/* Tokens that each head of each layer keeps. */
struct set { size_t n; uint16_t at[MAX_TOKENS]; };

struct golden {
    char     model[32], prompt[8], method[32];
    unsigned layer, k, keep_first, keep_last, budget, n_new;
    char     spec[160], schedule[96];   /* as a user would write the method and the schedule */
    bool     spill;
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
    { "finch", " heads=", "heads" },
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
    struct gkv__decode d = { .e = &e, .m = m, .kv = t.kv, .n_new = g->n_new ? g->n_new : 1 };

    memset(r, 0, sizeof *r);
    if (gkv__exec_open(&e, simd, gkv__gemm_named("own"), &m->shape, threads, chunk, NULL) != GKV_OK ||
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
    static struct { char name[32]; gkv_model *m; } open[8];
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

/* What the form of attention may lose: f32 next to nothing; bfloat16 was seen to lose 0.025 of
 * the largest score and 0.2 of a logit (phi3, with heads of 8).  A choice whose margin is smaller
 * proves nothing, and nothing does what comes after another choice. */
struct loss { double score, logit; };
static const struct loss exact = { 1e-5, 1e-3 }, rounded = { 4e-2, 0.3 };

static double worst_logit, worst_score;

static int same_set(const struct set *a, const struct set *b)
{
    return a->n == b->n && !memcmp(a->at, b->at, a->n * sizeof *a->at);
}

/* One line "sel" is what all layers hold, or what the second pass sees; the first head's alone in a
 * layer is that of all; a layer without a line holds everything. */
static int same_sets(const struct golden *g, const struct result *r)
{
    const gkv_model *m = model_named(g->model);
    const bool query = strstr(g->spec, "heads=query");
    int same = 1;

    if (!r->sel[0][0].n || !strncmp(g->spec, "asl-2pass", 9)) {
        same = r->n_kept == g->sel[0][0].n;
        for (size_t i = 0; same && i < r->n_kept; i++)
            same = r->kept[i] == g->sel[0][0].at[i];
        return same;
    }
    for (unsigned il = 0; il < m->shape.n_layer; il++)
        for (unsigned ih = 0; ih < (query ? m->shape.n_head : m->shape.n_head_kv); ih++) {
            const struct set *want = &g->sel[g->n_sel == 1 ? 0 : il][0];

            want = want[ih].n ? &want[ih] : want;
            if (!want->n ? r->sel[il][ih].n < g->sel[m->shape.n_layer - 1][0].n
                         : !same_set(want, &r->sel[il][ih])) {
                printf("# layer %u, head %u: %zu tokens, not the %zu of the oracle\n", il, ih,
                       r->sel[il][ih].n, want->n);
                same = 0;
            }
        }
    return same;
}

static int equal(const struct golden *g, const struct result *r, const struct loss *loss)
{
    double score_error = 0, score_max = 0;
    int good = 1;

    for (size_t i = 0; i < g->n_score; i++) {
        score_error = fmax(score_error, fabs((double)r->score[i] - (double)g->score[i]));
        score_max = fmax(score_max, fabs((double)g->score[i]));
    }
    if (!strcmp(g->spec, "gemfilter-onerun"))       /* it reports how many heads keep a token */
        score_error = 0;
    if (g->n_score && score_error > loss->score * score_max)
        good = 0, printf("# scores differ by %g of %g\n", score_error, score_max);
    if (g->n_score && loss == &exact)
        worst_score = fmax(worst_score, score_error / score_max);
    if (g->n_sel) {
        int same = same_sets(g, r);

        if (!same && loss != &exact && g->margin < 2 * loss->score)
            return good;
        if (!same)
            good = 0, printf("# selected tokens differ (margin %g)\n", g->margin);
    }
    for (size_t i = 0; i < N_VOCAB; i++) {
        double d = fabs((double)r->logits[i] - (double)g->logits[i]);
        if (loss == &exact)
            worst_logit = fmax(worst_logit, d);
        if (!(d < loss->logit)) {
            good = 0, printf("# logit %zu differs by %g\n", i, d);
            break;
        }
    }
    for (unsigned i = 0; i < g->n_new; i++)
        if (r->token[i] != g->token[i] && (loss == &exact || g->gap > 2 * loss->logit)) {
            good = 0, printf("# token %u is %u, not %u (gap %g)\n", i, r->token[i], g->token[i], g->gap);
            break;
        }
    return good;
}

static void check_table(const struct golden *g, const struct prompt *p, const struct gkv__simd *simd)
{
    static struct result a, b;              /* large */
    const struct loss *loss = simd->attend.pairs ? &rounded : &exact;
    const gkv_model *m = model_named(g->model);
    const char *what = g->method;
    /* What a schedule, or a router of experts, that chooses on the way computes after another choice
     * proves nothing. */
    const struct gkv__select *method;
    double param[GKV__MAX_PARAMS];
    const bool one_pass = gkv__select_parse(g->spec, &method, param, NULL) == GKV_OK && method->run;
    const bool chooses = loss != &exact && (one_pass || !strncmp(g->schedule, "stream", 6) ||
                                            strstr(g->spec, "row=largest") || m->shape.n_expert);

    if (!strcmp(simd->level, "ref") && one_pass && p->n > LONG)
        return;
    run(m, g, p, simd, 1, 128, &a);
    if (chooses)
        skip("rounds, and may choose otherwise on the way", "%s %s %s: %s", g->model, g->prompt, what,
             simd->level);
    else
        ok(equal(g, &a, loss), "%s %s %s: %s", g->model, g->prompt, what, simd->level);
    if (!strcmp(simd->level, "ref") || (one_pass && p->n > LONG))
        return;                 /* there is no time to spare */
    run(m, g, p, simd, 3, 128, &b);
    ok(!memcmp(&a, &b, sizeof a), "%s %s %s: %s, same bytes with 3 threads", g->model, g->prompt,
       what, simd->level);
    if (!strncmp(g->spec, "gemfilter", 9) && !one_pass && !strstr(g->spec, "row=") &&
        !strcmp(g->schedule, "layer")) {
        static struct golden other;

        other = *g;

        strcpy(other.schedule, "chunk");
        run(m, &other, p, simd, 2, 128, &b);
        ok(!memcmp(&a, &b, sizeof a), "%s %s %s: %s, same bytes with schedule chunk", g->model, g->prompt,
           what, simd->level);
        strcpy(other.schedule, "layer");
        other.spill = true;
        run(m, &other, p, simd, 2, 128, &b);
        ok(!memcmp(&a, &b, sizeof a), "%s %s %s: %s, same bytes from a file", g->model, g->prompt, what,
           simd->level);
    }
    if (chooses)
        return;
    run(m, g, p, simd, 2, 1024, &b);
    ok(equal(g, &b, loss), "%s %s %s: %s, one chunk", g->model, g->prompt, what, simd->level);
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *s = getenv(name);
    const unsigned long n = s ? strtoul(s, NULL, 10) : 0;

    return n ? n : otherwise;
}

static void check(const struct golden *g)
{
    const struct prompt *p = prompts;
    const unsigned cpu = gkv__cpu_detect();
    const unsigned long most = setting("GOLDEN_TOKENS", ULONG_MAX), every = setting("GOLDEN_EVERY", 1);
    const char *level;
    static unsigned long n_cases;
    struct gkv__simd simd;
    unsigned mask;

    while (strcmp(p->model, g->model) || strcmp(p->name, g->prompt))
        p++;
    if (p->n > most || n_cases++ % every) {
        skip("$GOLDEN_TOKENS, $GOLDEN_EVERY", "%s %s %s", g->model, g->prompt, g->method);
        return;
    }
    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        if ((mask & cpu) != mask) {
            skip("this CPU lacks it", "%s %s %s: %s", g->model, g->prompt, g->method, level);
            continue;
        }
        gkv__simd_init(&simd, mask);
        check_table(g, p, &simd);
    }
#if HAVE_ISA_AVX2
    if (cpu & GKV__CPU_AVX2) {
        fill_wide_bf16_table(&simd);
        check_table(g, p, &simd);
    }
#endif
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
    check_all("cases");
    check_all("arch");
    printf("# worst error: logits %.2g, scores %.2g of the largest\n", worst_logit, worst_score);
    return done();
}
