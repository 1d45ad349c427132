/* SPDX-License-Identifier: BSD-2-Clause
 * token-bpe.c - byte-level byte-pair encoding, as GPT-2 began it
 *
 * A word begins as its bytes; the two neighbours with the best-ranked merge become one
 * symbol, the leftmost such pair first, until no merge applies.  A symbol is a string of
 * bytes.  Those that are tokens have the token's number; the others, which a list of merges
 * may well use on the way, have numbers from vocab->n on, and fall back to the tokens of
 * their bytes if they are left over.
 *
 * Words are mostly short and mostly seen before: a small cache answers for those, plain
 * search for the smallest rank does for other short ones, and a heap keeps long ones in
 * O(n log n).  A long word takes about 20 bytes of memory per byte while it is merged. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/token-kind.h"
#include "src/token-pre.h"
#include "src/unicode.h"

#define NONE        UINT32_MAX
#define MAX_MERGES  (1u << 28)
#define SHORT_WORD  48          /* bytes; beyond, the heap is faster */

struct pair {                   /* left and right make result; rank NONE: empty slot */
    uint32_t left, right, rank, result;
};

/* Strings by content: tokens that text can become, and strings that are on the way only. */
struct names {
    struct { uint32_t hash, symbol; } *slot;
    size_t    mask, used;
    uint64_t  seed;
    uint32_t *start;            /* of symbol n + i: text[start[i] .. start[i + 1])       */
    uint8_t  *text;
    size_t    n_extra, extra_cap, text_cap;
};

struct bpe {
    const struct gkv__pre *pre;
    uint32_t     byte[256];     /* symbol of each byte */
    struct pair *pair;
    size_t       pair_mask;
    uint64_t     seed;          /* of hashes: no file can be made to have all collide */
    struct names names;         /* kept only for pre->whole_words */
    uint32_t     longest;       /* bytes of the longest token     */
};

/* ---- spelling ------------------------------------------------------------------------ */

/* GPT-2 spells bytes that are printable in Latin-1 as that character, and the other 68 as
 * U+0100 and on.  Byte of a code point, or -1. */
static int spelled_byte(uint32_t cp)
{
    if ((cp >= 0x21 && cp <= 0x7e) || (cp >= 0xa1 && cp <= 0xff && cp != 0xad))
        return (int)cp;
    if (cp >= 0x100 && cp <= 0x120)
        return (int)(cp - 0x100);               /* 00..20 */
    if (cp >= 0x121 && cp <= 0x142)
        return (int)(cp - 0x121 + 0x7f);        /* 7f..a0 */
    return cp == 0x143 ? 0xad : -1;
}

static size_t spell(struct gkv__str s, uint8_t *out)
{
    const uint8_t *p = (const uint8_t *)s.p, *end = p + s.n;
    uint8_t       *o = out;

    while (p < end) {
        uint32_t cp;
        int      byte;

        p += gkv__utf8_next(p, end, &cp, NULL);
        byte = spelled_byte(cp);
        if (byte < 0)
            return SIZE_MAX;
        *o++ = (uint8_t)byte;
    }
    return (size_t)(o - out);
}

/* ---- strings to symbols -------------------------------------------------------------- */

static inline uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static inline uint64_t hash_bytes(uint64_t h, const uint8_t *p, size_t n)
{
    uint64_t x;

    h ^= n;
    for (; n > 8; p += 8, n -= 8) {
        memcpy(&x, p, 8);
        h = mix(h, x);
    }
    x = 0;
    memcpy(&x, p, n);
    return mix(h, x);
}

static const uint8_t *string_of(const struct gkv__vocab *v, const struct names *t,
                                uint32_t symbol, size_t *n)
{
    if (symbol < v->n) {
        *n = v->start[symbol + 1] - v->start[symbol];
        return v->text + v->start[symbol];
    }
    symbol -= v->n;
    *n = t->start[symbol + 1] - t->start[symbol];
    return t->text + t->start[symbol];
}

/* Slot of a string, or the empty one where it belongs. */
static size_t slot_of(const struct gkv__vocab *v, const struct names *t, const uint8_t *p,
                      size_t n, uint32_t hash)
{
    size_t i = hash & t->mask;

    for (; t->slot[i].symbol != NONE; i = (i + 1) & t->mask) {
        const uint8_t *q;
        size_t         m;

        if (t->slot[i].hash != hash)
            continue;
        q = string_of(v, t, t->slot[i].symbol, &m);
        if (m == n && memcmp(p, q, n) == 0)
            break;
    }
    return i;
}

static bool grow_names(struct names *t)
{
    struct names old = *t;
    size_t       n = old.slot ? 2 * (old.mask + 1) : 1024;

    t->slot = malloc(n * sizeof *t->slot);
    if (!t->slot) {
        t->slot = old.slot;
        return false;
    }
    memset(t->slot, 0xff, n * sizeof *t->slot);         /* symbol NONE everywhere */
    t->mask = n - 1;
    for (size_t i = 0; old.slot && i <= old.mask; i++) {
        size_t j = old.slot[i].hash & t->mask;

        if (old.slot[i].symbol == NONE)
            continue;
        while (t->slot[j].symbol != NONE)
            j = (j + 1) & t->mask;
        t->slot[j] = old.slot[i];
    }
    free(old.slot);
    return true;
}

/* A new symbol for a string that is no token; NONE if there is no memory. */
static uint32_t add_extra(const struct gkv__vocab *v, struct names *t, const uint8_t *p,
                          size_t n)
{
    size_t at = t->n_extra ? t->start[t->n_extra] : 0;

    if (t->n_extra + 2 > t->extra_cap) {
        size_t    cap = t->extra_cap ? 2 * t->extra_cap : 256;
        uint32_t *start = realloc(t->start, cap * sizeof *start);

        if (!start)
            return NONE;
        t->start = start;
        t->extra_cap = cap;
    }
    if (n > UINT32_MAX - at)
        return NONE;
    if (at + n > t->text_cap) {
        size_t   cap = 2 * (at + n);
        uint8_t *text = realloc(t->text, cap);

        if (!text)
            return NONE;
        t->text = text;
        t->text_cap = cap;
    }
    memcpy(t->text + at, p, n);
    t->start[t->n_extra] = (uint32_t)at;
    t->start[++t->n_extra] = (uint32_t)(at + n);
    return v->n + (uint32_t)t->n_extra - 1;
}

/* Symbol of a string.  If it had none, it gets fresh, or a new extra one if fresh is NONE.
 * NONE if there is no memory. */
static uint32_t intern(const struct gkv__vocab *v, struct names *t, const uint8_t *p,
                       size_t n, uint32_t fresh)
{
    uint32_t hash = (uint32_t)hash_bytes(t->seed, p, n);
    size_t   i;

    if ((t->used + 1) * 2 > t->mask && !grow_names(t))
        return NONE;
    i = slot_of(v, t, p, n, hash);
    if (t->slot[i].symbol == NONE) {
        if (fresh == NONE)
            fresh = add_extra(v, t, p, n);
        if (fresh == NONE)
            return NONE;
        t->slot[i].hash = hash;
        t->slot[i].symbol = fresh;
        t->used++;
    }
    return t->slot[i].symbol;
}

static void free_names(struct names *t)
{
    free(t->slot);
    free(t->start);
    free(t->text);
    memset(t, 0, sizeof *t);
}

/* ---- merges -------------------------------------------------------------------------- */

/* The merge of two symbols, or the empty slot where it would be. */
static inline struct pair *merge_of(const struct bpe *b, uint32_t left, uint32_t right)
{
    size_t i = mix(b->seed, (uint64_t)left << 32 | right) & b->pair_mask;

    while (b->pair[i].rank != NONE &&
           (b->pair[i].left != left || b->pair[i].right != right))
        i = (i + 1) & b->pair_mask;
    return &b->pair[i];
}

static gkv_status no_memory(gkv_error *err)
{
    return gkv__fail(err, GKV_NOMEM, "no memory for the tokenizer");
}

/* One merge "left right".  Parts that spell no bytes are never met: no error, no effect. */
static gkv_status add_merge(struct bpe *b, const struct gkv__vocab *v, uint32_t rank,
                            struct gkv__str s, uint8_t *scratch, gkv_error *err)
{
    const char     *space = s.n > 1 ? memchr(s.p + 1, ' ', s.n - 1) : NULL;
    struct gkv__str part[2];
    size_t          n[2];
    uint32_t        left, right, result;
    struct pair    *pair;

    if (!space || space + 1 == s.p + s.n)
        return gkv__fail(err, GKV_FORMAT, "tokenizer.ggml.merges: merge %" PRIu32
                         " is not two strings with a space between", rank);
    part[0] = (struct gkv__str){ s.p, (uint64_t)(space - s.p) };
    part[1] = (struct gkv__str){ space + 1, s.n - part[0].n - 1 };
    n[0] = spell(part[0], scratch);
    if (n[0] == SIZE_MAX)
        return GKV_OK;
    n[1] = spell(part[1], scratch + n[0]);
    if (n[1] == SIZE_MAX)
        return GKV_OK;

    left = intern(v, &b->names, scratch, n[0], NONE);
    right = intern(v, &b->names, scratch + n[0], n[1], NONE);
    result = intern(v, &b->names, scratch, n[0] + n[1], NONE);
    if (left == NONE || right == NONE || result == NONE)
        return no_memory(err);
    pair = merge_of(b, left, right);
    if (pair->rank == NONE)                     /* given twice: the better rank counts */
        *pair = (struct pair){ left, right, rank, result };
    return GKV_OK;
}

static gkv_status read_merges(struct bpe *b, const struct gkv__vocab *v,
                              const struct gkv__gguf *g, gkv_error *err)
{
    const struct gkv__kv *list = gkv__gguf_find(g, "tokenizer.ggml.merges");
    const uint8_t        *cursor;
    uint8_t              *scratch;
    uint64_t              longest = 0;
    size_t                n_slots = 16;
    gkv_status            status = GKV_OK;

    if (!list || !list->is_array || list->type != GKV__STR)
        return gkv__fail(err, GKV_FORMAT, "tokenizer.ggml.merges is not a list of strings");
    if (list->n > MAX_MERGES)
        return gkv__fail(err, GKV_UNSUPPORTED, "tokenizer.ggml.merges has %" PRIu64
                         " merges: too many", list->n);
    cursor = list->data;
    for (uint64_t i = 0; i < list->n; i++) {
        uint64_t n = gkv__gguf_next_str(&cursor).n;

        longest = n > longest ? n : longest;
    }
    while (n_slots < 3 * list->n / 2)
        n_slots *= 2;
    scratch = malloc(longest + 1);
    b->pair = malloc(n_slots * sizeof *b->pair);
    if (!scratch || !b->pair) {
        free(scratch);
        return no_memory(err);
    }
    memset(b->pair, 0xff, n_slots * sizeof *b->pair);   /* rank NONE everywhere */
    b->pair_mask = n_slots - 1;
    cursor = list->data;
    for (uint32_t rank = 0; rank < list->n && status == GKV_OK; rank++)
        status = add_merge(b, v, rank, gkv__gguf_next_str(&cursor), scratch, err);
    free(scratch);
    return status;
}

/* Of tokens with the same text, the lowest number is what that text becomes. */
static gkv_status name_tokens(struct bpe *b, const struct gkv__vocab *v, gkv_error *err)
{
    for (uint32_t id = 0; id < v->n; id++) {
        uint32_t n = v->start[id + 1] - v->start[id];

        if (!(v->attr[id] & GKV__TOK_WORD) || n == 0)
            continue;
        if (intern(v, &b->names, v->text + v->start[id], n, id) == NONE)
            return no_memory(err);
        b->longest = n > b->longest ? n : b->longest;
    }
    for (unsigned c = 0; c < 256; c++) {
        uint8_t byte = (uint8_t)c;

        b->byte[c] = intern(v, &b->names, &byte, 1, NONE);
        if (b->byte[c] == NONE)
            return no_memory(err);
        if (b->byte[c] >= v->n && c != 0xc0 && c != 0xc1 && c < 0xf5)   /* not in UTF-8 */
            return gkv__fail(err, GKV_FORMAT, "tokenizer has no token for byte 0x%02x", c);
    }
    return GKV_OK;
}

static void close_bpe(void *state)
{
    struct bpe *b = state;

    if (!b)
        return;
    free_names(&b->names);
    free(b->pair);
    free(b);
}

static gkv_status open_bpe(struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err)
{
    struct gkv__str pre = { "default", 7 };
    struct bpe     *b = v->state = calloc(1, sizeof *b);

    if (!b)
        return no_memory(err);
    GKV__TRY(gkv__gguf_str(g, "tokenizer.ggml.pre", &pre, err));
    b->pre = gkv__pre_find(pre);
    if (!b->pre)
        return gkv__fail(err, GKV_UNSUPPORTED, "pre-tokenizer \"%.*s\" is not supported",
                         (int)(pre.n < 64 ? pre.n : 64), pre.p);
    v->pre = b->pre->name;
    v->add_bos = b->pre->add_bos;
    b->seed = b->names.seed = mix((uintptr_t)b, 0);     /* the system randomizes that */
    GKV__TRY(name_tokens(b, v, err));
    GKV__TRY(read_merges(b, v, g, err));
    if (!b->pre->whole_words)
        free_names(&b->names);
    return GKV_OK;
}

static size_t bytes_bpe(const void *state)
{
    const struct bpe *b = state;
    size_t            n = sizeof *b + (b->pair_mask + 1) * sizeof *b->pair;

    if (b->names.slot)
        n += (b->names.mask + 1) * sizeof *b->names.slot +
             b->names.extra_cap * sizeof *b->names.start + b->names.text_cap;
    return n;
}

/* ---- words --------------------------------------------------------------------------- */

#define CACHE_KEY   22
#define CACHE_TOKENS 8
#define MAX_CACHE   8192

struct cached {                                 /* a cache line; n_bytes 0: empty */
    uint8_t  n_bytes, n_tokens;
    uint8_t  key[CACHE_KEY];
    uint8_t  len[CACHE_TOKENS];
    uint32_t id[CACHE_TOKENS];
};

struct piece {                  /* rank and result: of a merge with the next */
    uint32_t id, len, rank, result;
};

struct run {                                    /* one call of encode */
    const struct gkv__vocab *v;
    const struct bpe        *b;
    struct gkv__tokens      *out;
    gkv_error               *err;
    struct cached           *cache;             /* one word per slot, the last one stays */
    size_t                   mask;
    uint32_t                *id, *len;          /* for long words */
    uint64_t                *heap;
    size_t                   cap, heap_n, heap_cap;
};

/* The caller has reserved as many tokens as the word has bytes. */
static inline void put(struct run *r, const uint8_t *p, uint32_t symbol, uint32_t len)
{
    if (symbol < r->v->n) {
        gkv__tokens_push(r->out, symbol, len);
        return;
    }
    for (uint32_t i = 0; i < len; i++)
        gkv__tokens_push(r->out, r->b->byte[p[i]], 1);
}

static inline void rate(const struct bpe *b, struct piece *p)
{
    const struct pair *pair = merge_of(b, p[0].id, p[1].id);

    p->rank = pair->rank;
    p->result = pair->result;
}

static void merge_short(struct run *r, const uint8_t *p, size_t n)
{
    struct piece piece[SHORT_WORD];

    for (size_t i = 0; i < n; i++)
        piece[i] = (struct piece){ r->b->byte[p[i]], 1, NONE, NONE };
    for (size_t i = 0; i + 1 < n; i++)
        rate(r->b, &piece[i]);
    for (;;) {
        size_t best = 0;

        for (size_t i = 1; i + 1 < n; i++)
            if (piece[i].rank < piece[best].rank)
                best = i;
        if (piece[best].rank == NONE)
            break;
        piece[best].id = piece[best].result;
        piece[best].len += piece[best + 1].len;
        piece[best].rank = NONE;
        n--;
        memmove(&piece[best + 1], &piece[best + 2], (n - best - 1) * sizeof *piece);
        if (best + 1 < n)
            rate(r->b, &piece[best]);
        if (best > 0)
            rate(r->b, &piece[best - 1]);
    }
    for (size_t i = 0; i < n; p += piece[i++].len)
        put(r, p, piece[i].id, piece[i].len);
}

/* The heap holds rank << 32 | position of the left symbol, so that the smallest is the best
 * rank, and the leftmost of those.  Four children per node miss the cache half as often. */
static void sift_down(uint64_t *heap, size_t n, size_t i)
{
    uint64_t x = heap[i];

    for (;;) {
        size_t first = 4 * i + 1, best = first;

        if (first >= n)
            break;
        for (size_t j = first + 1; j < n && j < first + 4; j++)
            if (heap[j] < heap[best])
                best = j;
        if (heap[best] >= x)
            break;
        heap[i] = heap[best];
        i = best;
    }
    heap[i] = x;
}

/* Queue the merge of the symbols at left and right, if there is one. */
static inline bool queue(struct run *r, size_t left, size_t right, bool sift)
{
    uint32_t rank = merge_of(r->b, r->id[left], r->id[right])->rank;
    uint64_t x = (uint64_t)rank << 32 | left;
    size_t   i = r->heap_n;

    if (rank == NONE)
        return true;
    if (i == r->heap_cap) {
        size_t    cap = r->heap_cap / 2 * 3 + 1024;
        uint64_t *heap = realloc(r->heap, cap * sizeof *heap);

        if (!heap)
            return false;
        r->heap = heap;
        r->heap_cap = cap;
    }
    for (; sift && i > 0 && r->heap[(i - 1) / 4] > x; i = (i - 1) / 4)
        r->heap[i] = r->heap[(i - 1) / 4];
    r->heap[i] = x;
    r->heap_n++;
    return true;
}

/* id[i] is the symbol that begins at byte i, or NONE; its length stands at its first and
 * last byte, so that both neighbours can be found. */
static gkv_status merge_long(struct run *r, const uint8_t *p, size_t n)
{
    if (n > UINT32_MAX)                         /* it would take 100 GB */
        return gkv__fail(r->err, GKV_NOMEM, "no memory for a word of %zu bytes", n);
    if (n > r->cap) {
        free(r->id);
        free(r->len);
        r->id = malloc(n * sizeof *r->id);
        r->len = malloc(n * sizeof *r->len);
        r->cap = r->id && r->len ? n : 0;
        if (r->cap == 0)
            return no_memory(r->err);
    }
    for (size_t i = 0; i < n; i++) {
        r->id[i] = r->b->byte[p[i]];
        r->len[i] = 1;
    }
    r->heap_n = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (!queue(r, i, i + 1, false))
            return no_memory(r->err);
    for (size_t i = r->heap_n / 4 + 1; i-- > 0;)
        if (i < r->heap_n)
            sift_down(r->heap, r->heap_n, i);

    while (r->heap_n > 0) {
        size_t             at = (uint32_t)r->heap[0], next, after;
        uint32_t           rank = (uint32_t)(r->heap[0] >> 32);
        const struct pair *pair;

        r->heap[0] = r->heap[--r->heap_n];
        if (r->heap_n > 0)
            sift_down(r->heap, r->heap_n, 0);
        if (r->id[at] == NONE || (next = at + r->len[at]) == n)
            continue;                           /* it, or its neighbour, went elsewhere */
        pair = merge_of(r->b, r->id[at], r->id[next]);
        if (pair->rank != rank)
            continue;
        after = next + r->len[next];
        r->id[at] = pair->result;
        r->id[next] = NONE;
        r->len[at] = r->len[after - 1] = (uint32_t)(after - at);
        if ((after < n && !queue(r, at, after, true)) ||
            (at > 0 && !queue(r, at - r->len[at - 1], at, true)))
            return no_memory(r->err);
    }
    for (size_t i = 0; i < n; i += r->len[i])
        put(r, p + i, r->id[i], r->len[i]);
    return GKV_OK;
}

static gkv_status merge_word(struct run *r, const uint8_t *p, size_t n)
{
    const struct bpe *b = r->b;

    if (b->pre->whole_words && n <= b->longest) {
        uint32_t hash = (uint32_t)hash_bytes(b->names.seed, p, n);
        uint32_t symbol = b->names.slot[slot_of(r->v, &b->names, p, n, hash)].symbol;

        if (symbol < r->v->n) {
            put(r, p, symbol, (uint32_t)n);
            return GKV_OK;
        }
    }
    if (n > SHORT_WORD)
        return merge_long(r, p, n);
    merge_short(r, p, n);
    return GKV_OK;
}

static gkv_status encode_word(struct run *r, const uint8_t *p, size_t n)
{
    struct gkv__tokens *out = r->out;
    struct cached      *slot;
    size_t              before = out->n;

    GKV__TRY(gkv__tokens_reserve(out, n, r->err));
    if (n > CACHE_KEY || !r->cache)
        return merge_word(r, p, n);
    slot = &r->cache[hash_bytes(0, p, n) & r->mask];
    if (slot->n_bytes == n && memcmp(slot->key, p, n) == 0) {
        for (size_t i = 0; i < slot->n_tokens; i++)
            gkv__tokens_push(out, slot->id[i], slot->len[i]);
        return GKV_OK;
    }
    GKV__TRY(merge_word(r, p, n));
    if (out->n - before > CACHE_TOKENS)
        return GKV_OK;
    slot->n_bytes = (uint8_t)n;
    slot->n_tokens = (uint8_t)(out->n - before);
    memcpy(slot->key, p, n);
    for (size_t i = 0; i < slot->n_tokens; i++) {
        slot->id[i] = out->id[before + i];
        slot->len[i] = (uint8_t)out->len[before + i];
    }
    return GKV_OK;
}

/* text is well-formed UTF-8 */
static gkv_status encode_words(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                               struct gkv__tokens *out, gkv_error *err)
{
    struct run     r = { .v = v, .b = v->state, .out = out, .err = err };
    const uint8_t *end = text + len;
    gkv_status     status = GKV_OK;
    size_t         n, slots = 64;

    if (len >= 1024) {                          /* less text repeats too little to gain */
        while (slots < MAX_CACHE && slots < len / 16)
            slots *= 2;
        r.cache = calloc(slots, sizeof *r.cache);
        r.mask = slots - 1;
    }
    for (; text < end && status == GKV_OK; text += n) {
        n = r.b->pre->word(text, end);
        status = encode_word(&r, text, n);
    }
    free(r.cache);
    free(r.id);
    free(r.len);
    free(r.heap);
    return status;
}

/* The tokens from first on were made of text with U+FFFD, which has three bytes, for each
 * bad byte: turn their lengths into those of the text itself.  A bad byte counts for the
 * token that has the first of the three. */
static void count_original(struct gkv__tokens *t, size_t first, const uint8_t *text,
                           size_t len)
{
    const uint8_t *end = text + len;
    size_t         original = 0, clean = 0;     /* left of the character under way */

    for (size_t i = first; i < t->n; i++) {
        size_t take = 0;

        for (size_t want = t->len[i]; want > 0; ) {
            size_t step;

            if (clean == 0) {
                uint32_t cp;
                int      bad;

                original = gkv__utf8_next(text, end, &cp, &bad);
                clean = bad ? 3 : original;
                text += original;
            }
            step = want < clean ? want : clean;
            want -= step;
            clean -= step;
            step = step < original ? step : original;
            original -= step;
            take += step;
        }
        t->len[i] = (uint32_t)take;
    }
}

static gkv_status encode(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                         struct gkv__tokens *out, gkv_error *err)
{
    size_t         n = gkv__utf8_check((const char *)text, len, NULL), first = out->n;
    const uint8_t *p, *end = text + len;
    uint8_t       *clean, *o;
    gkv_status     status;

    if (n == len)
        return encode_words(v, text, len, out, err);
    clean = o = len <= SIZE_MAX / 3 ? malloc(3 * len) : NULL;
    if (!clean)
        return no_memory(err);
    for (p = text; p < end; p += n) {
        uint32_t cp;
        int      bad;

        n = gkv__utf8_next(p, end, &cp, &bad);
        memcpy(o, bad ? (const uint8_t *)"\xef\xbf\xbd" : p, bad ? 3 : n);
        o += bad ? 3 : n;
    }
    status = encode_words(v, clean, (size_t)(o - clean), out, err);
    free(clean);
    if (status == GKV_OK)
        count_original(out, first, text, len);
    return status;
}

const struct gkv__tokenizer gkv__tokenizer_bpe = {
    .model = "gpt2", .name = "bpe",
    .spell = spell, .open = open_bpe, .close = close_bpe, .bytes = bytes_bpe,
    .encode = encode, .parts = gkv__pre_parts,
};
