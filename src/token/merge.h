/* SPDX-License-Identifier: BSD-2-Clause
 * merge.h - merging neighbours by rank, as byte-level BPE and SentencePiece both do
 *
 * A word begins as its bytes, or as its characters.  The two neighbours with the best-ranked
 * merge become one symbol (of equal ranks the leftmost pair first), until no merge applies.  A
 * symbol is a string of bytes.  If it is a token, it has the token's number.  Other symbols, which
 * only occur between merges, are numbered from vocab->n on; if one is left at the end, it becomes
 * the tokens of its bytes. */
#ifndef GKV__TOKEN_MERGE_H
#define GKV__TOKEN_MERGE_H

#include "src/token/kind.h"

#define GKV__NO_SYMBOL UINT32_MAX
#define GKV__MAX_MERGES (1u << 28)

struct gkv__pair;

/* Symbols by their string: tokens that text can become, and strings that only occur between merges. */
struct gkv__names {
    struct { uint32_t hash, symbol; } *slot;
    size_t    mask, used;
    uint32_t *start;            /* of symbol n + i: text[start[i] .. start[i + 1])       */
    uint8_t  *text;
    size_t    n_extra, extra_cap, text_cap;
};

struct gkv__merges {            /* the kind of tokenizer fills in the first five         */
    uint32_t first[256];        /* symbol of each byte; if chars, ASCII only             */
    uint32_t byte[256];         /* token of each byte of a string that is no token       */
    bool     chars;             /* words begin as characters, and U+2581 is a space      */
    bool     whole_words;       /* a word that is a token is not merged                  */
    uint32_t longest;           /* bytes of the longest token that is a word             */
    struct gkv__pair *pair;
    size_t            pair_mask;
    uint64_t          seed;     /* of hashes, so that no file can make all collide       */
    struct gkv__names names;
};

/* *m is zero. */
void   gkv__merges_open(struct gkv__merges *m);
void   gkv__merges_close(struct gkv__merges *m);
size_t gkv__merges_bytes(const struct gkv__merges *m);

/* Symbol of a string.  If it has none, it gets `fresh`, or, if that is NO_SYMBOL, a new one; NO_SYMBOL
 * is returned if there is no memory. */
uint32_t gkv__merges_name(struct gkv__merges *m, const struct gkv__vocab *v, const uint8_t *p,
                          size_t n, uint32_t fresh);
/* The same, or NO_SYMBOL if it has none. */
uint32_t gkv__merges_find(const struct gkv__merges *m, const struct gkv__vocab *v,
                          const uint8_t *p, size_t n);
/* Frees the names, if strings are not looked up any more: words begin as bytes, without whole_words. */
void     gkv__merges_forget_names(struct gkv__merges *m);

/* gkv__merges_reserve: room for n merges and one more.  gkv__merges_add: if a merge is added twice, the
 * first counts.  rank < UINT32_MAX. */
bool gkv__merges_reserve(struct gkv__merges *m, uint64_t n);
void gkv__merges_add(struct gkv__merges *m, uint32_t left, uint32_t right, uint32_t rank,
                     uint32_t result);

/* Reads the file's list of merges, whose strings are spelled as those of the kind's tokens.  Tokens are named. */
gkv_status gkv__merges_read(struct gkv__merges *m, const struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err);

/* Bytes of the character that begins at p < end, by its first byte alone, even if it is malformed, but at
 * most end - p. */
size_t gkv__merges_char(const uint8_t *p, const uint8_t *end);

/* Append the tokens of a text.  word returns how many bytes of p[0..end) the first word has, >= 1. */
typedef size_t gkv__word_fn(const void *arg, const uint8_t *p, const uint8_t *end);
gkv_status gkv__merges_encode(const struct gkv__merges *m, const struct gkv__vocab *v,
                              const uint8_t *text, size_t len, gkv__word_fn *word,
                              const void *arg, struct gkv__tokens *out, gkv_error *err);

#endif
