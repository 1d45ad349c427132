/* SPDX-License-Identifier: BSD-2-Clause
 * token.c - see token.h: the table of tokens, and the special ones among them.
 *
 * Special tokens split a text before anything else does, as in llama.cpp: the longest name
 * first, then shorter ones in the text that is left, each from left to right.  The kinds of
 * tokenizer only see the text in between.  They never produce control tokens, even from a word
 * that is spelled like one: text in a document must not end a turn. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/token/kind.h"
#include "src/base/unicode.h"

#define MAX_TOKENS (1u << 28)

static const struct gkv__tokenizer *const tokenizers[] = {
    &gkv__tokenizer_bpe, &gkv__tokenizer_spm, &gkv__tokenizer_gemma4,
};

#define N_TOKENIZERS (sizeof tokenizers / sizeof *tokenizers)

/* Values of tokenizer.ggml.token_type. */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

/* Tokens that llama.cpp knows by name, because files do not mark them.  A token with one of these
 * names is a control token whatever its type.  Each FIM role goes to at most one token, and only
 * if the file does not name a token for it by the role's key. */
enum role { END, FIM_PRE, FIM_SUF, FIM_MID, FIM_PAD, FIM_REP, FIM_SEP, N_ROLES };

static const struct {
    const char *name;
    enum role   role;
} known[] = {
    { "<|eot_id|>",         END }, { "<|im_end|>",                              END },
    { "<|end|>",            END }, { "<|return|>",                              END },
    { "<|call|>",           END }, { "<|flush|>",                               END },
    { "<|calls|>",          END }, { "<end_of_turn>",                           END },
    { "<|endoftext|>",      END }, { "</s>",                                    END },
    { "<|eom_id|>",         END }, { "<EOT>",                                   END },
    { "_<EOT>",             END }, { "[EOT]",                                   END },
    { "[EOS]",              END }, { "<|end_of_text|>",                         END },
    { "<end_of_utterance>", END }, { "<\uff5cend\u2581of\u2581sentence\uff5c>", END },
    { "<eos>",              END }, { "<turn|>",                                 END },
    { "<|fim_prefix|>", FIM_PRE }, { "<fim-prefix>",             FIM_PRE },
    { "<fim_prefix>",   FIM_PRE }, { "<\uff5cfim\u2581begin\uff5c>", FIM_PRE },
    { "<PRE>",          FIM_PRE }, { "<|code_prefix|>",          FIM_PRE },
    { "<|prefix|>",     FIM_PRE },
    { "<|fim_suffix|>", FIM_SUF }, { "<fim-suffix>",             FIM_SUF },
    { "<fim_suffix>",   FIM_SUF }, { "<\uff5cfim\u2581hole\uff5c>",  FIM_SUF },
    { "<SUF>",          FIM_SUF }, { "<|code_suffix|>",          FIM_SUF },
    { "<|suffix|>",     FIM_SUF },
    { "<|fim_middle|>", FIM_MID }, { "<fim-middle>",             FIM_MID },
    { "<fim_middle>",   FIM_MID }, { "<\uff5cfim\u2581end\uff5c>",   FIM_MID },
    { "<MID>",          FIM_MID }, { "<|code_middle|>",          FIM_MID },
    { "<|middle|>",     FIM_MID },
    { "<|fim_pad|>",    FIM_PAD }, { "<fim-pad>",                FIM_PAD },
    { "<fim_pad>",      FIM_PAD }, { "<PAD>",                    FIM_PAD },
    { "[PAD]",          FIM_PAD },
    { "<|fim_repo|>",   FIM_REP }, { "<|repo_name|>",            FIM_REP },
    { "<fim-repo>",     FIM_REP }, { "<REPO>",                   FIM_REP },
    { "<reponame>",     FIM_REP },
    { "<|file_sep|>",   FIM_SEP },
};

/* Keys that name one token; ends: the model stops at it. */
static const struct {
    const char *key;
    enum role   role;
    bool        ends;
} id_keys[] = {
    { "tokenizer.ggml.eos_token_id",     END,     true  },
    { "tokenizer.ggml.eot_token_id",     END,     true  },
    { "tokenizer.ggml.eom_token_id",     END,     true  },
    { "tokenizer.ggml.fim_pre_token_id", FIM_PRE, false },
    { "tokenizer.ggml.prefix_token_id",  FIM_PRE, false },
    { "tokenizer.ggml.fim_suf_token_id", FIM_SUF, false },
    { "tokenizer.ggml.suffix_token_id",  FIM_SUF, false },
    { "tokenizer.ggml.fim_mid_token_id", FIM_MID, false },
    { "tokenizer.ggml.middle_token_id",  FIM_MID, false },
    { "tokenizer.ggml.fim_pad_token_id", FIM_PAD, true  },
    { "tokenizer.ggml.fim_rep_token_id", FIM_REP, true  },
    { "tokenizer.ggml.fim_sep_token_id", FIM_SEP, true  },
};

/* Few texts contain a special token, so one pass over the text first finds the names that do not occur:
 * from every byte, binary search narrows down the names that agree with the text. */
#define PEEK 16                 /* bytes; names that agree so far are searched for in full */

struct gkv__specials {
    uint32_t  n, n_user;
    uint32_t *id;               /* longest first, then by number            */
    uint32_t *by_text;          /* their indices in id, in order of text    */
    uint32_t  first[257];       /* index in by_text, by first byte          */
    uint8_t   inside[8192];     /* bit for each pair of adjacent bytes in a user token */
};

struct fragment {
    size_t   start, end;
    uint32_t id;                /* GKV__NO_TOKEN: text */
};

struct fragments {
    struct fragment *at;
    size_t           n, cap;
};

static inline const uint8_t *bytes_of(const struct gkv__vocab *v, uint32_t id, size_t *n)
{
    *n = v->start[id + 1] - v->start[id];
    return v->text + v->start[id];
}

/* ---- opening ------------------------------------------------------------------------- */

static gkv_status no_memory(gkv_error *err)
{
    return gkv__fail(err, GKV_NOMEM, "no memory for the tokenizer");
}

/* "<0x0A>" spells a byte, if its type in the file is BYTE. */
static bool spells_byte(struct gkv__str s, uint8_t *out)
{
    static const char digits[] = "0123456789ABCDEF";
    const char       *high, *low;

    if (s.n != 6 || memcmp(s.p, "<0x", 3) != 0 || s.p[5] != '>')
        return false;
    high = memchr(digits, s.p[3], 16);
    low = memchr(digits, s.p[4], 16);
    if (!high || !low)
        return false;
    *out = (uint8_t)((high - digits) << 4 | (low - digits));
    return true;
}

static gkv_status read_tokens(struct gkv__vocab *v, const struct gkv__gguf *g,
                              gkv_error *err)
{
    const struct gkv__kv *list = gkv__gguf_find(g, "tokenizer.ggml.tokens");
    const struct gkv__kv *types = gkv__gguf_find(g, "tokenizer.ggml.token_type");
    const uint8_t        *cursor;
    uint64_t              total = 0;
    uint32_t              at = 0;

    if (!list || !list->is_array || list->type != GKV__STR || list->n == 0)
        return gkv__fail(err, GKV_FORMAT, "tokenizer.ggml.tokens is not a list of strings");
    if (types && (!types->is_array || (types->type != GKV__I32 && types->type != GKV__U32)))
        return gkv__fail(err, GKV_FORMAT,
                         "tokenizer.ggml.token_type is not a list of integers");
    if (types && types->n != list->n)
        return gkv__fail(err, GKV_FORMAT, "tokenizer has %" PRIu64 " tokens, but %" PRIu64
                         " token types", list->n, types->n);
    cursor = list->data;
    for (uint64_t i = 0; i < list->n; i++)      /* no overflow: all lie in one mapping */
        total += gkv__gguf_next_str(&cursor).n;
    if (list->n > MAX_TOKENS || total > UINT32_MAX)
        return gkv__fail(err, GKV_UNSUPPORTED, "tokenizer has %" PRIu64 " tokens of %"
                         PRIu64 " bytes: too many", list->n, total);

    v->n = (uint32_t)list->n;
    v->start = malloc(((size_t)v->n + 1) * sizeof *v->start);
    v->attr = malloc(v->n);
    v->text = malloc(total ? total : 1);
    if (!v->start || !v->attr || !v->text)
        return no_memory(err);

    cursor = list->data;
    for (uint32_t id = 0; id < v->n; id++) {
        struct gkv__str s = gkv__gguf_next_str(&cursor);
        int64_t         type = types ? gkv__gguf_int_at(types, id) : NORMAL;
        size_t          n = SIZE_MAX;

        v->start[id] = at;
        v->attr[id] = 0;
        if (type == CONTROL || type == UNKNOWN) {
            v->attr[id] = GKV__TOK_CONTROL;
        } else if (type == USER_DEFINED) {
            v->attr[id] = GKV__TOK_USER;
        } else if (type == BYTE && spells_byte(s, v->text + at)) {
            v->attr[id] = GKV__TOK_BYTE;
            n = 1;
        } else {
            n = v->kind->spell(s, v->text + at);
            if (n != SIZE_MAX)
                v->attr[id] = GKV__TOK_WORD;
        }
        if (n == SIZE_MAX) {                    /* its name is kept as its text */
            n = s.n;
            memcpy(v->text + at, s.p, n);
        }
        at += (uint32_t)n;
    }
    v->start[v->n] = at;
    return GKV_OK;
}

static gkv_status read_id(const struct gkv__vocab *v, const struct gkv__gguf *g,
                          const char *key, uint32_t *id, gkv_error *err)
{
    *id = GKV__NO_TOKEN;
    GKV__TRY(gkv__gguf_u32(g, key, id, err));
    if (*id != GKV__NO_TOKEN && *id >= v->n)
        return gkv__fail(err, GKV_FORMAT, "%s is %" PRIu32 ", but there are %" PRIu32
                         " tokens", key, *id, v->n);
    return GKV_OK;
}

static gkv_status read_roles(struct gkv__vocab *v, const struct gkv__gguf *g,
                             gkv_error *err)
{
    bool taken[N_ROLES] = { false };

    for (size_t i = 0; i < sizeof id_keys / sizeof *id_keys; i++) {
        uint32_t id;

        GKV__TRY(read_id(v, g, id_keys[i].key, &id, err));
        if (id == GKV__NO_TOKEN)
            continue;
        if (id_keys[i].role != END)
            taken[id_keys[i].role] = true;
        if (id_keys[i].ends)
            v->attr[id] |= GKV__TOK_END;
    }
    for (uint32_t id = 0; id < v->n; id++) {
        size_t         n;
        const uint8_t *p = bytes_of(v, id, &n);

        if (n < 4 || (*p != '<' && *p != '[' && *p != '_'))
            continue;                           /* no known name begins so */
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            enum role role = known[i].role;

            if (taken[role] || strlen(known[i].name) != n || memcmp(known[i].name, p, n))
                continue;
            taken[role] = role != END;
            v->attr[id] &= GKV__TOK_END;
            v->attr[id] |= GKV__TOK_CONTROL;
            if (role == END || role >= FIM_PAD)
                v->attr[id] |= GKV__TOK_END;
        }
    }
    return GKV_OK;
}

static gkv_status read_bos(struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err)
{
    GKV__TRY(read_id(v, g, "tokenizer.ggml.bos_token_id", &v->bos, err));
    GKV__TRY(gkv__gguf_bool(g, "tokenizer.ggml.add_bos_token", &v->add_bos, err));
    v->add_bos = v->add_bos && v->bos != GKV__NO_TOKEN;
    return GKV_OK;
}

static int by_length(const void *a, const void *b, void *arg)
{
    const struct gkv__vocab *v = arg;
    uint32_t                 i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    size_t                   n, m;

    bytes_of(v, i, &n);
    bytes_of(v, j, &m);
    return n != m ? (n < m) - (n > m) : (i > j) - (i < j);
}

static int by_text(const void *a, const void *b, void *arg)
{
    const struct gkv__vocab *v = arg;
    size_t                   n, m;
    const uint8_t           *p = bytes_of(v, v->special->id[*(const uint32_t *)a], &n);
    const uint8_t           *q = bytes_of(v, v->special->id[*(const uint32_t *)b], &m);
    int                      order = memcmp(p, q, n < m ? n : m);

    return order ? order : (n > m) - (n < m);
}

static gkv_status sort_specials(struct gkv__vocab *v, gkv_error *err)
{
    const uint8_t         special = GKV__TOK_CONTROL | GKV__TOK_USER;
    struct gkv__specials *s = v->special = calloc(1, sizeof *s);
    uint32_t              total = 0;
    size_t                n;

    if (!s)
        return no_memory(err);
    for (uint32_t id = 0; id < v->n; id++)
        total += (v->attr[id] & special) != 0;
    s->id = malloc((total + 1u) * sizeof *s->id);
    s->by_text = malloc((total + 1u) * sizeof *s->by_text);
    if (!s->id || !s->by_text)
        return no_memory(err);

    for (uint32_t id = 0; id < v->n; id++) {
        const uint8_t *p = bytes_of(v, id, &n);

        if (!(v->attr[id] & special) || n == 0)
            continue;
        s->by_text[s->n] = s->n;
        s->id[s->n++] = id;
        s->first[*p + 1]++;
        if (!(v->attr[id] & GKV__TOK_USER))
            continue;
        s->n_user++;
        for (size_t i = 1; i < n; i++) {
            unsigned pair = p[i - 1] << 8 | p[i];

            s->inside[pair / 8] |= 1u << pair % 8;
        }
    }
    for (size_t c = 0; c < 256; c++)
        s->first[c + 1] += s->first[c];
    qsort_r(s->id, s->n, sizeof *s->id, by_length, v);
    qsort_r(s->by_text, s->n, sizeof *s->by_text, by_text, v);
    return GKV_OK;
}

gkv_status gkv__vocab_open(struct gkv__vocab **out, const struct gkv__gguf *g,
                           gkv_error *err)
{
    struct gkv__str    model = { NULL, 0 };
    struct gkv__vocab *v;
    gkv_status         status;

    GKV__TRY(gkv__gguf_str(g, "tokenizer.ggml.model", &model, err));
    if (!model.p)
        return gkv__fail(err, GKV_FORMAT, "no tokenizer in it (no tokenizer.ggml.model)");
    v = calloc(1, sizeof *v);
    if (!v)
        return no_memory(err);
    for (size_t i = 0; i < N_TOKENIZERS; i++)
        if (strlen(tokenizers[i]->model) == model.n &&
            memcmp(tokenizers[i]->model, model.p, model.n) == 0)
            v->kind = tokenizers[i];
    if (!v->kind) {
        status = gkv__fail(err, GKV_UNSUPPORTED, "tokenizer \"%.*s\" is not supported",
                           (int)(model.n < 64 ? model.n : 64), model.p);
        goto out;
    }
    if ((status = read_tokens(v, g, err)) != GKV_OK ||
        (status = read_roles(v, g, err)) != GKV_OK ||
        (status = v->kind->open(v, g, err)) != GKV_OK ||
        (status = read_bos(v, g, err)) != GKV_OK ||
        (status = sort_specials(v, err)) != GKV_OK)
        goto out;
    *out = v;
    return GKV_OK;
out:
    gkv__vocab_close(v);
    return status;
}

void gkv__vocab_close(struct gkv__vocab *v)
{
    if (!v)
        return;
    if (v->kind)
        v->kind->close(v->state);
    if (v->special) {
        free(v->special->id);
        free(v->special->by_text);
    }
    free(v->special);
    free(v->start);
    free(v->text);
    free(v->attr);
    free(v);
}

/* ---- look-ups ------------------------------------------------------------------------ */

uint32_t gkv__vocab_size(const struct gkv__vocab *v)
{
    return v->n;
}

size_t gkv__vocab_bytes(const struct gkv__vocab *v)
{
    return sizeof *v + ((size_t)v->n + 1) * sizeof *v->start + v->n + v->start[v->n] +
           sizeof *v->special + v->special->n * 2 * sizeof *v->special->id +
           v->kind->bytes(v->state);
}

bool gkv__vocab_same(const struct gkv__vocab *v, const struct gkv__vocab *w)
{
    return v->kind == w->kind && v->n == w->n && !memcmp(v->start, w->start, ((size_t)v->n + 1) * sizeof *v->start) &&
           !memcmp(v->text, w->text, v->start[v->n]) && !memcmp(v->attr, w->attr, v->n);
}

const char *gkv__vocab_kind(const struct gkv__vocab *v)
{
    return v->kind->name;
}

const char *gkv__vocab_pre(const struct gkv__vocab *v)
{
    return v->pre;
}

uint32_t gkv__vocab_bos(const struct gkv__vocab *v)
{
    return v->bos;
}

bool gkv__vocab_add_bos(const struct gkv__vocab *v)
{
    return v->add_bos;
}

bool gkv__vocab_adds_space(const struct gkv__vocab *v)
{
    return v->add_space;
}

bool gkv__vocab_is_end(const struct gkv__vocab *v, uint32_t id)
{
    return id < v->n && v->attr[id] & GKV__TOK_END;
}

/* A session looks up a few names only, so a table would cost more than it saves. */
uint32_t gkv__vocab_find(const struct gkv__vocab *v, const char *s, size_t len)
{
    for (uint32_t id = 0; len > 0 && id < v->n; id++)
        if (v->start[id + 1] - v->start[id] == len &&
            memcmp(v->text + v->start[id], s, len) == 0)
            return id;
    return GKV__NO_TOKEN;
}

size_t gkv__token_text(const struct gkv__vocab *v, uint32_t id, bool special, char *text,
                       size_t cap)
{
    const uint8_t *p;
    size_t         n;

    if (id >= v->n || (v->attr[id] & GKV__TOK_CONTROL && !special))
        return 0;
    p = bytes_of(v, id, &n);
    if (cap)                                    /* if cap is 0, text may be NULL */
        memcpy(text, p, n < cap ? n : cap);
    return n;
}

size_t gkv__token_text_after(const struct gkv__vocab *v, uint32_t before, uint32_t id,
                             bool special, char *text, size_t cap)
{
    const uint8_t named = GKV__TOK_CONTROL | GKV__TOK_USER;
    size_t        n = gkv__token_text(v, id, special, text, cap);

    if (n == 0 || !v->add_space || v->attr[id] & named || v->text[v->start[id]] != ' ' ||
        (before < v->n && !(v->attr[before] & named)))
        return n;
    if (cap)
        memmove(text, text + 1, (n < cap ? n : cap) - 1);
    return n - 1;
}

/* ---- splitting at special tokens ----------------------------------------------------- */

/* Names in by_text[*lo .. *hi) agree in their first depth bytes and are longer than that; keep those
 * whose next byte is c. */
static void narrow(const struct gkv__vocab *v, size_t depth, uint8_t c, uint32_t *lo,
                   uint32_t *hi)
{
    const struct gkv__specials *s = v->special;
    uint32_t                    bound[2] = { *lo, *hi };

    for (unsigned side = 0; side < 2; side++) {         /* the first >= c, the first > c */
        uint32_t a = *lo, b = *hi;

        while (a < b) {
            uint32_t mid = a + (b - a) / 2;

            if (v->text[v->start[s->id[s->by_text[mid]]] + depth] < c + side)
                a = mid + 1;
            else
                b = mid;
        }
        bound[side] = a;
    }
    *lo = bound[0];
    *hi = bound[1];
}

/* Set seen[i] for each special token i with one of these attributes that may occur in the window. */
static void look_for(const struct gkv__vocab *v, const uint8_t *text, struct gkv__range w,
                     uint8_t attr, uint8_t *seen)
{
    const struct gkv__specials *s = v->special;

    for (size_t i = w.start; i < w.end; i++) {
        uint32_t lo = s->first[text[i]], hi = s->first[text[i] + 1];

        for (size_t depth = 1; lo < hi; depth++) {
            for (; lo < hi; lo++) {             /* names that end here or reach PEEK */
                uint32_t id = s->id[s->by_text[lo]];

                if (v->start[id + 1] - v->start[id] > depth && depth < PEEK)
                    break;
                seen[s->by_text[lo]] |= v->attr[id] & attr;
            }
            if (i + depth == w.end)
                break;
            narrow(v, depth, text[i + depth], &lo, &hi);
        }
    }
}

static bool add_fragment(struct fragments *f, size_t start, size_t end, uint32_t id)
{
    if (start == end)
        return true;
    if (f->n == f->cap) {
        size_t           cap = f->cap ? 2 * f->cap : 16;
        struct fragment *at = realloc(f->at, cap * sizeof *at);

        if (!at)
            return false;
        f->at = at;
        f->cap = cap;
    }
    f->at[f->n++] = (struct fragment){ start, end, id };
    return true;
}

/* End of a control token with the white space after it, inside the window: Phi-3's tokens, except the three
 * that it has from Llama 2. */
static size_t swallow(const struct gkv__vocab *v, uint32_t id, const uint8_t *text, size_t at,
                      size_t end)
{
    static const char *const modest[] = { "<unk>", "<s>", "<|endoftext|>" };
    size_t                   n;
    const uint8_t           *name = bytes_of(v, id, &n);

    if (!v->strips || !(v->attr[id] & GKV__TOK_CONTROL))
        return at;
    for (size_t i = 0; i < sizeof modest / sizeof *modest; i++)
        if (strlen(modest[i]) == n && memcmp(modest[i], name, n) == 0)
            return at;
    while (at < end && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')))
        at++;
    return at;
}

/* Splits the text fragments of `in` at the matches of one special token inside the windows. */
static bool split(const struct gkv__vocab *v, uint32_t id, const uint8_t *text,
                  const struct gkv__range *window, size_t n_windows,
                  const struct fragments *in, struct fragments *out)
{
    size_t         n, iw = 0;
    const uint8_t *name = bytes_of(v, id, &n);

    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        struct fragment f = in->at[i];

        if (f.id != GKV__NO_TOKEN) {
            if (!add_fragment(out, f.start, f.end, f.id))
                return false;
            continue;
        }
        while (iw < n_windows && window[iw].end <= f.start)
            iw++;
        for (size_t j = iw; j < n_windows && window[j].start < f.end; j++) {
            size_t         at = window[j].start > f.start ? window[j].start : f.start;
            size_t         end = window[j].end < f.end ? window[j].end : f.end;
            const uint8_t *hit;

            while ((hit = memmem(text + at, end - at, name, n))) {
                size_t start = (size_t)(hit - text);

                at = swallow(v, id, text, start + n, end);
                if (!add_fragment(out, f.start, start, GKV__NO_TOKEN) ||
                    !add_fragment(out, start, at, id))
                    return false;
                f.start = at;
            }
        }
        if (!add_fragment(out, f.start, f.end, GKV__NO_TOKEN))
            return false;
    }
    return true;
}

/* The fragments of text: special tokens and the text between them. */
static bool partition(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                      const struct gkv__range *plain, size_t n_plain, struct fragments *f)
{
    const struct gkv__specials *s = v->special;
    const struct gkv__range     whole = { 0, len };
    struct gkv__range          *gap = NULL;             /* between the plain ranges */
    uint8_t                    *seen = NULL;            /* attribute by which each special matches */
    struct fragments            next = { NULL, 0, 0 };
    size_t                      n_gaps = 0, at = 0;
    bool                        good = false;

    if (!add_fragment(f, 0, len, GKV__NO_TOKEN))
        return false;
    if (s->n == 0 ||
        (s->n_user == 0 && n_plain == 1 && plain->start == 0 && plain->end == len))
        return true;
    seen = calloc(s->n, 1);
    gap = malloc((n_plain + 1) * sizeof *gap);
    if (!seen || !gap)
        goto out;
    for (size_t i = 0; i <= n_plain; i++) {
        size_t end = i < n_plain ? plain[i].start : len;

        if (at < end)
            gap[n_gaps++] = (struct gkv__range){ at, end };
        at = i < n_plain ? plain[i].end : len;
    }
    for (size_t i = 0; i < n_gaps; i++)
        look_for(v, text, gap[i], GKV__TOK_CONTROL, seen);
    if (s->n_user)
        look_for(v, text, whole, GKV__TOK_USER, seen);
    for (uint32_t i = 0; i < s->n; i++) {
        struct fragments swap = *f;

        if (!seen[i])
            continue;
        if (!(seen[i] & GKV__TOK_USER ? split(v, s->id[i], text, &whole, 1, f, &next)
                                      : split(v, s->id[i], text, gap, n_gaps, f, &next)))
            goto out;
        *f = next;
        next = swap;
    }
    good = true;
out:
    free(next.at);
    free(gap);
    free(seen);
    return good;
}

/* ---- tokens -------------------------------------------------------------------------- */

gkv_status gkv__tokens_count(struct gkv__tokens *t, size_t n, uint64_t work, gkv_error *err)
{
    uint64_t bytes;

    if (!gkv__mul(n, GKV__TOKEN_BYTES, &bytes) || !gkv__add(bytes, work, &bytes))
        bytes = UINT64_MAX;
    if (t->limit && bytes > t->limit)
        return gkv__fail(err, GKV_LIMIT, "to make tokens of the text takes %s of memory and more, %s are left; "
                         "raise --memory, or give a shorter document", gkv__needed(bytes).text,
                         gkv__limit(t->limit).text);
    t->most = gkv__max(t->most, bytes);
    return GKV_OK;
}

gkv_status gkv__tokens_reserve(struct gkv__tokens *t, size_t more, gkv_error *err)
{
    size_t    cap = t->cap;
    uint32_t *p;

    if (more > SIZE_MAX / 16 - t->n)
        return gkv__fail(err, GKV_NOMEM, "no memory for %zu tokens", more);
    if (more <= cap - t->n)
        return GKV_OK;
    GKV__TRY(gkv__tokens_count(t, t->n + more, 0, err));
    cap = t->n + more > cap / 2 * 3 ? t->n + more : cap / 2 * 3;
    if (t->limit && cap > t->limit / GKV__TOKEN_BYTES)
        cap = t->n + more > t->limit / GKV__TOKEN_BYTES ? t->n + more
                                                        : (size_t)(t->limit / GKV__TOKEN_BYTES);
    if (cap < 64)
        cap = 64;
    p = realloc(t->id, cap * sizeof *p);
    if (p) {
        t->id = p;
        p = realloc(t->len, cap * sizeof *p);
    }
    if (!p)
        return gkv__fail(err, GKV_NOMEM, "no memory for %zu tokens", cap);
    t->len = p;
    t->cap = cap;
    return GKV_OK;
}

void gkv__tokens_free(struct gkv__tokens *t)
{
    free(t->id);
    free(t->len);
    *t = (struct gkv__tokens){ 0 };
}

gkv_status gkv__tokenize(const struct gkv__vocab *v, const char *text, size_t len,
                         const struct gkv__range *plain, size_t n_plain,
                         struct gkv__tokens *out, gkv_error *err)
{
    const uint8_t   *p = (const uint8_t *)text;
    struct fragments f = { NULL, 0, 0 };
    gkv_status       status = GKV_OK;
    size_t           before = out->n;

    if (!partition(v, p, len, plain, n_plain, &f))
        status = no_memory(err);
    for (size_t i = 0; i < f.n && status == GKV_OK; i++) {
        struct fragment *at = &f.at[i];

        if (at->id == GKV__NO_TOKEN) {
            status = v->kind->encode(v, p + at->start, at->end - at->start, out, err);
        } else {
            status = gkv__tokens_reserve(out, 1, err);
            if (status == GKV_OK)
                gkv__tokens_push(out, at->id, (uint32_t)(at->end - at->start));
        }
    }
    free(f.at);
    if (status != GKV_OK)
        out->n = before;
    out->most = gkv__max(out->most, out->n * (uint64_t)GKV__TOKEN_BYTES);
    return status;
}

gkv_status gkv__tokenize_after(const struct gkv__vocab *v, uint32_t before, const char *text, size_t len,
                               const struct gkv__range *plain, size_t n_plain, struct gkv__tokens *out,
                               gkv_error *err)
{
    gkv_status status;

    GKV__TRY(gkv__tokens_reserve(out, 1, err));
    gkv__tokens_push(out, before, 0);
    status = gkv__tokenize(v, text, len, plain, n_plain, out, err);
    out->n--;
    if (status != GKV_OK)
        return status;
    memmove(out->id, out->id + 1, out->n * sizeof *out->id);
    memmove(out->len, out->len + 1, out->n * sizeof *out->len);
    return GKV_OK;
}

/* Where the character before p begins, or NULL if it is not well-formed. */
static const uint8_t *previous(const uint8_t *text, const uint8_t *p, uint32_t *cp)
{
    for (const uint8_t *q = p; q > text && p - q < 4;) {
        int bad;

        if ((*--q & 0xc0) != 0x80)
            return q + gkv__utf8_next(q, p, cp, &bad) == p && !bad ? q : NULL;
    }
    return NULL;
}

/* Whether a byte before p[cut] says that its character reaches over the cut: such a character is malformed,
 * but some kinds go by its first byte alone. */
static bool is_claimed(const uint8_t *p, size_t cut)
{
    for (size_t back = 1; back < 4 && back <= cut; back++) {
        uint8_t c = p[cut - back];

        if (c >= 0xc0 && (c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u) > back)
            return true;
    }
    return false;
}

size_t gkv__token_safe_cut(const struct gkv__vocab *v, const char *text, size_t len)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + len;
    const uint8_t *inside = v->special->inside;

    /* No user-defined token may lie across the cut, even if a longer one takes precedence: so the two
     * bytes at the cut must not be adjacent in any.  Both characters must be complete, since bytes that
     * are still missing could change a malformed one. */
    for (size_t cut = len; cut-- > 1;) {
        unsigned pair = p[cut - 1] << 8 | p[cut];
        uint32_t before, after;
        int      bad;

        if ((p[cut] & 0xc0) == 0x80 || inside[pair / 8] >> pair % 8 & 1)
            continue;
        gkv__utf8_next(p + cut, end, &after, &bad);
        if (!bad && previous(p, p + cut, &before) && v->kind->parts(v, before, after) &&
            !is_claimed(p, cut))
            return cut;
    }
    return 0;
}
