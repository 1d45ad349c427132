/* SPDX-License-Identifier: BSD-2-Clause
 * unit-rank.c - baselines: the window and passages by chance keep what they say, and the passages of LongLLMLingua have
 * the log-probabilities that the model gives to their texts alone. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/session.h"
#include "tests/tap.h"

enum { N = 1000, MOST = 4096, PASSAGE = 16, SEEDS = 400 };

static gkv_error err;
static gkv_model *model;

/* ---- by place and by chance ------------------------------------------------------------- */

static size_t pick(const char *spec, size_t k, size_t first, size_t last, uint32_t *out)
{
    struct gkv__task t = { .n = N, .n_tail = last, .k = k, .keep_first = first, .keep_last = last };

    if (gkv__select_parse(spec, &t.method, t.param, &err))
        return 0;
    return t.method->pick(&t, NULL, NULL, out);
}

/* Whether out[n] has k tokens in order, with the first and the last ones. */
static bool ascending(const uint32_t *out, size_t n, size_t k, size_t first, size_t last)
{
    bool good = n == k;

    for (size_t i = 0; i < n && good; i++)
        good = out[i] < N && (!i || out[i] > out[i - 1]) && (i >= first || out[i] == i) &&
               (i < n - last || out[i] == N - n + i);
    return good;
}

static void windows(void)
{
    uint32_t out[N];
    size_t n = pick("window", 100, 3, 20, out);

    ok(ascending(out, n, 100, 3, 20) && out[3] == N - 97, "window: the first tokens, then the last ones");
    n = pick("window:end=first", 100, 3, 20, out);
    ok(ascending(out, n, 100, 3, 20) && out[79] == 79, "end=first: the first ones, then the question");
    n = pick("window:end=first", 23, 3, 20, out);
    ok(ascending(out, n, 23, 3, 20), "no more than what is forced");
}

static void chances(void)
{
    static const size_t sizes[][4] = {          /* passage, k, first, last */
        { 16, 100, 0, 0 }, { 16, 100, 5, 20 }, { 1, 77, 5, 20 }, { 300, 310, 0, 7 }, { 4096, 50, 9, 9 }, { 16, 999, 0, 1 },
        { 16, 30, 10, 20 }, { 16, 100, 40, 8 },
    };
    enum { N_SIZES = sizeof sizes / sizeof *sizes };
    uint32_t out[N], other[N];
    char spec[64];
    size_t good = 0, whole = 0, n, cut, often[64] = { 0 }, least = SEEDS, most = 0;

    for (size_t i = 0; i < N_SIZES; i++) {
        snprintf(spec, sizeof spec, "random:passage=%zu", sizes[i][0]);
        n = pick(spec, sizes[i][1], sizes[i][2], sizes[i][3], out);
        good += ascending(out, n, sizes[i][1], sizes[i][2], sizes[i][3]);
        cut = 0;                                /* passages of which some tokens are kept, and some are not */
        for (size_t at = sizes[i][2] / sizes[i][0] * sizes[i][0]; at < N - sizes[i][3]; at += sizes[i][0]) {
            size_t in = 0, all = 0;

            for (size_t j = at; j < at + sizes[i][0] && j < N - sizes[i][3]; j++)
                if (j >= sizes[i][2]) {
                    all++;
                    for (size_t k = 0; k < n; k++)
                        in += out[k] == j;
                }
            cut += in && in < all;
        }
        whole += cut <= 1;
    }
    ok(good == N_SIZES && whole == N_SIZES, "random: %zu of %zu selections are the budget's, %zu of whole passages but one",
       good, (size_t)N_SIZES, whole);
    good = 0;
    for (int s = 0; s < SEEDS; s++) {           /* also where forced tokens end within a passage that is chosen */
        snprintf(spec, sizeof spec, "random:passage=16,seed=%d", s);
        n = pick(spec, 500, 40 + (size_t)s % 16, 20, out);
        good += ascending(out, n, 500, 40 + (size_t)s % 16, 20);
    }
    ok(good == SEEDS, "with %d seeds, too", SEEDS);
    n = pick("random:passage=16,seed=7", 100, 0, 0, out);
    ok(pick("random:passage=16,seed=8", 100, 0, 0, other) == n && memcmp(out, other, n * sizeof *out),
       "another seed, other passages");
    ok(pick("random:passage=16,seed=7", 100, 0, 0, other) == n && !memcmp(out, other, n * sizeof *out),
       "the same seed, the same");
    for (int s = 0; s < SEEDS; s++) {
        snprintf(spec, sizeof spec, "random:passage=16,seed=%d", s);
        n = pick(spec, 160, 0, 0, out);
        for (size_t i = 0; i < n; i++)
            often[out[i] / 16] += out[i] % 16 == 0;
    }
    for (size_t i = 0; i < N / 16; i++) {       /* 62 whole ones, 10 of them each time: 64.5, +- 7.4 */
        least = often[i] < least ? often[i] : least;
        most = often[i] > most ? often[i] : most;
    }
    ok(least > 30 && most < 100, "each passage is as likely: %zu to %zu of %d times", least, most, SEEDS);
}

/* ---- LongLLMLingua ---------------------------------------------------------------------- */

/* Mean log-probability of id[from .. n), read alone. */
static double alone(gkv_eval *e, const uint32_t *id, size_t n, size_t from)
{
    static float logprob[MOST];
    double sum = 0;

    if (gkv_eval_truncate(e, 0, &err) || gkv_eval_tokens(e, id, n, logprob, &err))
        return NAN;
    for (size_t i = from; i < n; i++)
        sum += (double)logprob[i];
    return sum / (double)(n - from);
}

static size_t put(uint32_t *to, size_t n, const uint32_t *id, size_t count)
{
    memcpy(to + n, id, count * sizeof *id);
    return n + count;
}

static bool holds(const uint32_t *id, size_t n, size_t what)
{
    for (size_t i = 0; i < n; i++)
        if (id[i] == what)
            return true;
    return false;
}

/* forced: whether the question's tokens are; else they are in passages, too, which have no text of their own then. */
static void perplexity(const char *text, const char *question, const char *score, uint32_t chunk, bool forced)
{
    char spec[64];
    gkv_options o;
    gkv_session *s = NULL;
    gkv_eval *e = NULL;
    size_t wrong = 0, n_text, tail, head = GKV__SINKS, kept = 0;
    double worst = 0, least = INFINITY, most = -INFINITY;
    uint32_t id[MOST];

    gkv_options_init(&o);
    snprintf(spec, sizeof spec, "longllmlingua:passage=%d,score=%s", PASSAGE, score);
    o.method = spec;
    o.kv_type = "f32";
    o.device = "cpu";
    o.keep = 5 * PASSAGE;
    o.keep_first = 0;
    o.keep_last = forced ? GKV_KEEP_PROMPT : 0;
    o.threads = 1;
    o.chunk = chunk;
    o.max_tokens = 1;
    if (gkv_session_open(&s, model, &o, &err) || gkv_feed(s, text, strlen(text), &err) ||
        gkv_ask(s, question, strlen(question), &err) || gkv_eval_open(&e, model, &o, MOST, &err)) {
        ok(0, "%s", err.text);
        gkv_session_close(s);
        return;
    }
    tail = gkv__prompt_tail(&s->prompt);
    n_text = s->prompt.n - tail;
    for (size_t i = 0; i * PASSAGE < n_text; i++) {
        const uint32_t *in = s->prompt.id;
        const size_t start = i ? i * PASSAGE : head, end = (i + 1) * PASSAGE < n_text ? (i + 1) * PASSAGE : n_text;
        size_t n = put(id, 0, in, head);
        double want;

        if (!strcmp(score, "question")) {
            n = put(id, n, in + start, end - start);
            want = alone(e, id, put(id, n, in + n_text, tail), n);
        } else {
            want = -alone(e, id, put(id, n, in + start, end - start), n);
            n = put(id, n, in + n_text, tail);
            want += alone(e, id, put(id, n, in + start, end - start), n);
        }
        for (size_t j = i * PASSAGE; j < end; j++) {
            const double off = fabs((double)s->run.score[j] - want);

            worst = off > worst ? off : worst;
            wrong += !(off < 1e-4);
        }
        if (holds(s->run.kept, s->run.n_kept, i * PASSAGE)) {
            kept++;
            least = want < least ? want : least;
        } else {
            most = want > most ? want : most;
        }
    }
    ok(!wrong && n_text > 200, "%s, chunk %u: scores of %zu tokens as the model has them (%.1e)", spec, chunk, n_text,
       worst);
    ok((kept || !forced) && s->run.n_kept == 5 * PASSAGE && least >= most - 1e-6,
       "the best passages are kept (%.3f and above; left out: %.3f)", least, most);
    gkv_eval_close(e);
    gkv_session_close(s);
}

int main(void)
{
    static const char *const words[] = { "the ", "old ", "house ", "lamp, ", "Red ", "stood ", "where\n", "is ", "a ", "dog. ", "x" };
    static const char *const files[] = { "golden/llama3", "golden/qwen35", "golden/gemma3" };      /* states; windows */
    static char text[4000];
    char path[512];

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    windows();
    chances();
    srand(3);
    for (size_t i = 0; i < 120; i++)
        strcat(text, words[rand() % 11]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/tests/files/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", files[i]);
        if (gkv_model_open(&model, path, 0, &err)) {
            printf("Bail out! %s\n", err.text);
            return 1;
        }
        perplexity(text, "Where is the red lamp?", "question", i ? 16 : 64, true);
        perplexity(text, "Where is the red lamp?", "contrast", 16, true);
        perplexity(text, "Where is the red lamp?", "question", 64, false);
        gkv_model_close(model);
    }
    return done();
}
