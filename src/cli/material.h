/* SPDX-License-Identifier: BSD-2-Clause
 * material.h - what the documents of eval and calibrate are made of: sentences of a haystack,
 * needles, and random things that only depend on a seed */
#ifndef GEMKV_CLI_MATERIAL_H
#define GEMKV_CLI_MATERIAL_H

#include <stddef.h>
#include <stdint.h>
#include "src/cli/text.h"

/* ---- random numbers: the same on every machine --------------------------------------- */
struct rng { uint64_t state; };

/* A stream of its own for each (seed, what, i). */
struct rng rng_of(uint64_t seed, const char *what, uint64_t i);
uint64_t   rng_below(struct rng *r, uint64_t n);        /* n > 0                          */
void       rng_shuffle(struct rng *r, uint32_t *v, size_t n);
/* out[n] distinct numbers below max, n <= max, in random order. */
void       rng_choose(struct rng *r, uint32_t max, uint32_t *out, size_t n);
char      *rng_uuid(struct rng *r);                     /* version 4, for free()          */
char      *rng_digits(struct rng *r, int n);            /* the first is not 0             */

/* Distinct words for i below N_WORD_PAIRS, an adjective and a noun joined by a hyphen. */
enum { N_ADJECTIVES = 64, N_NOUNS = 128, N_WORD_PAIRS = N_ADJECTIVES * N_NOUNS };
char *word_pair(uint32_t i);

/* ---- haystack ------------------------------------------------------------------------ */
struct haystack {
    char   *text;
    size_t *end;                /* [n] where each sentence ends; the next begins there     */
    size_t  n;
    const char *again;          /* what comes between the last sentence and the first      */
};

struct insert {
    size_t      before;         /* this sentence                                           */
    const char *text;
};

extern const char stock_sentences[];    /* five short ones, the filler of some tasks       */

/* The files one after the other; none: the bundled book.  0 or an exit status. */
int    haystack_read(struct haystack *h, const char *const *file, size_t n);
/* text is copied. */
void   haystack_of(struct haystack *h, const char *text, const char *again);
void   haystack_free(struct haystack *h);
/* The first n sentences, from the beginning again after the last, with in[n_in] (in the order
 * of `before`) put between them, at most one each at the end of a sentence. */
void   haystack_build(const struct haystack *h, size_t n, const struct insert *in, size_t n_in,
                      struct text *out);
/* The sentence of the first n, or n, that begins nearest to `percent` of their bytes. */
size_t haystack_at(const struct haystack *h, size_t n, double percent);

/* ---- needles ------------------------------------------------------------------------- */
struct needle {
    char       *id, *text, *question;
    char      **answer;
    size_t      n_answer;
};

struct needles {
    struct needle *needle;
    size_t         n;
};

/* A JSON array, or an object with one in it; NULL: the bundled ones.  0 or an exit status. */
int  needles_read(struct needles *n, const char *file);
void needles_free(struct needles *n);

#endif
