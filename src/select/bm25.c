/* SPDX-License-Identifier: BSD-2-Clause
 * bm25.c - passages that have the question's words in them: keyword retrieval, the baseline that selection
 * by attention has to beat.  Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
 * Beyond" (2009), equation 3.15, over passages of equal length instead of documents; words as they are
 * spelled, without stems. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/top.h"
#include "src/select/select.h"
#include "src/select/words.h"

extern const struct gkv__select gkv__select_bm25;

enum { PASSAGE, K1, B };

static const struct gkv__param params[] = {
    [PASSAGE] = { "passage", "128", "length of a passage in tokens", 8, 4096 },
    [K1] = { "k1", "1.2", "how much a word counts that occurs again", 0, 10 },
    [B] = { "b", "0.75", "how much long passages are held back", 0, 1 },
    { .name = NULL },
};

struct passages {
    const struct gkv__task *t;
    size_t                  size, n_tokens, n;  /* of the document: what is not forced at the end */
    float                  *score, *count;      /* [n] of each passage                       */
};

static size_t end_of(const struct passages *p, size_t i)
{
    return gkv__min((i + 1) * p->size, p->n_tokens);
}

/* Occurrences of a word in each passage; in how many it occurs. */
static size_t find(const struct passages *p, uint32_t word)
{
    const uint32_t *of = p->t->words->of_token;
    size_t found = 0;

    for (size_t i = 0; i < p->n; i++) {
        p->count[i] = 0;
        for (size_t at = i * p->size; at < end_of(p, i); at++)
            p->count[i] += of[at] == word;
        found += p->count[i] > 0;
    }
    return found;
}

static float words_of(const struct passages *p, size_t i)
{
    float n = 0;

    for (size_t at = i * p->size; at < end_of(p, i); at++)
        n += p->t->words->of_token[at] != 0;
    return n;
}

static void add_word(const struct passages *p, uint32_t word, float mean)
{
    const double k1 = p->t->param[K1], b = p->t->param[B];
    const double df = (double)find(p, word), idf = log(1 + ((double)p->n - df + 0.5) / (df + 0.5));

    for (size_t i = 0; i < p->n; i++)
        if (p->count[i] > 0) {
            const double length = mean > 0 ? words_of(p, i) / mean : 1;

            p->score[i] += (float)(idf * p->count[i] * (k1 + 1) / (p->count[i] + k1 * (1 - b + b * length)));
        }
}

static void score_passages(const struct passages *p)
{
    const struct gkv__words *w = p->t->words;
    float mean = 0;

    for (size_t i = 0; i < p->n; i++) {
        p->score[i] = 0;
        mean += words_of(p, i) / (float)p->n;
    }
    for (size_t i = 0; i < w->n_asked; i++)
        add_word(p, w->asked[i], mean);
}

/* score[n] and spare[n] have room for a float per token, and there are no more passages than tokens. */
static size_t pick(const struct gkv__task *t, float *score, float *spare, uint32_t *out)
{
    const size_t size = (size_t)t->param[PASSAGE], end = (size_t)t->n - t->keep_last;
    const struct passages p = { t, size, end, (end + size - 1) / size, spare, score };

    score_passages(&p);
    /* Every token of a passage is worth what the passage is; gkv__top takes earlier ones first. */
    for (size_t i = 0; i < end; i++)
        score[i] = p.score[i / size];
    for (size_t i = end; i < t->n; i++)
        score[i] = 0;
    memcpy(spare, score, (size_t)t->n * sizeof *spare);
    gkv__force(spare, (size_t)t->n, t->keep_first, t->keep_last);
    gkv__top(spare, (size_t)t->n, (size_t)t->k, out);
    return (size_t)t->k;
}

const struct gkv__select gkv__select_bm25 = {
    .name = "bm25",
    .summary = "passages that have the question's words in them (keyword retrieval, a baseline)",
    .params = params,
    .kind = GKV__PICKS,
    .words = true,
    .pick = pick,
};
