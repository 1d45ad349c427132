/* SPDX-License-Identifier: BSD-2-Clause
 * unit-bm25.c - words of a text, and the passages that BM25 and TF-IDF find with them, against the formulas written out
 * over strings. */
#include "config.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/session.h"
#include "tests/tap.h"

enum { MAX_WORDS = 2000, KEEP = 160, PASSAGE = 16 };

static gkv_error err;
static gkv_model *model;
static char text[8000];
static const char question[] = "Where is the red LAMP, the old red lamp of K2\303\211?";

static gkv_options options(const char *method)
{
    gkv_options o;

    gkv_options_init(&o);
    o.method = method;
    o.device = "cpu";
    o.keep = KEEP;
    o.threads = 1;
    o.max_tokens = 1;
    return o;
}

/* The words of asked and of the passage in text[from .. to), a word belonging to where it begins. */
struct bag { char word[64][24]; size_t n; };

static void collect(struct bag *b, const char *s, size_t len, size_t from, size_t to, bool once)
{
    for (size_t i = 0, end; i < len; i = end) {
        char w[24];
        size_t n = 0, k = 0;

        while (i < len && !isalnum((unsigned char)s[i]) && !(s[i] & 0x80))
            i++;
        for (end = i; end < len && (isalnum((unsigned char)s[end]) || s[end] & 0x80); end++)
            if (n < sizeof w - 1)
                w[n++] = s[end] == '\211' ? '\251' : (char)tolower((unsigned char)s[end]);
        w[n] = 0;
        for (k = 0; once && k < b->n && strcmp(b->word[k], w); k++)
            ;
        if (n && i >= from && i < to && b->n < 64 && (!once || k == b->n))
            strcpy(b->word[b->n++], w);
        if (!n)
            break;
    }
}

static double count(const struct bag *b, const char *w)
{
    double n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += !strcmp(b->word[i], w);
    return n;
}

typedef void formula(const size_t *at, size_t n, double *score);

/* Passages' scores; at[n + 1]: where they begin. */
static void bm25(const size_t *at, size_t n, double *score)
{
    static struct bag passage[512];
    struct bag asked = { .n = 0 };
    double mean = 0;

    memset(passage, 0, sizeof passage);
    collect(&asked, question, strlen(question), 0, SIZE_MAX, true);
    for (size_t i = 0; i < n; i++) {
        collect(&passage[i], text, strlen(text), at[i], at[i + 1], false);
        mean += (double)passage[i].n / (double)n;
        score[i] = 0;
    }
    for (size_t q = 0; q < asked.n; q++) {
        double df = 0;

        for (size_t i = 0; i < n; i++)
            df += count(&passage[i], asked.word[q]) > 0;
        for (size_t i = 0; i < n; i++) {
            const double f = count(&passage[i], asked.word[q]);

            score[i] += log(1 + ((double)n - df + 0.5) / (df + 0.5)) * f * 2.2 /
                        (f + 1.2 * (0.25 + 0.75 * (double)passage[i].n / mean));
        }
    }
}

/* Cosine of vectors of f * log(n / df); the question has each word once, and its length is left out. */
static void tfidf(const size_t *at, size_t n, double *score)
{
    static struct bag passage[512], distinct;
    struct bag asked = { .n = 0 };

    memset(passage, 0, sizeof passage);
    collect(&asked, question, strlen(question), 0, SIZE_MAX, true);
    for (size_t i = 0; i < n; i++)
        collect(&passage[i], text, strlen(text), at[i], at[i + 1], false);
    for (size_t i = 0; i < n; i++) {
        double dot = 0, square = 0;

        distinct.n = 0;
        collect(&distinct, text, strlen(text), at[i], at[i + 1], true);
        for (size_t w = 0; w < distinct.n; w++) {
            double df = 0, weight;

            for (size_t j = 0; j < n; j++)
                df += count(&passage[j], distinct.word[w]) > 0;
            weight = count(&passage[i], distinct.word[w]) * log((double)n / df);
            square += weight * weight;
            dot += weight * log((double)n / df) * (count(&asked, distinct.word[w]) > 0);
        }
        score[i] = square > 0 ? dot / sqrt(square) : 0;
    }
}

static void test_scores(const char *method, formula *f)
{
    const gkv_options o = options(method);
    static size_t at[600];
    static double want[600];
    gkv_session *s = NULL;
    size_t n = 0, wrong = 0, kept = 0, scored = 0, forced = 0;
    uint64_t byte = 0, doc, tail;
    double least = INFINITY, most = -INFINITY;
    bool is_kept[600] = { false };

    if (gkv_session_open(&s, model, &o, &err) || gkv_feed(s, text, strlen(text), &err) ||
        gkv_select(s, question, strlen(question), &err)) {
        ok(0, "%s", err.text);
        return;
    }
    doc = s->document->file[0].start;
    tail = gkv__prompt_tail(&s->prompt);
    for (size_t i = 0; i < s->prompt.n - tail; byte += gkv__prompt_len(&s->prompt, i++))
        if (i % PASSAGE == 0)
            at[n++] = byte > doc ? (size_t)(byte - doc) : 0;
    at[n] = strlen(text);
    f(at, n, want);
    for (size_t i = 0; i < s->prompt.n - tail; i++) {
        wrong += fabs((double)s->run.score[i] - want[i / PASSAGE]) > 1e-4;
        scored += s->run.score[i] > 0;
    }
    ok(n > 20 && !wrong && scored, "%s: %zu passages, scores as the formula has them (%zu tokens wrong, %zu above 0)", method, n,
       wrong, scored);
    for (size_t i = 0; i < s->run.n_kept; i++) {
        const size_t p = s->run.kept[i] / PASSAGE;

        kept += s->run.kept[i] < s->prompt.n - tail;
        forced += s->run.kept[i] < s->plan.task.keep_first || s->run.kept[i] >= s->prompt.n - tail;
        if (s->run.kept[i] >= s->plan.task.keep_first && s->run.kept[i] < s->prompt.n - tail) {
            is_kept[p] = true;
            least = fmin(least, want[p]);
        }
    }
    for (size_t i = 0; i < n; i++)
        most = is_kept[i] ? most : fmax(most, want[i]);
    ok(s->run.n_kept == KEEP && kept && least >= most - 1e-9, "the best %zu tokens are kept (%.3f and above; left out: %.3f)", kept, least, most);
    ok(forced == s->plan.task.keep_first + tail, "and the first tokens and the question, %zu of them", forced);
    gkv_session_close(s);
}

int main(void)
{
    static const char *const words[] = { "the ", "old ", "house ", "lamp, ", "Red ", "k2\303\251 ", "stood ", "where\n", "is ", "a ", "dog. ", "x" };
    char path[512];

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    snprintf(path, sizeof path, "%s/tests/files/golden/llama3.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (gkv_model_open(&model, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    srand(3);
    for (size_t i = 0; i < 300; i++) {
        const int r = rand() % 100;

        strcat(text, words[r < 4 ? 3 : r < 6 ? 4 : r < 7 ? 5 : 6 + rand() % 6]);
        if (r > 90)
            strcat(text, words[rand() % 3]);
    }
    test_scores("bm25:passage=16", bm25);
    test_scores("tfidf:passage=16", tfidf);
    gkv_model_close(model);
    return done();
}
