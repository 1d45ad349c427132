/* SPDX-License-Identifier: BSD-2-Clause
 * sample.h - chooses a token by its logits. */
#ifndef GKV__SAMPLE_H
#define GKV__SAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct gkv__sampler {
    float    temperature, top_p, min_p;
    uint64_t state;             /* of the random generator; any seed will do */
};

struct gkv__candidate { float p; uint32_t id; };

/* temperature 0: the largest logit; of equal ones the smallest id.  Otherwise min-p, then top-p
 * (Holtzman et al. 2020), after the temperature was applied; only then is scratch[n] written.
 * Deterministic: it has its own generator and adds in a fixed order. */
uint32_t gkv__sample(struct gkv__sampler *s, const float *logits, struct gkv__candidate *scratch,
                     size_t n);

#endif
