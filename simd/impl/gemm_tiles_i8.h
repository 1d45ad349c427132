/* SPDX-License-Identifier: BSD-2-Clause
 * gemm_tiles_i8.h - products of many rows in tiles of bytes, straight from weights of any integer type (struct gkv__many),
 * one scale for 256 inputs, of activations and of weights.  Weights are rounded once more, to 8 bits, as in
 * gemm_coarse.h:
 *
 *     sum_i w_i x_i  =  s d sum_i q_i x'_i,     w_i ~ d q_i,     x_i ~ s x'_i,     s = max|x| / 127
 *
 * and the sum is exact.  127 d is the largest weight that the scales of the 256 allow, as if each block used its whole
 * range.
 *
 * A tile has 64 inputs, and a unit four tiles.  The sums of a unit leave the tiles for the vector units, which scale them
 * and add them to those of the units before.  That takes about as many loads and stores as the products themselves, which is
 * why a unit is not shorter: with 128 inputs a product takes a third more time, and in bfloat16 a quarter more than that.
 *
 * The including file has tiles.h, scales.h, configure_columns, transpose16 and WRITTEN. */

/* Scratch of a call: sums; two blocks of weights, [2][I8_DEEP] tiles and 32 scales; lines; sums of a unit. */
enum {
    I8_INPUTS = 64, I8_DEEP = 4, I8_SLAB = 16,
    UNIT = I8_DEEP * I8_INPUTS,
    I8_TILES = 2 * I8_DEEP * TILE_BYTES,
    I8_BLOCK = I8_TILES + 32 * 4,
    I8_LINES = SUMS * 4 + 2 * I8_BLOCK,
    I8_INTS = I8_LINES + LINES * 4,
    I8_SCRATCH = I8_INTS + 4 * TILE_BYTES,
    I8_X = I8_INPUTS + 4,       /* bytes of 64 activations: there are at least as many tiles as scales */
};

/* ---- activations ------------------------------------------------------------------------ */

/* Of a group: [tiles][16][rows][4] bytes, then [units][rows] scales. */

INLINE vf largest(const float *x, size_t n)
{
    vf most = splat(0);

    for (size_t i = 0; i < n; i += VW)
        most = (vf)_mm512_max_epi32((__m512i)most, _mm512_and_epi32(_mm512_loadu_si512(x + i), _mm512_set1_epi32(0x7fffffff)));
    return most;
}

/* 64 bytes of x / s, in order. */
INLINE __m512i bytes_of(const float *x, vf steps)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i q[4];

    UNROLL
    for (size_t i = 0; i < 4; i++)
        q[i] = _mm512_cvtps_epi32((__m512)(load(x + 16 * i) * steps));
    return _mm512_permutexvar_epi32(order, _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3])));
}

static void FN(prepare_i8)(void *to, const float *x, size_t ldx, size_t rows, size_t n)
{
    const __mmask16 those = (__mmask16)((1u << rows) - 1);
    uint8_t *p = to;
    float *scale = (float *)(void *)(p + rows * n);

    for (size_t i = 0; i < n; i += UNIT, scale += rows) {
        const size_t width = n - i < UNIT ? n - i : UNIT;
        float steps[GKV__GROUP] = { 0 };

        for (size_t r = 0; r < rows; r++) {
            const int32_t bits = _mm512_reduce_max_epi32((__m512i)largest(x + r * ldx + i, width));
            float most;

            memcpy(&most, &bits, sizeof most);
            /* What is infinite or no number makes its results such.  Below 2^-120, 127 / most overflows. */
            steps[r] = bits < 0x7f800000 && most > 0x1p-120f ? 127 / most : 0;
            scale[r] = bits < 0x7f800000 ? most / 127 : most;
        }
        for (size_t t = 0; t < width; t += I8_INPUTS) {
            __m512i q[16] = { { 0 } };

            for (size_t r = 0; r < rows; r++)
                if (steps[r] > 0)
                    q[r] = bytes_of(x + r * ldx + i + t, splat(steps[r]));
            transpose16(q);
            UNROLL
            for (size_t j = 0; j < 16; j++, p += 4 * rows)
                _mm512_mask_storeu_epi32(p, those, q[j]);
        }
    }
}

/* ---- weights ---------------------------------------------------------------------------- */

/* Constants of a type that the conversion is compiled for; top and shift: gemm_coarse.h. */
struct kind {
    v32    (*bytes)(const void *row, size_t i, float d[2], float m[2]);
    void   (*scales)(const void *row, v8f d[2], v8f m[2]);
    int      off, halves, min, top, shift;
    size_t   per_256;
};

/* Scales and minima of a unit, or of the n groups of 32 that are left of the row. */
INLINE void scales_of_unit(const struct kind m, const uint8_t *row, size_t n, v8f d[2], v8f low[2])
{
    float rest[2][2][8] = { { { 0 } } };

    if (n == 8) {
        d[1] = low[0] = low[1] = splat8(0);
        m.scales(row, d, low);
        return;
    }
    for (size_t g = 0; g < n; g++) {
        float scale[2], min[2];

        m.bytes(row, g, scale, min);
        for (int h = 0; h <= m.halves; h++) {
            rest[0][h][g] = scale[h];
            rest[1][h][g] = min[h];
        }
    }
    memcpy(d, rest[0], sizeof rest[0]);
    memcpy(low, rest[1], sizeof rest[1]);
}

/* The largest weight that the scales allow. */
INLINE float most_of(const struct kind m, const v8f d[2], const v8f low[2])
{
    __m256i top = _mm256_setzero_si256();
    __m128i half;
    int32_t bits;
    float most;

    for (int h = 0; h <= m.halves; h++) {
        const v8f last = m.min ? fused8(d[h], splat8((float)m.top), low[h]) : d[h] * (float)m.top;

        top = _mm256_max_epi32(top, _mm256_and_si256((__m256i)last, _mm256_set1_epi32(0x7fffffff)));
        if (m.min)
            top = _mm256_max_epi32(top, _mm256_and_si256((__m256i)low[h], _mm256_set1_epi32(0x7fffffff)));
    }
    half = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1));
    bits = _mm_cvtsi128_si32(half);
    memcpy(&most, &bits, sizeof most);
    return most;
}

/* Factors of the groups in 16 bits, twice in each lane: of first halves, then of second.  0 if one is infinite or no number. */
INLINE __m512i factors_of(const v8f x[2])
{
    const __m512 both = _mm512_insertf32x8(_mm512_castps256_ps512((__m256)x[0]), (__m256)x[1], 1);
    const __m512i w = _mm512_cvtps_epi32(both);

    return _mm512_or_si512(_mm512_and_si512(w, _mm512_set1_epi32(0xffff)), _mm512_slli_epi32(w, 16));
}

/* The factor of each of the 32 weights of group g. */
INLINE __m512i factor(__m512i factors, int g, int halves)
{
    const __m512i at = _mm512_add_epi32(_mm512_set1_epi32(g), _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8));

    return _mm512_permutexvar_epi32(halves ? at : _mm512_set1_epi32(g), factors);
}

/* Without minima, in 16 bits: gemm_coarse.h. */
INLINE __m512i rounded_off(const struct kind m, v32 u, __m512i by)
{
    const __m512i b = _mm512_cvtepi8_epi16((__m256i)(u - (uint8_t)m.off));

    return _mm512_mulhrs_epi16(_mm512_slli_epi16(b, (unsigned)m.shift), by);
}

/* With minima: u d + m in 256ths, modulo 2^16; 128 more than the weight. */
INLINE __m512i rounded_min(v32 u, __m512i d, __m512i low)
{
    const __m512i w = _mm512_mullo_epi16(_mm512_cvtepu8_epi16((__m256i)u), d);

    return _mm512_srli_epi16(_mm512_add_epi16(w, low), 8);
}

/* Row `at` of a block. */
INLINE void convert_row(const struct kind m, const struct packing *p, size_t at)
{
    const uint8_t *row = p->row[at] + p->first / I8_DEEP * m.per_256;
    uint8_t *to = p->to + at / 16 * I8_DEEP * TILE_BYTES + at % 16 * 64;
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __m512i by, plus = { 0 };
    v8f d[2], low[2];
    float most, steps;

    scales_of_unit(m, row, 2 * p->tiles, d, low);
    most = most_of(m, d, low);
    steps = 127 / most;         /* infinite where most is 0 or below 2^-121: then factors_of makes 0 of the products */
    for (int h = 0; h <= m.halves; h++) {
        d[h] *= steps * (float)(m.min ? 256 : 32768 >> m.shift);
        low[h] = fused8(low[h] * steps, splat8(256), splat8(256 * 128 + 128));
    }
    by = factors_of(d);
    if (m.min)
        plus = factors_of(low);
    most /= 127;
    memcpy(p->to + I8_TILES + 4 * at, &most, sizeof most);
#pragma GCC unroll 4
    for (int t = 0; t < I8_DEEP; t++) {
        __m512i q[2];

        if ((size_t)t == p->tiles)
            return;
        UNROLL
        for (int i = 0; i < 2; i++) {
            const int g = 2 * t + i;
            float dd[2], mm[2];
            const v32 u = m.bytes(row, (size_t)g, dd, mm);

            q[i] = m.min ? rounded_min(u, factor(by, g, m.halves), factor(plus, g, m.halves))
                         : rounded_off(m, u, factor(by, g, m.halves));
        }
        _mm512_store_si512(to + t * TILE_BYTES, _mm512_permutexvar_epi64(order,
            m.min ? _mm512_xor_si512(_mm512_packus_epi16(q[0], q[1]), _mm512_set1_epi8((char)128))
                  : _mm512_packs_epi16(q[0], q[1])));
    }
}

/* ---- products --------------------------------------------------------------------------- */

/* sum (+)= ints, scaled: 16 outputs times 16 rows */
INLINE void put_unit(float *sum, const int32_t *ints, const float *d, vf s, int first)
{
    UNROLL
    for (size_t o = 0; o < 16; o++) {
        const vf part = (vf)_mm512_cvtepi32_ps(_mm512_load_si512(ints + 16 * o));

        store(sum + 16 * o, fused(part, s * d[o], first ? splat(0) : load(sum + 16 * o)));
    }
}

INLINE void put_units(float *sum, const int32_t *ints, const float *d, const vf s[2], size_t b, int first)
{
    put_unit(sum, ints, d, s[0], first);
    put_unit(sum + 512, ints + 512, d + 16, s[0], first);
    if (b) {
        put_unit(sum + 256, ints + 256, d, s[1], first);
        put_unit(sum + 768, ints + 768, d + 16, s[1], first);
    }
}

/* sum (+)= w[32 outputs][tiles] x[tiles][a rows, and b of the next group at y]; s: scales of these rows.  Beside that
 * converts a row for each tile. */
INLINE void unit_of_sums(float *sum, const uint8_t *w, const uint8_t *x, const uint8_t *y, size_t a, size_t b, size_t tiles,
                         const vf s[2], int first, int32_t *ints, convert_fn *convert, struct packing *next)
{
    const float *d = (const float *)(const void *)(w + I8_TILES);

    WRITTEN(w);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t i = 0; i < tiles; i++, w += TILE_BYTES, x += a * 64, y += b * 64) {
        _tile_loadd(4, w, 64);
        _tile_loadd(6, x, 4 * a);
        _tile_dpbssd(0, 4, 6);
        if (b) {
            _tile_loadd(7, y, 4 * b);
            _tile_dpbssd(1, 4, 7);
        }
        _tile_loadd(5, w + I8_DEEP * TILE_BYTES, 64);
        _tile_dpbssd(2, 5, 6);
        if (b)
            _tile_dpbssd(3, 5, 7);
        if (next->at < next->end)
            convert(next, next->at + 1);
    }
    store_four((float *)(void *)ints);
    WRITTEN(ints);
    if (first)
        put_units(sum, ints, d, s, b, 1);
    else
        put_units(sum, ints, d, s, b, 0);
}

static void FN(whole_units)(float *sum, const uint8_t *w, const uint8_t *x, size_t apart, size_t tiles, const vf s[2],
                            int first, int32_t *ints, convert_fn *convert, struct packing *next)
{
    unit_of_sums(sum, w, x, x + apart, 16, 16, tiles, s, first, ints, convert, next);
}

/* The same for the last rows, fewer than 32, in narrower tiles. */
static void FN(last_units)(float *sum, const uint8_t *w, const uint8_t *x, const uint8_t *y, size_t a, size_t b, size_t tiles,
                           const vf s[2], int first, int32_t *ints, convert_fn *convert, struct packing *next)
{
    configure_columns((uint8_t)a, (uint8_t)(b ? b : 16));
    unit_of_sums(sum, w, x, y, a, b, tiles, s, first, ints, convert, next);
    configure_columns(16, 16);
}

/* Scales of unit u of the rows of a group. */
INLINE vf scales_at(const uint8_t *x, size_t tiles, size_t rows, size_t u)
{
    const uint8_t *scale = x + (tiles * I8_INPUTS + 4 * u) * rows;

    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << rows) - 1), scale);
}

static void FN(rows_of_units)(convert_fn *convert, float *sums, const uint8_t *w, const uint8_t *x, size_t m,
                              const struct matrix *of, const struct place *now, struct packing *next,
                              const struct place *after)
{
    const size_t tiles = FN(end_of)(of, now) - now->tile, apart = of->tiles * I8_X * 16, blocks = (m + 31) / 32;
    const size_t u = now->tile / I8_DEEP, across = blocks * (now->col / 32);
    int32_t *ints = (int32_t *)(void *)((uint8_t *)(sums - across * 1024) + I8_INTS);
    const int first = !now->tile;

    for (size_t r = 0; r < blocks; r++, sums += 1024, x += 2 * apart) {
        const size_t rows = m - 32 * r < 32 ? m - 32 * r : 32, a = rows < 16 ? rows : 16, b = rows - a;
        const uint8_t *y = x + apart;
        const vf s[2] = { scales_at(x, of->tiles, a, u), b ? scales_at(y, of->tiles, b, u) : splat(0) };

        FN(fetch_rows)(of, after, 32 * r / blocks, 32 * (r + 1) / blocks);
        if (rows == 32)
            FN(whole_units)(sums, w, x + now->tile * TILE_BYTES, apart, tiles, s, first, ints, convert, next);
        else
            FN(last_units)(sums, w, x + now->tile * a * 64, y + now->tile * b * 64, a, b, tiles, s, first, ints, convert,
                           next);
    }
}

/* ---- table entries ---------------------------------------------------------------------- */

#define MANY_I8(TYPE, name, ...)                                                            \
    static void FN(convert_i8_##name)(struct packing *p, size_t until)                      \
    {                                                                                       \
        const struct kind m = {                                                             \
            bytes_##name, scales_##name, .off = OFF_##name, .halves = HALVES_##name, .min = MIN_##name, \
            .top = TOP_##name, .shift = SHIFT_##name, .per_256 = PER_256(name) };           \
                                                                                            \
        for (; p->at < until; p->at++)                                                      \
            convert_row(m, p, p->at);                                                       \
    }                                                                                       \
    static void FN(gemm_i8_##name)(float *c, size_t ldc, const void *x, const void *w, size_t stride, const void *packed, \
                                   size_t m, size_t n, size_t k, void *scratch, int add)    \
    {                                                                                       \
        const struct matrix of = { w, stride, n, k / I8_INPUTS, I8_DEEP, I8_SLAB, 32, I8_BLOCK, packed }; \
                                                                                            \
        FN(gemm_blocks)(FN(rows_of_units), FN(convert_i8_##name), &of, c, ldc, x, m, scratch, add); \
    }                                                                                       \
    static void FN(pack_tiles_##name)(void *to, const void *w, size_t stride, size_t n, size_t k) \
    {                                                                                       \
        const struct matrix of = { w, stride, n, k / I8_INPUTS, I8_DEEP, I8_SLAB, 32, I8_BLOCK, NULL }; \
                                                                                            \
        FN(pack_blocks)(FN(convert_i8_##name), &of, to);                                    \
    }
GKV__BYTE_TYPES(MANY_I8)
#undef MANY_I8

static void FN(fill_many_coarse)(struct gkv__many *coarse)
{
#define SLOT(TYPE, name, ...)                                                               \
    coarse[GKV__TYPE_##TYPE] = (struct gkv__many){                                          \
        "i8/256", 32, I8_INPUTS, I8_X, 2 * MANY_ROWS, MANY_COLS / 2, I8_SCRATCH, FN(prepare_i8), FN(gemm_i8_##name), \
        I8_DEEP, I8_BLOCK, FN(pack_tiles_##name) };
    GKV__BYTE_TYPES(SLOT)
#undef SLOT
}
