/* SPDX-License-Identifier: BSD-2-Clause
 * spm.c - SentencePiece's byte-pair encoding with scores, as in Llama 2, Mistral 7B, Phi-3
 * and Gemma
 *
 * The file has no list of merges: two neighbours merge if together they are a token, the highest
 * score first.  The list is made here: for each token, every split into two strings that are
 * tokens or characters, ranked by the token's score.  A text is not split into words either; but
 * between two bytes that are neighbours in no token nothing ever merges, so it can be split there.
 *
 * The files of Gemma 4 have a list of merges instead (gkv__tokenizer_gemma4); all else is the same.
 *
 * A space is spelled U+2581, and one is added in front of a text and after every special token.
 * Characters that are no token become the tokens of their bytes. */
#include "config.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/token/merge.h"

#define NONE        GKV__NO_SYMBOL
#define MAX_PIECE   512         /* bytes of a token: its splits cost the square of that */

static const uint8_t lower_block[3] = { 0xe2, 0x96, 0x81 };     /* U+2581, the spelling of ' ' */

struct spm {
    struct gkv__merges merges;
    uint8_t joined[8192];       /* bit for each pair of adjacent bytes in a token */
};

static size_t spell(struct gkv__str s, uint8_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; n++) {
        bool space = s.n - i >= 3 && memcmp(s.p + i, lower_block, 3) == 0;

        out[n] = space ? ' ' : (uint8_t)s.p[i];
        i += space ? 3 : 1;
    }
    return n;
}

/* ---- opening ------------------------------------------------------------------------- */

static gkv_status no_memory(gkv_error *err)
{
    return gkv__fail(err, GKV_NOMEM, "no memory for the tokenizer");
}

static bool is_word(const struct gkv__vocab *v, uint32_t id)
{
    return v->attr[id] & GKV__TOK_WORD && v->start[id + 1] > v->start[id];
}

/* Names all tokens.  If several have the same text, the text becomes the one with the lowest number. */
static gkv_status name_tokens(struct spm *s, const struct gkv__vocab *v, gkv_error *err)
{
    for (uint32_t id = 0; id < v->n; id++) {
        const uint8_t *p = v->text + v->start[id];
        size_t         n = v->start[id + 1] - v->start[id];

        if (!is_word(v, id))
            continue;
        if (n > MAX_PIECE)
            return gkv__fail(err, GKV_UNSUPPORTED, "token %" PRIu32 " has %zu bytes, more than "
                             "%d", id, n, MAX_PIECE);
        if (gkv__merges_name(&s->merges, v, p, n, id) == NONE)
            return no_memory(err);
        for (size_t i = 1; i < n; i++) {
            unsigned pair = p[i - 1] << 8 | p[i];

            s->joined[pair / 8] |= 1u << pair % 8;
        }
    }
    for (uint32_t id = 0; id < v->n; id++) {    /* characters that only occur inside tokens */
        const uint8_t *p = v->text + v->start[id], *end = v->text + v->start[id + 1];

        for (size_t n; is_word(v, id) && p < end; p += n) {
            n = gkv__merges_char(p, end);
            if (gkv__merges_name(&s->merges, v, p, n, NONE) == NONE)
                return no_memory(err);
        }
    }
    return GKV_OK;
}

static gkv_status name_bytes(struct spm *s, const struct gkv__vocab *v, gkv_error *err)
{
    struct gkv__merges *m = &s->merges;

    memset(m->byte, 0xff, sizeof m->byte);
    for (uint32_t id = v->n; id-- > 0;)
        if (v->attr[id] & GKV__TOK_BYTE)
            m->byte[v->text[v->start[id]]] = id;
    for (unsigned c = 0; c < 256; c++) {
        uint8_t byte = (uint8_t)c;

        if (m->byte[c] == NONE)
            return gkv__fail(err, GKV_FORMAT, "tokenizer has no token for byte 0x%02x", c);
        m->first[c] = gkv__merges_name(m, v, &byte, 1, NONE);
        if (m->first[c] == NONE)
            return no_memory(err);
    }
    return GKV_OK;
}

static int by_score(const void *a, const void *b)       /* highest first */
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x < y) - (x > y);
}

/* Number of different scores that are higher, by binary search: equal scores have equal ranks. */
static uint32_t rank_of(const float *sorted, size_t n, float score)
{
    size_t a = 0, b = n;

    while (a < b) {
        size_t mid = a + (b - a) / 2;

        if (sorted[mid] > score)
            a = mid + 1;
        else
            b = mid;
    }
    return (uint32_t)a;
}

/* Splits every token in two symbols in every possible way: counts the splits, and adds them as merges if
 * `sorted` is given. */
static uint64_t cut_tokens(struct spm *s, const struct gkv__vocab *v, const float *score,
                           const float *sorted)
{
    struct gkv__merges *m = &s->merges;
    uint64_t            cuts = 0;

    for (uint32_t id = 0; id < v->n; id++) {
        const uint8_t *p = v->text + v->start[id], *end = v->text + v->start[id + 1];
        uint32_t       result, left, right;

        if (!is_word(v, id))
            continue;
        result = gkv__merges_find(m, v, p, (size_t)(end - p));
        if (result != id)                       /* another token has the same text */
            continue;
        for (const uint8_t *q = p + gkv__merges_char(p, end); q < end;
             q += gkv__merges_char(q, end)) {
            left = gkv__merges_find(m, v, p, (size_t)(q - p));
            right = left == NONE ? NONE : gkv__merges_find(m, v, q, (size_t)(end - q));
            if (right == NONE)
                continue;
            cuts++;
            if (sorted)
                gkv__merges_add(m, left, right, rank_of(sorted, v->n, score[id]), result);
        }
    }
    return cuts;
}

static gkv_status rank_merges(struct spm *s, const struct gkv__vocab *v,
                              const struct gkv__gguf *g, gkv_error *err)
{
    const struct gkv__kv *list = gkv__gguf_find(g, "tokenizer.ggml.scores");
    float                *score, *sorted;
    uint64_t              cuts;
    gkv_status            status = GKV_OK;

    if (!list || !list->is_array || (list->type != GKV__F32 && list->type != GKV__F64) ||
        list->n != v->n)
        return gkv__fail(err, GKV_FORMAT, "tokenizer.ggml.scores is not a list of %" PRIu32
                         " numbers", v->n);
    score = malloc(v->n * sizeof *score);
    sorted = malloc(v->n * sizeof *sorted);
    if (!score || !sorted) {
        status = no_memory(err);
        goto out;
    }
    for (uint32_t id = 0; id < v->n; id++) {
        score[id] = sorted[id] = (float)gkv__gguf_float_at(list, id);
        if (isnan(score[id])) {
            status = gkv__fail(err, GKV_FORMAT, "tokenizer.ggml.scores: that of token %" PRIu32
                               " is not a number", id);
            goto out;
        }
    }
    qsort(sorted, v->n, sizeof *sorted, by_score);
    cuts = cut_tokens(s, v, NULL, NULL);
    if (cuts > GKV__MAX_MERGES)
        status = gkv__fail(err, GKV_UNSUPPORTED, "tokenizer has %" PRIu64 " merges: too many",
                           cuts);
    else if (!gkv__merges_reserve(&s->merges, cuts))
        status = no_memory(err);
    else
        cut_tokens(s, v, score, sorted);
out:
    free(score);
    free(sorted);
    return status;
}

/* Phi-3's control tokens include the white space after them.  Files do not say so.  llama.cpp decides by
 * the name of the model, which converters write in several ways. */
static gkv_status read_habits(struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err)
{
    struct gkv__str arch = { "", 0 }, name = { "", 0 };

    v->add_bos = true;
    v->add_space = v->kind != &gkv__tokenizer_gemma4;
    GKV__TRY(gkv__gguf_bool(g, "tokenizer.ggml.add_space_prefix", &v->add_space, err));
    GKV__TRY(gkv__gguf_str(g, "general.architecture", &arch, err));
    GKV__TRY(gkv__gguf_str(g, "general.name", &name, err));
    v->strips = arch.n == 4 && memcmp(arch.p, "phi3", 4) == 0;
    for (size_t i = 0; i + 4 <= name.n && !v->strips; i++) {
        const char *p = name.p + i;
        size_t      digit = p[3] == '-' && i + 4 < name.n ? 4 : 3;

        v->strips = tolower((unsigned char)p[0]) == 'p' && tolower((unsigned char)p[1]) == 'h' &&
                    tolower((unsigned char)p[2]) == 'i' && p[digit] == '3';
    }
    return GKV_OK;
}

static void close_spm(void *state)
{
    struct spm *s = state;

    if (s)
        gkv__merges_close(&s->merges);
    free(s);
}

static gkv_status open_spm(struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err)
{
    struct spm *s = v->state = calloc(1, sizeof *s);

    if (!s)
        return no_memory(err);
    v->pre = v->kind == &gkv__tokenizer_gemma4 ? "gemma4" : "";
    s->merges.chars = true;
    gkv__merges_open(&s->merges);
    GKV__TRY(read_habits(v, g, err));
    GKV__TRY(name_tokens(s, v, err));
    GKV__TRY(name_bytes(s, v, err));
    return v->kind == &gkv__tokenizer_gemma4 ? gkv__merges_read(&s->merges, v, g, err) : rank_merges(s, v, g, err);
}

static size_t bytes_spm(const void *state)
{
    const struct spm *s = state;

    return sizeof *s + gkv__merges_bytes(&s->merges);
}

/* ---- encoding ------------------------------------------------------------------------ */

static bool are_joined(const struct spm *s, unsigned before, unsigned after)
{
    unsigned pair = before << 8 | after;

    return s->joined[pair / 8] >> pair % 8 & 1;
}

static bool is_space(const uint8_t *p, const uint8_t *end)
{
    return end - p >= 3 && memcmp(p, lower_block, 3) == 0;
}

/* Bytes up to a place where nothing merges. */
static size_t word(const void *arg, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q = p;

    for (;;) {
        size_t   n = gkv__merges_char(q, end);
        unsigned last = is_space(q, end) ? ' ' : q[n - 1];

        q += n;
        if (q == end || !are_joined(arg, last, is_space(q, end) ? ' ' : *q))
            return (size_t)(q - p);
    }
}

/* Encodes a text with a space added in front of its first word. */
static gkv_status encode_first(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                               struct gkv__tokens *out, gkv_error *err)
{
    const struct spm *s = v->state;
    const uint64_t    limit = out->limit, most = out->most;
    uint8_t          *copy;
    size_t            at = out->n;
    gkv_status        status;

    GKV__TRY(gkv__tokens_count(out, at, len + 1, err));
    copy = malloc(len + 1);
    if (!copy)
        return no_memory(err);
    copy[0] = ' ';
    memcpy(copy + 1, text, len);
    out->limit -= limit ? len : 0;              /* what the copy leaves */
    out->most = 0;
    status = gkv__merges_encode(&s->merges, v, copy, len + 1, word, s, out, err);
    out->limit = limit;
    out->most = gkv__max(most, out->most + len);
    free(copy);
    if (status == GKV_OK)
        out->len[at]--;
    return status;
}

static gkv_status encode(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                         struct gkv__tokens *out, gkv_error *err)
{
    const uint8_t     special = GKV__TOK_CONTROL | GKV__TOK_USER;
    const struct spm *s = v->state;
    size_t            n;

    if (v->add_space && len > 0 && (out->n == 0 || v->attr[out->id[out->n - 1]] & special)) {
        n = word(s, text, text + len);
        GKV__TRY(encode_first(v, text, n, out, err));
        text += n;
        len -= n;
    }
    return gkv__merges_encode(&s->merges, v, text, len, word, s, out, err);
}

static bool parts(const struct gkv__vocab *v, uint32_t before, uint32_t after)
{
    unsigned last = before < 0x80 ? before : 0x80 | (before & 0x3f);
    unsigned first = after < 0x80 ? after : after < 0x800 ? 0xc0 | after >> 6
                   : after < 0x10000 ? 0xe0 | after >> 12 : 0xf0 | after >> 18;

    return !are_joined(v->state, before == 0x2581 ? ' ' : last, after == 0x2581 ? ' ' : first);
}

const struct gkv__tokenizer gkv__tokenizer_spm = {
    .model = "llama", .name = "spm",
    .spell = spell, .open = open_spm, .close = close_spm, .bytes = bytes_spm,
    .encode = encode, .parts = parts,
};

const struct gkv__tokenizer gkv__tokenizer_gemma4 = {
    .model = "gemma4", .name = "spm",
    .spell = spell, .open = open_spm, .close = close_spm, .bytes = bytes_spm,
    .encode = encode, .parts = parts,
};
