/* SPDX-License-Identifier: BSD-2-Clause
 * random.c - passages chosen by chance: what a budget is worth without any knowledge of the question. */
#include "config.h"
#include "src/select/passages.h"
#include "src/select/select.h"

extern const struct gkv__select gkv__select_random;

enum { PASSAGE, SEED };

static const struct gkv__param params[] = {
    [PASSAGE] = { "passage", "128", "length of a passage in tokens", 1, 4096 },
    [SEED] = { "seed", "0", "other passages", 0, 1 << 30 },
    { .name = NULL },
};

static uint64_t mix(uint64_t z)                 /* splitmix64's */
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A number for each passage, seed and length of the prompt: with one for all prompts, a place would be kept in all or in
 * none. */
static uint64_t chance(const struct gkv__task *t, size_t i)
{
    return mix(mix(((uint64_t)t->param[SEED] << 32) + i) ^ t->n);
}

/* Tokens of passages whose number is at most `most`, among those that may be chosen: from .. p->n_tokens - 1. */
static size_t tokens(const struct gkv__task *t, const struct gkv__passages *p, size_t from, uint64_t most)
{
    size_t n = 0;

    for (size_t i = from / p->size; i < p->n; i++)
        if (chance(t, i) <= most)
            n += gkv__passage_end(p, i) - gkv__max(i * p->size, from);
    return n;
}

static size_t pick(const struct gkv__task *t, float *score, float *spare, uint32_t *out)
{
    const struct gkv__passages p = gkv__passages_of(t, t->param[PASSAGE]);
    const size_t from = t->keep_first, want = (size_t)t->k - from - t->keep_last;
    uint64_t most = 0;                  /* the smallest for which there are enough; its passage may be cut */
    size_t at = 0, before;

    (void)score;
    (void)spare;
    for (int bit = 63; bit >= 0; bit--)
        if (tokens(t, &p, from, most | (((uint64_t)1 << bit) - 1)) < want)
            most |= (uint64_t)1 << bit;
    before = most ? tokens(t, &p, from, most - 1) : 0;
    for (size_t i = 0; i < from; i++)
        out[at++] = (uint32_t)i;
    for (size_t i = from / p.size; i < p.n; i++) {
        const size_t start = gkv__max(i * p.size, from), cut = chance(t, i) == most;
        const size_t n = cut ? want - before : gkv__passage_end(&p, i) - start;

        for (size_t j = 0; j < n && chance(t, i) <= most; j++)
            out[at++] = (uint32_t)(start + j);
    }
    for (size_t i = p.n_tokens; i < t->n; i++)
        out[at++] = (uint32_t)i;
    return at;
}

const struct gkv__select gkv__select_random = {
    .name = "random",
    .summary = "passages chosen by chance (a baseline)",
    .params = params,
    .kind = GKV__PICKS,
    .pick = pick,
};
