/* SPDX-License-Identifier: BSD-2-Clause
 * sample.h - chooses a token by its logits, as llama.cpp does: penalties, top-k, top-p, min-p, temperature, in this
 * order. */
#ifndef GKV__SAMPLE_H
#define GKV__SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gkv__sampler {
    float    temperature, top_p, min_p;
    uint64_t state;             /* of the random generator; any seed will do                 */
    uint32_t top_k;             /* 0: all                                                    */
    uint32_t last_n;            /* tokens that penalties look back at                        */
    float    repeat, presence, frequency;       /* 1, 0, 0: no penalties                     */
};

struct gkv__candidate { float logit; uint32_t id; };

bool gkv__penalizes(const struct gkv__sampler *s);
/* Lowers logits[n_vocab] of the tokens among the last s->last_n of id[0..n): by the factor `repeat` (a logit above 0 is
 * divided by it, another multiplied), by `presence`, and by `frequency` for each time.  scratch[n_vocab]. */
void gkv__penalize(const struct gkv__sampler *s, float *logits, const uint32_t *id, size_t n,
                   struct gkv__candidate *scratch);

/* temperature 0: the largest logit; of equal ones the smallest id.  Otherwise the top_k largest; of these the likeliest
 * that make up top_p (Holtzman et al. 2020); of these the ones at least min_p times as likely as the best; then one
 * by the probabilities of logit / temperature.  A logit of -INFINITY is never drawn unless all are.  Only with a
 * temperature is scratch[n] written.  Deterministic: it has its own generator and adds in a fixed order. */
uint32_t gkv__sample(struct gkv__sampler *s, const float *logits, struct gkv__candidate *scratch,
                     size_t n);

#endif
