/* SPDX-License-Identifier: BSD-2-Clause
 * scale.c - see scale.h */
#include "config.h"
#include <math.h>
#include "src/quant/quant.h"
#include "src/quant/scale.h"

enum { QK = 256 };

static float inverse(float x)
{
    return x > 0 || x < 0 ? 1 / x : 0;
}

/* x / d to the nearest integer in lo .. hi. */
static int nearest(float x, float d, int lo, int hi)
{
    return gkv__cut(roundf(x * inverse(d)), lo, hi);
}

void gkv__groups_affine(struct gkv__groups *g, const float x[QK], size_t group, int top,
                        int scale_top)
{
    const size_t n = QK / group;
    float        scale[16], min[16], max_scale = 0, max_min = 0, d, dmin;

    for (size_t s = 0; s < n; s++) {
        float lo = 0, hi = 0;

        for (size_t j = s * group; j < (s + 1) * group; j++) {
            lo = x[j] < lo ? x[j] : lo;
            hi = x[j] > hi ? x[j] : hi;
        }
        scale[s] = (hi - lo) / (float)top;
        min[s] = -lo;
        max_scale = scale[s] > max_scale ? scale[s] : max_scale;
        max_min = min[s] > max_min ? min[s] : max_min;
    }
    g->d = gkv__f32_to_f16(max_scale / (float)scale_top);
    g->dmin = gkv__f32_to_f16(max_min / (float)scale_top);
    d = gkv__f16_to_f32(g->d);
    dmin = gkv__f16_to_f32(g->dmin);
    for (size_t s = 0; s < n; s++) {
        float m, id;

        g->scale[s] = (int8_t)nearest(scale[s], d, 0, scale_top);
        g->min[s] = (uint8_t)nearest(min[s], dmin, 0, scale_top);
        m = dmin * g->min[s];
        id = inverse(d * g->scale[s]);
        for (size_t j = s * group; j < (s + 1) * group; j++)
            g->u[j] = (uint8_t)gkv__cut((x[j] + m) * id + 0.5f, 0, top);
    }
}

void gkv__groups_symmetric(struct gkv__groups *g, const float x[QK], size_t group, int offset,
                           int scale_top)
{
    const size_t n = QK / group;
    float        scale[16], max_scale = 0, d;

    for (size_t s = 0; s < n; s++) {
        float max = 0;

        for (size_t j = s * group; j < (s + 1) * group; j++)
            if (fabsf(x[j]) > fabsf(max))
                max = x[j];
        scale[s] = max / (float)-offset;
        if (fabsf(scale[s]) > fabsf(max_scale))
            max_scale = scale[s];
    }
    g->d = gkv__f32_to_f16(max_scale / (float)-scale_top);
    d = gkv__f16_to_f32(g->d);
    for (size_t s = 0; s < n; s++) {
        float id;

        g->scale[s] = (int8_t)nearest(scale[s], d, -scale_top, scale_top - 1);
        id = inverse(d * g->scale[s]);
        for (size_t j = s * group; j < (s + 1) * group; j++)
            g->u[j] = (uint8_t)gkv__cut(x[j] * id + ((float)offset + 0.5f), 0, 2 * offset - 1);
    }
}

void gkv__pack_scales(const struct gkv__groups *g, uint8_t p[12])
{
    for (size_t i = 0; i < 4; i++) {
        unsigned scale = (unsigned)g->scale[4 + i], min = g->min[4 + i];

        p[i] = (uint8_t)((unsigned)g->scale[i] | scale >> 4 << 6);
        p[4 + i] = (uint8_t)(g->min[i] | min >> 4 << 6);
        p[8 + i] = (uint8_t)((scale & 15) | min << 4);
    }
}

int gkv__iq4_nearest(float x)
{
    static const int8_t value[16] = { GKV__IQ4_VALUES };
    int                 i = 0;

    while (i < 15 && x > 0.5f * (float)(value[i] + value[i + 1]))
        i++;
    return i;
}
