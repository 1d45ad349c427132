/* SPDX-License-Identifier: BSD-2-Clause
 * scale.h - what the types with blocks of 256 share: groups with scales of their own, and their
 * quantisation from floats. */
#ifndef GKV__QUANT_SCALE_H
#define GKV__QUANT_SCALE_H

#include <stddef.h>
#include <stdint.h>

/* A block of 256 in groups of 16 or 32: x = d * scale * (u - offset) - dmin * min. */
struct gkv__groups {
    uint16_t d, dmin;           /* f16                                                       */
    int8_t   scale[16];
    uint8_t  min[16], u[256];
};

/* Uses the extremes of each group once and does not search for better scales: enough for tests and
 * benchmarks, but worse than llama-quantize.  Deterministic, defined for all inputs.
 *   affine       u in 0 .. top, scale and min in 0 .. scale_top, offset 0
 *   symmetric    u in 0 .. 2 offset - 1, scale in -scale_top .. scale_top - 1, no minima; the
 *                weight of largest magnitude becomes -offset, as in ggml's q4_0 */
void gkv__groups_affine(struct gkv__groups *g, const float x[256], size_t group, int top,
                        int scale_top);
void gkv__groups_symmetric(struct gkv__groups *g, const float x[256], size_t group, int offset,
                           int scale_top);

/* Converts to an integer, truncates, and limits to lo .. hi; NaNs become lo. */
static inline int gkv__cut(float x, int lo, int hi)
{
    return x >= (float)hi ? hi : x > (float)lo ? (int)x : lo;
}

/* The twelve bytes of scales and minima of q4_k and q5_k: byte i holds scale i, byte 4 + i
 * min i, for i < 4; the others have their low four bits in byte 8 + i (scale in the low
 * nibble) and their high two on top of scale i and min i. */
static inline void gkv__scale_min(const uint8_t p[12], size_t s, int *scale, int *min)
{
    if (s < 4) {
        *scale = p[s] & 63;
        *min = p[4 + s] & 63;
    } else {
        *scale = (p[4 + s] & 15) | p[s - 4] >> 6 << 4;
        *min = p[4 + s] >> 4 | p[s] >> 6 << 4;
    }
}

/* Index of the GKV__IQ4_VALUES nearest to x; of two equally near the lower one; NaNs get 0. */
int gkv__iq4_nearest(float x);

void gkv__pack_scales(const struct gkv__groups *g, uint8_t p[12]);

#endif
