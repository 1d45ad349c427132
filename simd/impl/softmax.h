/* SPDX-License-Identifier: BSD-2-Clause
 * softmax.h - what attention in tiles does to scores s[nk][lanes], whatever its arithmetic. */

/* Scores of keys that a lane does not see: far below any, exp2 gives exactly 0. */
INLINE void hide(float *s, size_t nk, const int32_t *vis)
{
    for (size_t i = 0; i < nk; i++)
        for (int j = 0; j < LANES; j++)
            if ((int32_t)i >= vis[j])
                s[i * LANES + (size_t)j] = 3 * GKV__ATTEND_MIN;
}

/* max, m: the maximum so far, these scores included; scale: what the sums so far shrink by. */
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
