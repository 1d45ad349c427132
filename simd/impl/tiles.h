/* SPDX-License-Identifier: BSD-2-Clause
 * tiles.h - the order in which products of many rows in tiles take their weights (gemm_tiles.h, gemm_tiles_i8.h), and
 * where their sums go.
 *
 * A block of weights, 32 outputs times a few tiles, stays in the first-level cache for all rows.  While tiles multiply,
 * the vector units convert the next block, and the one after it is fetched.  Sums of a call stay in scratch, that is
 * in the second-level cache, with a slab of tiles of all rows of activations.  Outputs are then written without reading
 * their lines first, which takes half the time.
 *
 * The including file has configure, transpose16, put_sums and WRITTEN. */

/* Sums: 32 outputs times 32 rows, [cols / 32][rows / 32][4][16][16].  Lines: outputs of 16 rows. */
enum {
    TILE_BYTES = 1024, MANY_ROWS = 256, MANY_COLS = 256, STREAMED = 1 << 20,
    SUMS = MANY_ROWS * MANY_COLS,
    LINES = GKV__GROUP * MANY_COLS,
};

/* A matrix of weights, in blocks of `deep` tiles and slabs of `slab` tiles, and in how many pieces a block is converted; 0: 32
 * for each tile.  packed: its blocks of `bytes` bytes, 32 outputs after the other, or NULL: they are to be converted.  A
 * place is a block: 32 outputs from col on, the tiles from `tile` to its end. */
struct matrix { const uint8_t *w; size_t stride, n, tiles, deep, slab, pieces, bytes; const uint8_t *packed; };
struct place { size_t slab, col, tile; };

static size_t FN(end_of)(const struct matrix *w, const struct place *p)
{
    const size_t slab = p->slab + w->slab < w->tiles ? p->slab + w->slab : w->tiles;

    return p->tile + w->deep < slab ? p->tile + w->deep : slab;
}

/* Slab by slab, output by output.  Returns 0 after the last block. */
static int FN(advance)(const struct matrix *w, struct place *p)
{
    const size_t slab = p->slab + w->slab < w->tiles ? p->slab + w->slab : w->tiles;

    p->tile += w->deep;
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

/* Weights that are to be converted: the tiles first .. first + tiles - 1 of 32 rows, of which pieces at .. end - 1 are left. */
struct packing {
    const uint8_t *row[32];
    uint8_t       *to;
    size_t         first, tiles, at, end;
};

/* Outputs from n on repeat the last one, and their sums are not used. */
static struct packing FN(packing_of)(const struct matrix *w, const struct place *p, uint8_t *to)
{
    const size_t tiles = FN(end_of)(w, p) - p->tile;
    struct packing pack = { .to = to, .first = p->tile, .tiles = tiles, .end = w->pieces ? w->pieces : 32 * tiles };

    for (size_t r = 0; r < 32; r++)
        pack.row[r] = w->w + (p->col + r < w->n ? p->col + r : w->n - 1) * w->stride;
    return pack;
}

INLINE const uint8_t *block_at(const struct matrix *w, const struct place *p)
{
    return w->packed + (p->col / 32 * ((w->tiles + w->deep - 1) / w->deep) + p->tile / w->deep) * w->bytes;
}

/* Prefetches the rows from .. to - 1 of a block; of a packed one the same share. */
static void FN(fetch_rows)(const struct matrix *w, const struct place *p, size_t from, size_t to)
{
    const size_t begin = p->tile * w->stride / w->tiles, bytes = (FN(end_of)(w, p) - p->tile) * w->stride / w->tiles;

    if (w->packed) {
        const uint8_t *block = block_at(w, p);

        for (size_t i = from * w->bytes / 32; i < to * w->bytes / 32; i += 64)
            __builtin_prefetch(block + i, 0, 2);
        return;
    }
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

/* Converts the pieces p->at .. until - 1. */
typedef void convert_fn(struct packing *p, size_t until);

/* Sums of all rows of x with the present block, at w; beside that converts some of `next`, or all of it, and fetches `after`. */
typedef void rows_fn(convert_fn *convert, float *sums, const uint8_t *w, const uint8_t *x, size_t m, const struct matrix *of,
                     const struct place *now, struct packing *next, const struct place *after);

/* Converts the blocks of the n outputs, 32 or fewer, of `of`. */
static void FN(pack_blocks)(convert_fn *convert, const struct matrix *of, uint8_t *to)
{
    for (struct place p = { 0 }; p.tile < of->tiles; p.tile += of->deep, to += of->bytes) {
        struct packing pack;

        p.slab = p.tile / of->slab * of->slab;
        pack = FN(packing_of)(of, &p, to);
        convert(&pack, pack.end);
    }
}

/* scratch: sums, two blocks of weights, lines. */
static void FN(gemm_blocks)(rows_fn *rows, convert_fn *convert, const struct matrix *of, float *c, size_t ldc,
                            const void *x, size_t m, void *scratch, int add)
{
    const size_t across = (m + 31) / 32;
    float *sums = scratch;
    uint8_t *present = (uint8_t *)(sums + SUMS), *other = present + of->bytes;
    float *lines = (float *)(void *)(other + of->bytes);
    struct place now = { 0 }, next = now;
    struct packing pack = { .at = 0 };
    int more;

    configure(16);
    if (!of->packed) {
        pack = FN(packing_of)(of, &now, present);
        convert(&pack, pack.end);
    }
    do {
        struct place after;
        uint8_t *const done = present;

        more = FN(advance)(of, &next);
        after = next;
        pack.at = pack.end = 0;
        if (more) {
            if (!of->packed)
                pack = FN(packing_of)(of, &next, other);
            if (!FN(advance)(of, &after))
                after = (struct place){ .col = of->n };     /* probably those of the next call   */
        }
        rows(convert, sums + now.col / 32 * across * 1024, of->packed ? block_at(of, &now) : present, x, m, of, &now,
             &pack, &after);
        convert(&pack, pack.end);
        present = other;
        other = done;
        now = next;
    } while (more);
    WRITTEN(sums);
    _tile_release();
    FN(put_all)(c, ldc, sums, lines, m, of->n, add);
}
