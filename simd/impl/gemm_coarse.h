/* SPDX-License-Identifier: BSD-2-Clause
 * gemm_coarse.h - products with integer types in integer arithmetic, one scale for 128 inputs, of activations and of
 * weights.  Weights of any type are rounded once more, to 8 bits:
 *
 *     sum_i w_i x_i  =  s d sum_i q_i x'_i,     w_i ~ d q_i,     x_i ~ s x'_i,     s = max|x| / 127
 *
 * and the sum is exact.  127 d is the largest weight that the scales of the 128 allow, as if each block used its
 * whole range.  The tile is that of gemm_int.h, which there applies scales after every eight instructions of products: of ten
 * instructions on the multipliers eight are products, of 34 here 32.
 *
 * gemm_int.h includes this file where weights are unsigned, on x86, and says what i8_... do. */

enum { COARSE = 128, COARSE_GROUPS = COARSE / 32, PLUS = 128 };      /* weights are stored as q + PLUS */

/* As struct i8, for the tile; sum is not used, as there are no minima. */
struct FN(i8c) { float s, sum; int32_t start; int8_t q[COARSE]; };
_Static_assert(offsetof(struct FN(i8c), q) == offsetof(struct FN(i8), q), "i8_tile finds the bytes there");

enum { COARSE_BLOCK = INR * (COARSE + 4) };     /* i8_block_of(COARSE, 0, 0) */

static void FN(prepare_coarse)(void *to, const float *x, size_t n)
{
    struct FN(i8c) *p = to;

    for (size_t i = 0; i < n; i += COARSE, x += COARSE, p++) {
        v8i top[2] = { { 0 } }, sum = { 0 };
        v8f inv;
        float most;
        int32_t bits;

UNROLL
        for (int j = 0; j < COARSE / 8; j++)
            top[j % 2] = max8(*(const v8iu *)(const void *)(x + 8 * j) & 0x7fffffff, top[j % 2]);
        bits = top8(max8(top[0], top[1]));
        memcpy(&most, &bits, sizeof most);
        if (bits >= 0x7f800000) {               /* infinite, or no number: so is what comes of it */
            memset(p, 0, sizeof *p);
            p->s = most;
            continue;
        }
        inv = splat8(most > 0x1p-120f ? 127 / most : 0);        /* below, it overflows */
UNROLL
        for (int g = 0; g < COARSE_GROUPS; g++) {
            v8i q[4];
            v32 bytes;

UNROLL
            for (int j = 0; j < 4; j++)
                q[j] = (v8i)_mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 32 * g + 8 * j), (__m256)inv));
            bytes = narrow32(q);
            memcpy(p->q + 32 * g, &bytes, sizeof bytes);
            sum += i8_dot32((v32){ 0 } + 1, bytes);
        }
        sum += __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);
        sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
        p->s = most / 127;
        p->sum = 0;
        p->start = i8_start(-PLUS * (sum[0] + sum[1]), 0);
    }
}

/* ---- weights: eight outputs at a time, a lane each ----------------------------------------------------- */

/* What four bytes of each output are multiplied with, in sixteen bits: outputs 0, 1, 4, 5 and 2, 3, 6, 7.  0 if it is infinite or
 * no number: the conversion makes -2^31 of it. */
struct FN(words) { __m256i low, high; };

INLINE struct FN(words) words_of(v8f x)
{
    const __m256i w = _mm256_cvtps_epi32((__m256)x);
    const __m256i both = _mm256_or_si256(_mm256_and_si256(w, _mm256_set1_epi32(0xffff)), _mm256_slli_epi32(w, 16));

    return (struct FN(words)){ _mm256_unpacklo_epi32(both, both), _mm256_unpackhi_epi32(both, both) };
}

/* Without minima.  A weight is (u - off) << shift times r / 2^15, rounded. */
INLINE v8i coarse_off(v8i u, int off, int shift, struct FN(words) r)
{
    const __m256i b = _mm256_sub_epi8((__m256i)u, _mm256_set1_epi8((char)off)), zero = _mm256_setzero_si256();
    const __m256i low = _mm256_srai_epi16(_mm256_unpacklo_epi8(zero, b), 8 - shift);
    const __m256i high = _mm256_srai_epi16(_mm256_unpackhi_epi8(zero, b), 8 - shift);
    const __m256i q = _mm256_packs_epi16(_mm256_mulhrs_epi16(low, r.low), _mm256_mulhrs_epi16(high, r.high));

    return (v8i)_mm256_xor_si256(q, _mm256_set1_epi8((char)PLUS));
}

/* With minima: u d + m in 256ths, modulo 2^16. */
INLINE v8i coarse_min(v8i u, struct FN(words) d, struct FN(words) m)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i low = _mm256_mullo_epi16(_mm256_unpacklo_epi8((__m256i)u, zero), d.low);
    const __m256i high = _mm256_mullo_epi16(_mm256_unpackhi_epi8((__m256i)u, zero), d.high);

    return (v8i)_mm256_packus_epi16(_mm256_srli_epi16(_mm256_add_epi16(low, m.low), 8),
                                    _mm256_srli_epi16(_mm256_add_epi16(high, m.high), 8));
}

INLINE void transpose_floats(v8f f[8])
{
    v8i t[8];

    memcpy(t, f, sizeof t);
    transpose8(t);
    memcpy(f, t, sizeof t);
}

/* Scales and minima of 256 weights of eight rows, or of the 128 that are left: d[h][g] and low[h][g] have those of
 * group g, a row in each lane. */
INLINE void scales_of_eight(const struct FN(packing) m, const uint8_t *const r[8], int whole, v8f d[2][8], v8f low[2][8])
{
    for (int x = 0; x < 8; x++) {
        v8f dd[2] = { { 0 } }, mm[2] = { { 0 } };

        if (whole) {
            m.scales(r[x], dd, mm);
        } else {
            for (size_t g = 0; g < COARSE_GROUPS; g++) {
                float scale[2], min[2];

                m.bytes(r[x], g, scale, min);
                for (int h = 0; h <= m.halves; h++) {
                    dd[h][g] = scale[h];
                    mm[h][g] = min[h];
                }
            }
        }
        for (int h = 0; h <= m.halves; h++) {
            d[h][x] = dd[h];
            low[h][x] = mm[h];
        }
    }
    for (int h = 0; h <= m.halves; h++) {
        transpose_floats(d[h]);
        if (m.min)
            transpose_floats(low[h]);
    }
}

/* Packs groups g .. g + 3. */
INLINE void pack_coarse_block(const struct FN(packing) m, uint8_t *to, const uint8_t *const r[8], size_t g,
                              v8f d[2][8], v8f low[2][8])
{
    const v8i positive = (v8i){ 0 } + 0x7fffffff;
    v8i top = { 0 };
    v8f most, steps, scale;

UNROLL
    for (size_t i = g; i < g + COARSE_GROUPS; i++)
        for (int h = 0; h <= m.halves; h++) {
            const v8f last = m.min ? fused8(d[h][i], splat8((float)m.top), low[h][i]) : d[h][i] * (float)m.top;

            top = max8(top, (v8i)last & positive);
            if (m.min)
                top = max8(top, (v8i)low[h][i] & positive);
        }
    memcpy(&most, &top, sizeof most);
    steps = 127 / most;         /* infinite where most is 0 or below 2^-121: then words_of makes 0 of the products */
    scale = most / 127;
    memcpy(to + COARSE * INR, &scale, sizeof scale);
#pragma GCC unroll 4
    for (size_t i = 0; i < COARSE_GROUPS; i++, to += 32 * INR) {
        struct FN(words) by[2], plus[2];
        v8i u[8];

        for (int h = 0; h <= m.halves; h++) {
            by[h] = words_of(d[h][g + i] * steps * (float)(m.min ? 256 : 32768 >> m.shift));
            if (m.min)
                plus[h] = words_of(fused8(low[h][g + i] * steps, splat8(256), splat8(256 * PLUS + 128)));
        }
UNROLL
        for (int x = 0; x < 8; x++) {
            float dd[2], mm[2];

            u[x] = (v8i)m.bytes(r[x], g + i, dd, mm);
        }
        transpose8(u);
UNROLL
        for (int t = 0; t < 8; t++) {
            const int h = m.halves ? t / 4 : 0;

            *(v8iu *)(void *)(to + t * INR * 4) = m.min ? coarse_min(u[t], by[h], plus[h])
                                                        : coarse_off(u[t], m.off, m.shift, by[h]);
        }
    }
}

/* Missing outputs repeat the last row, and their results are not used. */
INLINE void pack_coarse(const struct FN(packing) m, void *panel, const void *w, size_t stride, size_t n, size_t k)
{
    for (size_t j = 0; j < INR; j += 8) {
        uint8_t *to = (uint8_t *)panel + 4 * j;
        const uint8_t *r[8];
        v8f d[2][8], low[2][8];

        for (size_t x = 0; x < 8; x++)
            r[x] = (const uint8_t *)w + (j + x < n ? j + x : n - 1) * stride;
        for (size_t i = 0; i < k / 256; i++, to += 2 * COARSE_BLOCK) {
            scales_of_eight(m, r, 1, d, low);
            pack_coarse_block(m, to, r, 0, d, low);
            pack_coarse_block(m, to + COARSE_BLOCK, r, COARSE_GROUPS, d, low);
            for (int x = 0; x < 8; x++)
                r[x] += m.per_256;
        }
        if (k % 256) {
            scales_of_eight(m, r, 0, d, low);
            pack_coarse_block(m, to, r, 0, d, low);
        }
    }
}

/* ---- table entries --------------------------------------------------------------------------------------- */

TILE_I8(coarse, COARSE, 0, 0, 1)

#define PACK_COARSE(TYPE, name, ...)                                                        \
    static void FN(pack_##name##_coarse)(void *panel, const void *w, size_t stride,         \
                                         size_t n, size_t k)                                \
    {                                                                                       \
        const struct FN(packing) m = { bytes_##name, scales_##name, .off = OFF_##name,      \
            .halves = HALVES_##name, .min = MIN_##name, .per_256 = PER_256(name),           \
            .top = TOP_##name, .shift = SHIFT_##name };                                     \
        pack_coarse(m, panel, w, stride, n, k);                                             \
    }
GKV__BYTE_TYPES(PACK_COARSE)
#undef PACK_COARSE

static void FN(fill_coarse)(struct gkv__product coarse[GKV__N_TYPES])
{
#define SLOT_COARSE(TYPE, name, ...)                                                        \
    coarse[GKV__TYPE_##TYPE] = (struct gkv__product){                                       \
        .form = "i8/128", .unit = COARSE, .x_bytes = sizeof(struct FN(i8c)),                \
        .w_bytes = COARSE_BLOCK / INR, .nr = INR, .prepare = FN(prepare_coarse),            \
        .pack = FN(pack_##name##_coarse), .gemm = FN(gemm_coarse) };
    GKV__BYTE_TYPES(SLOT_COARSE)
#undef SLOT_COARSE
}
