/* SPDX-License-Identifier: BSD-2-Clause
 * pre.c - see pre.h
 *
 * Models publish regular expressions; these functions match the same words without them:
 *
 *   gpt-2      's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *   llama-bpe  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *              | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *   qwen2      the same with \p{N} for \p{N}{1,3}
 *   qwen35     as qwen2, but marks belong to words: [\p{L}\p{M}]+ for \p{L}+, and
 *              ' ?[^\s\p{L}\p{M}\p{N}]+' for other characters
 *   gpt-4o     [^\r\n\p{L}\p{N}]?U*W+C?|[^\r\n\p{L}\p{N}]?U+W*C?|\p{N}{1,3}
 *              | ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *              where U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], W is [\p{Ll}\p{Lm}\p{Lo}\p{M}] and
 *              C is (?i:'s|'t|'re|'ve|'m|'ll|'d)
 *   tekken     the same without C, and \p{N} for \p{N}{1,3}
 *   smollm     each \p{N} is a word, gpt-2 on the text between
 *   default    each [\p{P}$+<=>^~|]+ is a word, gpt-2 on the text between; numbers in its words
 *              become words too, and their ASCII digits are split in threes (llama.cpp does this
 *              with files that name no pre-tokenizer)
 *
 * The first alternative that matches wins.  (?i:) folds ASCII only, as in llama.cpp: a long s
 * (U+017F) is no s.  Every run of characters is read a few times at most, so time is linear. */
#include "config.h"
#include <string.h>
#include "src/token/pre.h"
#include "src/base/unicode.h"

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

/* The character at p, which is well-formed; *n becomes its length. */
static inline uint32_t decode(const uint8_t *p, size_t *n)
{
    uint32_t cp;

    *n = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    cp = *n == 1 ? *p : *p & 0x7fu >> *n;
    for (size_t i = 1; i < *n; i++)
        cp = cp << 6 | (p[i] & 0x3f);
    return cp;
}

/* Class of the character at p, and its length *n. */
static inline unsigned look(const uint8_t *p, size_t *n)
{
    if (*p < 0x80) {
        *n = 1;
        return ascii[*p];
    }
    return gkv__uc_class(decode(p, n));
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
    /* The last space belongs to the next word, unless it is the only one or there is no next word. */
    return (size_t)((q == end || last == p ? q : last) - p);
}

/* Whether the character at p is split off before gpt-2's expression is applied, which then sees the end of
 * the text there. */
typedef bool apart_fn(const uint8_t *p);

static size_t word_between(const uint8_t *p, const uint8_t *end, apart_fn *apart)
{
    const uint8_t *q = p + (*p == ' ' && end - p > 1 && !apart(p + 1));
    size_t         n;
    unsigned       class = look(q, &n);

    if (class == GKV__UC_SPACE) {
        while (q < end && look(q, &n) == GKV__UC_SPACE)
            q += n;
        return q < end && apart(q) ? (size_t)(q - p) : spaces(p, end, false);
    }
    for (q += n; q < end && look(q, &n) == class && !apart(q); q += n)
        ;
    return (size_t)(q - p);
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

/* Bytes of a number that begins at p, with a digit of n bytes. */
static inline size_t number(const uint8_t *p, const uint8_t *end, size_t n, unsigned max_digits)
{
    const uint8_t *q = p + n;

    for (unsigned digits = 1; digits < max_digits && q < end; digits++, q += n)
        if (look(q, &n) != GKV__UC_NUMBER)
            break;
    return (size_t)(q - p);
}

static inline size_t word_modern(const uint8_t *p, const uint8_t *end, unsigned max_digits)
{
    const uint8_t *q = p;
    unsigned       class;
    size_t         n = contraction(p, end, 0x20), k;

    if (n)
        return n;
    class = look(p, &n);
    if (class == GKV__UC_NUMBER)
        return number(p, end, n, max_digits);
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

static bool is_mark(const uint8_t *p)
{
    size_t n;

    return *p >= 0x80 && gkv__uc_kind(decode(p, &n)) == GKV__UC_MARK;
}

/* End of the letters and marks, or of the characters that are neither, nor white space or numbers, that begin at p. */
static inline const uint8_t *skip_marked(const uint8_t *p, const uint8_t *end, bool letters)
{
    size_t n;

    for (; p < end; p += n) {
        const unsigned class = look(p, &n);
        const bool in_word = class == GKV__UC_LETTER || is_mark(p);

        if (letters ? !in_word : in_word || class != GKV__UC_OTHER)
            break;
    }
    return p;
}

static size_t word_qwen35(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q;
    unsigned       class;
    size_t         n = contraction(p, end, 0x20);

    if (n)
        return n;
    class = look(p, &n);
    if (class == GKV__UC_NUMBER)
        return n;
    /* One character before letters and marks may be any but a line's end; a mark, too, so it is tried first. */
    if (class != GKV__UC_LETTER && *p != '\r' && *p != '\n' && skip_marked(p + n, end, true) > p + n)
        return (size_t)(skip_marked(p + n, end, true) - p);
    q = skip_marked(p, end, true);
    if (q > p)
        return (size_t)(q - p);
    q = p;
    if (*p == ' ' && end - p > 1)
        class = look(++q, &n);
    if (class != GKV__UC_OTHER || is_mark(q))
        return spaces(p, end, true);
    q = skip_marked(q, end, false);
    while (q < end && (*q == '\r' || *q == '\n'))
        q++;
    return (size_t)(q - p);
}

static bool is_number(const uint8_t *p)
{
    size_t n;

    return look(p, &n) == GKV__UC_NUMBER;
}

static size_t word_smollm(const uint8_t *p, const uint8_t *end)
{
    size_t n;

    if (look(p, &n) == GKV__UC_NUMBER)
        return n;
    n = contraction(p, end, 0);
    return n ? n : word_between(p, end, is_number);
}

static bool is_mark_of_default(const uint8_t *p)
{
    size_t n;

    if (*p && strchr("$+<=>^~|", *p))
        return true;
    return gkv__uc_kind(decode(p, &n)) == GKV__UC_PUNCT;
}

static size_t word_default(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q = p;
    size_t         n, digits = 0;

    if (is_mark_of_default(p)) {
        while (q < end && is_mark_of_default(q)) {
            decode(q, &n);
            q += n;
        }
        return (size_t)(q - p);
    }
    if (*p == ' ' && end - p > 1 && is_number(p + 1))
        return 1;
    if (!is_number(p))
        return word_between(p, end, is_mark_of_default);
    /* Three ASCII digits are a word, and so are the digits before the first such group. */
    for (; q < end && is_number(q); q += n) {
        decode(q, &n);
        digits = n == 1 ? digits + 1 : 0;
        if (digits == 3)
            return q + 1 - p > 3 ? (size_t)(q - 2 - p) : 3;
    }
    return (size_t)(q - p);
}

/* The character classes U and W of gpt-4o. */
static bool in_upper(enum gkv__uc_kind k)
{
    return k == GKV__UC_UPPER || k == GKV__UC_CASELESS || k == GKV__UC_MARK;
}

static bool in_lower(enum gkv__uc_kind k)
{
    return k == GKV__UC_LOWER || k == GKV__UC_CASELESS || k == GKV__UC_MARK;
}

/* End of U*W+, where U* gives back characters that W+ needs to match; *upper: end of U+ alone.  Both are
 * NULL if there is no match. */
static const uint8_t *cased(const uint8_t *p, const uint8_t *end, const uint8_t **upper)
{
    const uint8_t     *q = p, *shared = NULL;
    enum gkv__uc_kind  kind;
    size_t             n;

    while (q < end && in_upper(kind = gkv__uc_kind(decode(q, &n)))) {
        q += n;
        if (in_lower(kind))
            shared = q;
    }
    *upper = q > p ? q : NULL;
    if (q == end || !in_lower(gkv__uc_kind(decode(q, &n))))
        return shared;
    while (q < end && in_lower(gkv__uc_kind(decode(q, &n))))
        q += n;
    return q;
}

static inline size_t word_cased(const uint8_t *p, const uint8_t *end, unsigned max_digits,
                                bool contractions)
{
    const uint8_t *q, *from = NULL, *upper = NULL, *upper_from = NULL;
    unsigned       class;
    size_t         n;

    class = look(p, &n);
    if (class == GKV__UC_NUMBER)
        return number(p, end, n, max_digits);
    if (class != GKV__UC_LETTER && *p != '\r' && *p != '\n' && p + n < end)
        from = cased(p + n, end, &upper_from);
    q = from ? from : cased(p, end, &upper);
    if (!q)
        q = upper_from ? upper_from : upper;
    if (q) {
        if (contractions && q < end)
            q += contraction(q, end, 0x20);
        return (size_t)(q - p);
    }
    q = p;
    if (*p == ' ' && end - p > 1)
        class = look(++q, &n);
    if (class != GKV__UC_OTHER)
        return spaces(p, end, true);
    q = skip(q + n, end, class);
    while (q < end && (*q == '\r' || *q == '\n' || *q == '/'))
        q++;
    return (size_t)(q - p);
}

static size_t word_gpt4o(const uint8_t *p, const uint8_t *end)
{
    return word_cased(p, end, 3, true);
}

static size_t word_tekken(const uint8_t *p, const uint8_t *end)
{
    return word_cased(p, end, 1, false);
}

/* Names that share a row's function are the same in llama.cpp. */
static const struct gkv__pre pres[] = {
    { "gpt-2",            false, false, word_gpt2    },
    { "phi-2",            false, false, word_gpt2    },
    { "mpt",              false, false, word_gpt2    },
    { "olmo",             false, false, word_gpt2    },
    { "exaone4",          false, false, word_gpt2    },
    { "granite-docling",  false, false, word_gpt2    },
    { "gigachat",         false, false, word_gpt2    },
    { "mellum",           false, false, word_gpt2    },
    { "a.x-4.0",          false, false, word_gpt2    },
    { "trillion",         false, false, word_gpt2    },
    { "llama-bpe",        true,  true,  word_llama3  },
    { "llama3",           true,  true,  word_llama3  },
    { "llama-v3",         true,  true,  word_llama3  },
    { "falcon3",          true,  true,  word_llama3  },
    { "falcon-h1",        true,  true,  word_llama3  },
    { "lfm2",             true,  true,  word_llama3  },
    { "midm-2.0",         true,  true,  word_llama3  },
    { "pixtral",          true,  true,  word_llama3  },
    { "dbrx",             false, false, word_llama3  },
    { "smaug-bpe",        false, false, word_llama3  },
    { "glm4",             false, false, word_llama3  },
    { "chatglm-bpe",      false, false, word_llama3  },
    { "qwen2",            false, false, word_qwen2   },
    { "deepseek-r1-qwen", false, false, word_qwen2   },
    { "hunyuan",          false, false, word_qwen2   },
    { "kormo",            false, false, word_qwen2   },
    { "megrez",           false, false, word_qwen2   },
    { "stablelm2",        false, false, word_qwen2   },
    { "qwen35",           false, false, word_qwen35  },
    { "tekken",           true,  true,  word_tekken  },
    { "gpt-4o",           false, false, word_gpt4o   },
    { "llama4",           false, false, word_gpt4o   },
    { "smollm",           false, false, word_smollm  },
    { "refact",           false, false, word_smollm  },
    { "mellum2",          false, false, word_smollm  },
    { "minerva-7b",       false, false, word_smollm  },
    { "command-r",        false, false, word_smollm  },
    { "default",          false, false, word_default },
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
    /* Letters and numbers end a match of every alternative that they are in, unless a character of
     * their own class, a mark or an apostrophe follows.  The only look-ahead, (?!\S), begins at
     * white space. */
    unsigned class = gkv__uc_class(before);

    return (class == GKV__UC_LETTER || class == GKV__UC_NUMBER) && after != '\'' &&
           gkv__uc_class(after) != class && gkv__uc_kind(after) != GKV__UC_MARK;
}
