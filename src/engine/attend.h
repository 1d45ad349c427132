/* SPDX-License-Identifier: BSD-2-Clause
 * attend.h - causal attention over a KV cache, in tiles; the n x n matrix never exists. */
#ifndef GKV__ATTEND_H
#define GKV__ATTEND_H

#include "src/engine/exec.h"
#include "src/engine/kv.h"

/* out[n][n_head * head_dim] = softmax(q k^T / sqrt(head_dim) + causal) v  for the n queries
 * q[n][n_head * head_dim] in slots pos .. pos + n - 1, whose keys and values are in layer
 * il of the cache already.  Query head h reads KV head h / (n_head / n_head_kv) of the cache.
 * view: which slots a query sees, and the layer's sinks.  sums: see pass.h; they include the sinks. */
void gkv__attend(struct gkv__exec *e, const struct gkv__cache *c, uint32_t il, float *out,
                 const float *q, size_t n, uint64_t pos, const struct gkv__view *view, float *sums);

/* How a first pass stores keys and values of `type` that only attention reads, in all of m's layers: in the kernels' own
 * form where it is smaller or the same, so that nothing is converted for each block of queries.  Rows that are few then go
 * the way of all others.  `type` itself: as it is. */
const struct gkv__quant *gkv__attend_store(const struct gkv__simd *simd, const gkv_model *m,
                                           const struct gkv__quant *type);

/* What the sink of a head adds to the sum of a softmax whose maximum is max, both in base 2. */
float gkv__attend_sink(const float *sinks, size_t head, float max);

/* Factor of scores: log2(e) / sqrt(head_dim), because exponentials are in base 2; and the cap of scores
 * in the same units, 0: none. */
float gkv__attend_scale(const struct gkv__shape *s);
float gkv__attend_cap(const struct gkv__shape *s);

/* Keys of a block: blocks begin at its multiples.  Whether n rows are few, which go another way. */
size_t gkv__attend_keys(const struct gkv__simd *simd, uint32_t head_dim);
bool   gkv__attend_few(const struct gkv__simd *simd, const struct gkv__shape *s, size_t n, size_t group);

/* nk keys or values in attend's form: a pointer into the cache if they have it there, else buf; spare: floats for
 * them. */
const void *gkv__keys_in_form(const struct gkv__simd *simd, const struct gkv__cache *c, size_t d, const uint8_t *rows,
                              float *buf, size_t nk);
const void *gkv__values_in_form(const struct gkv__simd *simd, const struct gkv__cache *c, size_t d, const uint8_t *rows,
                                float *buf, float *spare, size_t nk);

/* Converts n rows of d elements of a cache to a form of simd->attend (form NULL: floats), into buf. */
void gkv__to_form(const struct gkv__simd *simd, gkv__form_fn *form, enum gkv__type type, const void *rows,
                  float *buf, size_t n, size_t d);

uint64_t gkv__attend_scratch(const struct gkv__simd *simd, const struct gkv__shape *s);
uint64_t gkv__attend_partials(const struct gkv__shape *s);      /* bytes of exec.partial     */

#endif
