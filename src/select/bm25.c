/* SPDX-License-Identifier: BSD-2-Clause
 * bm25.c - passages that have the question's words in them: keyword retrieval, the baseline that selection
 * by attention has to beat.  Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
 * Beyond" (2009), equation 3.15, over passages of equal length instead of documents; words as they are
 * spelled, without stems. */
#include "config.h"
#include <math.h>
#include "src/select/passages.h"
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

struct ranking {
    const struct gkv__task *t;
    struct gkv__passages    of;
    float                  *score, *count;      /* [of.n] of each passage                    */
};

/* Occurrences of a word in each passage; in how many it occurs. */
static size_t find(const struct ranking *p, uint32_t word)
{
    const uint32_t *of = p->t->words->of_token;
    size_t found = 0;

    for (size_t i = 0; i < p->of.n; i++) {
        p->count[i] = 0;
        for (size_t at = i * p->of.size; at < gkv__passage_end(&p->of, i); at++)
            p->count[i] += of[at] == word;
        found += p->count[i] > 0;
    }
    return found;
}

static float words_of(const struct ranking *p, size_t i)
{
    float n = 0;

    for (size_t at = i * p->of.size; at < gkv__passage_end(&p->of, i); at++)
        n += p->t->words->of_token[at] != 0;
    return n;
}

static void add_word(const struct ranking *p, uint32_t word, float mean)
{
    const double k1 = p->t->param[K1], b = p->t->param[B];
    const double df = (double)find(p, word), idf = log(1 + ((double)p->of.n - df + 0.5) / (df + 0.5));

    for (size_t i = 0; i < p->of.n; i++)
        if (p->count[i] > 0) {
            const double length = mean > 0 ? words_of(p, i) / mean : 1;

            p->score[i] += (float)(idf * p->count[i] * (k1 + 1) / (p->count[i] + k1 * (1 - b + b * length)));
        }
}

static void score_passages(const struct ranking *p)
{
    const struct gkv__words *w = p->t->words;
    float mean = 0;

    for (size_t i = 0; i < p->of.n; i++) {
        p->score[i] = 0;
        mean += words_of(p, i) / (float)p->of.n;
    }
    for (size_t i = 0; i < w->n_asked; i++)
        add_word(p, w->asked[i], mean);
}

/* score[n] and spare[n] have room for a float per token, and there are no more passages than tokens. */
static size_t pick(const struct gkv__task *t, float *score, float *spare, uint32_t *out)
{
    const struct ranking p = { t, gkv__passages_of(t, t->param[PASSAGE]), score, spare };

    score_passages(&p);
    return gkv__passages_keep(t, &p.of, score, spare, out);
}

const struct gkv__select gkv__select_bm25 = {
    .name = "bm25",
    .summary = "passages that have the question's words in them (keyword retrieval, a baseline)",
    .params = params,
    .kind = GKV__PICKS,
    .words = true,
    .pick = pick,
};
