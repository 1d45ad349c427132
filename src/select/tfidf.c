/* SPDX-License-Identifier: BSD-2-Clause
 * tfidf.c - passages whose words are like the question's: vectors of words, weighted by how often a passage has them
 * and how few passages do, compared by their cosine.  Salton and Buckley, "Term-Weighting Approaches in Automatic Text
 * Retrieval" (1988), weights tfc.  Words are as in bm25.c. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/select/passages.h"
#include "src/select/select.h"
#include "src/select/words.h"

extern const struct gkv__select gkv__select_tfidf;

enum { PASSAGE };
enum { MAX_PASSAGE = 4096 };

static const struct gkv__param params[] = {
    [PASSAGE] = { "passage", "128", "length of a passage in tokens", 8, MAX_PASSAGE },
    { .name = NULL },
};

/* All words of the document, and in how many passages each is. */
struct index {
    const struct gkv__task *t;
    struct gkv__passages    of;
    uint32_t               *word;               /* [n] ascending                             */
    float                  *df;                 /* [n]; whole numbers, exact up to 2^24      */
    size_t                  n;
};

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The words among token[n], ascending, and as often as they occur; returns how many. */
static size_t sorted(const uint32_t *token, size_t n, uint32_t *out)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (token[i])
            out[k++] = token[i];
    if (k)
        qsort(out, k, sizeof *out, ascending);
    return k;
}

static size_t words_of(const struct index *x, size_t i, uint32_t *out)
{
    const size_t at = i * x->of.size;

    return sorted(x->t->words->of_token + at, gkv__passage_end(&x->of, i) - at, out);
}

/* Length of the run of equal words at w[at]. */
static size_t run(const uint32_t *w, size_t n, size_t at)
{
    size_t end = at;

    while (end < n && w[end] == w[at])
        end++;
    return end - at;
}

/* How many passages have the word. */
static float *df(const struct index *x, uint32_t word)
{
    const uint32_t *at = x->n ? bsearch(&word, x->word, x->n, sizeof word, ascending) : NULL;

    return at ? x->df + (at - x->word) : NULL;
}

static void count(struct index *x)
{
    const size_t all = sorted(x->t->words->of_token, x->of.n_tokens, x->word);
    uint32_t w[MAX_PASSAGE];

    for (size_t i = 0, n; i < all; i += n) {
        n = run(x->word, all, i);
        x->df[x->n] = 0;
        x->word[x->n++] = x->word[i];
    }
    for (size_t i = 0; i < x->of.n; i++) {
        const size_t k = words_of(x, i, w);

        for (size_t j = 0; j < k; j += run(w, k, j))
            *df(x, w[j]) += 1;
    }
}

static double idf(const struct index *x, uint32_t word)
{
    return log((double)x->of.n / (double)*df(x, word));
}

static bool is_asked(const struct gkv__words *w, uint32_t word)
{
    for (size_t i = 0; i < w->n_asked; i++)
        if (w->asked[i] == word)
            return true;
    return false;
}

/* Cosine of the two vectors, but for the length of the question's, which is the same for all passages. */
static float cosine(const struct index *x, size_t i)
{
    uint32_t w[MAX_PASSAGE];
    const size_t k = words_of(x, i, w);
    double dot = 0, square = 0;

    for (size_t j = 0, n; j < k; j += n) {
        const double rare = idf(x, w[j]);

        n = run(w, k, j);
        square += (double)n * rare * (double)n * rare;
        if (is_asked(x->t->words, w[j]))
            dot += (double)n * rare * rare;     /* the question has each word once */
    }
    return square > 0 ? (float)(dot / sqrt(square)) : 0;
}

/* out and spare are free until the end; there are no more words, and no more passages, than tokens. */
static size_t pick(const struct gkv__task *t, float *score, float *spare, uint32_t *out)
{
    struct index x = { t, gkv__passages_of(t, t->param[PASSAGE]), out, spare, 0 };

    count(&x);
    for (size_t i = 0; i < x.of.n; i++)
        score[i] = cosine(&x, i);
    return gkv__passages_keep(t, &x.of, score, spare, out);
}

const struct gkv__select gkv__select_tfidf = {
    .name = "tfidf",
    .summary = "passages whose rare words are the question's (keyword retrieval, a baseline)",
    .params = params,
    .kind = GKV__PICKS,
    .words = true,
    .pick = pick,
};
