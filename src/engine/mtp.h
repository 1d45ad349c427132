/* SPDX-License-Identifier: BSD-2-Clause
 * mtp.h - the layer behind the others that some models have to predict a token further (multi-token prediction,
 * Gloeckle et al. 2024; DeepSeek-AI 2024; "nextn" in GGUF), so that the answer can be guessed:
 *
 *     h(p) = norm(x(p)), x(p) being the row of token p after the last layer; it has the logits of token p + 1
 *     y(p) = layer(Weh [norm(embedding of token p + 1), norm(h(p))]), with keys and values of its own
 *     logits of token p + 2 = Whead norm(y(p))
 *
 * For one guess after another, norm(y(p)) takes the place of h(p + 1), and the guess that of token p + 2.
 *
 * The pair p is in slot p of a cache of its own.  Only pairs that a guess is wanted of go through all of the layer; of
 * the others, the prompt's above all, its keys and values are enough.  And these wait until they are many. */
#ifndef GKV__MTP_H
#define GKV__MTP_H

#include "src/engine/pass.h"

struct gkv__mtp {
    const uint32_t     *id;     /* given: all tokens, those of the rows and the next         */
    struct gkv__cache   cache;  /* of one layer                                              */
    uint64_t            n;      /* pairs in it                                               */
    float              *row;    /* [][n_embd] rows after the last layer of the tokens from n on, ... */
    size_t              waiting;        /* ... so many of them                               */
    float              *pair, *form, *x;        /* [][2 n_embd], its form, [][n_embd]        */
    uint64_t            bytes;  /* of these buffers                                          */
};

/* Bytes for n tokens, without weights. */
uint64_t   gkv__mtp_bytes(const gkv_model *m, const struct gkv__quant *kv, uint64_t n);
/* t->id is given, and perhaps a cache whose first `done` pairs are of these tokens.  The last of them may have been
 * paired with another next token: that costs a guess at most. */
gkv_status gkv__mtp_open(struct gkv__mtp *t, const gkv_model *m, const struct gkv__quant *kv, uint64_t n, uint64_t done,
                         gkv_error *err);
void       gkv__mtp_close(struct gkv__mtp *t);

/* Rows x[n] of the next tokens of p after the last layer. */
void       gkv__mtp_rows(struct gkv__mtp *t, const struct gkv__pass *p, const float *x, size_t n);
/* All rows but the last, whose next token may not be known yet, go into the cache. */
void       gkv__mtp_settle(struct gkv__mtp *t, const struct gkv__pass *p);
/* The token after the last row is known: logits of the one after that.  There are new rows. */
void       gkv__mtp_next(struct gkv__mtp *t, const struct gkv__pass *p, float *logits);
/* Then, for i = 0, 1, ...: that one may be `id`: logits of the one after it. */
void       gkv__mtp_after(struct gkv__mtp *t, const struct gkv__pass *p, size_t i, uint32_t id, float *logits);

#endif
