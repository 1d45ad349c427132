/* SPDX-License-Identifier: BSD-2-Clause
 * call.c - see call.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "src/template/call.h"

#define N(array) (sizeof (array) / sizeof *(array))

static const struct gkv__jvalue undefined;

struct gkv__jvalue gkv__j_arg(const struct gkv__jargs *args, size_t i, const char *name)
{
    for (size_t j = 0; j < args->n; j++)
        if (args->name[j].n ? name && gkv__j_named(args->name[j], name) : i == j)
            return args->v[j];
    return undefined;
}

static bool need(struct gkv__jrun *r, struct gkv__jvalue v, enum gkv__jkind kind, const char *what)
{
    if (v.kind == kind)
        return r->status == GKV_OK;
    gkv__j_fail(r, GKV_INVALID, "%s: not of %s", what, gkv__j_kind(v));
    return false;
}

/* ---- strings ---------------------------------------------------------------------------- */

static size_t find(struct gkv__jstr s, size_t from, struct gkv__jstr what)
{
    const char *p = what.n <= s.n - from ? memmem(s.p + from, s.n - from, what.p, what.n) : NULL;

    return p ? (size_t)(p - s.p) : SIZE_MAX;
}

/* Bytes of the character of set that s begins with (at_end: ends with), or 0. */
static size_t one_of(struct gkv__jstr s, struct gkv__jstr set, bool at_end)
{
    for (size_t i = 0, n; i < set.n; i += n) {
        for (n = 1; i + n < set.n && (set.p[i + n] & 0xc0) == 0x80; n++)
            ;
        if (n <= s.n && memcmp(at_end ? s.p + s.n - n : s.p, set.p + i, n) == 0)
            return n;
    }
    return 0;
}

static struct gkv__jvalue stripped(struct gkv__jrun *r, struct gkv__jstr s, struct gkv__jvalue set,
                                   bool left, bool right)
{
    size_t n;

    if (!gkv__j_charge(r, s.n))
        return undefined;
    if (set.kind == GKV__J_STR) {
        while (left && gkv__j_charge(r, set.u.s.n) && (n = one_of(s, set.u.s, false)))
            s = gkv__j_sub(s, n, s.n);
        while (right && gkv__j_charge(r, set.u.s.n) && (n = one_of(s, set.u.s, true)))
            s.n -= n;
        return gkv__j_str(s);
    }
    if (left)
        s = gkv__j_sub(s, gkv__j_space(s, false), s.n);
    if (right)
        s.n -= gkv__j_space(s, true);
    return gkv__j_str(s);
}

/* Split at white space, or at each sep, at most `most` times; back: from the right. */
static struct gkv__jvalue split(struct gkv__jrun *r, struct gkv__jstr s, struct gkv__jvalue sep,
                                struct gkv__jvalue most)
{
    struct gkv__jvalue list = gkv__j_list(r);
    int64_t            left = most.kind == GKV__J_INT && most.u.i >= 0 ? most.u.i : INT64_MAX;

    if (!gkv__j_charge(r, s.n))
        return undefined;
    if (sep.kind == GKV__J_STR && sep.u.s.n == 0) {
        gkv__j_fail(r, GKV_INVALID, "split: an empty separator");
        return undefined;
    }
    if (sep.kind == GKV__J_STR) {
        size_t at = 0, hit;

        for (; left > 0 && r->status == GKV_OK; left--) {
            hit = find(s, at, sep.u.s);
            if (hit == SIZE_MAX)
                break;
            gkv__j_append(r, list, gkv__j_str(gkv__j_sub(s, at, hit)));
            at = hit + sep.u.s.n;
        }
        gkv__j_append(r, list, gkv__j_str(gkv__j_sub(s, at, s.n)));
        return list;
    }
    for (; r->status == GKV_OK; left--) {
        size_t n = gkv__j_space(s, false);

        s = gkv__j_sub(s, n, s.n);
        if (s.n == 0)
            break;
        for (n = 0; n < s.n && !gkv__j_space(gkv__j_sub(s, n, s.n < n + 4 ? s.n : n + 4), false); )
            n++;
        n = left > 0 ? n : s.n;
        gkv__j_append(r, list, gkv__j_str(gkv__j_sub(s, 0, n)));
        s = gkv__j_sub(s, n, s.n);
    }
    return list;
}

static struct gkv__jvalue replace(struct gkv__jrun *r, struct gkv__jstr s, struct gkv__jvalue old,
                                  struct gkv__jvalue new, struct gkv__jvalue most)
{
    int64_t           left = most.kind == GKV__J_INT && most.u.i >= 0 ? most.u.i : INT64_MAX;
    struct gkv__jtext t = { 0 };
    size_t            at = 0, hit;

    if (!need(r, old, GKV__J_STR, "replace") || !need(r, new, GKV__J_STR, "replace"))
        return undefined;
    if (old.u.s.n == 0) {
        gkv__j_fail(r, GKV_UNSUPPORTED, "replace: of nothing");
        return undefined;
    }
    for (; left > 0 && (hit = find(s, at, old.u.s)) != SIZE_MAX && r->status == GKV_OK; left--) {
        gkv__j_put(r, &t, gkv__j_sub(s, at, hit));
        gkv__j_put(r, &t, new.u.s);
        at = hit + old.u.s.n;
    }
    gkv__j_put(r, &t, gkv__j_sub(s, at, s.n));
    return gkv__j_finish(&t);
}

enum letters { UPPER, LOWER, TITLE, CAPITAL };

/* ASCII only: the words of templates contain nothing else. */
static struct gkv__jvalue in_case(struct gkv__jrun *r, struct gkv__jstr s, enum letters how)
{
    struct gkv__jtext t = { 0 };
    bool              begins = true;

    gkv__j_put(r, &t, s);
    for (size_t i = 0; i < t.n; i++) {
        char *c = &t.p[i];
        bool  is_upper = *c >= 'A' && *c <= 'Z', is_lower = *c >= 'a' && *c <= 'z';
        bool  up = how == UPPER || (how == TITLE && begins) || (how == CAPITAL && i == 0);

        if (up && is_lower)
            *c -= 32;
        else if (!up && is_upper)
            *c += 32;
        begins = !is_upper && !is_lower && !(*c & 0x80);
    }
    return gkv__j_finish(&t);
}

static bool starts(struct gkv__jstr s, struct gkv__jstr with, bool at_end)
{
    return with.n <= s.n && memcmp(at_end ? s.p + s.n - with.n : s.p, with.p, with.n) == 0;
}

/* Whether s starts (at_end: ends) with a string, or with one of a list of strings. */
static struct gkv__jvalue starts_with(struct gkv__jrun *r, struct gkv__jstr s,
                                      struct gkv__jvalue with, bool at_end)
{
    if (with.kind == GKV__J_STR)
        return gkv__j_bool(gkv__j_charge(r, with.u.s.n) && starts(s, with.u.s, at_end));
    if (!need(r, with, GKV__J_LIST, "startswith"))
        return undefined;
    for (size_t i = 0; i < with.u.list->n && gkv__j_charge(r, s.n); i++)
        if (need(r, with.u.list->at[i], GKV__J_STR, "startswith") &&
            starts(s, with.u.list->at[i].u.s, at_end))
            return gkv__j_bool(true);
    return gkv__j_bool(false);
}

static struct gkv__jvalue join(struct gkv__jrun *r, struct gkv__jvalue v, struct gkv__jvalue sep,
                               struct gkv__jvalue attribute)
{
    struct gkv__jvalue items = gkv__j_items(r, v);
    struct gkv__jtext  t = { 0 };

    for (size_t i = 0; r->status == GKV_OK && i < items.u.list->n; i++) {
        struct gkv__jvalue item = items.u.list->at[i];

        if (attribute.kind != GKV__J_UNDEFINED)
            item = gkv__j_get(r, item, attribute);
        if (i && sep.kind == GKV__J_STR)
            gkv__j_put(r, &t, sep.u.s);
        gkv__j_write(r, &t, item, false);
    }
    return gkv__j_finish(&t);
}

/* Indents all lines except the first (unless `first`) and empty ones (unless `blank`). */
static struct gkv__jvalue indent(struct gkv__jrun *r, struct gkv__jvalue v,
                                 struct gkv__jvalue width, bool first, bool blank)
{
    struct gkv__jstr  s = gkv__j_string(r, v).u.s, by = { "    ", NULL, 4 };
    struct gkv__jtext t = { 0 }, space = { 0 };

    if (width.kind == GKV__J_STR) {
        by = width.u.s;
    } else if (width.kind == GKV__J_INT) {
        for (int64_t i = 0; i < width.u.i && r->status == GKV_OK; i++)
            gkv__j_put(r, &space, (struct gkv__jstr){ " ", NULL, 1 });
        by = gkv__j_finish(&space).u.s;
    }
    for (size_t at = 0, end; r->status == GKV_OK && at <= s.n; at = end + 1) {
        const char *newline = at < s.n ? memchr(s.p + at, '\n', s.n - at) : NULL;

        end = newline ? (size_t)(newline - s.p) : s.n;
        if (at == 0 ? first : blank || end > at)
            gkv__j_put(r, &t, by);
        gkv__j_put(r, &t, gkv__j_sub(s, at, newline ? end + 1 : end));
    }
    return gkv__j_finish(&t);
}

/* ---- lists ------------------------------------------------------------------------------ */

/* The attribute "a.b" of v. */
static struct gkv__jvalue attribute(struct gkv__jrun *r, struct gkv__jvalue v,
                                    struct gkv__jvalue path)
{
    size_t at = 0, dot;

    if (path.kind != GKV__J_STR)
        return gkv__j_get(r, v, path);
    do {
        const char *p = memchr(path.u.s.p + at, '.', path.u.s.n - at);

        dot = p ? (size_t)(p - path.u.s.p) : path.u.s.n;
        v = gkv__j_get(r, v, gkv__j_str(gkv__j_sub(path.u.s, at, dot)));
        at = dot + 1;
    } while (dot < path.u.s.n && r->status == GKV_OK);
    return v;
}

/* Where Jinja's select and map look at no item of what is false, whether it has items or not. */
static struct gkv__jvalue items_or_none(struct gkv__jrun *r, struct gkv__jvalue v)
{
    return gkv__j_true(v) ? gkv__j_items(r, v) : gkv__j_list(r);
}

/* The items of a list for which a test, or without one their truth value, is `wanted`; by_attribute: tests
 * an attribute of the items. */
static struct gkv__jvalue choose(struct gkv__jrun *r, struct gkv__jvalue v,
                                 const struct gkv__jargs *args, bool by_attribute, bool wanted)
{
    struct gkv__jvalue items = items_or_none(r, v), list = gkv__j_list(r);
    struct gkv__jvalue test = gkv__j_arg(args, by_attribute, NULL);
    struct gkv__jargs  rest = { .n = 0 };

    for (size_t i = by_attribute + 1u; i < args->n; i++)
        rest.v[rest.n++] = args->v[i];
    for (size_t i = 0; r->status == GKV_OK && i < items.u.list->n; i++) {
        struct gkv__jvalue item = items.u.list->at[i], of = item;
        bool               yes;

        if (by_attribute)
            of = attribute(r, item, gkv__j_arg(args, 0, NULL));
        yes = test.kind == GKV__J_STR ? gkv__j_test(r, test.u.s, of, &rest) : gkv__j_true(of);
        if (yes == wanted)
            gkv__j_append(r, list, item);
    }
    return list;
}

static struct gkv__jvalue map(struct gkv__jrun *r, struct gkv__jvalue v,
                              const struct gkv__jargs *args)
{
    struct gkv__jvalue items = items_or_none(r, v), list = gkv__j_list(r);
    struct gkv__jvalue by = gkv__j_arg(args, SIZE_MAX, "attribute");
    struct gkv__jvalue otherwise = gkv__j_arg(args, SIZE_MAX, "default");
    struct gkv__jvalue filter = gkv__j_arg(args, 0, NULL);
    struct gkv__jargs  rest = { .n = 0 };

    for (size_t i = 1; i < args->n; i++)
        rest.v[rest.n++] = args->v[i];
    for (size_t i = 0; r->status == GKV_OK && i < items.u.list->n; i++) {
        struct gkv__jvalue item = items.u.list->at[i];

        if (by.kind != GKV__J_UNDEFINED) {
            item = attribute(r, item, by);
            item = item.kind == GKV__J_UNDEFINED ? otherwise : item;
        } else if (need(r, filter, GKV__J_STR, "map")) {
            item = gkv__j_filter(r, filter.u.s, item, &rest);
        }
        gkv__j_append(r, list, item);
    }
    return list;
}

static struct gkv__jvalue copy(struct gkv__jrun *r, struct gkv__jvalue v, bool back)
{
    struct gkv__jvalue items = gkv__j_items(r, v), list = gkv__j_list(r);

    for (size_t i = 0; r->status == GKV_OK && i < items.u.list->n; i++)
        gkv__j_append(r, list, items.u.list->at[back ? items.u.list->n - 1 - i : i]);
    return list;
}

/* What an item is sorted by: itself, or its attribute; small letters for capitals, unless `cased`. */
static struct gkv__jvalue sort_key(struct gkv__jrun *r, struct gkv__jvalue item, struct gkv__jvalue by, bool cased)
{
    if (by.kind != GKV__J_UNDEFINED)
        item = attribute(r, item, by);
    return item.kind == GKV__J_STR && !cased ? in_case(r, item.u.s, LOWER) : item;
}

/* Insertion sort is stable; the lists in templates are short, and steps are limited. */
static struct gkv__jvalue sort(struct gkv__jrun *r, struct gkv__jvalue v, struct gkv__jvalue by,
                               bool cased, bool back)
{
    struct gkv__jvalue list = copy(r, v, false);

    for (size_t i = 1; r->status == GKV_OK && i < list.u.list->n; i++) {
        struct gkv__jvalue *at = list.u.list->at, item = at[i], key = sort_key(r, item, by, cased);
        size_t              j = i;

        for (; j > 0 && gkv__j_charge(r, 0); j--) {
            const int order = gkv__j_order(r, sort_key(r, at[j - 1], by, cased), key);

            if (back ? order >= 0 : order <= 0)
                break;
            at[j] = at[j - 1];
        }
        at[j] = item;
    }
    return list;
}

static struct gkv__jvalue unique(struct gkv__jrun *r, struct gkv__jvalue v)
{
    struct gkv__jvalue items = gkv__j_items(r, v), list = gkv__j_list(r);

    for (size_t i = 0; r->status == GKV_OK && i < items.u.list->n; i++)
        if (!gkv__j_contains(r, list, items.u.list->at[i]))
            gkv__j_append(r, list, items.u.list->at[i]);
    return list;
}

/* A list of the keys of v, of its values, or of pairs of both. */
static struct gkv__jvalue parts(struct gkv__jrun *r, struct gkv__jvalue v, bool keys, bool values)
{
    struct gkv__jvalue list = gkv__j_list(r);

    if (v.kind != GKV__J_UNDEFINED && !need(r, v, GKV__J_DICT, "items"))
        return undefined;
    for (size_t i = 0; v.kind == GKV__J_DICT && i < v.u.dict->n && r->status == GKV_OK; i++) {
        struct gkv__jpair  pair = v.u.dict->at[i];
        struct gkv__jvalue both = keys && values ? gkv__j_list(r) : undefined;

        if (keys && values && r->status == GKV_OK) {
            gkv__j_append(r, both, pair.key);
            gkv__j_append(r, both, pair.value);
        }
        gkv__j_append(r, list, keys && values ? both : keys ? pair.key : pair.value);
    }
    return list;
}

static struct gkv__jvalue dict_sort(struct gkv__jrun *r, struct gkv__jvalue v, const struct gkv__jargs *args)
{
    const struct gkv__jvalue by = gkv__j_arg(args, 1, "by");

    if (by.kind != GKV__J_UNDEFINED && !gkv__j_is(by, "key") && !gkv__j_is(by, "value"))
        gkv__j_fail(r, GKV_INVALID, "dictsort: by \"key\" or by \"value\"");
    return sort(r, parts(r, v, true, true), gkv__j_int(gkv__j_is(by, "value")),
                gkv__j_true(gkv__j_arg(args, 0, "case_sensitive")), gkv__j_true(gkv__j_arg(args, 2, "reverse")));
}

static bool digits_only(const char *p, size_t n)
{
    while (n && *p >= '0' && *p <= '9')
        p++, n--;
    return !n;
}

static struct gkv__jvalue integer(struct gkv__jrun *r, struct gkv__jvalue v)
{
    struct gkv__jstr s = v.u.s;
    int64_t          i = 0;
    bool             minus;

    if (v.kind == GKV__J_BOOL)
        return gkv__j_int(v.u.b);
    if (v.kind == GKV__J_FLOAT)
        return gkv__j_int(v.u.f > -9e18 && v.u.f < 9e18 ? (int64_t)v.u.f : 0);
    if (v.kind != GKV__J_STR)
        return v.kind == GKV__J_INT ? v : gkv__j_int(0);
    s = stripped(r, s, undefined, true, true).u.s;
    minus = r->status == GKV_OK && s.n > 0 && *s.p == '-';
    for (size_t at = minus; r->status == GKV_OK && at < s.n; at++) {
        if (s.p[at] == '.' && at > minus && digits_only(s.p + at + 1, s.n - at - 1))
            break;                              /* "1.5" is 1 */
        if (s.p[at] < '0' || s.p[at] > '9' || __builtin_mul_overflow(i, 10, &i) ||
            __builtin_add_overflow(i, s.p[at] - '0', &i))
            return gkv__j_int(0);
    }
    return gkv__j_int(minus ? -i : i);
}

/* ---- filters ---------------------------------------------------------------------------- */

static struct gkv__jvalue tojson(struct gkv__jrun *r, struct gkv__jvalue v,
                                 const struct gkv__jargs *args)
{
    struct gkv__jvalue by = gkv__j_arg(args, 1, "indent");     /* ensure_ascii comes first */
    struct gkv__jtext  t = { 0 };

    if (gkv__j_true(gkv__j_arg(args, 0, "ensure_ascii")) ||
        gkv__j_true(gkv__j_arg(args, 2, "separators")) ||
        gkv__j_true(gkv__j_arg(args, 3, "sort_keys")))
        gkv__j_fail(r, GKV_UNSUPPORTED, "tojson: only indent is supported");
    if (by.kind == GKV__J_INT && (by.u.i < 0 || by.u.i > 64))
        gkv__j_fail(r, GKV_UNSUPPORTED, "tojson: indent is %" PRId64, by.u.i);
    gkv__j_json(r, &t, v, by.kind == GKV__J_INT ? (int)by.u.i : -1, 0);
    return gkv__j_finish(&t);
}

static struct gkv__jvalue sum(struct gkv__jrun *r, struct gkv__jvalue v)
{
    struct gkv__jvalue items = gkv__j_items(r, v);
    int64_t            total = 0;

    for (size_t i = 0; r->status == GKV_OK && i < items.u.list->n; i++)
        if (need(r, items.u.list->at[i], GKV__J_INT, "sum") &&
            __builtin_add_overflow(total, items.u.list->at[i].u.i, &total))
            gkv__j_fail(r, GKV_LIMIT, "sum: too large");
    return gkv__j_int(total);
}

static struct gkv__jvalue absolute(struct gkv__jrun *r, struct gkv__jvalue v)
{
    if (v.kind == GKV__J_FLOAT)
        v.u.f = v.u.f < 0 ? -v.u.f : v.u.f;
    else if (need(r, v, GKV__J_INT, "abs") && v.u.i < 0 && __builtin_sub_overflow(0, v.u.i, &v.u.i))
        gkv__j_fail(r, GKV_UNSUPPORTED, "abs: too large");
    return v;
}

enum filter {
    ABS, CAPITALIZE, COUNT, DEFAULT, DICTSORT, FIRST, INDENT, INT, ITEMS, JOIN, LAST, LENGTH, LIST, LOWERCASE,
    MAP, REJECT, REJECTATTR, REPLACE, REVERSE, SAFE, SELECT, SELECTATTR, SORT, STRING, SUM,
    TITLECASE, TOJSON, TRIM, UNIQUE, UPPERCASE
};

static const struct { const char *name; enum filter id; } filters[] = {
    { "abs", ABS }, { "capitalize", CAPITALIZE }, { "count", COUNT }, { "d", DEFAULT },
    { "default", DEFAULT }, { "dictsort", DICTSORT }, { "first", FIRST }, { "indent", INDENT }, { "int", INT },
    { "items", ITEMS }, { "join", JOIN }, { "last", LAST }, { "length", LENGTH }, { "list", LIST },
    { "lower", LOWERCASE }, { "map", MAP }, { "reject", REJECT }, { "rejectattr", REJECTATTR },
    { "replace", REPLACE }, { "reverse", REVERSE }, { "safe", SAFE }, { "select", SELECT },
    { "selectattr", SELECTATTR }, { "sort", SORT }, { "string", STRING }, { "sum", SUM },
    { "title", TITLECASE }, { "tojson", TOJSON }, { "trim", TRIM }, { "unique", UNIQUE },
    { "upper", UPPERCASE },
};

struct gkv__jvalue gkv__j_filter(struct gkv__jrun *r, struct gkv__jstr name, struct gkv__jvalue v,
                                 const struct gkv__jargs *args)
{
    const struct gkv__jvalue a = gkv__j_arg(args, 0, NULL), b = gkv__j_arg(args, 1, NULL);
    const int64_t            last = -1;
    size_t                   i = 0;

    while (i < N(filters) && !gkv__j_named(name, filters[i].name))
        i++;
    if (i == N(filters))
        gkv__j_fail(r, GKV_UNSUPPORTED, "the filter \"%.*s\" is not supported",
                    (int)(name.n < 32 ? name.n : 32), name.p);
    if (r->status != GKV_OK)
        return undefined;
    switch (filters[i].id) {
    case ABS:        return absolute(r, v);
    case COUNT:
    case LENGTH:     return gkv__j_int((int64_t)gkv__j_length(r, v));
    case DEFAULT:    return v.kind == GKV__J_UNDEFINED ||
                            (gkv__j_true(gkv__j_arg(args, 1, "boolean")) && !gkv__j_true(v))
                            ? gkv__j_arg(args, 0, "default_value") : v;
    case DICTSORT:   return dict_sort(r, v, args);
    case FIRST:      return gkv__j_get(r, gkv__j_items(r, v), gkv__j_int(0));
    case LAST:       return gkv__j_get(r, gkv__j_items(r, v), gkv__j_int(last));
    case INDENT:     return indent(r, v, gkv__j_arg(args, 0, "width"),
                                   gkv__j_true(gkv__j_arg(args, 1, "first")),
                                   gkv__j_true(gkv__j_arg(args, 2, "blank")));
    case INT:        return integer(r, v);
    case ITEMS:      return parts(r, v, true, true);
    case JOIN:       return join(r, v, gkv__j_arg(args, 0, "d"), gkv__j_arg(args, 1, "attribute"));
    case LIST:       return copy(r, v, false);
    case REVERSE:    return copy(r, v, true);
    case MAP:        return map(r, v, args);
    case SELECT:     return choose(r, v, args, false, true);
    case REJECT:     return choose(r, v, args, false, false);
    case SELECTATTR: return choose(r, v, args, true, true);
    case REJECTATTR: return choose(r, v, args, true, false);
    case SORT:       return sort(r, v, gkv__j_arg(args, 2, "attribute"),
                                 gkv__j_true(gkv__j_arg(args, 1, "case_sensitive")),
                                 gkv__j_true(gkv__j_arg(args, 0, "reverse")));
    case SUM:        return sum(r, v);
    case TOJSON:     return tojson(r, v, args);
    case UNIQUE:     return unique(r, v);
    default:         break;
    }
    v = gkv__j_string(r, v);                    /* the other filters take text */
    if (r->status != GKV_OK)
        return undefined;
    switch (filters[i].id) {
    case CAPITALIZE: return in_case(r, v.u.s, CAPITAL);
    case LOWERCASE:  return in_case(r, v.u.s, LOWER);
    case UPPERCASE:  return in_case(r, v.u.s, UPPER);
    case TITLECASE:  return in_case(r, v.u.s, TITLE);
    case REPLACE:    return replace(r, v.u.s, a, b, gkv__j_arg(args, 2, "count"));
    case TRIM:       return stripped(r, v.u.s, gkv__j_arg(args, 0, "chars"), true, true);
    default:         return v;                  /* string, safe */
    }
}

/* ---- tests ------------------------------------------------------------------------------ */

static bool divides(struct gkv__jrun *r, int64_t divisor, int64_t n)
{
    if (!divisor)
        gkv__j_fail(r, GKV_INVALID, "division by zero");
    return divisor && (divisor == -1 || n % divisor == 0);  /* the smallest number by -1 does not fit */
}

bool gkv__j_test(struct gkv__jrun *r, struct gkv__jstr name, struct gkv__jvalue v,
                 const struct gkv__jargs *args)
{
    enum { LT, LE, GT, GE, EQ, NE, IN, ODD, EVEN, DIVISIBLE };
    const struct { const char *name; bool yes; } kinds[] = {
        { "defined",   v.kind != GKV__J_UNDEFINED }, { "undefined", v.kind == GKV__J_UNDEFINED },
        { "none",      v.kind == GKV__J_NONE },      { "string",    v.kind == GKV__J_STR },
        { "mapping",   v.kind == GKV__J_DICT },      { "boolean",   v.kind == GKV__J_BOOL },
        { "integer",   v.kind == GKV__J_INT },       { "float",     v.kind == GKV__J_FLOAT },
        { "callable",  v.kind == GKV__J_MACRO },
        { "number",    v.kind == GKV__J_INT || v.kind == GKV__J_FLOAT || v.kind == GKV__J_BOOL },
        { "iterable",  v.kind == GKV__J_STR || v.kind == GKV__J_LIST || v.kind == GKV__J_DICT ||
                       v.kind == GKV__J_UNDEFINED },
        { "sequence",  v.kind == GKV__J_STR || v.kind == GKV__J_LIST || v.kind == GKV__J_DICT ||
                       v.kind == GKV__J_UNDEFINED },
        { "true",      v.kind == GKV__J_BOOL && v.u.b },
        { "false",     v.kind == GKV__J_BOOL && !v.u.b },
    };
    static const struct { const char *name; int id; } tests[] = {
        { "equalto", EQ }, { "==", EQ }, { "eq", EQ }, { "ne", NE }, { "!=", NE }, { "in", IN },
        { "lt", LT }, { "<", LT }, { "lessthan", LT }, { "le", LE }, { "<=", LE },
        { "gt", GT }, { ">", GT }, { "greaterthan", GT }, { "ge", GE }, { ">=", GE },
        { "odd", ODD }, { "even", EVEN }, { "divisibleby", DIVISIBLE },
    };
    const struct gkv__jvalue a = gkv__j_arg(args, 0, NULL);
    size_t                   i = 0;

    for (size_t j = 0; j < N(kinds); j++)
        if (gkv__j_named(name, kinds[j].name))
            return kinds[j].yes;
    while (i < N(tests) && !gkv__j_named(name, tests[i].name))
        i++;
    if (i == N(tests)) {
        gkv__j_fail(r, GKV_UNSUPPORTED, "the test \"%.*s\" is not supported",
                    (int)(name.n < 32 ? name.n : 32), name.p);
        return false;
    }
    switch (tests[i].id) {
    case EQ: return gkv__j_same(r, v, a);
    case NE: return !gkv__j_same(r, v, a);
    case IN: return gkv__j_contains(r, a, v);
    case LT: return gkv__j_order(r, v, a) < 0;
    case LE: return gkv__j_order(r, v, a) <= 0;
    case GT: return gkv__j_order(r, v, a) > 0;
    case GE: return gkv__j_order(r, v, a) >= 0;
    default: break;
    }
    if (!need(r, v, GKV__J_INT, "odd, even, divisibleby"))
        return false;
    if (tests[i].id == DIVISIBLE)
        return need(r, a, GKV__J_INT, "divisibleby") && divides(r, a.u.i, v.u.i);
    return (v.u.i % 2 == 0) == (tests[i].id == EVEN);
}

/* ---- methods ---------------------------------------------------------------------------- */

/* Python's str.format, with {} and {N} only. */
static struct gkv__jvalue formatted(struct gkv__jrun *r, struct gkv__jstr s, const struct gkv__jargs *args)
{
    struct gkv__jtext t = { 0 };
    size_t            next = 0;

    for (size_t at = 0; r->status == GKV_OK && at < s.n; at++) {
        size_t i = 0, digits = at + 1;

        if (s.p[at] != '{' && s.p[at] != '}') {
            gkv__j_put(r, &t, gkv__j_sub(s, at, at + 1));
            continue;
        }
        if (at + 1 < s.n && s.p[at + 1] == s.p[at]) {
            gkv__j_put(r, &t, gkv__j_sub(s, at, at + 1));
            at++;
            continue;
        }
        for (; s.p[at] == '{' && digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9' && i < args->n; digits++)
            i = 10 * i + (size_t)(s.p[digits] - '0');
        if (digits == s.n || s.p[digits] != '}') {
            gkv__j_fail(r, GKV_UNSUPPORTED, "format: only {} and {N} are supported");
            break;
        }
        i = digits == at + 1 ? next++ : i;
        if (i >= args->n || args->name[i].n) {
            gkv__j_fail(r, GKV_INVALID, "format: there is no argument %zu", i);
            break;
        }
        gkv__j_write(r, &t, args->v[i], false);
        at = digits;
    }
    return gkv__j_finish(&t);
}

static struct gkv__jvalue string_method(struct gkv__jrun *r, struct gkv__jvalue of,
                                        struct gkv__jstr name, const struct gkv__jargs *args,
                                        bool *known)
{
    enum { STRIP, LSTRIP, RSTRIP, SPLIT, STARTS, ENDS, CASE, REPLACE_, JOIN_, FORMAT, FIND, COUNT_ };
    static const struct { const char *name; int id; enum letters letters; } methods[] = {
        { "strip", STRIP, 0 }, { "lstrip", LSTRIP, 0 }, { "rstrip", RSTRIP, 0 },
        { "split", SPLIT, 0 }, { "startswith", STARTS, 0 }, { "endswith", ENDS, 0 },
        { "upper", CASE, UPPER }, { "lower", CASE, LOWER }, { "title", CASE, TITLE },
        { "capitalize", CASE, CAPITAL }, { "replace", REPLACE_, 0 }, { "join", JOIN_, 0 },
        { "format", FORMAT, 0 }, { "find", FIND, 0 }, { "count", COUNT_, 0 },
    };
    const struct gkv__jvalue a = gkv__j_arg(args, 0, NULL), b = gkv__j_arg(args, 1, NULL);
    const struct gkv__jstr   s = of.u.s;
    int64_t                  n = 0;
    size_t                   i = 0, at = 0;

    while (i < N(methods) && !gkv__j_named(name, methods[i].name))
        i++;
    *known = i < N(methods);
    if (!*known || !gkv__j_charge(r, s.n))
        return undefined;
    switch (methods[i].id) {
    case STRIP:    return stripped(r, s, a, true, true);
    case LSTRIP:   return stripped(r, s, a, true, false);
    case RSTRIP:   return stripped(r, s, a, false, true);
    case SPLIT:    return split(r, s, gkv__j_arg(args, 0, "sep"), gkv__j_arg(args, 1, "maxsplit"));
    case STARTS:   return starts_with(r, s, a, false);
    case ENDS:     return starts_with(r, s, a, true);
    case CASE:     return in_case(r, s, methods[i].letters);
    case REPLACE_: return replace(r, s, a, b, gkv__j_arg(args, 2, "count"));
    case JOIN_:    return join(r, a, of, undefined);
    case FORMAT:   return formatted(r, s, args);
    default:       break;
    }
    if (!need(r, a, GKV__J_STR, "find, count") || a.u.s.n == 0)
        return gkv__j_int(0);
    at = find(s, 0, a.u.s);
    if (methods[i].id == FIND && at == SIZE_MAX)
        return gkv__j_int(-1);
    if (methods[i].id == FIND)                  /* counts characters, not bytes */
        return gkv__j_int((int64_t)gkv__j_length(r, gkv__j_str(gkv__j_sub(s, 0, at))));
    for (; at != SIZE_MAX; at = find(s, at + a.u.s.n, a.u.s))
        n++;
    return gkv__j_int(n);
}

static struct gkv__jvalue dict_method(struct gkv__jrun *r, struct gkv__jvalue of,
                                      struct gkv__jstr name, const struct gkv__jargs *args,
                                      bool *known)
{
    struct gkv__jvalue v;

    if (gkv__j_named(name, "items"))
        return parts(r, of, true, true);
    if (gkv__j_named(name, "keys"))
        return parts(r, of, true, false);
    if (gkv__j_named(name, "values"))
        return parts(r, of, false, true);
    *known = gkv__j_named(name, "get");
    if (!*known)
        return undefined;
    v = gkv__j_get(r, of, gkv__j_arg(args, 0, "key"));
    if (v.kind == GKV__J_UNDEFINED)
        v = gkv__j_arg(args, 1, "default");
    return v.kind == GKV__J_UNDEFINED ? (struct gkv__jvalue){ .kind = GKV__J_NONE } : v;
}

struct gkv__jvalue gkv__j_method(struct gkv__jrun *r, struct gkv__jvalue of, struct gkv__jstr name,
                                 const struct gkv__jargs *args)
{
    struct gkv__jvalue v = undefined;
    bool               known = true;

    if (of.kind == GKV__J_STR) {
        v = string_method(r, of, name, args, &known);
    } else if (of.kind == GKV__J_DICT) {
        v = dict_method(r, of, name, args, &known);
    } else if (of.kind == GKV__J_LIST && gkv__j_named(name, "append")) {
        gkv__j_append(r, of, gkv__j_arg(args, 0, NULL));
        v.kind = GKV__J_NONE;
    } else {
        known = false;
    }
    if (!known)
        gkv__j_fail(r, of.kind == GKV__J_UNDEFINED ? GKV_INVALID : GKV_UNSUPPORTED,
                    "%s has no method \"%.*s\"", gkv__j_kind(of),
                    (int)(name.n < 32 ? name.n : 32), name.p);
    return v;
}

/* ---- functions -------------------------------------------------------------------------- */

/* The date of r->now, proleptic Gregorian (Hinnant's algorithm). */
static void civil(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100), shifted = (5 * of_year + 2) / 153;

    *day = (int)(of_year - (153 * shifted + 2) / 5) + 1;
    *month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = y + era * 400 + (*month <= 2);
}

/* strftime in the C locale, whatever the locale of the program. */
static struct gkv__jvalue strftime_now(struct gkv__jrun *r, struct gkv__jvalue how)
{
    static const char *const days[] = { "Thursday", "Friday", "Saturday", "Sunday", "Monday",
                                        "Tuesday", "Wednesday" };    /* 1970 began on a Thursday */
    static const char *const months[] = { "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December" };
    const int64_t     day = r->now / 86400 - (r->now % 86400 < 0);
    const int         second = (int)((r->now % 86400 + 86400) % 86400), hour = second / 3600;
    const char       *const weekday = days[(day % 7 + 7) % 7];
    struct gkv__jtext t = { 0 };
    int64_t           year;
    int               month, mday;

    civil(day, &year, &month, &mday);
    for (size_t i = 0; need(r, how, GKV__J_STR, "strftime_now") && i < how.u.s.n; i++) {
        const struct gkv__jstr f = how.u.s;
        char                   buf[24];

        if (f.p[i] != '%' || i + 1 == f.n) {
            gkv__j_put(r, &t, gkv__j_sub(f, i, i + 1));
            continue;
        }
        switch (f.p[++i]) {
        case 'Y': snprintf(buf, sizeof buf, "%04" PRId64, year); break;
        case 'y': snprintf(buf, sizeof buf, "%02d", (int)(year % 100)); break;
        case 'm': snprintf(buf, sizeof buf, "%02d", month); break;
        case 'd': snprintf(buf, sizeof buf, "%02d", mday); break;
        case 'H': snprintf(buf, sizeof buf, "%02d", hour); break;
        case 'I': snprintf(buf, sizeof buf, "%02d", hour % 12 ? hour % 12 : 12); break;
        case 'M': snprintf(buf, sizeof buf, "%02d", second / 60 % 60); break;
        case 'S': snprintf(buf, sizeof buf, "%02d", second % 60); break;
        case 'p': snprintf(buf, sizeof buf, "%s", hour < 12 ? "AM" : "PM"); break;
        case 'B': snprintf(buf, sizeof buf, "%s", months[month - 1]); break;
        case 'b': snprintf(buf, sizeof buf, "%.3s", months[month - 1]); break;
        case 'A': snprintf(buf, sizeof buf, "%s", weekday); break;
        case 'a': snprintf(buf, sizeof buf, "%.3s", weekday); break;
        case '%': snprintf(buf, sizeof buf, "%%"); break;
        default:
            gkv__j_fail(r, GKV_UNSUPPORTED, "strftime_now: %%%c is not supported", f.p[i]);
            return undefined;
        }
        gkv__j_put(r, &t, (struct gkv__jstr){ buf, NULL, strlen(buf) });
    }
    return gkv__j_finish(&t);
}

static struct gkv__jvalue range(struct gkv__jrun *r, const struct gkv__jargs *args)
{
    struct gkv__jvalue list = gkv__j_list(r);
    int64_t            bound[3] = { 0, 0, 1 };  /* from, to, step */

    for (size_t i = 0; i < args->n; i++)
        if (i >= 3 || !need(r, args->v[i], GKV__J_INT, "range"))
            gkv__j_fail(r, GKV_INVALID, "range: of one to three integers");
        else
            bound[args->n == 1 ? 1 : i] = args->v[i].u.i;
    if (bound[2] == 0)
        gkv__j_fail(r, GKV_INVALID, "range: by steps of 0");
    for (int64_t i = bound[0]; bound[2] > 0 ? i < bound[1] : i > bound[1]; ) {
        if (r->status != GKV_OK)
            break;
        gkv__j_append(r, list, gkv__j_int(i));
        if (__builtin_add_overflow(i, bound[2], &i))
            break;
    }
    return list;
}

static struct gkv__jvalue dict(struct gkv__jrun *r, const struct gkv__jargs *args,
                               bool is_namespace)
{
    struct gkv__jvalue d = gkv__j_dict(r);

    if (r->status != GKV_OK)
        return undefined;
    d.u.dict->is_namespace = is_namespace;
    for (size_t i = 0; i < args->n; i++)
        if (args->name[i].n)
            gkv__j_set(r, d, gkv__j_str(args->name[i]), args->v[i]);
        else if (need(r, args->v[i], GKV__J_DICT, "namespace"))
            for (size_t j = 0; j < args->v[i].u.dict->n; j++)
                gkv__j_set(r, d, args->v[i].u.dict->at[j].key, args->v[i].u.dict->at[j].value);
    return d;
}

static const char *const functions[] = {
    "raise_exception", "strftime_now", "range", "namespace", "dict"
};

bool gkv__j_is_function(struct gkv__jstr name)
{
    for (size_t i = 0; i < N(functions); i++)
        if (gkv__j_named(name, functions[i]))
            return true;
    return false;
}

struct gkv__jvalue gkv__j_function(struct gkv__jrun *r, struct gkv__jstr name,
                                   const struct gkv__jargs *args)
{
    const struct gkv__jvalue a = gkv__j_arg(args, 0, NULL);

    if (gkv__j_named(name, "strftime_now"))
        return strftime_now(r, a);
    if (gkv__j_named(name, "range"))
        return range(r, args);
    if (gkv__j_named(name, "namespace") || gkv__j_named(name, "dict"))
        return dict(r, args, *name.p == 'n');
    if (gkv__j_named(name, "raise_exception") && a.kind == GKV__J_STR)
        gkv__j_fail(r, GKV_INVALID, "%.*s", (int)(a.u.s.n < 200 ? a.u.s.n : 200), a.u.s.p);
    else
        gkv__j_fail(r, GKV_UNSUPPORTED, "the function \"%.*s\" is not supported",
                    (int)(name.n < 32 ? name.n : 32), name.p);
    return undefined;
}
