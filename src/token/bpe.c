/* SPDX-License-Identifier: BSD-2-Clause
 * bpe.c - byte-level byte-pair encoding, introduced by GPT-2
 *
 * The pre-tokenizer splits the text into words (pre.c); merge.c merges the bytes of each word
 * in the order of the file's list. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/token/merge.h"
#include "src/token/pre.h"
#include "src/base/unicode.h"

#define NONE        GKV__NO_SYMBOL

struct bpe {
    const struct gkv__pre *pre;
    struct gkv__merges     merges;
};

/* ---- spelling ------------------------------------------------------------------------ */

/* GPT-2 spells each byte that is printable in Latin-1 as that character, and the other 68 as
 * U+0100 and up.  Returns the byte that a code point spells, or -1. */
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

/* ---- tokens -------------------------------------------------------------------------- */

static gkv_status no_memory(gkv_error *err)
{
    return gkv__fail(err, GKV_NOMEM, "no memory for the tokenizer");
}

/* Names all tokens.  If several have the same text, the text becomes the one with the lowest number. */
static gkv_status name_tokens(struct bpe *b, const struct gkv__vocab *v, gkv_error *err)
{
    struct gkv__merges *m = &b->merges;

    for (uint32_t id = 0; id < v->n; id++) {
        uint32_t n = v->start[id + 1] - v->start[id];

        if (!(v->attr[id] & GKV__TOK_WORD) || n == 0)
            continue;
        if (gkv__merges_name(m, v, v->text + v->start[id], n, id) == NONE)
            return no_memory(err);
        m->longest = n > m->longest ? n : m->longest;
    }
    for (unsigned c = 0; c < 256; c++) {
        uint8_t byte = (uint8_t)c;

        m->first[c] = m->byte[c] = gkv__merges_name(m, v, &byte, 1, NONE);
        if (m->byte[c] == NONE)
            return no_memory(err);
        if (m->byte[c] >= v->n && c != 0xc0 && c != 0xc1 && c < 0xf5)   /* not in UTF-8 */
            return gkv__fail(err, GKV_FORMAT, "tokenizer has no token for byte 0x%02x", c);
    }
    return GKV_OK;
}

static void close_bpe(void *state)
{
    struct bpe *b = state;

    if (!b)
        return;
    gkv__merges_close(&b->merges);
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
    b->merges.whole_words = b->pre->whole_words;
    gkv__merges_open(&b->merges);
    GKV__TRY(name_tokens(b, v, err));
    GKV__TRY(gkv__merges_read(&b->merges, v, g, err));
    if (!b->pre->whole_words)
        gkv__merges_forget_names(&b->merges);
    return GKV_OK;
}

static size_t bytes_bpe(const void *state)
{
    const struct bpe *b = state;

    return sizeof *b + gkv__merges_bytes(&b->merges);
}

/* ---- words --------------------------------------------------------------------------- */

static size_t word(const void *arg, const uint8_t *p, const uint8_t *end)
{
    const struct gkv__pre *pre = arg;

    return pre->word(p, end);
}

/* text is well-formed UTF-8 */
static gkv_status encode_words(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                               struct gkv__tokens *out, gkv_error *err)
{
    const struct bpe *b = v->state;

    return gkv__merges_encode(&b->merges, v, text, len, word, b->pre, out, err);
}

/* The tokens from first on were made of text in which U+FFFD, which has three bytes, replaced each
 * bad byte: change their lengths to those in the original text.  A bad byte counts for the token
 * that has the first of the three. */
static void count_original(struct gkv__tokens *t, size_t first, const uint8_t *text,
                           size_t len)
{
    const uint8_t *end = text + len;
    size_t         original = 0, clean = 0;     /* left of the current character */

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

static bool parts(const struct gkv__vocab *v, uint32_t before, uint32_t after)
{
    (void)v;
    return gkv__pre_parts(before, after);
}

const struct gkv__tokenizer gkv__tokenizer_bpe = {
    .model = "gpt2", .name = "bpe",
    .spell = spell, .open = open_bpe, .close = close_bpe, .bytes = bytes_bpe,
    .encode = encode, .parts = parts,
};
