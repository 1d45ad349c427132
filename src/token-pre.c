/* SPDX-License-Identifier: BSD-2-Clause
 * token-pre.c - see token-pre.h
 *
 * The models publish regular expressions; these functions are those, written out:
 *
 *   gpt-2      's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *   llama-bpe  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *              | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *   qwen2      the same with \p{N} for \p{N}{1,3}
 *
 * The first alternative that matches wins.  (?i:) folds ASCII only, as llama.cpp does: a
 * long s (U+017F) is no s.  No run is looked at more than three times: all are linear. */
#include "config.h"
#include <string.h>
#include "src/token-pre.h"
#include "src/unicode.h"

#define L GKV__UC_LETTER
#define N GKV__UC_NUMBER
#define S GKV__UC_SPACE

static const uint8_t ascii[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, S, S, S, S, S, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    S, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    N, N, N, N, N, N, N, N, N, N, 0, 0, 0, 0, 0, 0,
    0, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, 0, 0, 0, 0, 0,
    0, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, 0, 0, 0, 0, 0,
};

#undef L
#undef N
#undef S

/* Class and length of the character at p. */
static inline unsigned look(const uint8_t *p, size_t *n)
{
    uint32_t cp;

    if (*p < 0x80) {
        *n = 1;
        return ascii[*p];
    }
    *n = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    cp = *p & 0x7fu >> *n;
    for (size_t i = 1; i < *n; i++)
        cp = cp << 6 | (p[i] & 0x3f);
    return gkv__uc_class(cp);
}

/* End of the run of characters of this class that begins at p. */
static inline const uint8_t *skip(const uint8_t *p, const uint8_t *end, unsigned class)
{
    size_t n;

    while (p < end && look(p, &n) == class)
        p += n;
    return p;
}

/* 's|'t|'re|'ve|'m|'ll|'d; fold is 0x20 where case does not matter, else 0. */
static inline size_t contraction(const uint8_t *p, const uint8_t *end, uint8_t fold)
{
    uint8_t a, b;

    if (*p != '\'' || end - p < 2)
        return 0;
    a = p[1] | fold;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if (end - p < 3)
        return 0;
    b = p[2] | fold;
    return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* \s*[\r\n]+ if to_newline, \s+(?!\S), \s+ */
static size_t spaces(const uint8_t *p, const uint8_t *end, bool to_newline)
{
    const uint8_t *q = p, *last = p, *newline = NULL;
    size_t         n;

    while (q < end && look(q, &n) == GKV__UC_SPACE) {
        last = q;
        q += n;
        if (*last == '\r' || *last == '\n')
            newline = q;
    }
    if (to_newline && newline)
        return (size_t)(newline - p);
    /* The last one is left to the next word, unless there is no other or no next word. */
    return (size_t)((q == end || last == p ? q : last) - p);
}

static size_t word_gpt2(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q;
    unsigned       class;
    size_t         n = contraction(p, end, 0);

    if (n)
        return n;
    q = p + (*p == ' ' && end - p > 1);
    class = look(q, &n);
    if (class == GKV__UC_SPACE)
        return spaces(p, end, false);
    return (size_t)(skip(q + n, end, class) - p);
}

static inline size_t word_modern(const uint8_t *p, const uint8_t *end, unsigned max_digits)
{
    const uint8_t *q = p;
    unsigned       class, digits = 1;
    size_t         n = contraction(p, end, 0x20), k;

    if (n)
        return n;
    class = look(p, &n);
    if (class == GKV__UC_NUMBER) {
        for (q = p + n; digits < max_digits && q < end; digits++, q += n)
            if (look(q, &n) != GKV__UC_NUMBER)
                break;
        return (size_t)(q - p);
    }
    if (class == GKV__UC_LETTER)
        return (size_t)(skip(p + n, end, class) - p);
    q = p + n;
    if (*p != '\r' && *p != '\n' && q < end && look(q, &k) == GKV__UC_LETTER)
        return (size_t)(skip(q + k, end, GKV__UC_LETTER) - p);

    q = p;
    if (*p == ' ' && end - p > 1)
        class = look(++q, &n);
    if (class != GKV__UC_OTHER)
        return spaces(p, end, true);
    q = skip(q + n, end, class);
    while (q < end && (*q == '\r' || *q == '\n'))
        q++;
    return (size_t)(q - p);
}

static size_t word_llama3(const uint8_t *p, const uint8_t *end)
{
    return word_modern(p, end, 3);
}

static size_t word_qwen2(const uint8_t *p, const uint8_t *end)
{
    return word_modern(p, end, 1);
}

/* The names that llama.cpp maps to the same behaviour. */
static const struct gkv__pre pres[] = {
    { "gpt-2",            false, false, word_gpt2   },
    { "phi-2",            false, false, word_gpt2   },
    { "mpt",              false, false, word_gpt2   },
    { "olmo",             false, false, word_gpt2   },
    { "exaone4",          false, false, word_gpt2   },
    { "gigachat",         false, false, word_gpt2   },
    { "mellum",           false, false, word_gpt2   },
    { "llama-bpe",        true,  true,  word_llama3 },
    { "llama3",           true,  true,  word_llama3 },
    { "llama-v3",         true,  true,  word_llama3 },
    { "falcon3",          true,  true,  word_llama3 },
    { "falcon-h1",        true,  true,  word_llama3 },
    { "lfm2",             true,  true,  word_llama3 },
    { "midm-2.0",         true,  true,  word_llama3 },
    { "pixtral",          true,  true,  word_llama3 },
    { "dbrx",             false, false, word_llama3 },
    { "smaug-bpe",        false, false, word_llama3 },
    { "qwen2",            false, false, word_qwen2  },
    { "deepseek-r1-qwen", false, false, word_qwen2  },
    { "hunyuan",          false, false, word_qwen2  },
    { "kormo",            false, false, word_qwen2  },
    { "megrez",           false, false, word_qwen2  },
    { "stablelm2",        false, false, word_qwen2  },
};

const struct gkv__pre *gkv__pre_find(struct gkv__str name)
{
    for (size_t i = 0; i < sizeof pres / sizeof *pres; i++)
        if (name.n == strlen(pres[i].name) && memcmp(name.p, pres[i].name, name.n) == 0)
            return &pres[i];
    return NULL;
}

bool gkv__pre_parts(uint32_t before, uint32_t after)
{
    /* Letters and numbers end a match of every alternative that they are in, unless their
     * own kind follows; and the only look-ahead, (?!\S), begins at white space. */
    unsigned class = gkv__uc_class(before);

    return (class == GKV__UC_LETTER || class == GKV__UC_NUMBER) &&
           gkv__uc_class(after) != class;
}
