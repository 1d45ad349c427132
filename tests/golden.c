/* SPDX-License-Identifier: BSD-2-Clause
 * golden.c - the engine against the float64 oracle (tests/files/golden, made by
 * build-aux/golden.py): scores, selected tokens, logits and greedy continuations, at every
 * kernel level that this CPU has, and the same bytes from one thread and from three.
 * GOLDEN_TOKENS=N leaves out prompts of more than N tokens: emulators are slow. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/gemm.h"
#include "src/kv.h"
#include "src/layer.h"
#include "src/pass.h"
#include "src/schedule.h"
#include "src/select.h"
#include "tests/file.h"
#include "tests/kernels.h"
#include "tests/tap.h"

enum { MAX_TOKENS = 1024, N_VOCAB = 256, MAX_NEW = 16, MAX_PROMPTS = 16,
       QUESTION = 24 };             /* tokens of it at the end of a prompt */

struct golden {
    char     model[32], prompt[8], method[32];
    unsigned layer, k, kernel, keep_first, keep_last, budget, n_new;
    char     pool[8], schedule[96];
    bool     spill;
    double   margin, gap;
    float    logits[N_VOCAB], score[MAX_TOKENS];
    uint32_t token[MAX_NEW];
    uint16_t sel[MAX_TOKENS];
    size_t   n_sel, n_score;
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

static void parse_case(const char *line, struct golden *g)
{
    const char *pool = value(line, " pool=");

    memset(g, 0, sizeof *g);
    sscanf(line, "case %31s %7s %31s", g->model, g->prompt, g->method);
    g->layer = number(line, " layer=", 0);
    g->k = number(line, " k=", 0);
    g->kernel = number(line, " kernel=", 5);
    g->keep_first = number(line, " keep_first=", 0);
    g->keep_last = number(line, " keep_last=", 0);
    g->budget = number(line, " budget=", 0);
    g->n_new = number(line, " n_new=", 0);
    g->margin = strtod(value(line, " margin="), NULL);
    g->gap = strtod(value(line, " gap="), NULL);
    if (!pool || sscanf(pool, "%7s", g->pool) != 1)
        strcpy(g->pool, "avg");
    strcpy(g->schedule, "layer");
    if (!strncmp(g->method, "stream-", 7)) {
        snprintf(g->schedule, sizeof g->schedule, "stream:budget=%u,step=%u,warm=%u,recent=32,keys=f32,"
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
};

static size_t largest(const float *x, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

static void run(const gkv_model *m, const struct golden *g, const struct prompt *p,
                const struct gkv__simd *simd, unsigned threads, uint32_t chunk, struct result *r)
{
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    const struct gkv__select *method;
    const struct gkv__schedule *schedule;
    struct gkv__exec e = { 0 };
    struct gkv__cache c;
    double param[GKV__MAX_PARAMS], order[GKV__MAX_PARAMS];
    float spare[MAX_TOKENS], x[1024];
    uint32_t id[MAX_TOKENS];
    struct gkv__pick in = { p->n, g->k ? g->k : g->budget, g->keep_first, g->keep_last, param,
                            r->score, spare };
    char spec[64];

    memset(r, 0, sizeof *r);
    snprintf(spec, sizeof spec, "%.*s", (int)strcspn(g->method, "-"), g->method);
    if (g->k)
        snprintf(spec, sizeof spec, "gemfilter:pool=%s,kernel=%u", g->pool, g->kernel);
    if (gkv__select_parse(spec, &method, param, NULL) != GKV_OK ||
        gkv__schedule_parse(g->schedule, &schedule, order, NULL) != GKV_OK ||
        gkv__exec_open(&e, simd, gkv__gemm_named("own"), &m->shape, threads, chunk, NULL) != GKV_OK)
        exit(1);
    if (method->needs == GKV__NEEDS_LAST_ROW &&
        schedule->run(&e, &(struct gkv__first){ .m = m, .il = g->layer, .kv = f32, .param = order,
                                                .spill = g->spill, .n = p->n, .n_tail = QUESTION,
                                                .id = p->id, .score = r->score }, NULL) != GKV_OK)
        exit(1);
    if (method->pick)
        r->n_kept = method->pick(&in, r->kept);
    else
        while (r->n_kept < p->n)
            r->kept[r->n_kept] = (uint32_t)r->n_kept, r->n_kept++;
    for (size_t i = 0; i < r->n_kept; i++)
        id[i] = p->id[r->kept[i]];
    if (gkv__cache_open(&c, f32, m->shape.n_layer, m->shape.n_head_kv, m->shape.head_dim,
                        r->n_kept + g->n_new, NULL) != GKV_OK ||
        gkv__forward(&e, m, id, r->n_kept, 0, &c, x, NULL) != GKV_OK)
        exit(1);
    gkv__logits(&e, m, x, 1, r->logits);
    for (unsigned t = 0; t < g->n_new; t++) {
        float logits[N_VOCAB];

        gkv__logits(&e, m, x, 1, logits);
        r->token[t] = (uint32_t)largest(logits, N_VOCAB);
        if (t + 1 < g->n_new &&
            gkv__forward(&e, m, &r->token[t], 1, r->n_kept + t, &c, x, NULL) != GKV_OK)
            exit(1);
    }
    gkv__cache_close(&c);
    gkv__exec_close(&e);
}

/* ---- comparing -------------------------------------------------------------------------- */

/* What the form of attention may lose: f32 next to nothing; bfloat16 was seen to lose 0.0045 of
 * the largest score and 0.063 of a logit.  A choice whose margin is smaller proves nothing, and
 * nothing does what comes after another choice. */
struct loss { double score, logit; };
static const struct loss exact = { 1e-5, 1e-3 }, rounded = { 1e-2, 0.15 };

static double worst_logit, worst_score;

static int equal(const struct golden *g, const struct result *r, const struct loss *loss)
{
    double score_error = 0, score_max = 0;
    int good = 1;

    for (size_t i = 0; i < g->n_score; i++) {
        score_error = fmax(score_error, fabs((double)r->score[i] - (double)g->score[i]));
        score_max = fmax(score_max, fabs((double)g->score[i]));
    }
    if (g->n_score && score_error > loss->score * score_max)
        good = 0, printf("# scores differ by %g of %g\n", score_error, score_max);
    if (g->n_score && loss == &exact)
        worst_score = fmax(worst_score, score_error / score_max);
    if (g->n_sel) {
        int same = r->n_kept == g->n_sel;
        for (size_t i = 0; same && i < g->n_sel; i++)
            same = r->kept[i] == g->sel[i];
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

static const gkv_model *model_named(const char *name)
{
    static struct { char name[32]; gkv_model *m; } open[4];
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

static void check_table(const struct golden *g, const struct prompt *p, const struct gkv__simd *simd)
{
    static struct result a, b;
    const struct loss *loss = simd->attend.pairs ? &rounded : &exact;
    const gkv_model *m = model_named(g->model);
    const char *what = g->method;
    /* What a schedule that chooses on the way computes after another choice proves nothing. */
    const bool chooses = loss != &exact && !strncmp(g->schedule, "stream", 6);

    run(m, g, p, simd, 1, 128, &a);
    if (chooses)
        skip("rounds, and may choose otherwise on the way", "%s %s %s: %s", g->model, g->prompt, what,
             simd->level);
    else
        ok(equal(g, &a, loss), "%s %s %s: %s", g->model, g->prompt, what, simd->level);
    if (!strcmp(simd->level, "ref"))
        return;                 /* plain C has no speed to spare */
    run(m, g, p, simd, 3, 128, &b);
    ok(!memcmp(&a, &b, sizeof a), "%s %s %s: %s, same bytes with 3 threads", g->model, g->prompt,
       what, simd->level);
    if (!strncmp(g->method, "gemfilter", 9)) {
        struct golden other = *g;

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

static void check(const struct golden *g)
{
    const struct prompt *p = prompts;
    const unsigned cpu = gkv__cpu_detect();
    const char *level, *most = getenv("GOLDEN_TOKENS");
    struct gkv__simd simd;
    unsigned mask;

    while (strcmp(p->model, g->model) || strcmp(p->name, g->prompt))
        p++;
    if (most && p->n > strtoul(most, NULL, 10)) {
        skip("longer than $GOLDEN_TOKENS", "%s %s %s", g->model, g->prompt, g->method);
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

int main(void)
{
    static struct golden g;
    size_t len, off, n;
    char *text = slurp("tests/files/golden/cases.txt", &len), *line, *save = NULL;
    unsigned layer, grp;

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    blob = slurp("tests/files/golden/cases.bin", &len);
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
            memcpy(g.sel, blob + off, n * sizeof *g.sel);
            g.n_sel = n;
        } else if (!strncmp(line, "tokens ", 7)) {
            char *s = line + 7;
            for (unsigned i = 0; i < g.n_new; i++)
                g.token[i] = (uint32_t)strtoul(s, &s, 10);
        } else if (!strcmp(line, "end")) {
            check(&g);
        }
    }
    printf("# worst error: logits %.2g, scores %.2g of the largest\n", worst_logit, worst_score);
    return done();
}
