/* SPDX-License-Identifier: BSD-2-Clause
 * unit-draft.c - answers with guessed tokens are those without, to the last bit of each token's logits */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/answer/draft.h"
#include "src/engine/forward.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "src/session.h"
#include "src/token/token.h"
#include "tests/apart.h"
#include "tests/level.h"
#include "tests/rng.h"
#include "tests/tap.h"

static gkv_error err;

/* ---- guesses ----------------------------------------------------------------------------- */

/* The same, slowly. */
static size_t find_slowly(const uint32_t *id, size_t n, uint32_t *out, size_t most)
{
    size_t best = 0, at = 0;

    for (size_t i = 1; i < n; i++) {
        size_t k = 0;

        while (k < 8 && k < i && id[i - 1 - k] == id[n - 1 - k])
            k++;
        if (k >= 2 && k >= best) {
            best = k;
            at = i;
        }
    }
    for (size_t j = 0; best && j < most; j++)
        out[j] = at + j < n ? id[at + j] : out[at + j - n];
    return best;
}

static void finds(void)
{
    size_t wrong = 0, some = 0;

    for (size_t i = 0; i < 20000; i++) {
        uint32_t id[24], a[4] = { 0 }, b[4] = { 0 };
        const size_t n = 1 + rng() % 24, most = 1 + rng() % 4;
        size_t k;

        for (size_t j = 0; j < n; j++)
            id[j] = rng() % (i % 2 ? 3 : 2);
        k = gkv__draft_find(id, n, a, most);
        some += k != 0;
        wrong += k != find_slowly(id, n, b, most) || memcmp(a, b, sizeof a);
    }
    ok(!wrong && some > 5000, "what follows the longest earlier occurrence: %zu wrong of %zu", wrong, some);
}

/* The speed of an answer of n tokens beside that without guesses.  Each guess is right with probability p; or, with p
 * below 0, after every -p right ones as many are wrong.  make > 0: they are the other model's, which takes so long for each,
 * and at first was said to take `share`. */
static double ratio(double more, double p, size_t n, size_t n_answers, double make, double share)
{
    struct gkv__draft d = { .most = 4, .share = share };
    static uint32_t id[8192];
    const uint32_t period = make > 0 ? UINT32_MAX : 32;         /* text 0 1 2 ... 31 again and again has a guess at each step */
    double seconds = 0;
    size_t done = 64, i = 0;

    for (size_t answer = 0; answer < n_answers; answer++) {     /* later ones know what earlier ones have learnt */
        seconds = 0;
        done = 64;
        gkv__draft_begin(&d, done);
        for (size_t t = 0; t < 64 + n + 8; t++)
            id[t] = (uint32_t)t % period;
        while (done < 64 + n) {
            double took = 1;

            gkv__draft_guess(&d, id, done, 64 + n - done);
            if (d.n && d.kind == GKV__DRAFT_MODEL) {
                const double making = make * ((double)d.n + 0.2 * (double)(done - d.seen - 1));

                took += making;
                memcpy(d.id, id + done, sizeof d.id);
                gkv__draft_made(&d, done, d.n, making);
            }
            took += more * (double)d.n;
            gkv__draft_took(&d, took);
            seconds += took;
            do {
                const bool right = p < 0 ? i++ / (size_t)-p % 2 : rng() % 1000 < p * 1000;

                done++;
                if (done >= 64 + n || !gkv__draft_is_next(&d, right ? id[done - 1] : UINT32_MAX - 1))
                    break;
            } while (true);
        }
    }
    return (double)n / seconds;
}

static void pays(void)
{
    static const double more[] = { 0.02, 0.1, 0.3, 0.6, 1 };
    double worst = 10, quoting = 10;

    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (int p = 0; p <= 10; p++) {
            const double r = ratio(more[i], p / 10.0, 400, 2, 0, 0);

            worst = r < worst ? r : worst;
            if (more[i] < 0.2 && p == 10)
                quoting = r < quoting ? r : quoting;
        }
    ok(worst > 0.97, "whatever a row costs and however often guesses are right, at least 0.97 of the speed: %.3f", worst);
    ok(quoting > 3, "right guesses that cost little: %.2f of the speed", quoting);
    worst = 10;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (int p = 1; p < 40; p++) {
            const double r = ratio(more[i], -p, 60, 1, 0, 0);

            worst = r < worst ? r : worst;
        }
    ok(worst > 0.97, "short answers that go on as before now and then: %.3f", worst);
    ok(ratio(0.6, 0, 24, 1, 0, 0) > 0.94, "a short answer that goes another way each time: %.3f", ratio(0.6, 0, 24, 1, 0, 0));
    ok(ratio(1, 1, 400, 2, 0, 0) > 0.97 && ratio(1, 1, 400, 2, 0, 0) < 1.01, "rows that cost as much as steps gain nothing");
}

/* The same where another model guesses, which costs what was believed, or not. */
static void model_pays(void)
{
    static const double more[] = { 0.02, 0.1, 0.3, 0.6, 1 }, make[] = { 0.01, 0.05, 0.12, 0.5, 1 }, share[] = { 0.01, 0.1, 0.5 };
    double worst = 10, good = 10;

    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (size_t j = 0; j < sizeof make / sizeof *make; j++)
            for (size_t k = 0; k < sizeof share / sizeof *share; k++)
                for (int p = -10; p <= 10; p++) {
                    const double r = p < 0 ? ratio(more[i], 4 * p, 100, 1, make[j], share[k])
                                           : ratio(more[i], p / 10.0, 400, 2, make[j], share[k]);

                    worst = r < worst ? r : worst;
                    if (more[i] < 0.2 && j == 2 && k == 1 && p == 9)
                        good = r < good ? r : good;
                }
    ok(worst > 0.97, "another model's guesses, whatever they cost: at least %.3f of the speed", worst);
    ok(good > 1.9, "nine of ten right, for an eighth of a step each: %.2f of the speed", good);
}

/* The first step with guesses was slow, perhaps since something else ran; those after it would not be. */
static void forgets(void)
{
    struct gkv__draft d = { .most = 4 };
    static uint32_t id[512];
    double seconds = 0;
    size_t done = 64, steps = 0;

    for (size_t t = 0; t < 512; t++)
        id[t] = (uint32_t)t % 32;
    gkv__draft_begin(&d, done);
    while (done < 500) {
        double took;

        gkv__draft_guess(&d, id, done, 500 - done);
        took = d.n ? steps++ ? 1 + 0.1 * (double)d.n : 4 : 1;
        gkv__draft_took(&d, took);
        seconds += took;
        while (++done < 500 && gkv__draft_is_next(&d, id[done - 1])) { }
    }
    ok(steps > 20 && 436 / seconds > 1.5, "one slow step is forgotten: %.2f of the speed", 436 / seconds);
}

/* What is remembered of a step with the other model's guesses, of which it made fewer than it was asked for, or none. */
static void learns(void)
{
    struct gkv__draft d = { .most = 4, .share = 0.1, .always = true };
    const uint32_t id[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

    gkv__draft_begin(&d, 5);
    gkv__draft_guess(&d, id, 6, 4);
    ok(d.kind == GKV__DRAFT_MODEL && d.n == 4 && !d.drafted, "asked for 4, none is made yet");
    gkv__draft_made(&d, 6, 0, 0.25);
    gkv__draft_took(&d, 1.25);
    ok(d.one == 1 && d.make == 0.25 && d.gained == -0.25 && d.spent == 1.25 && !d.drafted, "none made, and its time is lost");
    gkv__draft_guess(&d, id, 7, 4);
    gkv__draft_made(&d, 7, 2, 0.5);
    gkv__draft_took(&d, 2.5);
    ok(d.one == 1 && d.more == 0.5 && d.make == 0.25 && d.gained == -1.75 && d.drafted == 2 && d.by_model == 2,
       "two made: a row is half a step");
    gkv__draft_lost(&d, 0.125);
    ok(d.gained == -1.875 && d.spent == 3.875, "taking states back costs, too");
    d.used = 1;
    gkv__draft_elsewhere(&d);
    ok(!d.n && !d.used && d.drafted == 1 && d.by_model == 1 && !(d.one > 0) && !(d.more > 0) && d.make == 0.25,
       "further steps are elsewhere: one guess was not checked, and what steps take is not known");
    gkv__draft_guess(&d, (const uint32_t[]){ 1, 2, 3, 4, 1, 2 }, 6, 3);
    d.kind = 0;
    d.drafted = d.n;
    gkv__draft_elsewhere(&d);
    ok(!d.drafted && d.by_model == 1, "... guesses from text");
}

/* ---- answers ----------------------------------------------------------------------------- */

static const char lines[] =
    "Line 1: the cat and the hat sat on mat number 7. Line 2: the cat and the hat sat on mat number 8.\n"
    "Line 3: the cat and the hat sat on mat number 9. The key is in the box, and the box is in the room.\n";
static const char *text = lines, *question = "Which line is the cat in?";

enum { LONG = 28 };

static bool by_text;            /* the reader's guesses go over as text, whatever its vocabulary */

static gkv_session *asked(gkv_model *m, gkv_options *o, uint32_t draft)
{
    gkv_session *s = NULL;
    gkv_status status;

    o->draft = draft;
    status = gkv_session_open(&s, m, o, &err);
    if (!status) {
        s->decode.draft.always = draft;
        s->afford = 100;                        /* all of the text is for the reader, too */
        status = gkv_feed(s, text, strlen(text), &err);
    }
    if (!status)
        status = gkv_ask(s, question, strlen(question), &err);
    if (status)
        printf("# %s\n", err.text);
    else
        s->drafter.same &= !by_text;
    return s;
}

static gkv_stats totals;        /* of all answers; of the last one, what the reader guessed */

/* Both token by token. */
static bool is_same(gkv_model *m, gkv_options o, bool guesses)
{
    gkv_session *a = asked(m, &o, 0), *b = asked(m, &o, 4);
    const size_t bytes = a && b ? m->shape.n_vocab * sizeof(float) : 0;
    gkv_stats s = { 0 };
    bool same = bytes;
    gkv_status status[2] = { GKV_OK, GKV_OK };

    while (same && status[0] == GKV_OK) {
        const char *p[2];
        size_t n[2];

        same = !memcmp(a->decode.logits, b->decode.logits, bytes);
        status[0] = gkv_next(a, &p[0], &n[0], &err);
        status[1] = gkv_next(b, &p[1], &n[1], &err);
        same = same && status[0] == status[1] && n[0] == n[1] && !memcmp(p[0], p[1], n[0]);
    }
    if (bytes) {
        same = same && a->decode.n_answer == b->decode.n_answer &&
               !memcmp(a->decode.id, b->decode.id, (a->decode.n_kept + (size_t)a->decode.n_answer) * sizeof *a->decode.id);
        gkv_session_stats(b, &s);
        totals.drafted += s.drafted;
        totals.accepted += s.accepted;
        totals.drafted_reader = s.drafted_reader;
        totals.accepted_reader = s.accepted_reader;
        totals.drafted_mtp = s.drafted_mtp;
        totals.accepted_mtp = s.accepted_mtp;
    }
    gkv_session_close(a);
    gkv_session_close(b);
    return same && (!guesses || s.drafted > 0) && (guesses || o.max_tokens < LONG || !s.drafted);
}

static gkv_options options(const char *method)
{
    gkv_options o;

    gkv_options_init(&o);
    o.method = method;
    o.device = "cpu";
    o.keep = 90;
    o.max_tokens = LONG;
    o.threads = 2;
    o.ignore_end = 1;
    return o;
}

static gkv_model *model_named(const char *name)
{
    gkv_model *m = NULL;
    char path[512];

    snprintf(path, sizeof path, "%s/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

/* ---- rows of one step -------------------------------------------------------------------- */

enum { BEFORE = 40, ROWS = 1 + GKV__DRAFT_MOST };

/* Hidden states of ROWS tokens after BEFORE others, one by one or in one step. */
static void rows_of(gkv_model *m, bool together, float *x, float *logits)
{
    const struct gkv__shape *s = &m->shape;
    struct gkv__exec e = { .n_threads = 0 };
    struct gkv__cache c = { .n_layer = 0 };
    uint32_t id[BEFORE + ROWS];
    struct gkv__pass p = { .e = &e, .m = m, .span = BEFORE + ROWS, .c = &c };
    gkv_status status = gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), s, 2, 64, &err);

    for (size_t i = 0; i < BEFORE + ROWS; i++)
        id[i] = rng() % s->n_vocab;
    if (!status)
        status = gkv__cache_open_for(&c, m, gkv__quant_of(GKV__TYPE_F16), s->n_layer, BEFORE + ROWS, &err);
    if (!status)
        status = gkv__forward(&p, id, BEFORE, 0, x, &err);
    p.alone = together;
    for (size_t i = 0; i < ROWS && !status; i += together ? ROWS : 1) {
        const size_t n = together ? ROWS : 1;

        status = gkv__block(&p, id + BEFORE + i, n, BEFORE + i, x + i * s->n_embd, &err);
        if (!status)
            gkv__logits(&e, m, x + i * s->n_embd, n, logits + i * s->n_vocab);
    }
    if (status)
        printf("# %s\n", err.text);
    gkv__cache_close(&c);
    gkv__exec_close(&e);
}

/* Whatever is special in a model's layers. */
static void models(void)
{
    static const char *const file[] = {
        "golden/llama3", "golden/mistral", "golden/qwen2", "golden/qwen3yarn", "golden/phi3", "golden/gemma2", "golden/gemma3",
        "golden/qwen3moe", "golden/head64", "golden/head128", "golden/qwen2-8", "golden/phi3-8", "hf/llama4", "hf/gpt-oss",
        "hf/gpt-oss-mxfp4", "hf/granitemoeshared", "hf/smollm3", "hf/olmo3", "hf/exaone4", "hf/glm4", "hf/mistral3",
        "golden/qwen35", "golden/qwen35odd", "golden/qwen35moe", "golden/qwen3next", "hf/granitehybrid",
        "hf/granitehybridmoe", "hf/lfm2", "hf/lfm2moe", "hf/gemma4", "hf/gemma4e", "hf/gemma4moe",
    };

    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        char name[64];
        gkv_model *m;
        size_t d, v;
        float *x[2], *logits[2];

        snprintf(name, sizeof name, "tests/files/%s", file[i]);
        m = model_named(name);
        d = ROWS * (size_t)m->shape.n_embd;
        v = ROWS * (size_t)m->shape.n_vocab;
        for (size_t k = 0; k < 2; k++) {
            x[k] = calloc(d, sizeof *x[k]);
            logits[k] = calloc(v, sizeof *logits[k]);
            rng_state = 1;
            rows_of(m, k, x[k], logits[k]);
        }
        ok(!memcmp(x[0], x[1], d * sizeof **x) && !memcmp(logits[0], logits[1], v * sizeof **logits) && logits[0][v - 1] != 0,
           "%s: rows of one step", file[i]);
        for (size_t k = 0; k < 2; k++) {
            free(x[k]);
            free(logits[k]);
        }
        gkv_model_close(m);
    }
}

/* The states after BEFORE tokens and `right` more; ROWS of them went in one step, and the others were taken back. */
static void states_after(gkv_model *m, size_t right, bool together, float *to)
{
    const struct gkv__shape *s = &m->shape;
    struct gkv__exec e = { .n_threads = 0 };
    struct gkv__cache c = { .n_layer = 0 };
    struct gkv__rewind r = { .n = 0 };
    struct gkv__pass p = { .e = &e, .m = m, .span = BEFORE + ROWS, .c = &c };
    uint32_t id[BEFORE + ROWS];
    float *x = calloc((size_t)ROWS * s->n_embd, sizeof *x);
    gkv_status status = gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), s, 2, 64, &err);

    for (size_t i = 0; i < BEFORE + ROWS; i++)
        id[i] = rng() % s->n_vocab;
    if (!status)
        status = gkv__cache_open_for(&c, m, gkv__quant_of(GKV__TYPE_F16), s->n_layer, BEFORE + ROWS, &err);
    if (!status)
        status = gkv__rewind_open(&r, m, ROWS, &err);
    if (!status)
        status = gkv__forward(&p, id, BEFORE, 0, x, &err);
    if (together && !status) {
        p.alone = true;
        p.rewind = &r;
        gkv__rewind_begin(&r, &c, ROWS);
        status = gkv__block(&p, id + BEFORE, ROWS, BEFORE, x, &err);
        gkv__rewind_to(&r, &p, right);
    }
    for (size_t i = 0; i < right && !together && !status; i++)
        status = gkv__block(&p, id + BEFORE + i, 1, BEFORE + i, x, &err);
    if (status)
        printf("# %s\n", err.text);
    gkv__states_save(&c, to);
    gkv__rewind_close(&r, m);
    gkv__cache_close(&c);
    gkv__exec_close(&e);
    free(x);
}

static void taken_back(void)
{
    static const char *const file[] = {
        "golden/qwen35", "golden/qwen35odd", "golden/qwen35moe", "golden/qwen3next", "hf/granitehybrid", "hf/lfm2",
    };

    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        char name[64];
        gkv_model *m;
        size_t n, wrong = 0;
        float *a, *b;

        snprintf(name, sizeof name, "tests/files/%s", file[i]);
        m = model_named(name);
        n = (size_t)gkv__states_floats(m, m->shape.n_layer);
        a = calloc(n, sizeof *a);
        b = calloc(n, sizeof *b);
        for (size_t right = 1; right <= ROWS; right++) {
            rng_state = 7;
            states_after(m, right, false, a);
            rng_state = 7;
            states_after(m, right, true, b);
            wrong += memcmp(a, b, n * sizeof *a) || !a[n - 1];
        }
        ok(n && !wrong, "%s: states of %zu floats after rows that were taken back, %zu wrong", file[i], n, wrong);
        free(a);
        free(b);
        gkv_model_close(m);
    }
}

/* Guesses and their rejections in answers of models whose layers have a state. */
static void hybrids(void)
{
    static const char *const file[] = { "tests/files/golden/qwen35", "tests/files/golden/qwen3next" };
    static const char gbnf[] = "root ::= (\"cat and hat \" [0-9])+";
    gkv_model *other = model_named("tests/files/golden/llama3");
    gkv_grammar *g = NULL;

    ok(!gkv_grammar_open(&g, gbnf, strlen(gbnf), &err), "words that come again, and numbers that do not");
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        gkv_model *m = model_named(file[i]);
        gkv_options o = options("full");

        o.grammar = g;
        o.max_tokens = 2 * LONG;
        ok(is_same(m, o, true), "%s: layers with a state", file[i]);
        o.temperature = 0.8f;
        for (o.seed = 1; o.seed <= 3; o.seed++)
            ok(is_same(m, o, true), "... drawn");
        o.method = "gemfilter";
        ok(is_same(m, o, true), "... of some tokens");
        o.reader = other;
        o.draft_reader = 1;
        ok(is_same(m, o, true) && totals.drafted_reader, "... and a reader guesses");
        gkv_model_close(m);
    }
    gkv_model_close(other);
    gkv_grammar_close(g);
    ok(totals.accepted > 20 && totals.drafted > totals.accepted + 20, "right guesses, and wrong ones: %d of %d",
       (int)totals.accepted, (int)totals.drafted);
}

static void ways(gkv_model *m)
{
    static const char *const method[] = { "gemfilter", "snapkv", "finch" };
    static const char *const kv[] = { "f32", "q8_0" };
    static const char gbnf[] = "root ::= (\"the cat and the hat \" | [0-9] \", \")+";
    gkv_options o = options("full");
    gkv_grammar *g = NULL;

    for (size_t i = 0; i < sizeof method / sizeof *method; i++)
        ok(is_same(m, options(method[i]), true), "method %s", method[i]);
    for (size_t i = 0; i < 2; i++) {
        o = options(i ? "streamingllm-online" : "h2o:recent=8,evict=step");
        o.keep = 50;
        ok(is_same(m, o, false), "%s, which goes on acting", o.method);
    }
    o = options("full");
    for (size_t i = 0; i < sizeof kv / sizeof *kv; i++) {
        o.kv_type = kv[i];
        ok(is_same(m, o, true), "keys and values in %s", kv[i]);
    }
    o.kv_type = NULL;
    for (o.seed = 1; o.seed <= 2; o.seed++) {
        o.temperature = 0.7f * (float)o.seed;
        ok(is_same(m, o, true), "temperature %.1f", (double)o.temperature);
    }
    o.temperature = 0.7f;
    o.top_k = 5;
    o.repeat_penalty = 1.3f;
    o.frequency_penalty = 0.2f;
    ok(is_same(m, o, true), "penalties");
    o = options("full");
    ok(!gkv_grammar_open(&g, gbnf, strlen(gbnf), &err), "a grammar");
    o.grammar = g;
    ok(is_same(m, o, true), "by the grammar");
    o.temperature = 1;
    ok(is_same(m, o, true), "by the grammar, drawn");
    gkv_grammar_close(g);
    o = options("full");
    for (o.max_tokens = 1; o.max_tokens < 8; o.max_tokens += 3)
        ok(is_same(m, o, o.max_tokens > 6), "%u tokens", o.max_tokens);
    o = options("full");
    o.threads = 1;
    ok(is_same(m, o, true), "one thread");
    text = question = "a";
    o.raw = 1;
    o.max_tokens = 100;
    ok(is_same(m, o, true), "a prompt of fewer tokens than a step has rows");
    text = lines;
    question = "Which line is the cat in?";
}

/* ---- the reader guesses ------------------------------------------------------------------ */

/* Of the tokens that it guessed so many percent were right. */
static double right(void)
{
    return totals.drafted_reader ? 100 * (double)totals.accepted_reader / (double)totals.drafted_reader : -1;
}

enum { ROOM = 4 };

/* A drafter of m for answers in the tokens of `to`. */
static void drafter_of(struct gkv__drafter *d, struct gkv__exec *e, const gkv_model *m, const gkv_model *to,
                       const struct gkv__tokens *prompt, size_t n_room)
{
    *d = (struct gkv__drafter){ .e = e, .m = m, .to = to->vocab, .same = m == to, .kv = gkv__quant_of(GKV__TYPE_F32),
                                .prompt = prompt->id, .n_prompt = prompt->n, .n_room = n_room };
    if (gkv__drafter_begin(d, &err))
        printf("# %s\n", err.text);
}

/* The text of n tokens after `before`. */
static size_t text_of(const gkv_model *m, uint32_t before, const uint32_t *id, size_t n, char *to)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++)
        len += gkv__token_text_after(m->vocab, i ? id[i - 1] : before, id[i], false, to + len, 512);
    return len;
}

/* One that follows an answer a few tokens at a time, and guesses in between, has the tokens of one that hears all of it at
 * once, and the same logits after them, up to rounding: it depends on how many rows are computed at a time.  Its
 * guesses are text that the tokenizer of `to` has tokens for. */
static void follows(const gkv_model *m, const gkv_model *to, const char *what)
{
    static const char start[] = "<|im_start|>user\nHow many cats?<|im_end|>\n<|im_start|>assistant\n",
                      answer[] = " Größe 12,345: the cats\n\n  sat on 7 mats, naïve 长江 and the text does not say.";
    struct gkv__exec e = { .n_threads = 0 };
    struct gkv__tokens prompt = { .n = 0 }, id = { .n = 0 };
    const struct gkv__range all = { 0, sizeof answer - 1 };
    struct gkv__drafter a;
    size_t other = 0, some = 0, strange = 0, ended = 0;
    double most = 0;

    gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), &m->shape, 1, 16, &err);
    gkv__tokenize(m->vocab, start, strlen(start), NULL, 0, &prompt, &err);
    gkv__tokenize(to->vocab, answer, strlen(answer), &all, 1, &id, &err);
    drafter_of(&a, &e, m, to, &prompt, 4 * id.n);
    for (size_t n = 1; n <= id.n && n < 44; n += 1 + n % 4) {
        uint32_t x[ROOM];
        size_t made, len, want;
        char piece[ROOM * 512], back[ROOM * 512], whole[48 * 512];
        struct gkv__tokens heard = { .n = 0 };
        struct gkv__range whole_text = { 0, 0 };
        struct gkv__drafter b;

        /* No guess is that likely, so that the logits are those after the answer. */
        drafter_of(&b, &e, m, to, &prompt, 4 * id.n);
        other += gkv__drafter_guess(&a, id.id, n, 2, x, ROOM, &made, &err) || made;
        other += gkv__drafter_guess(&b, id.id, n, 2, x, ROOM, &made, &err) || made;
        other += a.n != b.n || memcmp(a.id, b.id, a.n * sizeof *a.id);
        most = fmax(most, apart(a.logits, b.logits, m->shape.n_vocab));
        other += !!gkv__drafter_guess(&a, id.id, n, 0, x, ROOM, &made, &err);
        len = text_of(to, id.id[n - 1], x, made, piece);
        want = text_of(m, a.id[a.n - 1], a.id + a.n, made && !a.same ? ROOM : made, back);
        strange += len > want || memcmp(piece, back, len);
        some += made;
        whole_text.end = text_of(to, GKV__NO_TOKEN, id.id, n, whole);
        gkv__tokenize_after(m->vocab, prompt.id[prompt.n - 1], whole, whole_text.end, &whole_text, 1, &heard, &err);
        other += !a.same && (heard.n != a.n - prompt.n || memcmp(heard.id, a.id + prompt.n, heard.n * sizeof *heard.id));
        gkv__tokens_free(&heard);
        for (size_t i = 0; i < made; i++)
            ended += gkv__vocab_is_end(to->vocab, x[i]);
        gkv__drafter_close(&b);
    }
    ok(!other && some > id.n / 4, "%s: follows the answer, %d times not, and guesses %d tokens", what, (int)other, (int)some);
    ok(most < 0.05, "%s: with logits that are %.2g of their largest apart", what, most);
    ok(!strange && !ended, "%s: guesses are its text, %d times not, without an end, %d", what, (int)strange, (int)ended);
    gkv__drafter_close(&a);
    drafter_of(&a, &e, m, to, &prompt, 2);
    for (size_t n = 1; n <= 3 && m == to; n++) {
        uint32_t x[ROOM];
        size_t made = 9;

        ok(!gkv__drafter_guess(&a, id.id, n, 0, x, ROOM, &made, &err) && made <= (n < 2 ? 2 - n : 0), "%s: no room beyond 2: %d",
           what, (int)made);
    }
    gkv__drafter_close(&a);
    gkv__tokens_free(&prompt);
    gkv__tokens_free(&id);
    gkv__exec_close(&e);
}

static void readers(gkv_model *m)
{
    static const struct { const char *file; bool by_text; double least, most; } reader[] = {
        { "data/gemkv-mini-q8_0", false, 90, 100 }, { "data/gemkv-mini-q8_0", true, 40, 100 },
        { "tests/files/golden/llama3", false, 0, 20 },
    };

    for (size_t i = 0; i < sizeof reader / sizeof *reader; i++) {
        gkv_options o = options("gemfilter");
        gkv_model *other = model_named(reader[i].file);

        if (i)
            follows(m, i > 1 ? other : m, reader[i].file);
        by_text = reader[i].by_text;
        o.reader = other;
        o.draft_reader = 1;
        ok(is_same(m, o, true), "%s guesses%s", reader[i].file, by_text ? ", as text" : "");
        ok(right() >= reader[i].least && right() <= reader[i].most, "%d of %d guesses were right",
           (int)totals.accepted_reader, (int)totals.drafted_reader);
        o.temperature = 0.8f;
        o.seed = 3;
        ok(is_same(m, o, true) && totals.drafted_reader, "drawn");
        by_text = false;
        gkv_model_close(other);
    }
}

/* ---- a layer of the model guesses ---------------------------------------------------------- */

static gkv_model *model_made(const char *options)
{
    const char *builddir = getenv("builddir"), *own = getenv("MKMODEL"), *tmp = getenv("TMPDIR");
    gkv_model *m = NULL;
    char path[300], command[800];
    int fd;

    snprintf(path, sizeof path, "%s/gemkv-draft-XXXXXX", tmp && strlen(tmp) < 100 ? tmp : "/tmp");
    fd = mkstemp(path);
    snprintf(command, sizeof command, "'%s%s' --nextn=1 %s '%s'", own ? own : builddir ? builddir : ".",
             own ? "" : "/tests/mkmodel", options, path);
    if (fd < 0 || system(command) || gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s: %s\n", command, err.text);
        exit(1);
    }
    close(fd);
    remove(path);
    return m;
}

/* Two questions about one text, of which the second finds the first one's prompt, as in a chat: whether the answers are those
 * without guesses, and how many guesses of the layer were right. */
static bool two_questions(gkv_model *m, gkv_options o, uint64_t right[2])
{
    static const char *const asked[] = { "Which line is the cat in?", "Which line is the box in?" };
    gkv_document *d = NULL;
    gkv_session *s[3] = { NULL, NULL, NULL };
    char answer[3][2048] = { "", "", "" };
    bool good;

    o.chunk = 16;
    good = !gkv_document_open(&d, m, &o, &err) && !gkv_document_feed(d, text, strlen(text), &err);
    for (size_t i = 0; i < 3 && good; i++) {    /* twice in one session, and once with nothing guessed */
        gkv_session **one = i ? &s[i / 2] : &s[0];
        gkv_stats stats;
        const char *p;
        size_t n;

        o.draft = i < 2 ? 4 : 0;
        good = (i == 1 || !gkv_session_of(one = &s[i], d, &o, &err)) &&
               !gkv_ask(*one, asked[i > 0], strlen(asked[0]), &err);
        (*one)->decode.draft.always = i < 2;
        while (good && gkv_next(*one, &p, &n, &err) == GKV_OK)
            strncat(answer[i], p, n);
        gkv_session_stats(*one, &stats);
        if (i < 2)
            right[i] = stats.accepted_mtp;
        if (i == 1)
            ok((*one)->decode.n_reused > 100, "%d tokens were there", (int)(*one)->decode.n_reused);
    }
    good = good && *answer[1] && !strcmp(answer[1], answer[2]);
    for (size_t i = 0; i < 3; i++)
        gkv_session_close(s[i]);
    gkv_document_close(d);
    return good;
}

/* echo: its guesses are right.  That follows from its token alone, so another prompt would not change it. */
static void own_layer(void)
{
    static const struct { const char *options; bool echo; } model[] = {
        { "--arch=qwen35", false }, { "--arch=qwen35 --echo=1", true }, { "--arch=qwen35moe", false },
        { "--arch=qwen3next", false }, { "--arch=glm4", false }, { "--arch=glm4 --type=q8_0 --echo=1", true },
    };
    static const char gbnf[] = "root ::= (\"the cat and the hat \" | [0-9] \", \")+";
    gkv_model *other = model_named("tests/files/golden/llama3");
    gkv_grammar *g = NULL;

    ok(!gkv_grammar_open(&g, gbnf, strlen(gbnf), &err), "a grammar");
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        const char *what = model[i].options;
        gkv_model *m = model_made(what);
        gkv_options o = options("full");
        uint64_t right[2] = { 0, 0 };

        o.draft_mtp = 1;
        ok(is_same(m, o, true) && totals.drafted_mtp > 8, "%s: its own layer guesses %d tokens", what,
           (int)totals.drafted_mtp);
        ok(!model[i].echo || totals.accepted_mtp == totals.drafted_mtp, "... %d of them right", (int)totals.accepted_mtp);
        o.temperature = model[i].echo ? 0.3f : 0.8f;
        for (o.seed = 1; o.seed <= 3; o.seed++)
            ok(is_same(m, o, true) && totals.drafted_mtp, "... drawn: %d of %d", (int)totals.accepted_mtp,
               (int)totals.drafted_mtp);
        o.grammar = g;
        ok(is_same(m, o, true) && totals.drafted_mtp, "... by a grammar, drawn");
        o.temperature = 0;
        o.method = "gemfilter";
        o.kv_type = "bf16";
        o.threads = 1;
        ok(is_same(m, o, true) && totals.drafted_mtp, "... of some tokens, greedy, in bf16, one thread");
        o.grammar = NULL;
        o.kv_type = NULL;
        o.reader = other;
        ok(is_same(m, o, true) && totals.drafted_mtp && !totals.drafted_reader, "... another model reads");
        o.reader = NULL;
        o.method = "full";
        o.max_tokens = 3;
        ok(is_same(m, o, true), "... no room for more than two");
        o.max_tokens = LONG;
        ok(two_questions(m, o, right), "... one question after another: %d and %d right", (int)right[0], (int)right[1]);
        ok(!model[i].echo || (right[0] > 8 && right[1] > 8), "... as often as it may");
        gkv_model_close(m);
    }
    gkv_model_close(other);
    gkv_grammar_close(g);
}

/* What cannot be, in one line. */
static void not_by_layer(gkv_model *without)
{
    static const struct { const char *options, *method, *device, *why; } bad[] = {
        { NULL, "full", "cpu", "has no layer" },
        { "--arch=gemma2", "full", "cpu", "how models of architecture gemma2" },
        { "--arch=qwen35 --nextn=2", "full", "cpu", "2 layers" },
        { "--arch=qwen35 --without=blk.4.nextn.hnorm.weight", "full", "cpu", "nextn.hnorm.weight is missing" },
        { "--arch=glm4", "snapkv", "cpu", "method snapkv" }, { "--arch=glm4", "full", "cuda", "CPU only" },
        { "--arch=glm4", "full", "cpu", "either the reader" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gkv_model *m = bad[i].options ? model_made(bad[i].options) : without;
        gkv_options o = options(bad[i].method);
        gkv_session *s = NULL;
        gkv_model_info info;
        uint64_t bytes;
        gkv_status status;

        o.draft = 4;
        o.draft_mtp = 1;
        o.device = bad[i].device;
        o.draft_reader = !strcmp(bad[i].why, "either the reader");
        status = gkv_session_open(&s, m, &o, &err);
        ok(status == (i < 4 ? GKV_UNSUPPORTED : GKV_INVALID) && strstr(err.text, bad[i].why), "%s: %s",
           bad[i].options ? bad[i].options : "mini", err.text);
        if (!strcmp(o.device, "cpu"))
            ok(gkv_memory_needed(m, &o, 100, &bytes, &err) == status && strstr(err.text, bad[i].why),
               "... its memory: the same");
        gkv_session_close(s);
        gkv_model_describe(m, &info);
        ok(info.mtp == (i ? 1 + (i == 2) : 0) && !info.mtp_problem == (!i || i > 3), "... known before: %u layers, %s",
           info.mtp, info.mtp_problem ? info.mtp_problem : "no problem");
        o.draft = 0;
        s = NULL;
        ok(!gkv_session_open(&s, m, &o, &err) || !strcmp(o.device, "cuda"), "... not if nothing is guessed");
        gkv_session_close(s);
        if (bad[i].options)
            gkv_model_close(m);
    }
}

/* Guesses of long ago count less: of both sums half is forgotten at a time, and no more are right than were tried. */
static void test_forgotten(void)
{
    struct gkv__draft d = { .kind = 2 };
    bool good = true;

    for (uint32_t i = 0; i < 1000; i++) {
        d.n = 1;
        d.used = 0;
        d.id[0] = i;
        good &= gkv__draft_is_next(&d, i) && d.used == 1 && d.right[2] <= d.tried[2] && d.tried[2] < 64;
    }
    ok(good && d.right[2] > d.tried[2] - 2 && d.accepted == 1000, "%.0f of %.0f guesses are right, after 1000 right ones", d.right[2],
       d.tried[2]);
    for (uint32_t i = 0; i < 200; i++) {
        d.n = 2;
        d.used = 0;
        d.id[0] = i;
        good &= !gkv__draft_is_next(&d, i + 1) && !d.n && !gkv__draft_is_next(&d, i);
    }
    ok(good && d.right[2] < 1 && d.tried[2] > 16 && d.accepted == 1000, "%.2f of %.0f, after 200 wrong ones", d.right[2],
       d.tried[2]);
}

int main(void)
{
    gkv_model *m = NULL;

    set_level();        /* bfloat16 decides otherwise between guesses that are equally likely */
    finds();
    pays();
    model_pays();
    forgets();
    test_forgotten();
    learns();
    if (BIG_ENDIAN_HOST)
        return done();
    models();
    taken_back();
    hybrids();
    m = model_named("data/gemkv-mini-q8_0");
    ways(m);
    readers(m);
    not_by_layer(m);
    gkv_model_close(m);
    own_layer();
    ok(totals.accepted > 50 && totals.drafted > totals.accepted + 50, "guesses were right, and others wrong: %d of %d",
       (int)totals.accepted, (int)totals.drafted);
    return done();
}
