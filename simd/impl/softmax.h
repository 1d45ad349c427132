/* SPDX-License-Identifier: BSD-2-Clause
 * softmax.h - operations on scores s[nk][lanes], for attention in tiles in any arithmetic. */

/* Sets scores of keys that a lane does not see far below all others, so that exp2 gives exactly 0. */
INLINE void see_some(float *s, size_t nk, const struct gkv__sight *see)
{
    const float inv = see->cap > 0 ? 1 / see->cap : 0;

    if (see->cap > 0)
        for (size_t i = 0; i < nk * LANES; i += VW)
            store(s + i, vtanh(load(s + i) * inv) * see->cap);
    for (size_t j = 0; see->to && j < LANES; j += VW) {
        const vi to = *(const viu *)(see->to + j);

        for (size_t i = 0; i < nk; i++)
            store(s + i * LANES + j, pick(to <= (int32_t)i, splat(3 * GKV__ATTEND_MIN), load(s + i * LANES + j)));
    }
    for (size_t j = 0; see->from && j < LANES; j += VW) {
        const vi from = *(const viu *)(see->from + j);

        for (size_t i = 0; i < nk; i++)
            store(s + i * LANES + j, pick(from > (int32_t)i, splat(3 * GKV__ATTEND_MIN), load(s + i * LANES + j)));
    }
}

/* max, m: the maximum so far, including these scores; scale: the factor for the sums so far. */
INLINE void raise(const float *s, size_t nk, float *m, vf *max, vf *scale)
{
    UNROLL
    for (int j = 0; j < ANV; j++)
        max[j] = load(m + j * VW);
    for (size_t i = 0; i < nk; i++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            max[j] = vmax(load(s + i * LANES + (size_t)j * VW), max[j]);
    UNROLL
    for (int j = 0; j < ANV; j++) {
        scale[j] = vexp2(load(m + j * VW) - max[j]);
        store(m + j * VW, max[j]);
    }
}
