/* SPDX-License-Identifier: BSD-2-Clause
 * unit-token.c - tokenizers: exact vectors, round trips, cuts, unusual and damaged vocabularies */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/token/pre.h"
#include "src/token/token.h"
#include "src/base/unicode.h"
#include "tests/rng.h"
#include "tests/tap.h"

#define PATH_BYTES 4096

static const char *srcdir, *shared;

static const char *path_in(const char *dir, const char *name)
{
    static char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void *must(void *p)
{
    if (!p) {
        printf("Bail out! no memory\n");
        exit(1);
    }
    return p;
}

/* The whole of a file, or NULL. */
static char *slurp(const char *path, size_t *len)
{
    FILE  *f = fopen(path, "rb");
    char  *text = NULL;
    size_t cap = 0, n;

    *len = 0;
    if (!f)
        return NULL;
    do {
        text = must(realloc(text, cap += 1 << 20));
        n = fread(text + *len, 1, cap - *len - 1, f);
        *len += n;
    } while (n > 0);
    text[*len] = 0;
    fclose(f);
    return text;
}

/* ---- one vocabulary ------------------------------------------------------------------ */

struct model {
    struct gkv__gguf  *g;
    struct gkv__vocab *v;
};

static gkv_status open_model(struct model *m, const char *path, gkv_error *err)
{
    gkv_status status;

    *m = (struct model){ NULL, NULL };
    err->text[0] = 0;
    status = gkv__gguf_open(&m->g, path, err);
    if (status == GKV_OK)
        status = gkv__vocab_open(&m->v, m->g, err);
    return status;
}

static void close_model(struct model *m)
{
    gkv__vocab_close(m->v);
    gkv__gguf_close(m->g);
}

static struct gkv__tokens tokens(const struct gkv__vocab *v, const char *text, size_t len,
                                 bool plain)
{
    struct gkv__tokens t = { 0 };
    struct gkv__range  whole = { 0, len };

    if (gkv__tokenize(v, text, len, &whole, plain, &t, NULL) != GKV_OK)
        must(NULL);
    return t;
}

static bool same(const struct gkv__tokens *t, const uint32_t *id, size_t n)
{
    return t->n == n && (n == 0 || memcmp(t->id, id, n * sizeof *id) == 0);
}

/* Tokenizes as plain text and compares with a list of ids that ends with GKV__NO_TOKEN. */
static bool gives(const struct gkv__vocab *v, const char *text, bool plain,
                  const uint32_t *id)
{
    struct gkv__tokens t = tokens(v, text, strlen(text), plain);
    size_t             n = 0;
    bool               good;

    while (id[n] != GKV__NO_TOKEN)
        n++;
    good = same(&t, id, n);
    if (!good)
        for (size_t i = 0; i < t.n; i++)
            printf("# %zu: %" PRIu32 "\n", i, t.id[i]);
    gkv__tokens_free(&t);
    return good;
}

#define IDS(...) ((const uint32_t[]){ __VA_ARGS__, GKV__NO_TOKEN })

/* Whether a token with the text p[0..m) can stand for text[0..n).  In a vocabulary that spells spaces as
 * U+2581, that character of a document is a space, too. */
static bool stands_for(const char *p, size_t m, const char *text, size_t n, bool spm)
{
    while (m > 0 && n > 0) {
        size_t k = spm && n >= 3 && memcmp(text, "\xe2\x96\x81", 3) == 0 && *p == ' ' ? 3 : 1;

        if (k == 1 && *p != *text)
            return false;
        p++, m--;
        text += k, n -= k;
    }
    return m == 0 && n == 0;
}

/* Whether the lengths add up to the text and, if the text is well-formed or there are tokens for bytes, so
 * do the bytes of the tokens. */
static bool round_trip(const struct gkv__vocab *v, const char *text, size_t len,
                       bool formed)
{
    struct gkv__tokens t = tokens(v, text, len, true);
    bool               spm = !strcmp(gkv__vocab_kind(v), "spm");
    size_t             at = 0;
    bool               good = true;

    for (size_t i = 0; i < t.n && good; i++) {
        char   piece[513];
        size_t n = gkv__token_text_after(v, i ? t.id[i - 1] : GKV__NO_TOKEN, t.id[i], true, piece,
                                         sizeof piece);

        good = t.len[i] <= len - at && n < sizeof piece &&
               (!(formed || spm) || stands_for(piece, n, text + at, t.len[i], spm));
        at += t.len[i];
    }
    good = good && at == len;
    gkv__tokens_free(&t);
    return good;
}

/* Whether text fed in pieces of step bytes, cut where it is safe, gives the ids of the whole. */
static bool cuts_agree(const struct gkv__vocab *v, const char *text, size_t len,
                       size_t step, size_t *n_cuts)
{
    struct gkv__tokens whole = tokens(v, text, len, true), parts = { 0 };
    size_t             at = 0, have = step, cut;
    bool               good;

    *n_cuts = 0;
    while (have < len) {
        struct gkv__range all = { 0, 0 };

        cut = gkv__token_safe_cut(v, text + at, have - at);
        all.end = cut;
        if (gkv__tokenize(v, text + at, cut, &all, 1, &parts, NULL) != GKV_OK)
            must(NULL);
        *n_cuts += cut > 0;
        at += cut;
        have += step;
    }
    gkv__tokenize(v, text + at, len - at, &(struct gkv__range){ 0, len - at }, 1, &parts,
                  NULL);
    good = same(&parts, whole.id, whole.n);
    gkv__tokens_free(&whole);
    gkv__tokens_free(&parts);
    return good;
}

/* ---- vectors ------------------------------------------------------------------------- */

/* Checks a file of vectors; tests/files/token/vectors.py says what a line is. */
static void check_vectors(const struct gkv__vocab *v, const char *name)
{
    char   file[64], *all, *line, *rest;
    size_t len, cases = 0;

    snprintf(file, sizeof file, "tests/files/token/%s.vec", name);
    all = slurp(path_in(srcdir, file), &len);
    if (!all) {
        ok(0, "%s: %s is missing", name, file);
        return;
    }
    for (line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char               *p = strchr(line, ' '), *word;
        size_t              n = 0, n_ids = 0;
        uint8_t            *text = must(malloc(strlen(line)));
        uint32_t           *id = must(malloc(strlen(line) * sizeof *id));
        struct gkv__tokens  t;
        bool                good;

        cases++;
        *p++ = 0;
        for (; *p != ' ' && *p != '-'; p += 2, n++) {
            unsigned byte = 0;

            sscanf(p, "%2x", &byte);
            text[n] = (uint8_t)byte;
        }
        p += *p == '-';
        t = tokens(v, (char *)text, n, true);
        for (word = strtok(p, " "); word && *word != '|'; word = strtok(NULL, " "))
            id[n_ids++] = (uint32_t)strtoul(word, NULL, 10);
        good = same(&t, id, n_ids);
        gkv__tokens_free(&t);
        if (!good)
            ok(0, "%s: %s, names not parsed", name, line);

        t = tokens(v, (char *)text, n, false);
        n_ids = 0;
        word = strtok(NULL, " ");
        if (gkv__vocab_add_bos(v)) {
            good = word && gkv__vocab_bos(v) == strtoul(word, NULL, 10);
            word = strtok(NULL, " ");
        }
        for (; word; word = strtok(NULL, " "))
            id[n_ids++] = (uint32_t)strtoul(word, NULL, 10);
        if (!good || !same(&t, id, n_ids))
            ok(0, "%s: %s, names parsed", name, line);
        gkv__tokens_free(&t);
        if (!round_trip(v, (char *)text, n, gkv__utf8_check((char *)text, n, NULL) == n))
            ok(0, "%s: %s, round trip", name, line);
        free(text);
        free(id);
    }
    free(all);
    ok(cases >= 68, "%s: %zu cases", name, cases);
}

/* Checks llama.cpp's own pairs: texts between separator lines, and a line of ids for each. */
static void check_pairs(const struct gkv__vocab *v, const char *path)
{
    static const char separator[] = "\n__ggml_vocab_test__\n";
    char              name[PATH_BYTES + 4], *texts, *ids, *p, *q;
    size_t            len, cases = 0, bad = 0;

    snprintf(name, sizeof name, "%s.inp", path);
    texts = slurp(name, &len);
    snprintf(name, sizeof name, "%s.out", path);
    ids = slurp(name, &len);
    if (!texts || !ids) {
        ok(1, "%s.inp # SKIP not here", path);
        goto out;
    }
    for (p = texts, q = ids; p && *q; cases++) {
        char              *end = strstr(p, separator), *line = strchr(q, '\n');
        size_t             n = end ? (size_t)(end - p) : strlen(p);
        struct gkv__tokens t = tokens(v, p, n, true);

        if (!end && n > 0 && p[n - 1] == '\n')
            n--;
        for (size_t i = 0; i < t.n; i++)
            bad += strtoul(q, &q, 10) != t.id[i];
        while (*q == ' ')
            q++;
        bad += q != line;
        q = line + 1;
        p = end ? end + sizeof separator - 1 : NULL;
        gkv__tokens_free(&t);
    }
    ok(cases >= 46 && bad == 0, "llama.cpp's pairs: %zu cases, %zu differ", cases, bad);
out:
    free(texts);
    free(ids);
}

/* ---- generated texts ---------------------------------------------------------------------- */

/* Runs of characters of one kind, of random length, from all over Unicode; unless `formed`, about every
 * 16th byte is bad. */
static size_t random_text(char *o, size_t cap, bool formed)
{
    static const uint32_t from[][2] = {
        { 0, 32 }, { 32, 1 }, { 33, 15 }, { '0', 10 }, { 'a', 26 }, { 'A', 26 },
        { '\'', 1 }, { '\n', 1 }, { '\r', 1 }, { 0x80, 0x80 }, { 0x300, 0x70 },
        { 0x391, 0x200 },
        { 0x660, 10 }, { 0x2000, 0x70 }, { 0x3040, 0xc0 }, { 0x4e00, 0x5000 },
        { 0x1f300, 0x300 }, { 0, 0x110000 },
    };
    size_t n = 0;

    while (n + 4 <= cap) {
        const uint32_t *set = from[rng() % (sizeof from / sizeof *from)];

        unsigned        run = rng() % 8 ? rng() % 6 : rng() % 90;

        for (; run > 0 && n + 4 <= cap; run--) {
            uint32_t cp = set[0] + rng() % set[1];

            if (cp < 0xd800 || cp >= 0xe000)
                n += gkv__utf8_put(o + n, cp);
            if (!formed && rng() % 16 == 0)
                o[n - 1] = (char)rng();
        }
    }
    return n;
}

static void check_made(const struct gkv__vocab *v, const char *name)
{
    static char text[20000];
    bool        formed = true, bad = true, cut = true;
    size_t      n_cuts = 0, total = 0;

    for (int i = 0; i < 200; i++) {
        size_t n = random_text(text, 1 + rng() % (sizeof text - 1), true), cuts;

        formed &= round_trip(v, text, n, true);
        cut &= cuts_agree(v, text, n, 1 + rng() % 300, &cuts);
        n_cuts += cuts;
        total += n;
        n = random_text(text, 1 + rng() % 2000, false);
        bad &= round_trip(v, text, n, false);
        cut &= cuts_agree(v, text, n, 1 + rng() % 300, &cuts);
    }
    ok(formed, "%s: random text comes back", name);
    ok(bad, "%s: lengths of random bytes add up", name);
    ok(cut && n_cuts > total / 2000, "%s: cut at %zu places, same ids", name, n_cuts);
}

/* Words that would take hours with a quadratic loop. */
static void check_long(const struct gkv__vocab *v, const char *name)
{
    static const char *const kind[] = { "a", "ab", "-", " ", "\n", "1", " \n", "\xc3\xa9" };
    size_t                   n = 1 << 18;
    char                    *text = must(malloc(n));
    bool                     good = true;

    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        for (size_t i = 0; i < n; i++)
            text[i] = kind[k][i % strlen(kind[k])];
        good &= round_trip(v, text, n, true);
    }
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + rng() % 26);
    good &= round_trip(v, text, n, true);
    free(text);
    ok(good, "%s: words of 256 KB", name);
}

static void check_novels(const struct gkv__vocab *v, const char *name)
{
    static const char *const novel[] = {
        "baring-gould-domitia", "broughton-red-as-a-rose-is-she",
        "clive-why-paul-ferroll-killed-his-wife", "craik-mistress-and-maid",
        "nesbit-the-prophets-mantle", "steel-the-hosts-of-the-lord",
    };
    size_t here = 0;
    bool   good = true, cut = true;

    for (size_t i = 0; i < sizeof novel / sizeof *novel; i++) {
        char   file[128], *text;
        size_t len, n_cuts;

        snprintf(file, sizeof file, "eval/haystack/%s.txt", novel[i]);
        text = slurp(path_in(shared, file), &len);
        if (!text)
            continue;
        here++;
        good &= round_trip(v, text, len, true);
        cut &= cuts_agree(v, text, len, 1000, &n_cuts);
        cut &= n_cuts > len / 1000 - 10;
        free(text);
    }
    if (here == 0) {
        ok(1, "%s: novels # SKIP no %s/eval/haystack", name, shared);
        return;
    }
    ok(good, "%s: %zu novels come back", name, here);
    ok(cut, "%s: novels in pieces of 1000 bytes give the same ids", name);
}

static void check_all(const struct gkv__vocab *v, const char *name)
{
    check_vectors(v, name);
    check_made(v, name);
    check_long(v, name);
    check_novels(v, name);
}

/* ---- the bundled model --------------------------------------------------------------- */

/* Ids of a text with these plain ranges, as a string. */
static const char *ids_with(const struct gkv__vocab *v, const char *text,
                            const struct gkv__range *plain, size_t n_plain)
{
    static char        s[2][1024];
    static int         which;
    struct gkv__tokens t = { 0 };
    char              *o = s[which ^= 1];
    size_t             n = 0;

    gkv__tokenize(v, text, strlen(text), plain, n_plain, &t, NULL);
    o[0] = 0;
    for (size_t i = 0; i < t.n && n < sizeof s[0] - 16; i++)
        n += (size_t)sprintf(o + n, "%" PRIu32 " ", t.id[i]);
    gkv__tokens_free(&t);
    return o;
}

/* Tokenizes with a limit; returns the status; *most is the largest count. */
static gkv_status within(const struct gkv__vocab *v, const char *text, size_t len, uint64_t limit,
                         uint64_t *most)
{
    const struct gkv__range whole = { 0, len };
    struct gkv__tokens      t = { .limit = limit };
    gkv_status              status = gkv__tokenize(v, text, len, &whole, 1, &t, NULL);

    if (status == GKV_LIMIT && t.n)
        status = GKV_OK;                        /* t must be unchanged */
    *most = t.most;
    gkv__tokens_free(&t);
    return status;
}

/* The counted bytes are enough, and one byte less is not.  A long word takes two numbers per byte, a possible
 * merge for each pair of neighbours that has one (two of three in "the"), then its tokens. */
static void check_memory(const struct gkv__vocab *v)
{
    enum { N = 60000 };
    char    *text = malloc(N);
    uint64_t words, word, most;

    if (!text)
        must(NULL);
    for (size_t i = 0; i < N; i++)
        text[i] = "the "[i % 4];
    ok(within(v, text, N, 0, &words) == GKV_OK && words >= N / 4 * GKV__TOKEN_BYTES, "mini: memory of "
       "tokens is counted");
    ok(within(v, text, N, words + 512, &most) == GKV_OK, "mini: so much suffices");
    ok(within(v, text, N, N / 4 * GKV__TOKEN_BYTES - 1, &most) == GKV_LIMIT, "mini: less than the tokens "
       "take does not");
    for (size_t i = 0; i < N; i++)
        text[i] = "the"[i % 3];
    ok(within(v, text, N, 0, &word) == GKV_OK && word >= N * 8 + N / 3 * 2 * 8, "mini: memory to merge a "
       "long word is counted");
    ok(within(v, text, N, word, &most) == GKV_OK && most == word, "mini: so much suffices for it");
    ok(within(v, text, N, word - 1, &most) == GKV_LIMIT && most < word, "mini: one byte less does not");
    free(text);
}

static void check_mini(const struct gkv__vocab *v)
{
    const char *text = "<|im_start|>user  \n x<|im_end|>  y<|im_end|>";
    uint32_t    end = gkv__vocab_find(v, "<|im_end|>", 10);
    char        buf[16];

    ok(gkv__vocab_size(v) == 16384 && !strcmp(gkv__vocab_kind(v), "bpe") &&
       !strcmp(gkv__vocab_pre(v), "qwen2"), "mini: size, kind, pre-tokenizer");
    ok(gkv__vocab_bos(v) == 16376 && gkv__vocab_add_bos(v), "mini: BOS");
    ok(end == 16378 && gkv__vocab_is_end(v, end), "mini: <|im_end|> ends");
    ok(!gkv__vocab_is_end(v, 16377) && !gkv__vocab_is_end(v, 100) &&
       !gkv__vocab_is_end(v, GKV__NO_TOKEN), "mini: others do not");
    ok(gkv__vocab_is_end(v, 16379), "mini: <|end_of_text|> ends by its name");
    ok(gkv__vocab_find(v, "no such token", 13) == GKV__NO_TOKEN &&
       gkv__vocab_find(v, "", 0) == GKV__NO_TOKEN, "mini: unknown names");
    ok(gkv__token_text(v, end, false, buf, sizeof buf) == 0 &&
       gkv__token_text(v, end, true, buf, sizeof buf) == 10 &&
       memcmp(buf, "<|im_end|>", 10) == 0, "mini: text of a control token if asked for");
    ok(gkv__token_text(v, end, true, buf, 3) == 10, "mini: text longer than its room");
    ok(gkv__token_text(v, 16384, true, buf, sizeof buf) == 0, "mini: no text past the end");

    /* Ranges that begin and end inside words and white space, but hold no name. */
    for (size_t i = 12; i <= 21; i++)
        for (size_t j = i; j <= 21; j++)
            if (strcmp(ids_with(v, text, (struct gkv__range[]){ { i, j } }, 1),
                       ids_with(v, text, NULL, 0)))
                ok(0, "mini: plain range %zu..%zu changes the ids", i, j);
    ok(strstr(ids_with(v, text, NULL, 0), "16378") != NULL, "mini: names are parsed");
    ok(!strstr(ids_with(v, text, (struct gkv__range[]){ { 0, strlen(text) } }, 1), "1637"),
       "mini: names in plain text are not");
    for (size_t i = 21; i <= 30; i++)   /* one byte of the first <|im_end|> is plain */
        if (strcmp(ids_with(v, text, (struct gkv__range[]){ { i, i + 1 } }, 1),
                   ids_with(v, text, (struct gkv__range[]){ { 21, 31 } }, 1)))
            ok(0, "mini: a name that is plain in part, %zu", i);
    ok(1, "mini: plain ranges");
}

/* ---- generated vocabularies ---------------------------------------------------------- */

struct recipe {                 /* NULL or 0: as in a sound vocabulary */
    const char *model, *pre;
    const char *token[12];      /* after the 256 bytes; spelled as in a file, with the type first:
                                 * "1ab" is an ordinary token */
    const char *merge[12];
    float       score[12];      /* of these tokens; model "llama" has scores, and no merges */
    const char *bad;            /* what to get wrong */
    uint32_t    eos;
    const char *arch, *name;    /* of the model */
    const char *odd;            /* a last key, whose value is a list of truth values */
};

struct buffer {
    uint8_t at[65536];
    size_t  n;
    uint64_t n_kv;
};

static void put(struct buffer *b, uint64_t x, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        b->at[b->n++] = (uint8_t)(x >> 8 * i);
}

static void put_str(struct buffer *b, const char *s)
{
    put(b, strlen(s), 8);
    memcpy(b->at + b->n, s, strlen(s));
    b->n += strlen(s);
}

static void put_key(struct buffer *b, const char *key, uint32_t type)
{
    put_str(b, key);
    put(b, type, 4);
    b->n_kv++;
}

static void put_array(struct buffer *b, const char *key, uint32_t type, uint64_t n)
{
    put_key(b, key, GKV__ARR);
    put(b, type, 4);
    put(b, n, 8);
}

/* GPT-2's spelling of a byte, or SentencePiece's. */
static const char *spelled(unsigned c, bool spm)
{
    static char s[8];
    uint32_t    cp = c;

    if (spm) {
        snprintf(s, sizeof s, "<0x%02X>", c);
        return s;
    }
    if (c <= 0x20)
        cp = c + 0x100;
    else if (c >= 0x7f && c <= 0xa0)
        cp = c - 0x7f + 0x121;
    else if (c == 0xad)
        cp = 0x143;
    s[gkv__utf8_put(s, cp)] = 0;
    return s;
}

static gkv_status make(struct model *m, const struct recipe *r, gkv_error *err)
{
    static struct buffer b;
    const char          *bad = r->bad ? r->bad : "", *tmp = getenv("TMPDIR");
    char                 path[PATH_BYTES];
    const bool           listed = !r->model || strcmp(r->model, "llama");
    const bool           spm = r->model && (!listed || !strcmp(r->model, "gemma4"));
    size_t               n_tokens = 256, n_merges = 0;
    gkv_status           status;
    int                  fd;

    while (n_tokens < 256 + 12 && r->token[n_tokens - 256])
        n_tokens++;
    while (n_merges < 12 && r->merge[n_merges])
        n_merges++;
    b.n = b.n_kv = 0;
    put(&b, 0x46554747, 4);
    put(&b, 3, 4);
    put(&b, 0, 8);
    put(&b, 0, 8);              /* n_kv, below */
    if (strcmp(bad, "no model")) {
        put_key(&b, "tokenizer.ggml.model", GKV__STR);
        put_str(&b, r->model ? r->model : "gpt2");
    }
    if (strcmp(bad, "no pre")) {
        put_key(&b, "tokenizer.ggml.pre", GKV__STR);
        put_str(&b, r->pre ? r->pre : "qwen2");
    }
    if (!strcmp(bad, "tokens are one string")) {
        put_key(&b, "tokenizer.ggml.tokens", GKV__STR);
        put_str(&b, "a");
    } else if (!strcmp(bad, "an empty list of tokens")) {
        put_array(&b, "tokenizer.ggml.tokens", GKV__STR, 0);
    } else if (!strcmp(bad, "tokens are numbers")) {
        put_array(&b, "tokenizer.ggml.tokens", GKV__U32, n_tokens);
        for (size_t i = 0; i < n_tokens; i++)
            put(&b, i, 4);
    } else if (strcmp(bad, "no tokens")) {
        put_array(&b, "tokenizer.ggml.tokens", GKV__STR, n_tokens);
        for (unsigned i = 0; i < n_tokens; i++)
            put_str(&b, i < 256 ? !strcmp(bad, "a byte is missing") && i == 'x' ? "xx"
                                : !strcmp(bad, "an empty token") && i == 0xff ? ""
                                : !strcmp(bad, "no bytes that UTF-8 lacks") && (i == 0xc0 || i == 0xc1 || i > 0xf4) ? ""
                                : !strcmp(bad, "no byte f4") && i == 0xf4 ? ""
                                : !strcmp(bad, "broken UTF-8") && i == 0xff ? "\xff"
                                : spelled(i, spm) : r->token[i - 256] + 1);
    }
    if (!strcmp(bad, "types are strings")) {
        put_array(&b, "tokenizer.ggml.token_type", GKV__STR, n_tokens);
        for (size_t i = 0; i < n_tokens; i++)
            put_str(&b, "1");
    } else if (!strcmp(bad, "types are one number")) {
        put_key(&b, "tokenizer.ggml.token_type", GKV__I32);
        put(&b, 1, 4);
    } else if (strcmp(bad, "no types")) {
        size_t n = n_tokens - !strcmp(bad, "a type is missing");

        put_array(&b, "tokenizer.ggml.token_type", strcmp(bad, "types without a sign") ? GKV__I32 : GKV__U32, n);
        for (size_t i = 0; i < n; i++)
            put(&b, i < 256 ? spm ? 6 : 1 : (uint32_t)(r->token[i - 256][0] - '0'), 4);
    }
    if (!strcmp(bad, "one score")) {
        put_key(&b, "tokenizer.ggml.scores", GKV__F32);
        put(&b, 0, 4);
    } else if (!strcmp(bad, "scores are integers") || !strcmp(bad, "scores of 64 bits")) {
        put_array(&b, "tokenizer.ggml.scores", *(bad + 7) == 'a' ? GKV__I32 : GKV__F64, n_tokens);
        for (size_t i = 0; i < n_tokens; i++) {
            const double score = i < 256 ? 0 : (double)r->score[i - 256];
            uint64_t bits;

            memcpy(&bits, &score, sizeof bits);
            put(&b, bits, *(bad + 7) == 'a' ? 4 : 8);
        }
    } else if (!listed && strcmp(bad, "no scores")) {
        size_t n = n_tokens - !strcmp(bad, "a score is missing");

        put_array(&b, "tokenizer.ggml.scores", GKV__F32, n);
        for (size_t i = 0; i < n; i++) {
            float    score = i < 256 ? 0 : r->score[i - 256];
            uint32_t bits;

            memcpy(&bits, &score, sizeof bits);
            put(&b, i == 3 && !strcmp(bad, "a score is no number") ? 0x7fc00000 : bits, 4);
        }
    }
    if (!listed) {
        ;
    } else if (!strcmp(bad, "merges are one string")) {
        put_key(&b, "tokenizer.ggml.merges", GKV__STR);
        put_str(&b, "a b");
    } else if (!strcmp(bad, "merges are numbers")) {
        put_array(&b, "tokenizer.ggml.merges", GKV__U32, 0);
    } else if (strcmp(bad, "no merges")) {
        put_array(&b, "tokenizer.ggml.merges", GKV__STR, n_merges);
        for (size_t i = 0; i < n_merges; i++)
            put_str(&b, r->merge[i]);
    }
    if (r->eos) {
        put_key(&b, "tokenizer.ggml.eos_token_id", GKV__U32);
        put(&b, r->eos, 4);
    }
    if (r->arch) {
        put_key(&b, "general.architecture", GKV__STR);
        put_str(&b, r->arch);
    }
    if (r->name) {
        put_key(&b, "general.name", GKV__STR);
        put_str(&b, r->name);
    }
    if (r->odd) {
        put_array(&b, r->odd, GKV__BOOL, 1);
        put(&b, 1, 1);
    }
    for (size_t n = b.n, i = 16; i == 16; i++, b.n = n) {
        b.n = 16;
        put(&b, b.n_kv, 8);
    }
    put(&b, 0, 8);              /* room for alignment */

    snprintf(path, sizeof path, "%s/gkv-token-XXXXXX", tmp ? tmp : "/tmp");
    fd = mkstemp(path);
    if (fd < 0 || write(fd, b.at, b.n) != (ssize_t)b.n)
        must(NULL);
    close(fd);
    status = open_model(m, path, err);
    unlink(path);
    return status;
}

#define LONG "sixty-four bytes,_of_which_a_message_shows_all,_and_not_one_more"

static void check_refusals(void)
{
    static const struct {
        struct recipe r;
        gkv_status    status;
        const char   *says;
    } row[] = {
        { { .bad = "no model" },             GKV_FORMAT, "tokenizer.ggml.model" },
        { { .model = "llama", .bad = "a byte is missing" }, GKV_FORMAT, "byte 0x78" },
        { { .model = "llama", .bad = "no scores" }, GKV_FORMAT, "scores" },
        { { .model = "llama", .bad = "a score is missing" }, GKV_FORMAT, "scores" },
        { { .model = "llama", .bad = "a score is no number" }, GKV_FORMAT, "token 3 " },
        { { .model = "llama", .bad = "one score" }, GKV_FORMAT, "scores" },
        { { .model = "llama", .bad = "scores are integers" }, GKV_FORMAT, "scores" },
        { { .model = "llama", .token = { "1" LONG LONG LONG LONG LONG LONG LONG LONG "x" } }, GKV_UNSUPPORTED,
          "token 256 has 513 bytes, more than 512" },
        { { .model = LONG },                 GKV_UNSUPPORTED, "tokenizer \"" LONG "\" is" },
        { { .model = LONG "x" },             GKV_UNSUPPORTED, "tokenizer \"" LONG "\" is" },
        { { .pre = LONG "x" },               GKV_UNSUPPORTED, "pre-tokenizer \"" LONG "\" is" },
        { { .bad = "tokens are one string" }, GKV_FORMAT, "tokens" },
        { { .bad = "an empty list of tokens" }, GKV_FORMAT, "tokens is not a list" },
        { { .bad = "types are one number" }, GKV_FORMAT, "token_type" },
        { { .bad = "merges are numbers" },   GKV_FORMAT, "merges" },
        { { .bad = "no byte f4" },           GKV_FORMAT, "byte 0xf4" },
        { { .model = "t5" },                 GKV_UNSUPPORTED, "\"t5\"" },
        { { .model = "\x1b[31mred" },        GKV_UNSUPPORTED, "?[31mred" },
        { { .pre = "sanskrit" },             GKV_UNSUPPORTED, "\"sanskrit\"" },
        { { .bad = "no tokens" },            GKV_FORMAT, "tokens" },
        { { .bad = "tokens are numbers" },   GKV_FORMAT, "tokens" },
        { { .bad = "types are strings" },    GKV_FORMAT, "token_type" },
        { { .bad = "a type is missing" },    GKV_FORMAT, "255 token types" },
        { { .bad = "a byte is missing" },    GKV_FORMAT, "byte 0x78" },
        { { .bad = "no merges" },            GKV_FORMAT, "merges" },
        { { .bad = "merges are one string" }, GKV_FORMAT, "merges" },
        { { .merge = { "a b", "ab" } },      GKV_FORMAT, "merge 1" },
        { { .merge = { "" } },               GKV_FORMAT, "merge 0" },
        { { .merge = { " " } },              GKV_FORMAT, "merge 0" },
        { { .merge = { "a " } },             GKV_FORMAT, "merge 0" },
        { { .eos = 256 },                    GKV_FORMAT, "eos_token_id is 256" },
        { { .odd = "tokenizer.ggml.model", .bad = "no model" }, GKV_FORMAT, "tokenizer.ggml.model" },
        { { .odd = "tokenizer.ggml.pre", .bad = "no pre" }, GKV_FORMAT, "tokenizer.ggml.pre" },
        { { .odd = "tokenizer.ggml.bos_token_id" }, GKV_FORMAT, "tokenizer.ggml.bos_token_id" },
        { { .odd = "tokenizer.ggml.add_bos_token" }, GKV_FORMAT, "tokenizer.ggml.add_bos_token" },
        { { .model = "llama", .odd = "tokenizer.ggml.add_space_prefix" }, GKV_FORMAT, "add_space_prefix" },
        { { .model = "llama", .odd = "general.architecture" }, GKV_FORMAT, "general.architecture" },
        { { .model = "llama", .odd = "general.name" }, GKV_FORMAT, "general.name" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct model m;
        gkv_error    err;
        gkv_status   status = make(&m, &row[i].r, &err);

        ok(status == row[i].status && strstr(err.text, row[i].says), "refused: %s",
           err.text);
        close_model(&m);
    }
}

static void check_odd(void)
{
    static const char *const harmless[] = { "no types", "types without a sign", "an empty token", "broken UTF-8",
                                            "no bytes that UTF-8 lacks", "no pre" };
    gkv_error                err;
    struct model             m;
    char                     buf[64];

    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        struct recipe r = { .bad = harmless[i] };

        ok(make(&m, &r, &err) == GKV_OK && gives(m.v, "ab", true, IDS('a', 'b')),
           "taken: %s", harmless[i]);
        close_model(&m);
    }

    make(&m, &(struct recipe){ .token = { "1ab", "1abcd", "1ab" },
         .merge = { "a b", "c d", "ab cd", "a b", "x y", "\xe4\xb8\x80 a", "b a b" } },
         &err);
    ok(gives(m.v, "abcd", true, IDS(257)), "a merge by way of a string that is no token");
    ok(gives(m.v, "cdxy", true, IDS('c', 'd', 'x', 'y')), "such strings go back to bytes");
    ok(gives(m.v, "ababd", true, IDS(256, 256, 'd')), "of equal tokens, the first");
    close_model(&m);

    make(&m, &(struct recipe){ .token = { "1aa", "1aaa" },
                               .merge = { "a a", "aa a" } }, &err);
    ok(gives(m.v, "aaaaa", true, IDS(256, 257)), "leftmost pair first");
    close_model(&m);

    make(&m, &(struct recipe){ .pre = "llama-bpe", .token = { "1abc", "1bc" },
                               .merge = { "b c" } }, &err);
    ok(gives(m.v, "abc", true, IDS(256)) && gives(m.v, "abcc", true, IDS('a', 257, 'c')),
       "llama-bpe takes whole words first");
    close_model(&m);

    make(&m, &(struct recipe){ .token = { "3ab", "4cd", "4c\xc3\xa9", "4bcd", "2?", "3  " },
                               .merge = { "a b", "c d" } }, &err);
    ok(gives(m.v, "ab?", true, IDS('a', 'b', '?')), "text never becomes a control token");
    ok(gives(m.v, "ab?", false, IDS(256, 260)), "unless names are parsed");
    ok(gives(m.v, "abcdcd", true, IDS('a', 259, 257)), "user tokens in plain text");
    ok(gives(m.v, "abcdcd", false, IDS('a', 259, 257)), "long names before short ones");
    ok(gives(m.v, "a    b", false, IDS('a', 261, 261, 'b')), "control token of spaces");
    ok(gives(m.v, "c\xc3\xa9\xc3\xa9", true, IDS(258, 0xc3, 0xa9)),
       "user token as it is spelled");
    ok(gkv__token_text(m.v, 258, false, buf, sizeof buf) == 3 &&
       memcmp(buf, "c\xc3\xa9", 3) == 0, "text of a user token");
    ok(gkv__token_safe_cut(m.v, "xx c", 4) == 2, "safe cut before a space");
    ok(gkv__token_safe_cut(m.v, "xx", 2) == 0 && gkv__token_safe_cut(m.v, "", 0) == 0 &&
       gkv__token_safe_cut(m.v, "xx\xc3", 3) == 0, "no safe cut at the end of it");
    close_model(&m);

    make(&m, &(struct recipe){ .token = { "4x y", "3<|im_end|>", "1</s>", "4<|fim_prefix|>",
         "4<|file_sep|>", "1x>", "4y." }, .eos = 'e' }, &err);
    ok(gkv__token_safe_cut(m.v, "xx yy.", 6) == 0 &&
       gkv__token_safe_cut(m.v, "ab xx yy", 8) == 2, "no safe cut inside a user token");
    ok(gkv__vocab_is_end(m.v, 257) && gkv__vocab_is_end(m.v, 258) &&
       gkv__vocab_is_end(m.v, 260) && gkv__vocab_is_end(m.v, 'e') &&
       !gkv__vocab_is_end(m.v, 259) && !gkv__vocab_is_end(m.v, 261),
       "tokens that end a turn");
    ok(gives(m.v, "<|fim_prefix|>x", false, IDS(259, 'x')) &&
       gives(m.v, "<|fim", true, IDS('<', '|', 'f', 'i', 'm')) &&
       gkv__token_text(m.v, 259, false, buf, sizeof buf) == 0, "control tokens by name");
    ok(gkv__vocab_bos(m.v) == GKV__NO_TOKEN && !gkv__vocab_add_bos(m.v), "no BOS");
    check_made(m.v, "made");
    close_model(&m);

    /* Merges out of order, and user tokens that overlap.                     */
    make(&m, &(struct recipe){ .token = { "4aa", "4aaa", "4 ", "4a b", "4b\xc4\xa0", "1ea",
         "1et", "1tea" }, .merge = { "ea t", "te a", "e a", "t e", "e e", "ee a" } }, &err);
    check_made(m.v, "overlaps");
    close_model(&m);
}

/* Names that only nearly spell a byte, and one that does; empty names; a character that no byte is spelled as. */
static void check_names(void)
{
    static const char *const near[] = { "<0xG1>", "<0x1G>", "<1x41>", "<0x41)", "<0x41", "<0x4a>" };
    gkv_error    err;
    struct model m;
    char         buf[8];

    make(&m, &(struct recipe){ .model = "llama", .token = { "6<0xG1>", "6<0x1G>", "6<1x41>", "6<0x41)", "6<0x41", "6<0x4a>",
         "6<0x41>", "3", "4" } }, &err);
    for (uint32_t i = 0; i < sizeof near / sizeof *near; i++)
        ok(gkv__token_text(m.v, 256 + i, true, buf, sizeof buf) == strlen(near[i]) && !memcmp(buf, near[i], strlen(near[i])),
           "%s is a name of several bytes", near[i]);
    ok(gkv__token_text(m.v, 262, true, buf, sizeof buf) == 1 && *buf == 'A', "<0x41> is one byte");
    ok(gives(m.v, "A", false, IDS(' ', 'A')), "and of the two, the text becomes the first");
    ok(gkv__token_text(m.v, 263, true, buf, sizeof buf) == 0 && gkv__token_text(m.v, 264, true, buf, sizeof buf) == 0,
       "empty names");
    close_model(&m);
    make(&m, &(struct recipe){ .token = { "3", "4", "1", "1\xc2\xad", "1\xc2\xac", "3x" } }, &err);
    ok(gives(m.v, "axb", false, IDS('a', 261, 'b')), "an empty name is in no text");
    ok(gkv__token_text(m.v, 259, true, buf, sizeof buf) == 2 && !memcmp(buf, "\xc2\xad", 2) &&
       gkv__token_text(m.v, 260, true, buf, sizeof buf) == 1 && *buf == (char)0xac, "U+00AD spells no byte, U+00AC does");
    close_model(&m);
}

/* Names in documents, in the gaps between them, and on either side of both. */
static void check_gaps(void)
{
    static const struct { const char *text; struct gkv__range said[2]; size_t n; uint32_t id[12]; } row[] = {
        { "<c>xuserwordy", { { 3, 13 } }, 1, { 258, 'x', 256, 'y' } },
        { "xuserwordy<c>", { { 0, 10 } }, 1, { 'x', 256, 'y', 258 } },
        { "userword<c>userword", { { 8, 11 } }, 1, { 256, '<', 'c', '>', 256 } },
        { "a<c>bB<c>Bc<c>d", { { 4, 6 }, { 9, 11 } }, 2, { 'a', 258, 'b', 'B', 258, 'B', 'c', 258, 'd' } },
        { "<c>uword<c>uword", { { 3, 8 }, { 11, 16 } }, 2, { 258, 257, 258, 257 } },
        { "uworduword<c>", { { 0, 5 }, { 5, 10 } }, 2, { 257, 257, 258 } },
    };
    gkv_error    err;
    struct model m;

    make(&m, &(struct recipe){ .token = { "4userword", "4uword", "3<c>" } }, &err);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct gkv__tokens t = { 0 };
        size_t             n = 0;

        while (row[i].id[n])
            n++;
        ok(gkv__tokenize(m.v, row[i].text, strlen(row[i].text), row[i].said, row[i].n, &t, &err) == GKV_OK &&
           same(&t, row[i].id, n), "names around what is said: %s", row[i].text);
        gkv__tokens_free(&t);
    }
    close_model(&m);
}

static bool are_same(const struct recipe *r, const struct recipe *s)
{
    gkv_error    err;
    struct model m, n;
    bool         is, back;

    if (make(&m, r, &err) != GKV_OK || make(&n, s, &err) != GKV_OK)
        must(NULL);
    is = gkv__vocab_same(m.v, n.v);
    back = gkv__vocab_same(n.v, m.v);
    if (is != back)
        ok(0, "the same in one order only");
    close_model(&m);
    close_model(&n);
    return is;
}

static void check_same(void)
{
    const struct recipe one = { .token = { "1ab", "1c" } };

    ok(are_same(&one, &one), "the same tokens");
    ok(are_same(&one, &(struct recipe){ .pre = "llama-bpe", .token = { "1ab", "1c" }, .merge = { "a b" } }),
       "by other merges and words");
    ok(!are_same(&one, &(struct recipe){ .token = { "1ab", "1c", "1d" } }), "not with one more");
    ok(!are_same(&one, &(struct recipe){ .token = { "1a", "1bc" } }), "not with others of the same bytes");
    ok(!are_same(&one, &(struct recipe){ .token = { "1ab", "1d" } }), "not with another byte");
    ok(!are_same(&one, &(struct recipe){ .token = { "1ab", "4c" } }), "not with another type");
    ok(!are_same(&(struct recipe){ .model = "llama" }, &(struct recipe){ .model = "gemma4" }), "not of another kind");
}

/* What can be asked without a buffer, and what is refused before anything is allocated. */
static void check_room(void)
{
    struct gkv__tokens t = { .limit = 1 << 20 };
    gkv_error    err;
    struct model m;
    char         buf[8] = "-------", many[100];

    make(&m, &(struct recipe){ .model = "llama", .token = { "1\xe2\x96\x81", "1\xe2\x96\x81""a", "3<s>", "4 u", "1" } }, &err);
    ok(gkv__token_text(m.v, 257, false, NULL, 0) == 2 && gkv__token_text_after(m.v, 'a', 257, false, NULL, 0) == 2 &&
       gkv__token_text_after(m.v, GKV__NO_TOKEN, 257, false, NULL, 0) == 1, "the bytes of a token, without a buffer");
    ok(gkv__token_text_after(m.v, 258, 257, false, buf, 1) == 1 && buf[1] == '-' &&
       gkv__token_text_after(m.v, 258, 257, false, buf, 2) == 1 && buf[0] == 'a' && buf[2] == '-', "and in as much as fits");
    ok(gkv__token_text_after(m.v, GKV__NO_TOKEN, 259, false, buf, 8) == 2 && !memcmp(buf, " u", 2) &&
       gkv__token_text_after(m.v, 259, 257, false, buf, 8) == 1 && gkv__token_text_after(m.v, 257, 257, false, buf, 8) == 2 &&
       gkv__token_text_after(m.v, 258, 'a', false, buf, 8) == 1 && *buf == 'a' &&
       gkv__token_text_after(m.v, 258, 260, false, buf, 8) == 0 && gkv__token_text_after(m.v, 258, 258, true, buf, 8) == 3 &&
       gkv__token_text_after(m.v, 258, 999, true, buf, 8) == 0,
       "a space is dropped behind a name and in front of all, of a word alone");
    ok(gkv__tokens_reserve(&t, SIZE_MAX, &err) == GKV_NOMEM && !t.id, "no room for 2^64 tokens: %s", err.text);
    ok(gkv__tokens_count(&t, SIZE_MAX, 0, &err) == GKV_LIMIT && gkv__tokens_count(&t, 1, UINT64_MAX, &err) == GKV_LIMIT &&
       gkv__tokens_count(&t, 1, 1 << 20, &err) == GKV_LIMIT && t.most == 0, "more than the limit: %s", err.text);
    ok(gkv__tokens_count(&t, 1, (1 << 20) - 8, &err) == GKV_OK && t.most == 1 << 20, "as much as the limit");
    t.limit = 2 * GKV__TOKEN_BYTES;
    t.most = 0;
    ok(gkv__tokenize_after(m.v, 'a', "b<s>", 4, NULL, 0, &t, &err) == GKV_OK && t.n == 2 && t.id[0] == 'b' && t.id[1] == 258,
       "two tokens behind another, of which there is room for as many");
    gkv__tokens_free(&t);
    memset(many, 'b', sizeof many);
    t.limit = 80 * GKV__TOKEN_BYTES;            /* up to 64 are not counted one by one */
    ok(gkv__tokenize_after(m.v, 'a', many, sizeof many, NULL, 0, &t, &err) == GKV_LIMIT && t.n == 0, "no room for a hundred");
    gkv__tokens_free(&t);
    t.limit = 1;
    ok(gkv__tokenize_after(m.v, 'a', "b", 1, NULL, 0, &t, &err) == GKV_LIMIT && t.n == 0, "no room for one");
    gkv__tokens_free(&t);
    close_model(&m);
}

/* The same with SentencePiece. */
static void check_spm(void)
{
    gkv_error    err;
    struct model m;

    make(&m, &(struct recipe){ .model = "llama", .token = { "1\xe2\x96\x81", "1a", "1b", "1c",
         "1ab", "1bc", "1abc", "1\xe2\x96\x81""a", "3<s>", "4<u>" },
         .score = { -9, -9, -9, -9, -1, -2, -3, -4, 0, 0 } }, &err);
    ok(gives(m.v, "abc", true, IDS(256, 262)) && gives(m.v, "bca", true, IDS(256, 261, 257)),
       "spm: the highest score first");
    ok(gives(m.v, "a a", true, IDS(263, 263)) && gives(m.v, "ac", true, IDS(263, 259)) &&
       gives(m.v, "", true, IDS(GKV__NO_TOKEN)), "spm: a space in front, if there is text");
    ok(gives(m.v, "a\xe2\x96\x81""a", true, IDS(263, 263)), "spm: U+2581 is a space");
    ok(gives(m.v, "ax\xc3\xa9", true, IDS(263, 'x', 0xc3, 0xa9)), "spm: bytes of the unknown");
    ok(gives(m.v, "<s>a<u>ab", true, IDS(256, '<', 's', '>', 257, 265, 256, 260)) &&
       gives(m.v, "<s>a<u>ab", false, IDS(264, 263, 265, 256, 260)),
       "spm: a space after special tokens");
    check_made(m.v, "spm");
    close_model(&m);

    for (int wide = 0; wide < 2; wide++) {
        make(&m, &(struct recipe){ .model = "llama", .token = { "1\xe2\x96\x81", "1a", "1aa",
             "1aaaa", "1\xc3\xa9\xc3\xa9", "1<0x41>", "1b\xc3\xa9" },
             .score = { 0, 0, 1, 1, 2, 3, 2 }, .bad = wide ? "scores of 64 bits" : NULL }, &err);
        ok(gives(m.v, "aaaaaaa", true, IDS(256, 259, 258, 257)), "spm: equal scores, leftmost first");
        ok(gives(m.v, "b\xc3\xa9\xc3\xa9", true, IDS(256, 262, 0xc3, 0xa9)) &&
           gives(m.v, "\xc3\xa9\xc3\xa9", true, IDS(256, 260)),
           "spm: characters that are no token can merge");
        ok(gives(m.v, "<0x41>", true, IDS(256, '<', '0', 'x', '4', '1', '>')),
           "spm: a byte's name is text");
        close_model(&m);
    }

    /* Of two tokens with the same text, the first, by its own score; an empty one is no part of any. */
    make(&m, &(struct recipe){ .model = "llama", .token = { "1a", "1b", "1c", "1ab", "1ab", "1bc", "1" },
         .score = { 0, 0, 0, -2, -1, -1.5f, 0 } }, &err);
    ok(gives(m.v, "xab", true, IDS(' ', 'x', 259)) && gives(m.v, "xabc", true, IDS(' ', 'x', 256, 261)),
       "spm: equal texts, the first");
    close_model(&m);
}

/* Phi-3's control tokens take the white space after them along, three of them excepted; it is known by its
 * architecture, or by its name. */
static void check_phi3(void)
{
    static const struct { const char *arch, *name; bool strips; } row[] = {
        { "phi3", NULL, true }, { "phi3x", NULL, false }, { "llama", "Phi-3 mini", true }, { "llama", "my phi3", true },
        { "llama", "PHI-35", true }, { NULL, "phi-2", false }, { NULL, "philosophy 3", false }, { NULL, "phi-", false },
        { NULL, "phi", false }, { NULL, "php-3", false }, { NULL, "pha3", false }, { NULL, "xhi3", false },
        { NULL, NULL, false }, { "phi4", NULL, false }, { NULL, "Pxi-3", false }, { NULL, "phj3", false },
        { NULL, "phi-4", false }, { NULL, "a Phi_3", false }, { NULL, "phi3", true },
    };
    gkv_error    err;
    struct model m;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        make(&m, &(struct recipe){ .model = "llama", .arch = row[i].arch, .name = row[i].name,
             .token = { "1\xe2\x96\x81", "1a", "3<|end|>", "3<s>", "3<unk>", "3<|endoftext|>", "4<u>", "3<|endo" },
             .score = { -9, -9 }, .odd = "a key of 51 bytes: behind the name stands a \"3\"...." }, &err);
        ok(gives(m.v, "<|end|> \t\n\v\f\ra", false, row[i].strips ? IDS(258, 256, 257)
                 : IDS(258, 256, 256, '\t', '\n', '\v', '\f', '\r', 257)),
           "%s \"%s\": white space after <|end|> is %s", row[i].arch ? row[i].arch : "", row[i].name ? row[i].name : "",
           row[i].strips ? "part of it" : "text");
        ok(gives(m.v, "<s> a<unk> <|endoftext|> <u> ", false,
                 IDS(259, 256, 256, 257, 260, 256, 256, 261, 256, 256, 262, 256, 256)),
           "... not after others");
        ok(gives(m.v, "<|end|>\016", false, IDS(258, 256, 14)) && gives(m.v, "<|end|> ", false,
           row[i].strips ? IDS(258) : IDS(258, 256, 256)) && gives(m.v, "<|endo a", false,
           row[i].strips ? IDS(263, 256, 257) : IDS(263, 256, 256, 257)), "... up to what is none, or the end");
        {
            const struct gkv__range said = { 8, 10 };           /* plain */
            struct gkv__tokens      t = { 0 };

            ok(gkv__tokenize(m.v, "<|end|>  a", 10, &said, 1, &t, &err) == GKV_OK &&
               (row[i].strips ? same(&t, (const uint32_t[]){ 258, 256, 256, 257 }, 4)
                : same(&t, (const uint32_t[]){ 258, 256, 256, 256, 257 }, 5)),
               "... and not what a document begins with");
            gkv__tokens_free(&t);
        }
        close_model(&m);
    }
}

/* Spelled like SentencePiece, merged by a list, without a space in front. */
static void check_gemma4(void)
{
    gkv_error    err;
    struct model m;

    make(&m, &(struct recipe){ .model = "gemma4", .token = { "1\xe2\x96\x81", "1a", "1b", "1c", "1ab", "1bc", "1abc",
         "1\xe2\x96\x81""a", "1\n\n", "3<s>", "4<u>" },
         .merge = { "b c", "a b", "a bc", "\xe2\x96\x81 a", "\n \n" } }, &err);
    ok(gives(m.v, "abc", true, IDS(262)) && gives(m.v, "ab", true, IDS(260)), "gemma4: the first merge first");
    ok(gives(m.v, "a a", true, IDS(257, 263)) && gives(m.v, "a\xe2\x96\x81""a", true, IDS(257, 263)),
       "gemma4: no space in front, and U+2581 is a space");
    ok(gives(m.v, "x\xc3\xa9\n\n\n", true, IDS('x', 0xc3, 0xa9, 264, '\n')), "gemma4: bytes of the unknown, and lines");
    ok(gives(m.v, "<s>a<u>ab", false, IDS(265, 257, 266, 260)), "gemma4: special tokens");
    check_made(m.v, "gemma4");
    close_model(&m);
    ok(make(&m, &(struct recipe){ .model = "gemma4", .bad = "no merges" }, &err) == GKV_FORMAT &&
       strstr(err.text, "merges is not a list"), "gemma4: refused without merges");
    close_model(&m);
}

/* Checks pre-tokenizers; build-aux/pre-vectors.py says what a line is. */
static void check_words(void)
{
    size_t len, cases = 0, bad = 0;
    char  *all = slurp(path_in(srcdir, "tests/files/token/words.txt"), &len), *line, *rest;

    if (!all) {
        ok(0, "tests/files/token/words.txt is missing");
        return;
    }
    for (line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), cases++) {
        char                  *name = strtok(line, " "), *hex = strtok(NULL, " "), *word;
        const struct gkv__pre *pre = gkv__pre_find((struct gkv__str){ name, strlen(name) });
        size_t                 n = strlen(hex) / 2, at = 0;
        uint8_t               *text = must(malloc(n));

        for (size_t i = 0; i < n; i++) {
            unsigned byte = 0;

            sscanf(hex + 2 * i, "%2x", &byte);
            text[i] = (uint8_t)byte;
        }
        while (pre && at < n && (word = strtok(NULL, " "))) {
            size_t want = strtoul(word, NULL, 10), got = pre->word(text + at, text + n);

            if (want != got) {
                printf("# %s %s: %zu bytes at %zu, not %zu\n", name, hex, got, at, want);
                break;
            }
            at += want;
        }
        bad += at != n;
        free(text);
    }
    free(all);
    ok(cases > 1000 && bad == 0, "words of pre-tokenizers: %zu texts, %zu differ", cases, bad);
}

static void check_unicode(void)
{
    static const struct {
        const char *text;
        size_t      offset;
        int         cut;
    } row[] = {
        { "", 0, 0 }, { "plain ASCII text", 16, 0 }, { "\xc3\xa9", 2, 0 },
        { "a\xc3", 1, 1 },
        { "a\xe2\x82", 1, 1 }, { "\xe2\x82\xac", 3, 0 }, { "\xc0\xaf", 0, 0 },
        { "\xe0\x80", 0, 0 }, { "\xe0", 0, 1 }, { "\xed\xa0\x80", 0, 0 },
        { "\xed\x9f", 0, 1 },
        { "\xf4\x8f\xbf\xbf", 4, 0 }, { "\xf4\x90\x80\x80", 0, 0 }, { "\xf5", 0, 0 },
        { "12345678\x80", 8, 0 }, { "\xe2\x82\xe2\x82", 0, 0 }, { "a\xf0\x90\x80", 1, 1 },
    };
    bool good = true;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int cut = -1;

        good &= gkv__utf8_check(row[i].text, strlen(row[i].text), &cut) == row[i].offset &&
                cut == row[i].cut;
    }
    ok(good, "gkv__utf8_check");
    good = true;
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        unsigned char s[4];
        uint32_t      back;
        int           bad, surrogate = cp >= 0xd800 && cp < 0xe000;
        size_t        n = gkv__utf8_put((char *)s, cp);

        good &= gkv__utf8_next(s, s + n, &back, &bad) == (surrogate ? 1 : n) &&
                bad == surrogate && back == (surrogate ? 0xfffd : cp);
    }
    ok(good, "gkv__utf8_next");
    ok(gkv__uc_class('a') == GKV__UC_LETTER && gkv__uc_class('7') == GKV__UC_NUMBER &&
       gkv__uc_class(' ') == GKV__UC_SPACE && gkv__uc_class('_') == GKV__UC_OTHER &&
       gkv__uc_class(0x1c) == GKV__UC_OTHER && gkv__uc_class(0x85) == GKV__UC_SPACE &&
       gkv__uc_class(0x3000) == GKV__UC_SPACE && gkv__uc_class(0x301) == GKV__UC_OTHER &&
       gkv__uc_class(0x4e00) == GKV__UC_LETTER && gkv__uc_class(0xbd) == GKV__UC_NUMBER &&
       gkv__uc_class(0x2164) == GKV__UC_NUMBER &&
       gkv__uc_class(0x10ffff) == GKV__UC_OTHER &&
       gkv__uc_class(UINT32_MAX) == GKV__UC_OTHER, "gkv__uc_class");
    ok(gkv__uc_kind('A') == GKV__UC_UPPER && gkv__uc_kind(0x1c5) == GKV__UC_UPPER &&
       gkv__uc_kind('a') == GKV__UC_LOWER && gkv__uc_kind(0x2b0) == GKV__UC_CASELESS &&
       gkv__uc_kind(0x4e00) == GKV__UC_CASELESS && gkv__uc_kind(0x301) == GKV__UC_MARK &&
       gkv__uc_kind('!') == GKV__UC_PUNCT && gkv__uc_kind('+') == GKV__UC_REST,
       "gkv__uc_kind");
}

int main(void)
{
    static const char *const corpus[] = { "gpt-2", "llama-bpe", "qwen2", "llama-spm", "phi-3",
                                          "mistral-v1", "mistral-v3" };
    /* Vocabularies in the repository, made by build-aux/gemma-vectors.py and bpe-vectors.py. */
    static const char *const made[] = { "gemma4", "qwen35", "gpt-4o", "llama4", "tekken", "lfm2", "smollm" };
    static char              beside[PATH_BYTES];
    struct model             m;
    gkv_error                err;

    srcdir = getenv("srcdir");
    srcdir = srcdir ? srcdir : ".";
    shared = getenv("GKV_SHARED");
    snprintf(beside, sizeof beside, "%s/../shared", srcdir);
    shared = shared ? shared : beside;

    check_unicode();
    check_words();
    if (BIG_ENDIAN_HOST)
        return done();
    check_refusals();
    check_odd();
    check_names();
    check_gaps();
    check_same();
    check_room();
    check_spm();
    check_phi3();
    check_gemma4();
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char file[64];

        snprintf(file, sizeof file, "tests/files/token/%s.gguf", made[i]);
        if (open_model(&m, path_in(srcdir, file), &err) != GKV_OK)
            ok(0, "%s: %s", made[i], err.text);
        else
            check_all(m.v, made[i]);
        close_model(&m);
    }

    if (open_model(&m, path_in(srcdir, "data/gemkv-mini-q8_0.gguf"), &err) == GKV_OK) {
        check_mini(m.v);
        check_memory(m.v);
        check_all(m.v, "mini");
    } else {
        ok(err.status == GKV_IO, "mini # SKIP %s", err.text);
    }
    close_model(&m);
    for (size_t i = 0; i < sizeof corpus / sizeof *corpus; i++) {
        char file[64], path[PATH_BYTES];

        snprintf(file, sizeof file, "tokenizers/ggml-vocab-%s.gguf", corpus[i]);
        snprintf(path, sizeof path, "%s", path_in(shared, file));
        if (open_model(&m, path, &err) == GKV_OK) {
            check_pairs(m.v, path);
            check_all(m.v, corpus[i]);
        } else {
            ok(err.status == GKV_IO, "%s # SKIP %s", corpus[i], err.text);
        }
        close_model(&m);
    }
    return done();
}
