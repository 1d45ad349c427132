/* SPDX-License-Identifier: BSD-2-Clause
 * gemm_tiles.h - products of many rows in tiles of bfloat16, straight from weights of any type (struct gkv__many).
 *
 * The left side of a tile product is 16 outputs with 32 weights each, as they lie in a row; the right side is 16 rows
 * of activations, in pairs.  So weights need no transposing, which would cost more than converting them; the sums
 * come out with outputs as rows, and are transposed once.
 *
 * The including file has tiles.h, bf16_row, configure_columns and WRITTEN. */

/* Scratch of a call: sums, two blocks of weights, lines. */
enum {
    DEEP = 8, SLAB = 32,
    BLOCK_BYTES = 2 * DEEP * TILE_BYTES,
    MANY_SCRATCH = SUMS * 4 + 2 * BLOCK_BYTES + LINES * 4,
};

/* Thirty-two weights of a row as bfloat16: group i. */
typedef __m512i bf16s_fn(const void *row, size_t i);

/* Number `at` of a block is 32 weights: row at % 32 of tile at / 32. */
INLINE void pack_one(bf16s_fn *bf16s, const struct packing *p, size_t at)
{
    const size_t row = at % 32, tile = at / 32;
    uint8_t *to = p->to + (row / 16 * DEEP + tile) * TILE_BYTES + row % 16 * 64;

    _mm512_store_si512(to, bf16s(p->row[row], p->first + tile));
}

INLINE void load_sums(const float *sum, int first)
{
    if (first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sum, 64);
        _tile_loadd(1, sum + 256, 64);
        _tile_loadd(2, sum + 512, 64);
        _tile_loadd(3, sum + 768, 64);
    }
}

INLINE void store_four(float *sum)
{
    _tile_stored(0, sum, 64);
    _tile_stored(1, sum + 256, 64);
    _tile_stored(2, sum + 512, 64);
    _tile_stored(3, sum + 768, 64);
}

/* sum += w[32 outputs][tiles] x[tiles][32 rows]; the groups of x are `apart` bytes apart.  If bf16s is not NULL, each
 * step converts 32 weights of four other outputs as well. */
INLINE void block_of_sums(float *sum, const uint8_t *w, const uint8_t *x, size_t apart, size_t tiles, int first,
                          bf16s_fn *bf16s, const struct packing *p)
{
    size_t at = bf16s ? p->at : 0;

    WRITTEN(sum);
    load_sums(sum, first);
    for (size_t i = 0; i < tiles; i++, w += TILE_BYTES, x += TILE_BYTES, at += 4) {
        _tile_loadd(4, w, 64);
        _tile_loadd(6, x, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (bf16s)
            pack_one(bf16s, p, at);
        _tile_loadd(7, x + apart, 64);
        _tile_dpbf16ps(1, 4, 7);
        if (bf16s)
            pack_one(bf16s, p, at + 1);
        _tile_loadd(5, w + DEEP * TILE_BYTES, 64);
        _tile_dpbf16ps(2, 5, 6);
        if (bf16s)
            pack_one(bf16s, p, at + 2);
        _tile_dpbf16ps(3, 5, 7);
        if (bf16s)
            pack_one(bf16s, p, at + 3);
    }
    store_four(sum);
}

static void FN(whole_sums)(float *sum, const uint8_t *w, const uint8_t *x, size_t apart, size_t tiles, int first)
{
    block_of_sums(sum, w, x, apart, tiles, first, NULL, NULL);
}

/* The same for the last rows, fewer than 32: a of the first group, b of the second, in narrower tiles.  x begins with
 * tile 0. */
static void FN(last_sums)(float *sum, const uint8_t *w, const uint8_t *x, size_t apart, size_t tile, size_t tiles,
                          int first, size_t a, size_t b)
{
    const uint8_t *y = x + apart + tile * b * 64;

    x += tile * a * 64;
    configure_columns((uint8_t)a, (uint8_t)(b ? b : 16));
    WRITTEN(sum);
    load_sums(sum, first);
    for (size_t i = 0; i < tiles; i++, w += TILE_BYTES, x += a * 64, y += b * 64) {
        _tile_loadd(4, w, 64);
        _tile_loadd(5, w + DEEP * TILE_BYTES, 64);
        _tile_loadd(6, x, 4 * a);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        if (b) {
            _tile_loadd(7, y, 4 * b);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    store_four(sum);
    configure_columns(16, 16);
}

/* ---- products --------------------------------------------------------------------------- */

INLINE void rows_of_sums(bf16s_fn *bf16s, float *sums, const uint8_t *w, const uint8_t *x, size_t m,
                         const struct matrix *of, const struct place *now, struct packing *next,
                         const struct place *after)
{
    const size_t tiles = FN(end_of)(of, now) - now->tile, apart = of->tiles * TILE_BYTES, blocks = (m + 31) / 32;
    const int first = !now->tile;

    for (size_t r = 0; r < blocks; r++, sums += 1024, x += 2 * apart) {
        const size_t rows = m - 32 * r;

        FN(fetch_rows)(of, after, 32 * r / blocks, 32 * (r + 1) / blocks);
        if (rows < 32) {
            FN(last_sums)(sums, w, x, apart, now->tile, tiles, first, rows < 16 ? rows : 16, rows < 16 ? 0 : rows - 16);
        } else if (next->at + 4 * tiles <= next->end) {
            block_of_sums(sums, w, x + now->tile * TILE_BYTES, apart, tiles, first, bf16s, next);
            next->at += 4 * tiles;
        } else {
            FN(whole_sums)(sums, w, x + now->tile * TILE_BYTES, apart, tiles, first);
        }
    }
}

/* Activations: [k / 32][16 pairs][rows][2], and of the next group after that. */
static void FN(prepare_many)(void *to, const float *x, size_t ldx, size_t rows, size_t n)
{
    const __mmask16 those = (__mmask16)((1u << rows) - 1);
    uint8_t *p = to;

    for (size_t i = 0; i < n; i += 32) {
        __m512i r[16];

        UNROLL
        for (size_t j = 0; j < 16; j++) {
            const float *at = x + (j < rows ? j : rows - 1) * ldx + i;

            r[j] = (__m512i)bf16_row(load(at), load(at + 16));
        }
        transpose16(r);
        UNROLL
        for (size_t j = 0; j < 16; j++, p += 4 * rows)
            _mm512_mask_storeu_epi32(p, those, r[j]);
    }
}

/* d (u - OFF) is exact, so that this is the value of to_f32, rounded. */
#define BF16S(TYPE, name, ...)                                                              \
    INLINE __m512i bf16s_##name(const void *row, size_t i)                                  \
    {                                                                                       \
        float d[2], m[2];                                                                   \
        const __m256i u = (__m256i)(bytes_##name(row, i, d, m) - OFF_##name);               \
        const vf lo = (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_castsi256_si128(u))); \
        const vf hi = (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(u, 1))); \
                                                                                            \
        if (MIN_##name)                                                                     \
            return (__m512i)bf16_row(fused(lo, splat(d[0]), splat(m[0])), fused(hi, splat(d[1]), splat(m[1]))); \
        return (__m512i)bf16_row(lo * d[0], hi * d[1]);                                     \
    }
GKV__BYTE_TYPES(BF16S)
#undef BF16S

INLINE __m512i bf16s_bf16(const void *row, size_t i)
{
    return _mm512_loadu_si512((const char *)row + 64 * i);
}

#define MANY(TYPE, name, ...)                                                               \
    static void FN(convert_##name)(struct packing *p, size_t until)                         \
    {                                                                                       \
        for (; p->at < until; p->at++)                                                      \
            pack_one(bf16s_##name, p, p->at);                                               \
    }                                                                                       \
    static void FN(rows_##name)(convert_fn *convert, float *sums, const uint8_t *w, const uint8_t *x, size_t m, \
                                const struct matrix *of, const struct place *now, struct packing *next, \
                                const struct place *after)                                  \
    {                                                                                       \
        (void)convert;                  /* here it is in between the tile products          */ \
        rows_of_sums(bf16s_##name, sums, w, x, m, of, now, next, after);                    \
    }                                                                                       \
    static void FN(gemm_many_##name)(float *c, size_t ldc, const void *x, const void *w, size_t stride, \
                                     const void *packed, size_t m, size_t n, size_t k, void *scratch, int add) \
    {                                                                                       \
        const struct matrix of = { w, stride, n, k / 32, DEEP, SLAB, 0, BLOCK_BYTES, packed }; \
                                                                                            \
        FN(gemm_blocks)(FN(rows_##name), FN(convert_##name), &of, c, ldc, x, m, scratch, add); \
    }                                                                                       \
    static void FN(pack_many_##name)(void *to, const void *w, size_t stride, size_t n, size_t k) \
    {                                                                                       \
        const struct matrix of = { w, stride, n, k / 32, DEEP, SLAB, 0, BLOCK_BYTES, NULL }; \
                                                                                            \
        FN(pack_blocks)(FN(convert_##name), &of, to);                                       \
    }
GKV__BYTE_TYPES(MANY)
MANY(BF16, bf16)
#undef MANY

static void FN(fill_many)(struct gkv__simd *k)
{
#define SLOT(TYPE, name, from)                                                              \
    k->many[GKV__TYPE_##TYPE] = (struct gkv__many){                                         \
        "bf16", from, 32, 64, MANY_ROWS, MANY_COLS, MANY_SCRATCH, FN(prepare_many), FN(gemm_many_##name), \
        DEEP, BLOCK_BYTES, FN(pack_many_##name) };
#define SLOT_32(TYPE, name, ...) SLOT(TYPE, name, 32)
    GKV__BYTE_TYPES(SLOT_32)
    SLOT(BF16, bf16, 1)
#undef SLOT_32
#undef SLOT
}
