/* SPDX-License-Identifier: BSD-2-Clause
 * material.h - material for the documents of eval and calibrate: sentences of a haystack, needles,
 * and random numbers and words that depend on a seed only */
#ifndef GEMKV_CLI_MATERIAL_H
#define GEMKV_CLI_MATERIAL_H

#include <stddef.h>
#include <stdint.h>
#include "src/cli/text.h"

/* Where no file is named: bundled ones. */
#define MATERIAL_BOOK    "prophets-mantle.txt"
#define MATERIAL_NEEDLES "needles.json"

struct io;

/* ---- random numbers: the same on every machine --------------------------------------- */
struct rng { uint64_t state; };

/* A random stream for each (seed, what, i). */
struct rng rng_of(uint64_t seed, const char *what, uint64_t i);
uint64_t   rng_next(struct rng *r);
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
    const char *again;          /* text between the last sentence and the first            */
};

struct insert {
    size_t      before;         /* goes before this sentence                               */
    const char *text;
};

extern const char stock_sentences[];    /* five short ones, the filler of some tasks       */

/* Reads the files and joins them; n = 0: the bundled book.  0 or an exit status. */
int    haystack_read(struct haystack *h, struct io *io, const char *const *file, size_t n);
/* text is copied. */
void   haystack_of(struct haystack *h, const char *text, const char *again);
void   haystack_free(struct haystack *h);
/* Appends the first n sentences to out, starting again after the last one, with in[n_in] inserted (sorted by
 * `before`, at most one between two sentences). */
void   haystack_build(const struct haystack *h, size_t n, const struct insert *in, size_t n_in,
                      struct text *out);
/* Of the first n sentences and the end, the index of what begins nearest to `percent` of their bytes. */
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

/* Reads a JSON array, or an object that contains one; NULL: the bundled needles.  0 or an exit status. */
int  needles_read(struct needles *n, struct io *io, const char *file);
void needles_free(struct needles *n);

#endif
