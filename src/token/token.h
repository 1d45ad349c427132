/* SPDX-License-Identifier: BSD-2-Clause
 * token.h - text to tokens and back.  Each kind of tokenizer is one row in token.c: byte-level BPE is
 * bpe.c, SentencePiece and Gemma 4's spm.c.  Immutable after opening, so any thread may use it. */
#ifndef GKV__TOKEN_H
#define GKV__TOKEN_H

#include "src/base/snap.h"
#include "src/gguf/gguf.h"

struct gkv__vocab;

/* Reads tokenizer.ggml.* of g.  Strings stay in g's mapping, so g must outlive the vocab. */
gkv_status gkv__vocab_open(struct gkv__vocab **out, const struct gkv__gguf *g, gkv_error *err);
void       gkv__vocab_close(struct gkv__vocab *v);

uint32_t    gkv__vocab_size(const struct gkv__vocab *v);
size_t      gkv__vocab_bytes(const struct gkv__vocab *v);       /* memory it holds           */
/* Whether both have the same tokens under the same ids. */
bool        gkv__vocab_same(const struct gkv__vocab *v, const struct gkv__vocab *w);
const char *gkv__vocab_kind(const struct gkv__vocab *v);        /* "bpe", "spm"              */
const char *gkv__vocab_pre(const struct gkv__vocab *v);         /* "qwen2"; spm: ""          */

#define GKV__NO_TOKEN UINT32_MAX
uint32_t gkv__vocab_bos(const struct gkv__vocab *v);            /* or GKV__NO_TOKEN          */
bool     gkv__vocab_add_bos(const struct gkv__vocab *v);
bool     gkv__vocab_adds_space(const struct gkv__vocab *v);     /* see gkv__tokenize         */
bool     gkv__vocab_is_end(const struct gkv__vocab *v, uint32_t id);    /* EOS, EOT, <|im_end|> ... */
/* Id of the token whose text is exactly s; GKV__NO_TOKEN if none. */
uint32_t gkv__vocab_find(const struct gkv__vocab *v, const char *s, size_t len);

/* Writes the bytes of token id to *text (at most cap) and returns how many it has.  Control
 * tokens have no text unless special is set.  Unknown ids have none. */
size_t gkv__token_text(const struct gkv__vocab *v, uint32_t id, bool special, char *text, size_t cap);

/* The same for a token that follows another (GKV__NO_TOKEN: it is the first), without the space that
 * tokenizing adds there.  The buffer needs room for that space all the same. */
size_t gkv__token_text_after(const struct gkv__vocab *v, uint32_t before, uint32_t id,
                             bool special, char *text, size_t cap);

struct gkv__tokens {            /* grows; gkv__tokens_free when done */
    uint32_t *id;
    uint32_t *len;              /* bytes of the source text of each token                    */
    size_t    n, cap;
    uint64_t  limit;            /* most bytes for the tokens and for the memory needed to make
                                   them; 0: no limit                                         */
    uint64_t  most;             /* the largest number of these bytes so far                  */
};
enum { GKV__TOKEN_BYTES = 2 * sizeof(uint32_t) };       /* per token in these arrays         */

void gkv__tokens_free(struct gkv__tokens *t);

/* Make room for more tokens after the n of t.  GKV_LIMIT above t->limit. */
gkv_status gkv__tokens_reserve(struct gkv__tokens *t, size_t more, gkv_error *err);
/* Counts n tokens and `work` bytes that are needed besides: GKV_LIMIT above t->limit, before
 * anything is allocated. */
gkv_status gkv__tokens_count(struct gkv__tokens *t, size_t n, uint64_t work, gkv_error *err);

static inline void gkv__tokens_push(struct gkv__tokens *t, uint32_t id, uint32_t len)
{
    t->id[t->n] = id;
    t->len[t->n++] = len;
}

/* Append the tokens of text[0..len).  Inside the n_plain ranges (ascending, disjoint) the
 * names of control tokens are ordinary text; elsewhere they become those tokens.  A range
 * boundary alone does not split a word: the ids are those of the whole text.  User-defined
 * tokens are matched everywhere (as in llama.cpp and Hugging Face).  Each byte that is not UTF-8
 * counts as U+FFFD or, where the vocabulary has tokens for bytes (spm), as itself.
 * The len of all appended tokens sum up to len.  No BOS is added.  The text continues that of out,
 * which matters to vocabularies that add a space in front of a text and after each special
 * token: that space has length 0, and so has a first token that is nothing else.
 * Fails with GKV_NOMEM, or with GKV_LIMIT above out->limit; then out is unchanged. */
gkv_status gkv__tokenize(const struct gkv__vocab *v, const char *text, size_t len,
                         const struct gkv__range *plain, size_t n_plain,
                         struct gkv__tokens *out, gkv_error *err);
/* The same, but the text continues that of token `before`, which decides whether a space is added in front; *out is
 * empty, and stays so when this fails. */
gkv_status gkv__tokenize_after(const struct gkv__vocab *v, uint32_t before, const char *text, size_t len,
                               const struct gkv__range *plain, size_t n_plain, struct gkv__tokens *out,
                               gkv_error *err);

/* The largest cut <= len such that tokenizing text[0..cut) and text[cut..) separately gives the
 * tokens of the whole text, whatever follows; 0 if there is none.  For tokenizing long texts piece by
 * piece; all of text is plain. */
size_t gkv__token_safe_cut(const struct gkv__vocab *v, const char *text, size_t len);

#endif
