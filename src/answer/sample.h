/* SPDX-License-Identifier: BSD-2-Clause
 * sample.h - logits to token. */
#ifndef GKV__SAMPLE_H
#define GKV__SAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct gkv__sampler {
    float    temperature, top_p, min_p;
    uint64_t state;             /* of the generator; any number seeds it                     */
};

struct gkv__candidate { float p; uint32_t id; };

/* temperature 0: the largest logit, the smallest id among equals.  Otherwise min-p, then
 * top-p (Holtzman et al. 2020) over the tempered distribution.  scratch[n] is only written
 * then.  Deterministic: own generator, sums in order. */
uint32_t gkv__sample(struct gkv__sampler *s, const float *logits, struct gkv__candidate *scratch,
                     size_t n);

#endif
