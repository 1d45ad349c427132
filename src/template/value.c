/* SPDX-License-Identifier: BSD-2-Clause
 * value.c - see value.h */
#include "config.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/template/value.h"
#include "src/base/unicode.h"

/* ---- the run ---------------------------------------------------------------------------- */

void gkv__j_fail(struct gkv__jrun *r, gkv_status status, const char *fmt, ...)
{
    char    what[256];
    va_list list;

    if (r->status != GKV_OK)
        return;
    va_start(list, fmt);
    vsnprintf(what, sizeof what, fmt, list);
    va_end(list);
    r->status = gkv__fail(r->err, status, "chat template, line %u: %s", r->line, what);
}

struct block { void *next; size_t used, cap; char at[]; };

enum { BLOCK = 1 << 14, ALIGN = 16 };

void *gkv__j_alloc(struct gkv__jrun *r, size_t n, size_t size)
{
    struct block *b = r->blocks;
    uint64_t      bytes;
    char         *p;

    if (r->status != GKV_OK)
        return NULL;
    if (!gkv__mul(n, size, &bytes) || bytes > r->memory) {
        gkv__j_fail(r, GKV_LIMIT, "it takes too much memory");
        return NULL;
    }
    bytes = (bytes + ALIGN) / ALIGN * ALIGN;
    if (!b || b->cap - b->used < bytes) {
        size_t cap = bytes > BLOCK ? (size_t)bytes : BLOCK;

        b = calloc(1, sizeof *b + cap);
        if (!b) {
            gkv__j_fail(r, GKV_NOMEM, "out of memory");
            return NULL;
        }
        b->next = r->blocks;
        b->cap = cap;
        r->blocks = b;
    }
    p = b->at + b->used;
    b->used += (size_t)bytes;
    r->memory -= bytes < r->memory ? (size_t)bytes : r->memory;
    return p;
}

void gkv__j_free(struct gkv__jrun *r)
{
    for (struct block *b = r->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    r->blocks = NULL;
}

bool gkv__j_charge(struct gkv__jrun *r, size_t n)
{
    const uint64_t steps = 1 + n / 16;

    if (r->status == GKV_OK && r->steps < steps)
        gkv__j_fail(r, GKV_LIMIT, "it takes too many steps");
    r->steps -= r->status == GKV_OK ? steps : 0;
    return r->status == GKV_OK;
}

/* Makes room for one more item in an array of n items of this size. */
static void *grow(struct gkv__jrun *r, void *at, size_t n, size_t *cap, size_t size)
{
    size_t more = *cap ? 2 * *cap : 8;
    void  *p;

    if (n < *cap)
        return at;
    p = gkv__j_alloc(r, more, size);
    if (!p)
        return NULL;
    if (n)
        memcpy(p, at, n * size);
    *cap = more;
    return p;
}

/* ---- making ----------------------------------------------------------------------------- */

static const struct gkv__jvalue undefined;

struct gkv__jvalue gkv__j_bool(bool b)
{
    return (struct gkv__jvalue){ .kind = GKV__J_BOOL, .u.b = b };
}

struct gkv__jvalue gkv__j_int(int64_t i)
{
    return (struct gkv__jvalue){ .kind = GKV__J_INT, .u.i = i };
}

struct gkv__jvalue gkv__j_str(struct gkv__jstr s)
{
    return (struct gkv__jvalue){ .kind = GKV__J_STR, .u.s = s };
}

struct gkv__jvalue gkv__j_text(const char *s)
{
    return gkv__j_str((struct gkv__jstr){ s, NULL, strlen(s) });
}

struct gkv__jvalue gkv__j_list(struct gkv__jrun *r)
{
    struct gkv__jlist *l = gkv__j_alloc(r, 1, sizeof *l);

    return l ? (struct gkv__jvalue){ .kind = GKV__J_LIST, .u.list = l } : undefined;
}

struct gkv__jvalue gkv__j_dict(struct gkv__jrun *r)
{
    struct gkv__jdict *d = gkv__j_alloc(r, 1, sizeof *d);

    return d ? (struct gkv__jvalue){ .kind = GKV__J_DICT, .u.dict = d } : undefined;
}

void gkv__j_append(struct gkv__jrun *r, struct gkv__jvalue list, struct gkv__jvalue v)
{
    struct gkv__jlist  *l = list.u.list;
    struct gkv__jvalue *at;

    if (!gkv__j_charge(r, 0) || !(at = grow(r, l->at, l->n, &l->cap, sizeof *at)))
        return;
    l->at = at;
    l->at[l->n++] = v;
}

static struct gkv__jpair *find(struct gkv__jrun *r, const struct gkv__jdict *d,
                               struct gkv__jvalue key)
{
    for (size_t i = 0; i < d->n && gkv__j_charge(r, 0); i++)
        if (gkv__j_same(r, d->at[i].key, key))
            return &d->at[i];
    return NULL;
}

void gkv__j_set(struct gkv__jrun *r, struct gkv__jvalue dict, struct gkv__jvalue key,
                struct gkv__jvalue v)
{
    struct gkv__jdict *d = dict.u.dict;
    struct gkv__jpair *at;

    if (r->status != GKV_OK)
        return;
    at = find(r, d, key);
    if (at) {
        at->value = v;
        return;
    }
    at = grow(r, d->at, d->n, &d->cap, sizeof *at);
    if (!at)
        return;
    d->at = at;
    d->at[d->n++] = (struct gkv__jpair){ key, v };
}

void gkv__j_put(struct gkv__jrun *r, struct gkv__jtext *t, struct gkv__jstr s)
{
    if (!gkv__j_charge(r, s.n) || s.n == 0)
        return;
    if (s.n > t->cap - t->n) {
        size_t   cap = t->cap + s.n > 2 * t->cap ? t->cap + s.n : 2 * t->cap;
        char    *p = gkv__j_alloc(r, cap, 1);
        uint8_t *user = gkv__j_alloc(r, cap, 1);

        if (!p || !user)
            return;
        if (t->n) {
            memcpy(p, t->p, t->n);
            memcpy(user, t->user, t->n);
        }
        *t = (struct gkv__jtext){ p, user, t->n, cap };
    }
    memcpy(t->p + t->n, s.p, s.n);
    if (s.user)
        memcpy(t->user + t->n, s.user, s.n);
    t->n += s.n;
}

struct gkv__jvalue gkv__j_finish(const struct gkv__jtext *t)
{
    return gkv__j_str((struct gkv__jstr){ t->n ? t->p : "", t->user, t->n });
}

static void put(struct gkv__jrun *r, struct gkv__jtext *t, const char *s)
{
    gkv__j_put(r, t, (struct gkv__jstr){ s, NULL, strlen(s) });
}

/* ---- strings ---------------------------------------------------------------------------- */

struct gkv__jstr gkv__j_sub(struct gkv__jstr s, size_t from, size_t to)
{
    return (struct gkv__jstr){ s.p + from, s.user ? s.user + from : NULL, to - from };
}

static bool is_space(uint32_t cp)
{
    return gkv__uc_class(cp) == GKV__UC_SPACE || (cp >= 0x1c && cp <= 0x1f);
}

size_t gkv__j_space(struct gkv__jstr s, bool at_end)
{
    const unsigned char *p = (const unsigned char *)s.p, *end = p + s.n, *q = p;
    uint32_t             cp;

    if (!at_end) {
        while (q < end) {
            size_t n = gkv__utf8_next(q, end, &cp, NULL);

            if (!is_space(cp))
                break;
            q += n;
        }
        return (size_t)(q - p);
    }
    for (q = end; q > p; ) {
        const unsigned char *begin = q - 1;

        while (begin > p && q - begin < 4 && (*begin & 0xc0) == 0x80)
            begin--;
        if (gkv__utf8_next(begin, q, &cp, NULL) != (size_t)(q - begin) || !is_space(cp))
            break;
        q = begin;
    }
    return (size_t)(end - q);
}

/* Byte at which character i of s begins. */
static size_t offset_of(struct gkv__jstr s, size_t i)
{
    size_t at = 0;

    for (; i > 0 && at < s.n; i--)
        for (at++; at < s.n && (s.p[at] & 0xc0) == 0x80; at++)
            ;
    return at;
}

static size_t count_characters(struct gkv__jstr s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

/* ---- comparing and looking up ----------------------------------------------------------- */

const char *gkv__j_kind(struct gkv__jvalue v)
{
    static const char *const names[] = {
        "undefined", "none", "a boolean", "an integer", "a float", "a string", "a list",
        "a mapping", "a loop", "a macro"
    };

    return names[v.kind];
}

bool gkv__j_is(struct gkv__jvalue v, const char *s)
{
    return v.kind == GKV__J_STR && v.u.s.n == strlen(s) && memcmp(v.u.s.p, s, v.u.s.n) == 0;
}

bool gkv__j_true(struct gkv__jvalue v)
{
    switch (v.kind) {
    case GKV__J_BOOL:  return v.u.b;
    case GKV__J_INT:   return v.u.i != 0;
    case GKV__J_FLOAT: return v.u.f != 0;
    case GKV__J_STR:   return v.u.s.n > 0;
    case GKV__J_LIST:  return v.u.list->n > 0;
    case GKV__J_DICT:  return v.u.dict->is_namespace || v.u.dict->n > 0;
    case GKV__J_LOOP:
    case GKV__J_MACRO: return true;
    default:           return false;
    }
}

static bool is_number(struct gkv__jvalue v)
{
    return v.kind == GKV__J_INT || v.kind == GKV__J_FLOAT || v.kind == GKV__J_BOOL;
}

static double number(struct gkv__jvalue v)
{
    return v.kind == GKV__J_INT ? (double)v.u.i : v.kind == GKV__J_BOOL ? v.u.b : v.u.f;
}

/* Lists may be nested as deeply as a template's loops make them, so depth is limited here too. */
static bool same_items(struct gkv__jrun *r, struct gkv__jvalue a, struct gkv__jvalue b)
{
    bool good = true;

    if (++r->depth > GKV__J_MAX_DEPTH)
        gkv__j_fail(r, GKV_LIMIT, "values are nested too deeply");
    if (a.kind == GKV__J_LIST) {
        good = a.u.list->n == b.u.list->n;
        for (size_t i = 0; good && i < a.u.list->n && gkv__j_charge(r, 0); i++)
            good = gkv__j_same(r, a.u.list->at[i], b.u.list->at[i]);
    } else if (a.u.dict != b.u.dict) {
        good = a.u.dict->n == b.u.dict->n;
        for (size_t i = 0; good && i < a.u.dict->n && gkv__j_charge(r, 0); i++) {
            struct gkv__jpair *pair = find(r, b.u.dict, a.u.dict->at[i].key);

            good = pair && gkv__j_same(r, a.u.dict->at[i].value, pair->value);
        }
    }
    r->depth--;
    return good;
}

bool gkv__j_same(struct gkv__jrun *r, struct gkv__jvalue a, struct gkv__jvalue b)
{
    if (is_number(a) && is_number(b))
        return a.kind == GKV__J_INT && b.kind == GKV__J_INT ? a.u.i == b.u.i
                                                           : number(a) == number(b);
    if (a.kind != b.kind || r->status != GKV_OK)
        return false;
    switch (a.kind) {
    case GKV__J_STR:
        return a.u.s.n == b.u.s.n && gkv__j_charge(r, a.u.s.n) &&
               (a.u.s.n == 0 || memcmp(a.u.s.p, b.u.s.p, a.u.s.n) == 0);
    case GKV__J_LIST:
    case GKV__J_DICT:
        return same_items(r, a, b);
    case GKV__J_LOOP:
        return a.u.loop == b.u.loop;
    case GKV__J_MACRO:
        return a.u.macro == b.u.macro;
    default:
        return true;
    }
}

int gkv__j_order(struct gkv__jrun *r, struct gkv__jvalue a, struct gkv__jvalue b)
{
    if (is_number(a) && is_number(b))
        return (number(a) > number(b)) - (number(a) < number(b));
    if (a.kind == GKV__J_STR && b.kind == GKV__J_STR) {
        size_t n = a.u.s.n < b.u.s.n ? a.u.s.n : b.u.s.n;
        int    order = n && gkv__j_charge(r, n) ? memcmp(a.u.s.p, b.u.s.p, n) : 0;

        return order ? order : (a.u.s.n > b.u.s.n) - (a.u.s.n < b.u.s.n);
    }
    gkv__j_fail(r, GKV_INVALID, "%s and %s have no order", gkv__j_kind(a), gkv__j_kind(b));
    return 0;
}

bool gkv__j_contains(struct gkv__jrun *r, struct gkv__jvalue in, struct gkv__jvalue v)
{
    switch (in.kind) {
    case GKV__J_STR:
        if (v.kind != GKV__J_STR) {
            gkv__j_fail(r, GKV_INVALID, "%s cannot be in a string", gkv__j_kind(v));
            return false;
        }
        return gkv__j_charge(r, in.u.s.n) &&
               (v.u.s.n == 0 || memmem(in.u.s.p, in.u.s.n, v.u.s.p, v.u.s.n));
    case GKV__J_LIST:
        for (size_t i = 0; i < in.u.list->n && gkv__j_charge(r, 0); i++)
            if (gkv__j_same(r, in.u.list->at[i], v))
                return true;
        return false;
    case GKV__J_DICT:
        return find(r, in.u.dict, v) != NULL;
    case GKV__J_UNDEFINED:
        return false;
    default:
        gkv__j_fail(r, GKV_INVALID, "nothing can be in %s", gkv__j_kind(in));
        return false;
    }
}

static struct gkv__jvalue of_loop(const struct gkv__jloop *l, struct gkv__jvalue key)
{
    const struct { const char *name; struct gkv__jvalue v; } has[] = {
        { "index",     gkv__j_int((int64_t)l->i + 1) },
        { "index0",    gkv__j_int((int64_t)l->i) },
        { "revindex",  gkv__j_int((int64_t)(l->n - l->i)) },
        { "revindex0", gkv__j_int((int64_t)(l->n - l->i) - 1) },
        { "first",     gkv__j_bool(l->i == 0) },
        { "last",      gkv__j_bool(l->i + 1 == l->n) },
        { "length",    gkv__j_int((int64_t)l->n) },
        { "previtem",  l->i > 0 ? l->item[l->i - 1] : undefined },
        { "nextitem",  l->i + 1 < l->n ? l->item[l->i + 1] : undefined },
    };

    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        if (gkv__j_is(key, has[i].name))
            return has[i].v;
    return undefined;
}

struct gkv__jvalue gkv__j_get(struct gkv__jrun *r, struct gkv__jvalue of, struct gkv__jvalue key)
{
    struct gkv__jpair *pair;
    size_t             n;
    int64_t            i = key.u.i;

    switch (of.kind) {
    case GKV__J_DICT:
        pair = find(r, of.u.dict, key);
        return pair ? pair->value : undefined;
    case GKV__J_LOOP:
        return of_loop(of.u.loop, key);
    case GKV__J_LIST:
    case GKV__J_STR:
        if (key.kind != GKV__J_INT)
            return undefined;
        n = gkv__j_length(r, of);
        if (i < 0)
            i += (int64_t)n;
        if (i < 0 || (uint64_t)i >= n)
            return undefined;
        if (of.kind == GKV__J_LIST)
            return of.u.list->at[i];
        return gkv__j_str(gkv__j_sub(of.u.s, offset_of(of.u.s, (size_t)i),
                                     offset_of(of.u.s, (size_t)i + 1)));
    case GKV__J_UNDEFINED:
        if (key.kind == GKV__J_STR)
            gkv__j_fail(r, GKV_INVALID, "\"%.*s\" of something undefined",
                        (int)(key.u.s.n < 64 ? key.u.s.n : 64), key.u.s.p);
        else
            gkv__j_fail(r, GKV_INVALID, "an item of something undefined");
        return undefined;
    default:
        return undefined;
    }
}

/* A bound of a slice, as in Python: counted from the end if negative, then limited to lo .. hi.  lo is 0 or -1, which
 * one that counts from the end does not get below. */
static int64_t bound(struct gkv__jvalue v, int64_t n, int64_t lo, int64_t hi, int64_t unless)
{
    int64_t i = v.kind == GKV__J_INT ? v.u.i : unless;

    if (v.kind == GKV__J_INT && i < 0)
        i = i < -n ? lo : i + n;
    return i > hi ? hi : i;
}

struct gkv__jvalue gkv__j_slice(struct gkv__jrun *r, struct gkv__jvalue of,
                                struct gkv__jvalue from, struct gkv__jvalue to,
                                struct gkv__jvalue step)
{
    const int64_t      by = step.kind == GKV__J_INT ? step.u.i : 1;
    const bool         back = by < 0;
    struct gkv__jtext  t = { 0 };
    struct gkv__jvalue list;
    int64_t            n, i, end;

    if (of.kind != GKV__J_LIST && of.kind != GKV__J_STR) {
        gkv__j_fail(r, GKV_INVALID, "a slice of %s", gkv__j_kind(of));
        return undefined;
    }
    n = (int64_t)gkv__j_length(r, of);
    if (by == 0) {
        gkv__j_fail(r, GKV_INVALID, "a slice by steps of 0");
        return undefined;
    }
    i = bound(from, n, back ? -1 : 0, back ? n - 1 : n, back ? n - 1 : 0);
    end = bound(to, n, back ? -1 : 0, back ? n - 1 : n, back ? -1 : n);
    if (of.kind == GKV__J_STR && by == 1) {
        if (!gkv__j_charge(r, of.u.s.n) || i >= end)
            return gkv__j_text("");
        return gkv__j_str(gkv__j_sub(of.u.s, offset_of(of.u.s, (size_t)i),
                                     offset_of(of.u.s, (size_t)end)));
    }
    list = of.kind == GKV__J_LIST ? gkv__j_list(r) : undefined;
    while ((back ? i > end : i < end) && gkv__j_charge(r, of.kind == GKV__J_STR ? of.u.s.n : 0)) {
        struct gkv__jvalue item = gkv__j_get(r, of, gkv__j_int(i));

        if (of.kind == GKV__J_LIST)
            gkv__j_append(r, list, item);
        else
            gkv__j_put(r, &t, item.u.s);
        if (__builtin_add_overflow(i, by, &i))
            break;
    }
    return of.kind == GKV__J_LIST ? list : gkv__j_finish(&t);
}

struct gkv__jvalue gkv__j_items(struct gkv__jrun *r, struct gkv__jvalue v)
{
    struct gkv__jvalue list;

    if (v.kind == GKV__J_LIST)
        return v;
    list = gkv__j_list(r);
    if (v.kind == GKV__J_STR) {
        for (size_t at = 0, n; at < v.u.s.n && r->status == GKV_OK; at += n) {
            n = offset_of(gkv__j_sub(v.u.s, at, v.u.s.n), 1);
            gkv__j_append(r, list, gkv__j_str(gkv__j_sub(v.u.s, at, at + n)));
        }
    } else if (v.kind == GKV__J_DICT) {
        for (size_t i = 0; i < v.u.dict->n && r->status == GKV_OK; i++)
            gkv__j_append(r, list, v.u.dict->at[i].key);
    } else if (v.kind != GKV__J_UNDEFINED) {
        gkv__j_fail(r, GKV_INVALID, "%s is no list", gkv__j_kind(v));
    }
    return r->status == GKV_OK ? list : undefined;
}

size_t gkv__j_length(struct gkv__jrun *r, struct gkv__jvalue v)
{
    switch (v.kind) {
    case GKV__J_STR:       return gkv__j_charge(r, v.u.s.n) ? count_characters(v.u.s) : 0;
    case GKV__J_LIST:      return v.u.list->n;
    case GKV__J_DICT:      return v.u.dict->n;
    case GKV__J_UNDEFINED: return 0;
    default:
        gkv__j_fail(r, GKV_INVALID, "%s has no length", gkv__j_kind(v));
        return 0;
    }
}

/* ---- writing ---------------------------------------------------------------------------- */

static void write_float(struct gkv__jrun *r, struct gkv__jtext *t, double f)
{
    char buf[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, sizeof buf - 3, "%.*g", digits, f);
        if (strtod(buf, NULL) == f)
            break;
    }
    if (!strpbrk(buf, ".en"))
        strcat(buf, ".0");
    put(r, t, buf);
}

/* A string in quotes: as Python writes it, preferably with ', or as JSON does. */
static void write_quoted(struct gkv__jrun *r, struct gkv__jtext *t, struct gkv__jstr s, bool json)
{
    const char quote = json || (memchr(s.p, '\'', s.n) && !memchr(s.p, '"', s.n)) ? '"' : '\'';
    size_t     done = 0;
    char       esc[8] = { quote, 0 };

    put(r, t, esc);
    for (size_t i = 0; i < s.n && gkv__j_charge(r, 0); i++) {
        const unsigned char c = (unsigned char)s.p[i];
        const char         *named = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t"
                                  : c == '\\' ? "\\\\" : json && c == '\b' ? "\\b"
                                  : json && c == '\f' ? "\\f" : NULL;

        if (!named && c != (unsigned char)quote && c >= 0x20 && (json || c != 0x7f))
            continue;
        if (named)
            snprintf(esc, sizeof esc, "%s", named);
        else if (c == (unsigned char)quote)
            snprintf(esc, sizeof esc, "\\%c", c);
        else
            snprintf(esc, sizeof esc, json ? "\\u%04x" : "\\x%02x", c);
        gkv__j_put(r, t, gkv__j_sub(s, done, i));
        put(r, t, esc);
        done = i + 1;
    }
    gkv__j_put(r, t, gkv__j_sub(s, done, s.n));
    esc[0] = quote;
    esc[1] = 0;
    put(r, t, esc);
}

static bool deeper(struct gkv__jrun *r)
{
    if (++r->depth > GKV__J_MAX_DEPTH)
        gkv__j_fail(r, GKV_LIMIT, "values are nested too deeply");
    return r->status == GKV_OK;
}

void gkv__j_write(struct gkv__jrun *r, struct gkv__jtext *t, struct gkv__jvalue v, bool quoted)
{
    char buf[32];

    switch (v.kind) {
    case GKV__J_UNDEFINED:
        put(r, t, quoted ? "Undefined" : "");
        break;
    case GKV__J_NONE:
        put(r, t, "None");
        break;
    case GKV__J_BOOL:
        put(r, t, v.u.b ? "True" : "False");
        break;
    case GKV__J_INT:
        snprintf(buf, sizeof buf, "%" PRId64, v.u.i);
        put(r, t, buf);
        break;
    case GKV__J_FLOAT:
        write_float(r, t, v.u.f);
        break;
    case GKV__J_STR:
        if (quoted)
            write_quoted(r, t, v.u.s, false);
        else
            gkv__j_put(r, t, v.u.s);
        break;
    case GKV__J_LIST:
        put(r, t, "[");
        for (size_t i = 0; deeper(r) && i < v.u.list->n; i++, r->depth--) {
            put(r, t, i ? ", " : "");
            gkv__j_write(r, t, v.u.list->at[i], true);
        }
        r->depth--;
        put(r, t, "]");
        break;
    case GKV__J_DICT:
        put(r, t, "{");
        for (size_t i = 0; deeper(r) && i < v.u.dict->n; i++, r->depth--) {
            put(r, t, i ? ", " : "");
            gkv__j_write(r, t, v.u.dict->at[i].key, true);
            put(r, t, ": ");
            gkv__j_write(r, t, v.u.dict->at[i].value, true);
        }
        r->depth--;
        put(r, t, "}");
        break;
    default:
        gkv__j_fail(r, GKV_INVALID, "%s cannot be printed", gkv__j_kind(v));
    }
}

struct gkv__jvalue gkv__j_string(struct gkv__jrun *r, struct gkv__jvalue v)
{
    struct gkv__jtext t = { 0 };

    if (v.kind == GKV__J_STR)
        return v;
    gkv__j_write(r, &t, v, false);
    return gkv__j_finish(&t);
}

static void new_line(struct gkv__jrun *r, struct gkv__jtext *t, int indent, int level)
{
    if (indent < 0)
        return;
    put(r, t, "\n");
    for (int i = 0; i < indent * level && r->status == GKV_OK; i++)
        put(r, t, " ");
}

void gkv__j_json(struct gkv__jrun *r, struct gkv__jtext *t, struct gkv__jvalue v, int indent,
                 int level)
{
    const char *comma = indent < 0 ? ", " : ",";
    size_t      n = v.kind == GKV__J_LIST ? v.u.list->n : v.kind == GKV__J_DICT ? v.u.dict->n : 0;

    switch (v.kind) {
    case GKV__J_NONE:
        put(r, t, "null");
        break;
    case GKV__J_BOOL:
        put(r, t, v.u.b ? "true" : "false");
        break;
    case GKV__J_INT:
    case GKV__J_FLOAT:
        gkv__j_write(r, t, v, false);
        break;
    case GKV__J_STR:
        write_quoted(r, t, v.u.s, true);
        break;
    case GKV__J_LIST:
    case GKV__J_DICT:
        put(r, t, v.kind == GKV__J_LIST ? "[" : "{");
        for (size_t i = 0; deeper(r) && i < n; i++, r->depth--) {
            put(r, t, i ? comma : "");
            new_line(r, t, indent, level + 1);
            if (v.kind == GKV__J_DICT) {
                write_quoted(r, t, gkv__j_string(r, v.u.dict->at[i].key).u.s, true);
                put(r, t, ": ");
            }
            gkv__j_json(r, t, v.kind == GKV__J_LIST ? v.u.list->at[i] : v.u.dict->at[i].value,
                        indent, level + 1);
        }
        r->depth--;
        if (n)
            new_line(r, t, indent, level);
        put(r, t, v.kind == GKV__J_LIST ? "]" : "}");
        break;
    default:
        gkv__j_fail(r, GKV_INVALID, "%s is not JSON", gkv__j_kind(v));
    }
}
