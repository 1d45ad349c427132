/* SPDX-License-Identifier: BSD-2-Clause
 * expression.c - see expression.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/template/expression.h"

struct gkv__jnode *gkv__j_node(struct gkv__jparser *s, enum gkv__jtype type)
{
    struct gkv__jnode *node = gkv__j_alloc(s->r, 1, sizeof *node);

    if (node) {
        node->type = type;
        node->line = s->line;
    }
    return node;
}

bool gkv__j_enter(struct gkv__jparser *s)
{
    if (++s->r->depth > GKV__J_MAX_DEPTH)
        gkv__j_fail(s->r, GKV_LIMIT, "it is nested too deeply");
    return s->r->status == GKV_OK;
}

struct gkv__jnode *gkv__j_leave(struct gkv__jparser *s, struct gkv__jnode *node)
{
    s->r->depth--;
    return node;
}

struct gkv__jnode *gkv__j_join(struct gkv__jparser *s, enum gkv__jtype type, char op,
                               struct gkv__jnode *a, struct gkv__jnode *b)
{
    struct gkv__jnode *node = gkv__j_node(s, type);

    if (node) {
        node->op = op;
        node->a = a;
        node->b = b;
    }
    return node;
}

/* x, name=y */
struct gkv__jnode *gkv__j_arguments(struct gkv__jparser *s, const char *close)
{
    struct gkv__jnode *first = NULL, **last = &first;

    while (s->r->status == GKV_OK && !gkv__j_sign(s, close)) {
        struct gkv__jparser      ahead = *s;
        struct gkv__jnode *node = gkv__j_node(s, GKV__J_CONST), *value;

        if (s->kind == GKV__JT_NAME) {                  /* "name =", but not "name ==" */
            gkv__j_advance(&ahead);
            if (gkv__j_sees(&ahead, GKV__JT_SIGN, "=") && node) {
                node->name = gkv__j_name(s);
                gkv__j_advance(s);
            }
        }
        value = gkv__j_expression(s);
        if (!node || !value)
            break;
        node->a = value;
        *last = node;
        last = &node->next;
        if (!gkv__j_sees(s, GKV__JT_SIGN, close))
            gkv__j_want(s, ",");
    }
    return first;
}

static struct gkv__jnode *constant(struct gkv__jparser *s, struct gkv__jvalue v)
{
    struct gkv__jnode *node = gkv__j_node(s, GKV__J_CONST);

    if (node)
        node->value = v;
    return node;
}

static struct gkv__jnode *number(struct gkv__jparser *s)
{
    struct gkv__jvalue v = { .kind = s->kind == GKV__JT_FLOAT ? GKV__J_FLOAT : GKV__J_INT };
    char               buf[64];
    size_t             n = 0, at = 0;

    for (; at < s->text.n && n < sizeof buf - 1; at++)
        if (s->text.p[at] != '_')
            buf[n++] = s->text.p[at];
    buf[n] = 0;
    if (at < s->text.n) {
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "%s is too long", buf);
        return NULL;
    }
    if (v.kind == GKV__J_FLOAT) {
        /* strtod depends on the locale's decimal point */
        const char *point = strchr(buf, '.');   /* every GKV__J_FLOAT has one */
        double      scale = 1;

        for (const char *p = buf; *p; p++)
            if (*p != '.') {
                v.u.f = v.u.f * 10 + (*p - '0');
                scale *= p > point ? 10 : 1;
            }
        v.u.f /= scale;
    } else {
        for (const char *p = buf; *p; p++)
            if (__builtin_mul_overflow(v.u.i, 10, &v.u.i) ||
                __builtin_add_overflow(v.u.i, *p - '0', &v.u.i)) {
                gkv__j_fail(s->r, GKV_UNSUPPORTED, "%s is too large", buf);
                break;
            }
    }
    gkv__j_advance(s);
    return constant(s, v);
}

static struct gkv__jnode *dictionary(struct gkv__jparser *s)
{
    struct gkv__jnode *dict = gkv__j_node(s, GKV__J_MAKE_DICT), **last = dict ? &dict->args : NULL;

    while (s->r->status == GKV_OK && !gkv__j_sign(s, "}")) {
        struct gkv__jnode *pair, *key = gkv__j_expression(s);

        gkv__j_want(s, ":");
        pair = gkv__j_join(s, GKV__J_CONST, 0, key, gkv__j_expression(s));
        if (!pair || s->r->status != GKV_OK)
            break;
        *last = pair;
        last = &pair->next;
        if (!gkv__j_sees(s, GKV__JT_SIGN, "}"))
            gkv__j_want(s, ",");
    }
    return dict;
}

/* After "(": a tuple, which becomes a list, or an expression in brackets. */
static struct gkv__jnode *tuple(struct gkv__jparser *s)
{
    struct gkv__jnode *list = gkv__j_node(s, GKV__J_MAKE_LIST), *first;

    if (gkv__j_sign(s, ")"))
        return list;
    first = gkv__j_expression(s);
    if (gkv__j_sign(s, ")"))
        return first;
    gkv__j_want(s, ",");
    if (list && (list->args = gkv__j_join(s, GKV__J_CONST, 0, first, NULL)))
        list->args->next = gkv__j_arguments(s, ")");
    return list;
}

static struct gkv__jnode *primary(struct gkv__jparser *s)
{
    static const struct { const char *name; enum gkv__jkind kind; bool b; } words[] = {
        { "true",  GKV__J_BOOL, true  }, { "True",  GKV__J_BOOL, true  },
        { "false", GKV__J_BOOL, false }, { "False", GKV__J_BOOL, false },
        { "none",  GKV__J_NONE, false }, { "None",  GKV__J_NONE, false },
    };
    struct gkv__jtext  text = { 0 };
    struct gkv__jnode *node;

    if (s->kind == GKV__JT_INTEGER || s->kind == GKV__JT_FLOAT)
        return number(s);
    if (s->kind == GKV__JT_STRING) {                    /* adjacent strings are joined */
        struct gkv__jstr first = s->text;

        gkv__j_advance(s);
        if (s->kind != GKV__JT_STRING)
            return constant(s, gkv__j_str(first));
        gkv__j_put(s->r, &text, first);
        for (; s->kind == GKV__JT_STRING && s->r->status == GKV_OK; gkv__j_advance(s))
            gkv__j_put(s->r, &text, s->text);
        return constant(s, gkv__j_finish(&text));
    }
    if (s->kind == GKV__JT_NAME) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (gkv__j_word(s, words[i].name))
                return constant(s, (struct gkv__jvalue){ words[i].kind, { words[i].b } });
        node = gkv__j_node(s, GKV__J_NAME);
        if (node)
            node->name = gkv__j_name(s);
        return node;
    }
    if (gkv__j_sign(s, "("))
        return tuple(s);
    if (gkv__j_sign(s, "[")) {
        node = gkv__j_node(s, GKV__J_MAKE_LIST);
        if (node)
            node->args = gkv__j_arguments(s, "]");
        return node;
    }
    if (gkv__j_sign(s, "{"))
        return dictionary(s);
    gkv__j_wrong(s, "a value");
    return NULL;
}

static bool at_bound(const struct gkv__jparser *s)
{
    return !gkv__j_sees(s, GKV__JT_SIGN, ":") && !gkv__j_sees(s, GKV__JT_SIGN, "]");
}

/* After "a[". */
static struct gkv__jnode *subscript(struct gkv__jparser *s, struct gkv__jnode *a)
{
    struct gkv__jnode *b = at_bound(s) ? gkv__j_expression(s) : NULL, *node;

    node = gkv__j_join(s, gkv__j_sees(s, GKV__JT_SIGN, ":") ? GKV__J_SLICE : GKV__J_ITEM, 0, a, b);
    if (node && gkv__j_sign(s, ":")) {
        node->c = at_bound(s) ? gkv__j_expression(s) : NULL;
        if (gkv__j_sign(s, ":"))
            node->d = at_bound(s) ? gkv__j_expression(s) : NULL;
    } else if (node && !b) {
        gkv__j_wrong(s, "an index");
    }
    gkv__j_want(s, "]");
    return node;
}

/* a(...), behind the bracket */
static struct gkv__jnode *call(struct gkv__jparser *s, struct gkv__jnode *a)
{
    struct gkv__jnode *node = gkv__j_join(s, GKV__J_CALL, 0, a, NULL);

    if (node)
        node->args = gkv__j_arguments(s, ")");
    return node;
}

static struct gkv__jnode *postfix(struct gkv__jparser *s, struct gkv__jnode *a)
{
    while (s->r->status == GKV_OK && gkv__j_charge(s->r, 0)) {
        struct gkv__jnode *node;

        if (gkv__j_sign(s, ".")) {
            if (s->kind == GKV__JT_INTEGER) {           /* a.0 is a[0] */
                node = gkv__j_join(s, GKV__J_ITEM, 0, a, NULL);
                if (node)
                    node->b = number(s);
            } else {
                node = gkv__j_join(s, GKV__J_ATTR, 0, a, NULL);
                if (node)
                    node->name = gkv__j_name(s);
            }
        } else if (gkv__j_sign(s, "[")) {
            node = subscript(s, a);
        } else if (gkv__j_sign(s, "(")) {
            node = call(s, a);
        } else {
            break;
        }
        a = node;
    }
    return a;
}

static struct gkv__jnode *test(struct gkv__jparser *s, struct gkv__jnode *a)
{
    static const char *const stops[] = { "else", "or", "and", "is", "if", "in", "not" };
    struct gkv__jnode *node = gkv__j_join(s, GKV__J_TEST, 0, a, NULL);
    bool               has_argument = false;

    if (!node)
        return NULL;
    node->negated = gkv__j_word(s, "not");
    node->name = gkv__j_name(s);
    if (gkv__j_sign(s, "(")) {
        node->args = gkv__j_arguments(s, ")");
        return node;
    }
    if (s->kind == GKV__JT_NAME || s->kind == GKV__JT_STRING || s->kind == GKV__JT_INTEGER || s->kind == GKV__JT_FLOAT ||
        gkv__j_sees(s, GKV__JT_SIGN, "[") || gkv__j_sees(s, GKV__JT_SIGN, "{")) {
        has_argument = true;
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
            has_argument &= !gkv__j_sees(s, GKV__JT_NAME, stops[i]);
    }
    if (has_argument && (node->args = gkv__j_node(s, GKV__J_CONST)))
        node->args->a = postfix(s, primary(s));
    return node;
}

/* "| name(args)" and "is name" */
struct gkv__jnode *gkv__j_filters(struct gkv__jparser *s, struct gkv__jnode *a)
{
    while (s->r->status == GKV_OK && gkv__j_charge(s->r, 0)) {
        if (gkv__j_sign(s, "|")) {
            struct gkv__jnode *node = gkv__j_join(s, GKV__J_FILTER, 0, a, NULL);

            if (!node)
                break;
            node->name = gkv__j_name(s);
            if (gkv__j_sign(s, "("))
                node->args = gkv__j_arguments(s, ")");
            a = node;
        } else if (gkv__j_word(s, "is")) {
            a = test(s, a);
        } else if (gkv__j_sign(s, "(")) {
            a = call(s, a);
        } else {
            break;
        }
    }
    return a;
}

static struct gkv__jnode *unary(struct gkv__jparser *s, bool with_filters)
{
    struct gkv__jnode *node = NULL;

    if (!gkv__j_enter(s))
        return gkv__j_leave(s, NULL);
    if (gkv__j_sign(s, "-"))
        node = gkv__j_join(s, GKV__J_NEGATE, 0, unary(s, false), NULL);
    else if (gkv__j_sign(s, "+"))
        node = unary(s, false);
    else
        node = postfix(s, primary(s));
    return gkv__j_leave(s, with_filters ? gkv__j_filters(s, node) : node);
}

/* Binary operators, left-associative, by precedence: * / // % before ~ before + - */
static struct gkv__jnode *binary(struct gkv__jparser *s, unsigned level)
{
    static const struct { unsigned level; const char *sign; char op; } ops[] = {
        { 2, "*", '*' }, { 2, "/", '/' }, { 2, "//", 'f' }, { 2, "%", '%' },
        { 1, "~", '~' }, { 0, "+", '+' }, { 0, "-", '-' },
    };
    struct gkv__jnode *a = level < 3 ? binary(s, level + 1) : unary(s, true);

    for (size_t i = 0; level < 3 && i < sizeof ops / sizeof *ops && s->r->status == GKV_OK; i++)
        if (ops[i].level == level && gkv__j_sign(s, ops[i].sign)) {
            a = gkv__j_join(s, GKV__J_BINARY, ops[i].op, a, binary(s, level + 1));
            i = (size_t)-1;                     /* try all operators again */
        }
    return a;
}

static char comparison(struct gkv__jparser *s)
{
    static const struct { const char *sign; char op; } ops[] = {
        { "==", '=' }, { "!=", '!' }, { "<=", 'l' }, { ">=", 'g' }, { "<", '<' }, { ">", '>' },
    };

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (gkv__j_sign(s, ops[i].sign))
            return ops[i].op;
    if (gkv__j_word(s, "in"))
        return 'i';
    if (gkv__j_sees(s, GKV__JT_NAME, "not")) {
        struct gkv__jparser ahead = *s;

        gkv__j_advance(&ahead);
        if (gkv__j_sees(&ahead, GKV__JT_NAME, "in")) {
            gkv__j_advance(s);
            gkv__j_advance(s);
            return 'n';
        }
    }
    return 0;
}

static struct gkv__jnode *compare(struct gkv__jparser *s)
{
    struct gkv__jnode *a, *node = NULL, **last = NULL;

    if (!gkv__j_enter(s))
        return gkv__j_leave(s, NULL);
    if (gkv__j_word(s, "not"))
        return gkv__j_leave(s, gkv__j_join(s, GKV__J_NOT, 0, compare(s), NULL));
    a = binary(s, 0);
    for (char op; s->r->status == GKV_OK && (op = comparison(s)); last = &(*last)->next) {
        struct gkv__jnode *right = gkv__j_join(s, GKV__J_CONST, op, binary(s, 0), NULL);

        if (!node) {
            node = gkv__j_join(s, GKV__J_COMPARE, 0, a, NULL);
            last = node ? &node->args : NULL;
        }
        if (!right || !node)
            break;
        *last = right;
    }
    return gkv__j_leave(s, node ? node : a);
}

static struct gkv__jnode *both(struct gkv__jparser *s)
{
    struct gkv__jnode *a = compare(s);

    while (s->r->status == GKV_OK && gkv__j_word(s, "and"))
        a = gkv__j_join(s, GKV__J_AND, 0, a, compare(s));
    return a;
}

struct gkv__jnode *gkv__j_no_choice(struct gkv__jparser *s)
{
    struct gkv__jnode *a = both(s);

    while (s->r->status == GKV_OK && gkv__j_word(s, "or"))
        a = gkv__j_join(s, GKV__J_OR, 0, a, both(s));
    return a;
}

struct gkv__jnode *gkv__j_expression(struct gkv__jparser *s)
{
    struct gkv__jnode *a;

    if (!gkv__j_enter(s))
        return gkv__j_leave(s, NULL);
    a = gkv__j_no_choice(s);
    while (s->r->status == GKV_OK && gkv__j_word(s, "if")) {
        a = gkv__j_join(s, GKV__J_CHOICE, 0, a, gkv__j_no_choice(s));
        if (a && gkv__j_word(s, "else"))
            a->c = gkv__j_expression(s);
    }
    return gkv__j_leave(s, a);
}

struct gkv__jnode *gkv__j_expressions(struct gkv__jparser *s)
{
    struct gkv__jnode *first = gkv__j_expression(s), *list, **last;

    if (!gkv__j_sees(s, GKV__JT_SIGN, ","))
        return first;
    list = gkv__j_node(s, GKV__J_MAKE_LIST);
    if (!list || !(list->args = gkv__j_join(s, GKV__J_CONST, 0, first, NULL)))
        return NULL;
    for (last = &list->args->next; s->r->status == GKV_OK && gkv__j_sign(s, ","); ) {
        if (s->kind == GKV__JT_CLOSE)
            break;
        *last = gkv__j_join(s, GKV__J_CONST, 0, gkv__j_expression(s), NULL);
        if (!*last)
            break;
        last = &(*last)->next;
    }
    return list;
}
