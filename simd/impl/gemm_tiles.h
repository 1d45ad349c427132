/* SPDX-License-Identifier: BSD-2-Clause
 * gemm_tiles.h - products of many rows in tiles of bfloat16, straight from weights of any type (struct gkv__many).
 *
 * The left side of a tile product is 16 outputs with 32 weights each, as they lie in a row; the right side is 16 rows
 * of activations, in pairs.  So weights need no transposing, which would cost more than converting them; the sums
 * come out with outputs as rows, and are transposed once.
 *
 * A block of weights, 32 outputs times DEEP tiles, stays in the first-level cache for all rows.  While tiles multiply,
 * the vector units convert the next block, and the one after it is fetched.  Sums of a call stay in scratch, that is
 * in the second-level cache, with SLAB tiles of all rows of activations.  Outputs are then written without reading
 * their lines first, which takes half the time.
 *
 * The including file has bf16_row, configure_columns, transpose16, put_sums and WRITTEN. */

enum { TILE_BYTES = 1024, DEEP = 8, SLAB = 32, MANY_ROWS = 256, MANY_COLS = 256, STREAMED = 1 << 20 };

/* Scratch of a call: sums of 32 outputs times 32 rows, [cols / 32][rows / 32][4][16][16]; two blocks of weights;
 * outputs of 16 rows. */
enum {
    SUMS = MANY_ROWS * MANY_COLS,
    BLOCK_BYTES = 2 * DEEP * TILE_BYTES,
    MANY_SCRATCH = SUMS * 4 + 2 * BLOCK_BYTES + GKV__GROUP * MANY_COLS * 4,
};

/* Thirty-two weights of a row as bfloat16: group i. */
typedef __m512i bf16s_fn(const void *row, size_t i);

/* Weights that are to be converted: number `at` to end - 1 of a block, row at % 32 of tile at / 32. */
struct packing {
    const uint8_t *row[32];
    uint8_t       *to;
    size_t         first, at, end;      /* first: of the tiles                               */
};

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

/* ---- the order of the work -------------------------------------------------------------- */

/* A matrix of weights, and a block of it: 32 outputs from col on, the tiles from `tile` to the end of the block. */
struct matrix { const uint8_t *w; size_t stride, n, tiles; };
struct place { size_t slab, col, tile; };

static size_t FN(end_of)(const struct matrix *w, const struct place *p)
{
    const size_t slab = p->slab + SLAB < w->tiles ? p->slab + SLAB : w->tiles;

    return p->tile + DEEP < slab ? p->tile + DEEP : slab;
}

/* Slab by slab, output by output.  Returns 0 after the last block. */
static int FN(advance)(const struct matrix *w, struct place *p)
{
    const size_t slab = p->slab + SLAB < w->tiles ? p->slab + SLAB : w->tiles;

    p->tile += DEEP;
    if (p->tile < slab)
        return 1;
    p->tile = p->slab;
    p->col += 32;
    if (p->col < w->n)
        return 1;
    p->col = 0;
    p->slab = p->tile = slab;
    return slab < w->tiles;
}

/* Outputs from n on repeat the last one, and their sums are not used. */
static struct packing FN(packing_of)(const struct matrix *w, const struct place *p, uint8_t *to)
{
    struct packing pack = { .to = to, .first = p->tile, .end = 32 * (FN(end_of)(w, p) - p->tile) };

    for (size_t r = 0; r < 32; r++)
        pack.row[r] = w->w + (p->col + r < w->n ? p->col + r : w->n - 1) * w->stride;
    return pack;
}

/* Prefetches the rows from .. to - 1 of a block. */
static void FN(fetch_rows)(const struct matrix *w, const struct place *p, size_t from, size_t to)
{
    const size_t begin = p->tile * w->stride / w->tiles, bytes = (FN(end_of)(w, p) - p->tile) * w->stride / w->tiles;

    for (size_t r = from; r < to; r++)
        for (size_t i = 0; i <= bytes; i += 64)
            __builtin_prefetch(w->w + (p->col + r) * w->stride + begin + i, 0, 2);
}

/* c (+)= sums. */
static void FN(put_all)(float *c, size_t ldc, const float *sums, float *lines, size_t m, size_t n, int add)
{
    const size_t across = (m + 31) / 32, width = (n + 15) / 16 * 16;
    const int stream = !add && n % 16 == 0 && ldc % 16 == 0 && (uintptr_t)c % 64 == 0 && m * ldc * 4 >= STREAMED;

    for (size_t r = 0; r < m; r += GKV__GROUP) {
        for (size_t o = 0; o < n; o += 16) {
            const float *tile = sums + (o / 32 * across + r / 32) * 1024 + (o / 16 % 2 * 2 + r / 16 % 2) * 256;
            __m512i row[16];

            UNROLL
            for (size_t i = 0; i < 16; i++)
                row[i] = _mm512_load_si512(tile + 16 * i);
            transpose16(row);
            UNROLL
            for (size_t i = 0; i < 16; i++)
                _mm512_store_si512(lines + i * width + o, row[i]);
        }
        for (size_t i = 0; i < GKV__GROUP && r + i < m; i++)
            if (stream)
                for (size_t o = 0; o < n; o += 16)
                    _mm512_stream_si512((void *)(c + (r + i) * ldc + o), _mm512_load_si512(lines + i * width + o));
            else
                FN(put_sums)(c + (r + i) * ldc, lines + i * width, n, add);
    }
    if (stream)
        _mm_sfence();
}

/* ---- products --------------------------------------------------------------------------- */

/* Sums of all rows with the present block, at w; beside that converts `next`. */
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

INLINE void gemm_many(bf16s_fn *bf16s, void (*finish)(struct packing *), float *c, size_t ldc, const void *x,
                      const void *w, size_t stride, size_t m, size_t n, size_t k, void *scratch, int add)
{
    const struct matrix of = { w, stride, n, k / 32 };
    const size_t across = (m + 31) / 32;
    float *sums = scratch, *lines = sums + SUMS + 2 * BLOCK_BYTES / 4;
    uint8_t *present = (uint8_t *)(sums + SUMS), *other = present + BLOCK_BYTES;
    struct place now = { 0 }, next = now;
    struct packing pack = FN(packing_of)(&of, &now, present);
    int more;

    configure(16);
    finish(&pack);
    do {
        struct place after;
        uint8_t *const done = present;

        more = FN(advance)(&of, &next);
        after = next;
        if (more) {
            pack = FN(packing_of)(&of, &next, other);
            if (!FN(advance)(&of, &after))
                after = (struct place){ .col = n };     /* probably those of the next call       */
        } else {
            pack.at = pack.end = 0;
        }
        rows_of_sums(bf16s, sums + now.col / 32 * across * 1024, present, x, m, &of, &now, &pack, &after);
        finish(&pack);
        present = other;
        other = done;
        now = next;
    } while (more);
    WRITTEN(sums);
    _tile_release();
    FN(put_all)(c, ldc, sums, lines, m, n, add);
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
    static void FN(finish_##name)(struct packing *p)                                        \
    {                                                                                       \
        for (; p->at < p->end; p->at++)                                                     \
            pack_one(bf16s_##name, p, p->at);                                               \
    }                                                                                       \
    static void FN(gemm_many_##name)(float *c, size_t ldc, const void *x, const void *w, size_t stride, size_t m, \
                                     size_t n, size_t k, void *scratch, int add)            \
    {                                                                                       \
        gemm_many(bf16s_##name, FN(finish_##name), c, ldc, x, w, stride, m, n, k, scratch, add); \
    }
GKV__BYTE_TYPES(MANY)
MANY(BF16, bf16)
#undef MANY

static void FN(fill_many)(struct gkv__simd *k)
{
#define SLOT(TYPE, name, from)                                                              \
    k->many[GKV__TYPE_##TYPE] = (struct gkv__many){                                         \
        "bf16", from, 32, 64, MANY_ROWS, MANY_COLS, MANY_SCRATCH, FN(prepare_many), FN(gemm_many_##name) };
#define SLOT_32(TYPE, name, ...) SLOT(TYPE, name, 32)
    GKV__BYTE_TYPES(SLOT_32)
    SLOT(BF16, bf16, 1)
#undef SLOT_32
#undef SLOT
}
