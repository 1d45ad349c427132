/* SPDX-License-Identifier: BSD-2-Clause
 * merge.c - see merge.h
 *
 * Most words are short and were seen before: a small cache holds their tokens.  Other short
 * words are merged by linear search for the smallest rank, long ones with a heap in
 * O(n log n).  A long word takes 16 to 24 bytes of memory per byte while it is merged; that
 * counts towards the limit of the tokens that it becomes. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/token/merge.h"

#define NONE        GKV__NO_SYMBOL
#define UNKNOWN     (NONE - 1)  /* a character that is in no merge and no token */
#define SHORT_WORD  48          /* bytes; for longer words the heap is faster */

struct gkv__pair {              /* left and right make result; rank NONE: empty slot */
    uint32_t left, right, rank, result;
};

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

static const uint8_t *string_of(const struct gkv__vocab *v, const struct gkv__names *t,
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

/* Slot of a string, or the empty slot where it belongs. */
static size_t slot_of(const struct gkv__vocab *v, const struct gkv__names *t, const uint8_t *p,
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

static bool grow_names(struct gkv__names *t)
{
    struct gkv__names old = *t;
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

/* Adds a symbol for a string that is no token; NONE if there is no memory. */
static uint32_t add_extra(const struct gkv__vocab *v, struct gkv__names *t, const uint8_t *p,
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

uint32_t gkv__merges_name(struct gkv__merges *m, const struct gkv__vocab *v, const uint8_t *p,
                          size_t n, uint32_t fresh)
{
    struct gkv__names *t = &m->names;
    uint32_t           hash = (uint32_t)hash_bytes(m->seed, p, n);
    size_t             i;

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

uint32_t gkv__merges_find(const struct gkv__merges *m, const struct gkv__vocab *v,
                          const uint8_t *p, size_t n)
{
    const struct gkv__names *t = &m->names;

    if (!t->slot)
        return NONE;
    return t->slot[slot_of(v, t, p, n, (uint32_t)hash_bytes(m->seed, p, n))].symbol;
}

void gkv__merges_forget_names(struct gkv__merges *m)
{
    free(m->names.slot);
    free(m->names.start);
    free(m->names.text);
    memset(&m->names, 0, sizeof m->names);
}

/* ---- merges -------------------------------------------------------------------------- */

void gkv__merges_open(struct gkv__merges *m)
{
    m->seed = mix((uintptr_t)m, 0);             /* the system randomizes addresses */
}

void gkv__merges_close(struct gkv__merges *m)
{
    gkv__merges_forget_names(m);
    free(m->pair);
    m->pair = NULL;
}

size_t gkv__merges_bytes(const struct gkv__merges *m)
{
    size_t n = (m->pair_mask + 1) * sizeof *m->pair;

    if (m->names.slot)
        n += (m->names.mask + 1) * sizeof *m->names.slot +
             m->names.extra_cap * sizeof *m->names.start + m->names.text_cap;
    return n;
}

bool gkv__merges_reserve(struct gkv__merges *m, uint64_t n)
{
    size_t n_slots = 16;

    while (n_slots < 3 * n / 2)
        n_slots *= 2;
    m->pair = malloc(n_slots * sizeof *m->pair);
    if (!m->pair)
        return false;
    memset(m->pair, 0xff, n_slots * sizeof *m->pair);   /* rank NONE everywhere */
    m->pair_mask = n_slots - 1;
    return true;
}

/* The merge of two symbols, or the empty slot where it belongs. */
static inline struct gkv__pair *merge_of(const struct gkv__merges *m, uint32_t left,
                                         uint32_t right)
{
    size_t i = mix(m->seed, (uint64_t)left << 32 | right) & m->pair_mask;

    while (m->pair[i].rank != NONE &&
           (m->pair[i].left != left || m->pair[i].right != right))
        i = (i + 1) & m->pair_mask;
    return &m->pair[i];
}

void gkv__merges_add(struct gkv__merges *m, uint32_t left, uint32_t right, uint32_t rank,
                     uint32_t result)
{
    struct gkv__pair *pair = merge_of(m, left, right);

    if (pair->rank == NONE)
        *pair = (struct gkv__pair){ left, right, rank, result };
}

static gkv_status no_memory(gkv_error *err)
{
    return gkv__fail(err, GKV_NOMEM, "no memory for the tokenizer");
}

size_t gkv__merges_char(const uint8_t *p, const uint8_t *end)
{
    size_t n = *p < 0xc0 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;

    return n < (size_t)(end - p) ? n : (size_t)(end - p);
}

/* ---- the file's list --------------------------------------------------------------------- */

/* Adds one merge "left right".  If a part spells no bytes, the merge can never apply and is ignored. */
static gkv_status read_merge(struct gkv__merges *m, const struct gkv__vocab *v, uint32_t rank,
                             struct gkv__str s, uint8_t *scratch, gkv_error *err)
{
    const char     *space = s.n > 1 ? memchr(s.p + 1, ' ', s.n - 1) : NULL;
    struct gkv__str part[2];
    size_t          n[2];
    uint32_t        left, right, result;

    if (!space || space + 1 == s.p + s.n)
        return gkv__fail(err, GKV_FORMAT, "tokenizer.ggml.merges: merge %" PRIu32
                         " is not two strings with a space between", rank);
    part[0] = (struct gkv__str){ s.p, (uint64_t)(space - s.p) };
    part[1] = (struct gkv__str){ space + 1, s.n - part[0].n - 1 };
    n[0] = v->kind->spell(part[0], scratch);
    if (n[0] == SIZE_MAX)
        return GKV_OK;
    n[1] = v->kind->spell(part[1], scratch + n[0]);
    if (n[1] == SIZE_MAX)
        return GKV_OK;

    left = gkv__merges_name(m, v, scratch, n[0], NONE);
    right = gkv__merges_name(m, v, scratch + n[0], n[1], NONE);
    result = gkv__merges_name(m, v, scratch, n[0] + n[1], NONE);
    if (left == NONE || right == NONE || result == NONE)
        return no_memory(err);
    gkv__merges_add(m, left, right, rank, result);
    return GKV_OK;
}

gkv_status gkv__merges_read(struct gkv__merges *m, const struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err)
{
    const struct gkv__kv *list = gkv__gguf_find(g, "tokenizer.ggml.merges");
    const uint8_t        *cursor;
    uint8_t              *scratch;
    uint64_t              longest = 0;
    gkv_status            status = GKV_OK;

    if (!list || !list->is_array || list->type != GKV__STR)
        return gkv__fail(err, GKV_FORMAT, "tokenizer.ggml.merges is not a list of strings");
    if (list->n > GKV__MAX_MERGES)
        return gkv__fail(err, GKV_UNSUPPORTED, "tokenizer.ggml.merges has %" PRIu64
                         " merges: too many", list->n);
    cursor = list->data;
    for (uint64_t i = 0; i < list->n; i++) {
        uint64_t n = gkv__gguf_next_str(&cursor).n;

        longest = n > longest ? n : longest;
    }
    scratch = malloc(longest + 1);
    if (!scratch || !gkv__merges_reserve(m, list->n)) {
        free(scratch);
        return no_memory(err);
    }
    cursor = list->data;
    for (uint32_t rank = 0; rank < list->n && status == GKV_OK; rank++)
        status = read_merge(m, v, rank, gkv__gguf_next_str(&cursor), scratch, err);
    free(scratch);
    return status;
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

struct piece {                  /* rank, result: of its merge with the next piece */
    uint32_t id, len, rank, result;
};

struct run {                                    /* one call of encode */
    const struct gkv__vocab  *v;
    const struct gkv__merges *m;
    struct gkv__tokens       *out;
    gkv_error                *err;
    struct cached            *cache;            /* one word per slot; a new word replaces it */
    size_t                    mask;
    /* Of long words: */
    uint32_t                 *id, *len;         /* [cap] */
    uint64_t                 *heap;             /* [2 * cap]: a merge removes one entry, adds two */
    size_t                    cap, heap_n, heap_most;
};

/* Appends a symbol.  The caller has reserved as many tokens as the word has bytes. */
static inline void put(struct run *r, const uint8_t *p, uint32_t symbol, uint32_t len)
{
    if (symbol < r->v->n) {
        gkv__tokens_push(r->out, symbol, len);
        return;
    }
    for (uint32_t i = 0; i < len; i++)
        gkv__tokens_push(r->out, r->m->byte[p[i]], 1);
}

/* The symbol that the text at p < end begins with, and its length *n in bytes. */
static inline uint32_t first_symbol(const struct run *r, const uint8_t *p, const uint8_t *end,
                                    size_t *n)
{
    uint32_t symbol;

    *n = 1;
    if (!r->m->chars || *p < 0x80)
        return r->m->first[*p];
    *n = gkv__merges_char(p, end);
    if (*n == 3 && memcmp(p, "\xe2\x96\x81", 3) == 0)
        return r->m->first[' '];
    symbol = gkv__merges_find(r->m, r->v, p, *n);
    return symbol == NONE ? UNKNOWN : symbol;
}

static inline void rate(const struct gkv__merges *m, struct piece *p)
{
    const struct gkv__pair *pair = merge_of(m, p[0].id, p[1].id);

    p->rank = pair->rank;
    p->result = pair->result;
}

static void merge_short(struct run *r, const uint8_t *p, size_t n_bytes)
{
    struct piece piece[SHORT_WORD];
    size_t       n = 0;

    for (size_t at = 0, len; at < n_bytes; at += len, n++) {
        uint32_t symbol = first_symbol(r, p + at, p + n_bytes, &len);

        piece[n] = (struct piece){ symbol, (uint32_t)len, NONE, NONE };
    }
    for (size_t i = 0; i + 1 < n; i++)
        rate(r->m, &piece[i]);
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
            rate(r->m, &piece[best]);
        if (best > 0)
            rate(r->m, &piece[best - 1]);
    }
    for (size_t i = 0; i < n; p += piece[i++].len)
        put(r, p, piece[i].id, piece[i].len);
}

/* The heap holds rank << 32 | position of the left symbol: the smallest entry has the best rank, and
 * is the leftmost of those.  With four children per node there are half as many cache misses. */
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

enum {
    COUNT_STEP = 8192,          /* entries of the heap counted against the limit at a time */
    KEEP = 4096,                /* bytes of a long word whose buffers stay for the next one */
};

/* Counts the memory of long words' buffers, and of `more` tokens, against the limit. */
static gkv_status count(struct run *r, size_t more)
{
    return gkv__tokens_count(r->out, r->out->n + more, r->cap * 2 * sizeof *r->id +
                             r->heap_most * sizeof *r->heap, r->err);
}

/* Queue the merge of the symbols at left and right, if there is one. */
static inline gkv_status queue(struct run *r, size_t left, size_t right, bool sift)
{
    uint32_t rank = merge_of(r->m, r->id[left], r->id[right])->rank;
    uint64_t x = (uint64_t)rank << 32 | left;
    size_t   i = r->heap_n;

    if (rank == NONE)
        return GKV_OK;
    if (i == r->heap_most) {
        r->heap_most += COUNT_STEP;
        GKV__TRY(count(r, 0));
    }
    for (; sift && i > 0 && r->heap[(i - 1) / 4] > x; i = (i - 1) / 4)
        r->heap[i] = r->heap[(i - 1) / 4];
    r->heap[i] = x;
    r->heap_n++;
    return GKV_OK;
}

/* id[i] is the symbol that begins at byte i, or NONE; len has its length at the index of its first and of
 * its last byte, so that both neighbours can be found. */
static gkv_status merge_all(struct run *r, const uint8_t *p, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        r->id[i] = first_symbol(r, p + i, p + n, &len);
        for (size_t j = i + 1; j < i + len; j++)
            r->id[j] = NONE;
        r->len[i] = r->len[i + len - 1] = (uint32_t)len;
    }
    r->heap_n = 0;
    for (size_t i = 0; i + r->len[i] < n; i += r->len[i])
        GKV__TRY(queue(r, i, i + r->len[i], false));
    for (size_t i = r->heap_n / 4 + 1; i-- > 0;)
        if (i < r->heap_n)
            sift_down(r->heap, r->heap_n, i);

    while (r->heap_n > 0) {
        size_t                  at = (uint32_t)r->heap[0], next, after;
        uint32_t                rank = (uint32_t)(r->heap[0] >> 32);
        const struct gkv__pair *pair;

        r->heap[0] = r->heap[--r->heap_n];
        if (r->heap_n > 0)
            sift_down(r->heap, r->heap_n, 0);
        if (r->id[at] == NONE || (next = at + r->len[at]) == n)
            continue;                           /* it was merged already, or has no neighbour */
        pair = merge_of(r->m, r->id[at], r->id[next]);
        if (pair->rank != rank)
            continue;
        after = next + r->len[next];
        r->id[at] = pair->result;
        r->id[next] = NONE;
        r->len[at] = r->len[after - 1] = (uint32_t)(after - at);
        if (after < n)
            GKV__TRY(queue(r, at, after, true));
        if (at > 0)
            GKV__TRY(queue(r, at - r->len[at - 1], at, true));
    }
    return GKV_OK;
}

/* Appends the symbols of a merged word; a symbol that is no token becomes the tokens of its bytes. */
static gkv_status put_all(struct run *r, const uint8_t *p, size_t n)
{
    size_t more = 0;

    for (size_t i = 0; i < n; i += r->len[i])
        more += r->id[i] < r->v->n ? 1 : r->len[i];
    GKV__TRY(count(r, more));
    GKV__TRY(gkv__tokens_reserve(r->out, more, r->err));
    for (size_t i = 0; i < n; i += r->len[i])
        put(r, p + i, r->id[i], r->len[i]);
    return GKV_OK;
}

static void free_heap(struct run *r)
{
    gkv__pages_free(r->heap, r->cap, 2 * sizeof *r->heap);
    r->heap = NULL;
    r->heap_most = 0;
}

static void free_long(struct run *r)
{
    free_heap(r);
    gkv__pages_free(r->id, r->cap, 2 * sizeof *r->id);
    r->id = r->len = NULL;
    r->cap = 0;
}

static gkv_status merge_long(struct run *r, const uint8_t *p, size_t n)
{
    gkv_status status;

    if (n > UINT32_MAX)                         /* it would take 100 GB */
        return gkv__fail(r->err, GKV_NOMEM, "no memory for a word of %zu bytes", n);
    if (n > r->cap) {
        free_long(r);
        r->cap = n > KEEP ? n : KEEP;
        GKV__TRY(count(r, 0));
        r->id = gkv__pages(r->cap, 2 * sizeof *r->id);
        r->heap = gkv__pages(r->cap, 2 * sizeof *r->heap);
        if (!r->id || !r->heap)
            return no_memory(r->err);
        r->len = r->id + r->cap;
    }
    status = merge_all(r, p, n);
    if (n > KEEP)
        free_heap(r);
    if (status == GKV_OK)
        status = put_all(r, p, n);
    if (n > KEEP)
        free_long(r);
    return status;
}

static gkv_status merge_word(struct run *r, const uint8_t *p, size_t n)
{
    const struct gkv__merges *m = r->m;

    if (m->whole_words && n <= m->longest) {
        uint32_t symbol = gkv__merges_find(m, r->v, p, n);

        if (symbol < r->v->n) {
            GKV__TRY(gkv__tokens_reserve(r->out, 1, r->err));
            put(r, p, symbol, (uint32_t)n);
            return GKV_OK;
        }
    }
    if (n > SHORT_WORD)
        return merge_long(r, p, n);
    GKV__TRY(gkv__tokens_reserve(r->out, n, r->err));
    merge_short(r, p, n);
    return GKV_OK;
}

static gkv_status encode_word(struct run *r, const uint8_t *p, size_t n)
{
    struct gkv__tokens *out = r->out;
    struct cached      *slot;
    size_t              before = out->n;

    if (n > CACHE_KEY || !r->cache)
        return merge_word(r, p, n);
    slot = &r->cache[hash_bytes(0, p, n) & r->mask];
    if (slot->n_bytes == n && memcmp(slot->key, p, n) == 0) {
        GKV__TRY(gkv__tokens_reserve(out, slot->n_tokens, r->err));
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

gkv_status gkv__merges_encode(const struct gkv__merges *m, const struct gkv__vocab *v,
                              const uint8_t *text, size_t len, gkv__word_fn *word,
                              const void *arg, struct gkv__tokens *out, gkv_error *err)
{
    struct run     r = { .v = v, .m = m, .out = out, .err = err };
    const uint8_t *end = text + len;
    gkv_status     status = GKV_OK;
    size_t         n, slots = 64;

    if (len >= 1024) {                          /* shorter text repeats too few words */
        while (slots < MAX_CACHE && slots < len / 16)
            slots *= 2;
        r.cache = calloc(slots, sizeof *r.cache);
        r.mask = slots - 1;
    }
    for (; text < end && status == GKV_OK; text += n) {
        n = word(arg, text, end);
        status = encode_word(&r, text, n);
    }
    free(r.cache);
    free_long(&r);
    return status;
}
