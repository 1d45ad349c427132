/* SPDX-License-Identifier: BSD-2-Clause
 * grammar.c - reads GBNF.  See grammar.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/answer/grammar.h"
#include "src/base/size.h"
#include "src/base/unicode.h"

/* A grammar is a table of at most so many symbols; groups lie in each other at most so deep. */
enum { MAX_SYMBOLS = 1 << 20, MAX_DEPTH = 100, MAX_REPEAT = 100000, N_BUCKETS = 4096, LAST_CHAR = 0x10ffff };

struct name {
    const char *text;
    uint32_t    len, rule, next;        /* next: of the bucket */
};

struct parser {
    gkv_grammar          *g;
    const char           *at, *begin, *end;
    struct gkv__g_symbol *open;         /* symbols of sequences that are not finished       */
    size_t                n_open, open_room;
    struct name          *name;
    size_t                n_names, name_room;
    size_t                sym_room, alt_room, rule_room, set_room, range_room;
    uint32_t              bucket[N_BUCKETS];
    uint64_t              seed;         /* of the buckets: nobody can write names for one of them */
    int                   depth;
    gkv_error            *err;
};

/* ---- tables that grow ------------------------------------------------------------------- */

/* array: where the pointer to the n elements is. */
static gkv_status grow(struct parser *p, void *array, size_t n, size_t more, size_t size, size_t *room)
{
    void *q;
    uint64_t bytes;
    const size_t wanted = n + more > 2 * *room ? n + more : 2 * *room;

    if (n + more <= *room)
        return GKV_OK;
    if (n + more > MAX_SYMBOLS)
        return gkv__fail(p->err, GKV_INVALID, "the grammar is larger than %d symbols; repeat less, or shorter parts",
                         MAX_SYMBOLS);
    memcpy(&q, array, sizeof q);
    q = gkv__mul(wanted, size, &bytes) && bytes <= SIZE_MAX ? realloc(q, (size_t)bytes) : NULL;
    if (!q)
        return gkv__fail(p->err, GKV_NOMEM, "out of memory");
    memcpy(array, &q, sizeof q);
    *room = wanted;
    return GKV_OK;
}

static gkv_status bad(const struct parser *p, const char *what)
{
    size_t line = 1;

    for (const char *s = p->begin; s < p->at; s++)
        line += *s == '\n';
    return gkv__fail(p->err, GKV_INVALID, "grammar, line %zu: %s", line, what);
}

static gkv_status push(struct parser *p, enum gkv__g_kind kind, uint32_t arg)
{
    GKV__TRY(grow(p, &p->open, p->n_open, 1, sizeof *p->open, &p->open_room));
    p->open[p->n_open++] = (struct gkv__g_symbol){ .kind = kind, .arg = arg & 0x3fffffff };
    return GKV_OK;
}

static gkv_status add_rule(struct parser *p, uint32_t *rule)
{
    gkv_grammar *g = p->g;

    GKV__TRY(grow(p, &g->rule, g->n_rule, 1, sizeof *g->rule, &p->rule_room));
    g->rule[g->n_rule] = (struct gkv__g_rule){ .alt = GKV__G_NONE, .last = GKV__G_NONE };
    *rule = (uint32_t)g->n_rule++;
    return GKV_OK;
}

/* Makes the open symbols from `base` on an alternative of the rule; the last one of it so far. */
static gkv_status add_alt(struct parser *p, uint32_t rule, size_t base)
{
    gkv_grammar *g = p->g;
    const size_t n = p->n_open - base;
    struct gkv__g_rule *r = &g->rule[rule];

    GKV__TRY(grow(p, &g->sym, g->n_sym, n + 1, sizeof *g->sym, &p->sym_room));
    GKV__TRY(grow(p, &g->alt, g->n_alt, 1, sizeof *g->alt, &p->alt_room));
    if (r->last == GKV__G_NONE)
        r->alt = (uint32_t)g->n_alt;
    else
        g->alt[r->last].next = (uint32_t)g->n_alt;
    r->last = (uint32_t)g->n_alt;
    g->alt[g->n_alt++] = (struct gkv__g_alt){ (uint32_t)g->n_sym, GKV__G_NONE, rule };
    if (n)
        memcpy(g->sym + g->n_sym, p->open + base, n * sizeof *g->sym);
    g->n_sym += n;
    g->sym[g->n_sym++] = (struct gkv__g_symbol){ .kind = GKV__G_END };
    p->n_open = base;
    return GKV_OK;
}

/* ---- characters ------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* Spaces and comments; newlines only where a rule goes on after them. */
static void skip(struct parser *p, bool newlines)
{
    while (p->at < p->end) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n' && *p->at != '\r')
                p->at++;
        else if (*p->at == ' ' || *p->at == '\t' || (newlines && (*p->at == '\n' || *p->at == '\r')))
            p->at++;
        else
            return;
    }
}

static bool is_next(const struct parser *p, char c)
{
    return p->at < p->end && *p->at == c;
}

static gkv_status hex(struct parser *p, int digits, uint32_t *cp)
{
    *cp = 0;
    for (int i = 0; i < digits; i++) {
        const char c = p->at < p->end ? *p->at : 0;
        const char *digit = c ? strchr("0123456789abcdef", c | ('A' <= c && c <= 'F' ? 32 : 0)) : NULL;

        if (!digit)
            return bad(p, "\\x needs 2, \\u 4, and \\U 8 hexadecimal digits");
        *cp = *cp << 4 | (16 - (uint32_t)strlen(digit));
        p->at++;
    }
    return *cp <= LAST_CHAR ? GKV_OK : bad(p, "this number is above that of any character");
}

static gkv_status escape(struct parser *p, uint32_t *cp)
{
    static const struct { char name; int digits; uint32_t cp; } row[] = {
        { 'x', 2, 0 }, { 'u', 4, 0 }, { 'U', 8, 0 }, { 't', 0, '\t' }, { 'r', 0, '\r' }, { 'n', 0, '\n' },
        { '\\', 0, '\\' }, { '"', 0, '"' }, { '[', 0, '[' }, { ']', 0, ']' }, { '-', 0, '-' }, { '^', 0, '^' },
    };
    const char c = p->at < p->end ? *p->at : 0;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (c == row[i].name) {
            p->at++;
            *cp = row[i].cp;
            return row[i].digits ? hex(p, row[i].digits, cp) : GKV_OK;
        }
    return bad(p, "unknown escape; there are: \\x41 \\u0041 \\U00000041 \\t \\r \\n \\\\ \\\" \\[ \\] \\- \\^");
}

static gkv_status character(struct parser *p, uint32_t *cp)
{
    if (is_next(p, '\\')) {
        p->at++;
        return escape(p, cp);
    }
    p->at += gkv__utf8_next((const unsigned char *)p->at, (const unsigned char *)p->end, cp, NULL);
    return GKV_OK;
}

static int by_lo(const void *a, const void *b)
{
    const struct gkv__g_range *x = a, *y = b;

    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Sorts the ranges from `first` on and joins those that touch. */
static void tidy(gkv_grammar *g, size_t first)
{
    size_t n = first;

    if (first == g->n_range)            /* there may be no array yet */
        return;
    qsort(g->range + first, g->n_range - first, sizeof *g->range, by_lo);
    for (size_t i = first; i < g->n_range; i++)
        if (n > first && g->range[i].lo <= g->range[n - 1].hi + 1)
            g->range[n - 1].hi = (uint32_t)gkv__max(g->range[n - 1].hi, g->range[i].hi);
        else
            g->range[n++] = g->range[i];
    g->n_range = n;
}

static gkv_status add_range(struct parser *p, uint32_t lo, uint32_t hi)
{
    gkv_grammar *g = p->g;

    if (lo > hi)
        return GKV_OK;
    GKV__TRY(grow(p, &g->range, g->n_range, 1, sizeof *g->range, &p->range_room));
    g->range[g->n_range++] = (struct gkv__g_range){ lo, hi };
    return GKV_OK;
}

/* All characters but those of the tidy ranges from `first` on, in their place.  NUL is none. */
static gkv_status complement(struct parser *p, size_t first)
{
    gkv_grammar *g = p->g;
    const size_t n = g->n_range;
    uint32_t lo = 1;

    for (size_t i = first; i < n; i++) {
        const struct gkv__g_range r = g->range[i];

        GKV__TRY(add_range(p, lo, r.lo - 1));
        lo = r.hi + 1;
    }
    GKV__TRY(add_range(p, lo, LAST_CHAR));
    memmove(g->range + first, g->range + n, (g->n_range - n) * sizeof *g->range);
    g->n_range -= n - first;
    return GKV_OK;
}

/* The ranges from `first` on become a class. */
static gkv_status add_class(struct parser *p, size_t first, bool negated)
{
    gkv_grammar *g = p->g;
    struct gkv__g_class c = { .first = (uint32_t)first };

    tidy(g, first);
    if (negated)
        GKV__TRY(complement(p, first));
    c.n = (uint32_t)(g->n_range - first);
    for (size_t i = first; i < g->n_range; i++)
        for (uint32_t cp = g->range[i].lo; cp <= g->range[i].hi && cp < 128; cp++)
            c.ascii[cp / 32] |= UINT32_C(1) << cp % 32;
    GKV__TRY(grow(p, &g->set, g->n_set, 1, sizeof *g->set, &p->set_room));
    g->set[g->n_set] = c;
    return push(p, GKV__G_CLASS, (uint32_t)g->n_set++);
}

static gkv_status literal(struct parser *p)
{
    uint32_t cp;

    p->at++;
    while (!is_next(p, '"')) {
        if (p->at == p->end || *p->at == '\n')
            return bad(p, "a text in quotes does not end");
        GKV__TRY(character(p, &cp));
        if (!cp || (cp >= 0xd800 && cp <= 0xdfff))
            return bad(p, "this number is no character that an answer can have");
        GKV__TRY(push(p, GKV__G_CHAR, cp));
    }
    p->at++;
    return GKV_OK;
}

static gkv_status class(struct parser *p)
{
    const size_t first = p->g->n_range;
    bool negated;
    uint32_t lo, hi;

    p->at++;
    negated = is_next(p, '^');
    p->at += negated;
    while (!is_next(p, ']')) {
        if (p->at == p->end || *p->at == '\n')
            return bad(p, "a class of characters does not end");
        GKV__TRY(character(p, &lo));
        hi = lo;
        if (is_next(p, '-') && p->end - p->at > 1 && p->at[1] != ']') {
            p->at++;
            GKV__TRY(character(p, &hi));
        }
        if (hi < lo)
            return bad(p, "a range of characters ends before it begins");
        GKV__TRY(add_range(p, lo ? lo : 1, hi));
    }
    if (!negated && p->g->n_range == first)
        return bad(p, "an empty class of characters");
    p->at++;
    return add_class(p, first, negated);
}

/* ---- rules ------------------------------------------------------------------------------ */

/* Where the system has put us, and when: who wrote the grammar does not know. */
static uint64_t seed_of(const struct parser *p)
{
    struct timespec t = { 0, 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)(uintptr_t)p ^ (uint64_t)(uintptr_t)p->g << 17) + (uint64_t)t.tv_nsec * UINT64_C(0xbf58476d1ce4e5b9);
}

static gkv_status find(struct parser *p, const char *text, size_t len, uint32_t *rule)
{
    uint64_t sum = p->seed;
    size_t h;

    for (size_t i = 0; i < len; i++) {
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    h = sum % N_BUCKETS;
    for (uint32_t i = p->bucket[h]; i != GKV__G_NONE; i = p->name[i].next)
        if (p->name[i].len == len && !memcmp(p->name[i].text, text, len)) {
            *rule = p->name[i].rule;
            return GKV_OK;
        }
    GKV__TRY(add_rule(p, rule));
    GKV__TRY(grow(p, &p->name, p->n_names, 1, sizeof *p->name, &p->name_room));
    p->name[p->n_names] = (struct name){ text, (uint32_t)len, *rule, p->bucket[h] };
    p->bucket[h] = (uint32_t)p->n_names++;
    return GKV_OK;
}

static gkv_status word(struct parser *p, uint32_t *rule)
{
    const char *text = p->at;

    while (p->at < p->end && is_word(*p->at))
        p->at++;
    if (p->at == text)
        return bad(p, "the name of a rule is missing: letters, digits and -");
    return find(p, text, (size_t)(p->at - text), rule);
}

static gkv_status alternatives(struct parser *p, uint32_t rule, bool nested);

static gkv_status group(struct parser *p)
{
    uint32_t rule;

    if (p->depth == MAX_DEPTH)
        return bad(p, "more than 100 groups in each other");
    p->depth++;
    p->at++;
    skip(p, true);
    GKV__TRY(add_rule(p, &rule));
    GKV__TRY(alternatives(p, rule, true));
    if (!is_next(p, ')'))
        return bad(p, "')' is missing");
    p->at++;
    p->depth--;
    return push(p, GKV__G_RULE, rule);
}

static gkv_status number(struct parser *p, uint32_t *n)
{
    if (p->at == p->end || *p->at < '0' || *p->at > '9')
        return bad(p, "a number of repetitions is missing");
    for (*n = 0; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        *n = *n * 10 + (uint32_t)(*p->at - '0');
        if (*n > MAX_REPEAT)
            return bad(p, "more than 100000 repetitions");
    }
    return GKV_OK;
}

/* "?", "*", "+", "{m}", "{m,}", "{,n}", "{m,n}"; max GKV__G_NONE: no limit. */
static gkv_status bounds(struct parser *p, uint32_t *min, uint32_t *max)
{
    const char c = *p->at++;

    *min = c == '+';
    *max = c == '?' ? 1 : GKV__G_NONE;
    if (c != '{')
        return GKV_OK;
    skip(p, true);
    if (!is_next(p, ','))
        GKV__TRY(number(p, min));
    skip(p, true);
    *max = *min;
    if (is_next(p, ',')) {
        p->at++;
        skip(p, true);
        *max = GKV__G_NONE;
        if (!is_next(p, '}'))
            GKV__TRY(number(p, max));
        skip(p, true);
    }
    if (!is_next(p, '}'))
        return bad(p, "'}' is missing");
    if (*max < *min)
        return bad(p, "the largest number of repetitions is smaller than the smallest");
    p->at++;
    return GKV_OK;
}

/* A rule: x, then `rest`, or nothing.  rest GKV__G_NONE: the rule again. */
static gkv_status optional(struct parser *p, struct gkv__g_symbol x, uint32_t rest, uint32_t *rule)
{
    const size_t base = p->n_open;

    GKV__TRY(add_rule(p, rule));
    GKV__TRY(push(p, x.kind, x.arg));
    GKV__TRY(push(p, GKV__G_RULE, rest == GKV__G_NONE ? *rule : rest));
    GKV__TRY(add_alt(p, *rule, base));
    return add_alt(p, *rule, base);
}

/* Repeats the open symbols from `from` on. */
static gkv_status repeat(struct parser *p, size_t from)
{
    struct gkv__g_symbol x;
    uint32_t min, max, rule;

    GKV__TRY(bounds(p, &min, &max));
    if (p->n_open - from != 1) {
        GKV__TRY(add_rule(p, &rule));
        GKV__TRY(add_alt(p, rule, from));
        GKV__TRY(push(p, GKV__G_RULE, rule));
    }
    x = p->open[from];
    p->n_open = from;
    for (uint32_t i = 0; i < min; i++)
        GKV__TRY(push(p, x.kind, x.arg));
    if (max == min)
        return GKV_OK;
    if (max == GKV__G_NONE) {
        GKV__TRY(optional(p, x, GKV__G_NONE, &rule));
    } else {
        GKV__TRY(add_rule(p, &rule));                   /* nothing, then x and nothing, ... */
        GKV__TRY(add_alt(p, rule, p->n_open));
        for (uint32_t i = min; i < max; i++)
            GKV__TRY(optional(p, x, rule, &rule));
    }
    return push(p, GKV__G_RULE, rule);
}

static gkv_status item(struct parser *p)
{
    uint32_t rule;

    switch (*p->at) {
    case '"':
        return literal(p);
    case '[':
        return class(p);
    case '(':
        return group(p);
    case '.':
        p->at++;
        return add_class(p, p->g->n_range, true);
    case '<':
    case '!':
        return bad(p, "tokens in a grammar, as <think>, are not supported; write their text");
    default:
        GKV__TRY(word(p, &rule));
        return push(p, GKV__G_RULE, rule);
    }
}

/* Symbols up to the end of the alternative. */
static gkv_status sequence(struct parser *p, bool nested)
{
    const size_t base = p->n_open;
    size_t from = base;
    bool any = false;

    while (p->at < p->end && !strchr("|)\r\n", *p->at)) {
        if (strchr("*+?{", *p->at)) {
            if (!any)
                return bad(p, "nothing stands before this repetition");
            GKV__TRY(repeat(p, from));
        } else {
            from = p->n_open;
            any = true;
            GKV__TRY(item(p));
        }
        skip(p, nested);
    }
    return GKV_OK;
}

static gkv_status alternatives(struct parser *p, uint32_t rule, bool nested)
{
    for (;;) {
        const size_t base = p->n_open;

        GKV__TRY(sequence(p, nested));
        GKV__TRY(add_alt(p, rule, base));
        if (!is_next(p, '|'))
            return GKV_OK;
        p->at++;
        skip(p, true);
    }
}

static gkv_status definition(struct parser *p)
{
    uint32_t rule;

    GKV__TRY(word(p, &rule));
    skip(p, false);
    if (p->end - p->at < 3 || memcmp(p->at, "::=", 3))
        return bad(p, "'::=' is missing after the name of a rule");
    if (p->g->rule[rule].alt != GKV__G_NONE)
        return bad(p, "this rule is defined a second time");
    p->at += 3;
    skip(p, true);
    GKV__TRY(alternatives(p, rule, false));
    if (p->at < p->end && *p->at != '\n' && *p->at != '\r')
        return bad(p, "a rule ends here, but not the line");
    skip(p, true);
    return GKV_OK;
}

/* ---- what can be nothing, and what ends ------------------------------------------------- */

static uint32_t plus(uint32_t a, uint32_t b)
{
    return a == GKV__G_NONE || b == GKV__G_NONE ? GKV__G_NONE : (uint32_t)gkv__min((uint64_t)a + b, GKV__G_NONE - 1);
}

/* Bytes of a text of one symbol. */
static uint32_t bytes_of(const gkv_grammar *g, struct gkv__g_symbol s)
{
    char utf8[4];

    if (s.kind == GKV__G_RULE)
        return g->rule[s.arg].least;
    if (s.kind == GKV__G_CHAR)
        return (uint32_t)gkv__utf8_put(utf8, s.arg);
    if (!g->set[s.arg].n)                               /* no character at all */
        return GKV__G_NONE;
    return (uint32_t)gkv__utf8_put(utf8, g->range[g->set[s.arg].first].lo);
}

static uint32_t bytes_of_alt(const gkv_grammar *g, size_t alt)
{
    uint32_t sum = 0;

    for (const struct gkv__g_symbol *s = g->sym + g->alt[alt].start; s->kind != GKV__G_END; s++)
        sum = plus(sum, bytes_of(g, *s));
    return sum;
}

/* The rules of which an alternative consists of such rules, and of characters if `chars`: into done[], each after those
 * that its alternative, via[], uses.  Returns how many.  Each symbol is looked at twice, whatever their order. */
struct derived { uint32_t *missing, *first, *user, *done, *via; bool *is; };

static size_t derive(const gkv_grammar *g, bool chars, struct derived *d)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_sym; i++)               /* users of rule r: user[first[r] .. first[r + 1]), once filled */
        if (g->sym[i].kind == GKV__G_RULE)
            d->first[g->sym[i].arg + 2]++;
    for (size_t r = 2; r < g->n_rule + 2; r++)
        d->first[r] += d->first[r - 1];
    for (size_t a = 0; a < g->n_alt; a++) {
        for (const struct gkv__g_symbol *s = g->sym + g->alt[a].start; s->kind != GKV__G_END; s++) {
            if (s->kind == GKV__G_RULE)
                d->user[d->first[s->arg + 1]++] = (uint32_t)a;
            d->missing[a] += s->kind == GKV__G_RULE || !chars;
        }
        if (!d->missing[a] && !d->is[g->alt[a].rule]) {
            d->is[g->alt[a].rule] = true;
            d->via[n] = (uint32_t)a;
            d->done[n++] = g->alt[a].rule;
        }
    }
    for (size_t at = 0; at < n; at++)
        for (uint32_t i = d->first[d->done[at]]; i < d->first[d->done[at] + 1]; i++) {
            const uint32_t a = d->user[i], rule = g->alt[a].rule;

            if (--d->missing[a] || d->is[rule])
                continue;
            d->is[rule] = true;
            d->via[n] = a;
            d->done[n++] = rule;
        }
    return n;
}

static void derived_close(struct derived *d)
{
    free(d->missing);
    free(d->first);
    free(d->user);
    free(d->done);
    free(d->via);
    free(d->is);
}

static gkv_status derived_open(struct derived *d, const gkv_grammar *g, gkv_error *err)
{
    *d = (struct derived){
        calloc(g->n_alt + 1, sizeof *d->missing), calloc(g->n_rule + 2, sizeof *d->first),
        malloc((g->n_sym + 1) * sizeof *d->user), malloc((g->n_rule + 1) * sizeof *d->done),
        malloc((g->n_rule + 1) * sizeof *d->via), calloc(g->n_rule + 1, sizeof *d->is),
    };
    if (d->missing && d->first && d->user && d->done && d->via && d->is)
        return GKV_OK;
    derived_close(d);
    return gkv__fail(err, GKV_NOMEM, "out of memory");
}

/* A short text of each rule: the first that was found, then a few rounds of looking for a shorter one.  Any lengths will
 * do that are those of texts. */
static void measure(gkv_grammar *g, const struct derived *d, size_t n)
{
    for (size_t r = 0; r < g->n_rule; r++)
        g->rule[r].least = GKV__G_NONE;
    for (size_t i = 0; i < n; i++)
        g->rule[d->done[i]].least = bytes_of_alt(g, d->via[i]);
    for (int round = 0; round < 8; round++)
        for (size_t a = g->n_alt; a-- > 0; ) {
            struct gkv__g_rule *r = &g->rule[g->alt[a].rule];

            r->least = (uint32_t)gkv__min(r->least, bytes_of_alt(g, a));
        }
    for (size_t i = g->n_sym; i-- > 0; )
        g->least[i] = g->sym[i].kind == GKV__G_END ? 0 : plus(g->least[i + 1], bytes_of(g, g->sym[i]));
}

static gkv_status properties(struct parser *p)
{
    gkv_grammar *g = p->g;
    struct derived d;
    size_t n;

    g->least = malloc(g->n_sym * sizeof *g->least);
    if (!g->least)
        return gkv__fail(p->err, GKV_NOMEM, "out of memory");
    GKV__TRY(derived_open(&d, g, p->err));
    derive(g, false, &d);
    for (size_t r = 0; r < g->n_rule; r++)
        g->rule[r].nullable = d.is[r];
    derived_close(&d);
    GKV__TRY(derived_open(&d, g, p->err));
    n = derive(g, true, &d);
    measure(g, &d, n);
    derived_close(&d);
    return GKV_OK;
}

/* ---- the whole -------------------------------------------------------------------------- */

static gkv_status parse(struct parser *p)
{
    gkv_grammar *g = p->g;

    skip(p, true);
    GKV__TRY(find(p, "root", 4, &g->root));
    while (p->at < p->end)
        GKV__TRY(definition(p));
    if (g->rule[g->root].alt == GKV__G_NONE)
        return gkv__fail(p->err, GKV_INVALID, "the grammar has no rule root, which it begins with");
    for (size_t i = 0; i < p->n_names; i++)
        if (g->rule[p->name[i].rule].alt == GKV__G_NONE)
            return gkv__fail(p->err, GKV_INVALID, "the grammar uses a rule %.*s, which it does not define",
                             (int)gkv__min(p->name[i].len, 60), p->name[i].text);
    GKV__TRY(properties(p));
    for (size_t i = 0; i < p->n_names; i++)
        if (g->rule[p->name[i].rule].least == GKV__G_NONE)
            return gkv__fail(p->err, GKV_INVALID, "the grammar's rule %.*s never ends",
                             (int)gkv__min(p->name[i].len, 60), p->name[i].text);
    return GKV_OK;
}

gkv_status gkv_grammar_open(gkv_grammar **out, const char *text, size_t len, gkv_error *err)
{
    struct parser p = { .at = text, .begin = text, .end = text + len, .err = err };
    gkv_status status;

    *out = NULL;
    for (size_t i = 0; i < N_BUCKETS; i++)
        p.bucket[i] = GKV__G_NONE;
    p.seed = seed_of(&p);
    p.g = calloc(1, sizeof *p.g);
    if (!p.g)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = gkv__utf8_check(text, len, NULL) == len ? parse(&p)
           : gkv__fail(err, GKV_INVALID, "the grammar is not UTF-8 text");
    free(p.open);
    free(p.name);
    if (status == GKV_OK)
        *out = p.g;
    else
        gkv_grammar_close(p.g);
    return status;
}

void gkv_grammar_close(gkv_grammar *g)
{
    if (!g)
        return;
    free(g->sym);
    free(g->least);
    free(g->alt);
    free(g->rule);
    free(g->set);
    free(g->range);
    free(g);
}
