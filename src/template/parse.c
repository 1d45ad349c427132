/* SPDX-License-Identifier: BSD-2-Clause
 * parse.c - see parse.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/template/parse.h"
#include "src/base/unicode.h"

enum kind { END, NAME, STRING, INTEGER, FLOAT, SIGN, CLOSE };   /* CLOSE: of the tag */

struct parser {
    struct gkv__jrun *r;
    const char       *begin, *p, *end;
    const char       *close;            /* end of the present tag: "%}" or "}}"              */
    unsigned          brackets;         /* open ones; inside them a tag cannot end           */
    /* the next token */
    enum kind         kind;
    struct gkv__jstr  text;             /* a name, a number, a string without escapes, a sign */
    unsigned          line;
    /* white space of the text outside of tags */
    bool              strip;            /* the last tag ended with a dash                    */
    bool              at_line_start;    /* the last tag included a newline                   */
};

static struct gkv__jnode *expression(struct parser *s);

static struct gkv__jnode *new_node(struct parser *s, enum gkv__jtype type)
{
    struct gkv__jnode *node = gkv__j_alloc(s->r, 1, sizeof *node);

    if (node) {
        node->type = type;
        node->line = s->line;
    }
    return node;
}

/* ---- tokens ----------------------------------------------------------------------------- */

static bool is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

/* Decodes what follows a backslash at p, as Python does.  The result is never longer than the source. */
static const char *unescape(struct parser *s, const char *p, const char *end, char *o, size_t *n)
{
    static const char from[] = "nrtbfav\\'\"", to[] = "\n\r\t\b\f\a\v\\'\"";
    const char       *at = *p ? strchr(from, *p) : NULL;
    const size_t      digits = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    uint32_t          cp = 0;

    if (*p == '\n')                             /* continues the line */
        return p + 1;
    if (at) {
        o[(*n)++] = to[at - from];
        return p + 1;
    }
    if (*p >= '0' && *p <= '7') {
        for (size_t i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
            cp = cp * 8 + (uint32_t)(*p++ - '0');
        *n += gkv__utf8_put(o + *n, cp);
        return p;
    }
    if (!digits) {                              /* no escape: keeps both characters */
        o[(*n)++] = '\\';
        return p;
    }
    p++;
    for (size_t i = 0; i < digits; i++, p++) {
        static const char hex[] = "0123456789abcdef";
        const char       *d = p < end && *p ? strchr(hex, *p >= 'A' && *p <= 'F' ? *p + 32 : *p)
                                            : NULL;

        if (!d) {
            gkv__j_fail(s->r, GKV_UNSUPPORTED, "a broken escape in a string");
            return end;
        }
        cp = cp << 4 | (uint32_t)(d - hex);
    }
    if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000)) {
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "an escape that is no character");
        return end;
    }
    *n += gkv__utf8_put(o + *n, cp);
    return p;
}

static void string(struct parser *s)
{
    const char  quote = *s->p++, *begin = s->p, *p = begin;
    size_t      n = 0;
    char       *o;

    while (p < s->end && *p != quote)
        p += *p == '\\' && s->end - p > 1 ? 2 : 1;
    if (p >= s->end) {
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "a string without an end");
        return;
    }
    o = gkv__j_alloc(s->r, (size_t)(p - begin) + 1, 1);
    if (!o)
        return;
    for (const char *q = begin; q < p; ) {
        s->line += *q == '\n';
        if (*q == '\\')
            q = unescape(s, q + 1, p, o, &n);
        else
            o[n++] = *q++;
    }
    s->p = p + 1;
    s->kind = STRING;
    s->text = (struct gkv__jstr){ o, NULL, n };
}

static bool at_close(const struct parser *s, size_t *n)
{
    const bool dash = s->p < s->end && (*s->p == '-' || *s->p == '+');

    *n = dash + 2;
    return s->end - s->p >= (ptrdiff_t)*n && memcmp(s->p + dash, s->close, 2) == 0;
}

/* Goes behind the end of a tag and the white space that the tag includes. */
static void leave_tag(struct parser *s, size_t n, bool is_block)
{
    const char sign = n == 3 ? *s->p : 0;

    s->p += n;
    s->strip = sign == '-';
    s->at_line_start = is_block && sign == 0 && s->p < s->end && *s->p == '\n';
    if (s->at_line_start) {
        s->p++;
        s->line++;
    }
}

/* Reads the next token. */
static void advance(struct parser *s)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "//", "**" };
    const char              *begin;
    size_t                   n;

    while (s->p < s->end && strchr(" \t\n\v\f\r", *s->p) && *s->p)
        s->line += *s->p++ == '\n';
    s->r->line = s->line;
    begin = s->p;
    s->kind = END;
    s->text = (struct gkv__jstr){ begin, NULL, 0 };
    if (!gkv__j_charge(s->r, 0) || s->p == s->end)
        return;
    if (!s->brackets && at_close(s, &n)) {
        s->kind = CLOSE;
        s->text.n = n;
        return;
    }
    if (*s->p == '"' || *s->p == '\'') {
        string(s);
        return;
    }
    if (is_name(*s->p, true)) {
        s->kind = NAME;
        while (s->p < s->end && is_name(*s->p, false))
            s->p++;
    } else if (*s->p >= '0' && *s->p <= '9') {
        s->kind = INTEGER;
        while (s->p < s->end && ((*s->p >= '0' && *s->p <= '9') || *s->p == '_'))
            s->p++;
        if (s->end - s->p > 1 && *s->p == '.' && s->p[1] >= '0' && s->p[1] <= '9') {
            s->kind = FLOAT;
            for (s->p++; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
                ;
        }
    } else {
        s->kind = SIGN;
        s->p++;
        s->brackets += *begin == '(' || *begin == '[' || *begin == '{';
        s->brackets -= s->brackets && (*begin == ')' || *begin == ']' || *begin == '}');
        for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
            if (s->end - begin > 1 && memcmp(begin, signs[i], 2) == 0)
                s->p = begin + 2;
    }
    s->text.n = (size_t)(s->p - begin);
}

/* Fails and returns; callers continue until they check the status.  The next token becomes END, as after
 * every other failure, with s->p in front of a CLOSE token or behind any other one. */
static void wrong(struct parser *s, const char *expected)
{
    const int n = (int)(s->text.n < 32 ? s->text.n : 32);

    s->r->line = s->line;
    if (s->kind == END)
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "it ends where %s should be", expected);
    else
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "\"%.*s\" where %s should be", n, s->text.p, expected);
    advance(s);
}

static bool is(const struct parser *s, enum kind kind, const char *text)
{
    return s->kind == kind && gkv__j_named(s->text, text);
}

static bool take(struct parser *s, enum kind kind, const char *text)
{
    if (!is(s, kind, text))
        return false;
    advance(s);
    return true;
}

static bool sign(struct parser *s, const char *text)
{
    return take(s, SIGN, text);
}

static bool word(struct parser *s, const char *text)
{
    return take(s, NAME, text);
}

static void want(struct parser *s, const char *text)
{
    if (!sign(s, text))
        wrong(s, text);
}

static struct gkv__jstr name(struct parser *s)
{
    struct gkv__jstr text = s->text;

    if (s->kind != NAME)
        wrong(s, "a name");
    else
        advance(s);
    return text;
}

/* ---- expressions ------------------------------------------------------------------------ */
/* Each function returns NULL only when the run has failed. */

static bool enter(struct parser *s)
{
    if (++s->r->depth > GKV__J_MAX_DEPTH)
        gkv__j_fail(s->r, GKV_LIMIT, "it is nested too deeply");
    return s->r->status == GKV_OK;
}

static struct gkv__jnode *leave(struct parser *s, struct gkv__jnode *node)
{
    s->r->depth--;
    return node;
}

static struct gkv__jnode *join(struct parser *s, enum gkv__jtype type, char op,
                               struct gkv__jnode *a, struct gkv__jnode *b)
{
    struct gkv__jnode *node = new_node(s, type);

    if (node) {
        node->op = op;
        node->a = a;
        node->b = b;
    }
    return node;
}

/* Arguments up to the closing bracket: x, name=y */
static struct gkv__jnode *arguments(struct parser *s, const char *close)
{
    struct gkv__jnode *first = NULL, **last = &first;

    while (s->r->status == GKV_OK && !sign(s, close)) {
        struct parser      ahead = *s;
        struct gkv__jnode *node = new_node(s, GKV__J_CONST), *value;

        if (s->kind == NAME) {                  /* "name =", but not "name ==" */
            advance(&ahead);
            if (is(&ahead, SIGN, "=") && node) {
                node->name = name(s);
                advance(s);
            }
        }
        value = expression(s);
        if (!node || !value)
            break;
        node->a = value;
        *last = node;
        last = &node->next;
        if (!is(s, SIGN, close))
            want(s, ",");
    }
    return first;
}

static struct gkv__jnode *constant(struct parser *s, struct gkv__jvalue v)
{
    struct gkv__jnode *node = new_node(s, GKV__J_CONST);

    if (node)
        node->value = v;
    return node;
}

static struct gkv__jnode *number(struct parser *s)
{
    struct gkv__jvalue v = { .kind = s->kind == FLOAT ? GKV__J_FLOAT : GKV__J_INT };
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
        const char *point = strchr(buf, '.');   /* every FLOAT has one */
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
    advance(s);
    return constant(s, v);
}

static struct gkv__jnode *dictionary(struct parser *s)
{
    struct gkv__jnode *dict = new_node(s, GKV__J_MAKE_DICT), **last = dict ? &dict->args : NULL;

    while (s->r->status == GKV_OK && !sign(s, "}")) {
        struct gkv__jnode *pair, *key = expression(s);

        want(s, ":");
        pair = join(s, GKV__J_CONST, 0, key, expression(s));
        if (!pair || s->r->status != GKV_OK)
            break;
        *last = pair;
        last = &pair->next;
        if (!is(s, SIGN, "}"))
            want(s, ",");
    }
    return dict;
}

/* After "(": a tuple, which becomes a list, or an expression in brackets. */
static struct gkv__jnode *tuple(struct parser *s)
{
    struct gkv__jnode *list = new_node(s, GKV__J_MAKE_LIST), *first;

    if (sign(s, ")"))
        return list;
    first = expression(s);
    if (sign(s, ")"))
        return first;
    want(s, ",");
    if (list && (list->args = join(s, GKV__J_CONST, 0, first, NULL)))
        list->args->next = arguments(s, ")");
    return list;
}

static struct gkv__jnode *primary(struct parser *s)
{
    static const struct { const char *name; enum gkv__jkind kind; bool b; } words[] = {
        { "true",  GKV__J_BOOL, true  }, { "True",  GKV__J_BOOL, true  },
        { "false", GKV__J_BOOL, false }, { "False", GKV__J_BOOL, false },
        { "none",  GKV__J_NONE, false }, { "None",  GKV__J_NONE, false },
    };
    struct gkv__jtext  text = { 0 };
    struct gkv__jnode *node;

    if (s->kind == INTEGER || s->kind == FLOAT)
        return number(s);
    if (s->kind == STRING) {                    /* adjacent strings are joined */
        struct gkv__jstr first = s->text;

        advance(s);
        if (s->kind != STRING)
            return constant(s, gkv__j_str(first));
        gkv__j_put(s->r, &text, first);
        for (; s->kind == STRING && s->r->status == GKV_OK; advance(s))
            gkv__j_put(s->r, &text, s->text);
        return constant(s, gkv__j_finish(&text));
    }
    if (s->kind == NAME) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (word(s, words[i].name))
                return constant(s, (struct gkv__jvalue){ words[i].kind, { words[i].b } });
        node = new_node(s, GKV__J_NAME);
        if (node)
            node->name = name(s);
        return node;
    }
    if (sign(s, "("))
        return tuple(s);
    if (sign(s, "[")) {
        node = new_node(s, GKV__J_MAKE_LIST);
        if (node)
            node->args = arguments(s, "]");
        return node;
    }
    if (sign(s, "{"))
        return dictionary(s);
    wrong(s, "a value");
    return NULL;
}

static bool at_bound(const struct parser *s)
{
    return !is(s, SIGN, ":") && !is(s, SIGN, "]");
}

/* After "a[". */
static struct gkv__jnode *subscript(struct parser *s, struct gkv__jnode *a)
{
    struct gkv__jnode *b = at_bound(s) ? expression(s) : NULL, *node;

    node = join(s, is(s, SIGN, ":") ? GKV__J_SLICE : GKV__J_ITEM, 0, a, b);
    if (node && sign(s, ":")) {
        node->c = at_bound(s) ? expression(s) : NULL;
        if (sign(s, ":"))
            node->d = at_bound(s) ? expression(s) : NULL;
    } else if (node && !b) {
        wrong(s, "an index");
    }
    want(s, "]");
    return node;
}

static struct gkv__jnode *postfix(struct parser *s, struct gkv__jnode *a)
{
    while (s->r->status == GKV_OK && gkv__j_charge(s->r, 0)) {
        struct gkv__jnode *node;

        if (sign(s, ".")) {
            if (s->kind == INTEGER) {           /* a.0 is a[0] */
                node = join(s, GKV__J_ITEM, 0, a, NULL);
                if (node)
                    node->b = number(s);
            } else {
                node = join(s, GKV__J_ATTR, 0, a, NULL);
                if (node)
                    node->name = name(s);
            }
        } else if (sign(s, "[")) {
            node = subscript(s, a);
        } else if (sign(s, "(")) {
            node = join(s, GKV__J_CALL, 0, a, NULL);
            if (node)
                node->args = arguments(s, ")");
        } else {
            break;
        }
        a = node;
    }
    return a;
}

static struct gkv__jnode *test(struct parser *s, struct gkv__jnode *a)
{
    static const char *const stops[] = { "else", "or", "and", "is", "if", "in", "not" };
    struct gkv__jnode *node = join(s, GKV__J_TEST, 0, a, NULL);
    bool               has_argument = false;

    if (!node)
        return NULL;
    node->negated = word(s, "not");
    node->name = name(s);
    if (sign(s, "(")) {
        node->args = arguments(s, ")");
        return node;
    }
    if (s->kind == NAME || s->kind == STRING || s->kind == INTEGER || s->kind == FLOAT ||
        is(s, SIGN, "[") || is(s, SIGN, "{")) {
        has_argument = true;
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
            has_argument &= !is(s, NAME, stops[i]);
    }
    if (has_argument && (node->args = new_node(s, GKV__J_CONST)))
        node->args->a = postfix(s, primary(s));
    return node;
}

/* "| name(args)" and "is name" after a. */
static struct gkv__jnode *filters(struct parser *s, struct gkv__jnode *a)
{
    while (s->r->status == GKV_OK && gkv__j_charge(s->r, 0)) {
        if (sign(s, "|")) {
            struct gkv__jnode *node = join(s, GKV__J_FILTER, 0, a, NULL);

            if (!node)
                break;
            node->name = name(s);
            if (sign(s, "("))
                node->args = arguments(s, ")");
            a = node;
        } else if (word(s, "is")) {
            a = test(s, a);
        } else if (sign(s, "(")) {
            a = join(s, GKV__J_CALL, 0, a, NULL);
            if (a)
                a->args = arguments(s, ")");
        } else {
            break;
        }
    }
    return a;
}

static struct gkv__jnode *unary(struct parser *s, bool with_filters)
{
    struct gkv__jnode *node = NULL;

    if (!enter(s))
        return leave(s, NULL);
    if (sign(s, "-"))
        node = join(s, GKV__J_NEGATE, 0, unary(s, false), NULL);
    else if (sign(s, "+"))
        node = unary(s, false);
    else
        node = postfix(s, primary(s));
    return leave(s, with_filters ? filters(s, node) : node);
}

/* Binary operators, left-associative, by precedence: * / // % before ~ before + - */
static struct gkv__jnode *binary(struct parser *s, unsigned level)
{
    static const struct { unsigned level; const char *sign; char op; } ops[] = {
        { 2, "*", '*' }, { 2, "/", '/' }, { 2, "//", 'f' }, { 2, "%", '%' },
        { 1, "~", '~' }, { 0, "+", '+' }, { 0, "-", '-' },
    };
    struct gkv__jnode *a = level < 3 ? binary(s, level + 1) : unary(s, true);

    for (size_t i = 0; level < 3 && i < sizeof ops / sizeof *ops && s->r->status == GKV_OK; i++)
        if (ops[i].level == level && sign(s, ops[i].sign)) {
            a = join(s, GKV__J_BINARY, ops[i].op, a, binary(s, level + 1));
            i = (size_t)-1;                     /* try all operators again */
        }
    return a;
}

static char comparison(struct parser *s)
{
    static const struct { const char *sign; char op; } ops[] = {
        { "==", '=' }, { "!=", '!' }, { "<=", 'l' }, { ">=", 'g' }, { "<", '<' }, { ">", '>' },
    };

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (sign(s, ops[i].sign))
            return ops[i].op;
    if (word(s, "in"))
        return 'i';
    if (is(s, NAME, "not")) {
        struct parser ahead = *s;

        advance(&ahead);
        if (is(&ahead, NAME, "in")) {
            advance(s);
            advance(s);
            return 'n';
        }
    }
    return 0;
}

static struct gkv__jnode *compare(struct parser *s)
{
    struct gkv__jnode *a, *node = NULL, **last = NULL;

    if (!enter(s))
        return leave(s, NULL);
    if (word(s, "not"))
        return leave(s, join(s, GKV__J_NOT, 0, compare(s), NULL));
    a = binary(s, 0);
    for (char op; s->r->status == GKV_OK && (op = comparison(s)); last = &(*last)->next) {
        struct gkv__jnode *right = join(s, GKV__J_CONST, op, binary(s, 0), NULL);

        if (!node) {
            node = join(s, GKV__J_COMPARE, 0, a, NULL);
            last = node ? &node->args : NULL;
        }
        if (!right || !node)
            break;
        *last = right;
    }
    return leave(s, node ? node : a);
}

static struct gkv__jnode *both(struct parser *s)
{
    struct gkv__jnode *a = compare(s);

    while (s->r->status == GKV_OK && word(s, "and"))
        a = join(s, GKV__J_AND, 0, a, compare(s));
    return a;
}

static struct gkv__jnode *either(struct parser *s)
{
    struct gkv__jnode *a = both(s);

    while (s->r->status == GKV_OK && word(s, "or"))
        a = join(s, GKV__J_OR, 0, a, both(s));
    return a;
}

static struct gkv__jnode *expression(struct parser *s)
{
    struct gkv__jnode *a;

    if (!enter(s))
        return leave(s, NULL);
    a = either(s);
    while (s->r->status == GKV_OK && word(s, "if")) {
        a = join(s, GKV__J_CHOICE, 0, a, either(s));
        if (a && word(s, "else"))
            a->c = expression(s);
    }
    return leave(s, a);
}

/* ---- text and tags ---------------------------------------------------------------------- */

/* One expression, or several with commas, which become a list. */
static struct gkv__jnode *expressions(struct parser *s)
{
    struct gkv__jnode *first = expression(s), *list, **last;

    if (!is(s, SIGN, ","))
        return first;
    list = new_node(s, GKV__J_MAKE_LIST);
    if (!list || !(list->args = join(s, GKV__J_CONST, 0, first, NULL)))
        return NULL;
    for (last = &list->args->next; s->r->status == GKV_OK && sign(s, ","); ) {
        if (s->kind == CLOSE)
            break;
        *last = join(s, GKV__J_CONST, 0, expression(s), NULL);
        if (!*last)
            break;
        last = &(*last)->next;
    }
    return list;
}

/* The next "{{", "{%" or "{#", or the end. */
static const char *next_tag(const char *p, const char *end)
{
    while (p < end && (p = memchr(p, '{', (size_t)(end - p)))) {
        if (end - p > 1 && (p[1] == '{' || p[1] == '%' || p[1] == '#'))
            return p;
        p++;
    }
    return end;
}

static const char *find(const char *p, const char *end, const char *what)
{
    const char *at = memmem(p, (size_t)(end - p), what, strlen(what));

    return at ? at : end;
}

static struct gkv__jnode *text_node(struct parser *s, struct gkv__jstr text)
{
    struct gkv__jnode *node = text.n ? new_node(s, GKV__J_TEXT) : NULL;

    if (node)
        node->value = gkv__j_str(text);
    return node;
}

/* Text up to the next tag, without the white space that the tags on both sides remove. */
static struct gkv__jnode *text(struct parser *s)
{
    const char        *tag = next_tag(s->p, s->end), *sign = tag + 2;
    struct gkv__jstr   t = { s->p, NULL, (size_t)(tag - s->p) };
    bool               line_start = s->at_line_start || s->p == s->begin;
    struct gkv__jnode *node;

    if (s->strip)
        t = gkv__j_sub(t, gkv__j_space(t, false), t.n);
    if (tag < s->end && sign < s->end && *sign == '-') {
        t.n -= gkv__j_space(t, true);
    } else if (tag < s->end && tag[1] != '{' && !(sign < s->end && *sign == '+')) {
        size_t n = t.n;                         /* lstrip_blocks: the tag is first on its line */

        while (n > 0 && t.p[n - 1] != '\n' && gkv__j_space(gkv__j_sub(t, n - 1, n), true))
            n--;
        if ((n > 0 && t.p[n - 1] == '\n') || (n == 0 && line_start && !s->strip))
            t.n = n;
    }
    node = text_node(s, t);
    for (const char *p = s->p; p < tag; p++)
        s->line += *p == '\n';
    s->p = tag;
    s->strip = s->at_line_start = false;
    return node;
}

static void end_tag(struct parser *s)
{
    if (s->kind == CLOSE)
        leave_tag(s, s->text.n, s->close[0] == '%');
    else
        wrong(s, s->close);
}

static void skip_comment(struct parser *s)
{
    const char *end = find(s->p + 2, s->end, "#}");

    if (end == s->end) {
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "a comment without an end");
        return;
    }
    for (; s->p < end; s->p++)
        s->line += *s->p == '\n';
    s->p -= s->p[-1] == '-' || s->p[-1] == '+';
    leave_tag(s, s->p < end ? 3 : 2, true);
}

/* What ends a list of statements: "endif", "else", ...; NULL last. */
typedef const char *const ends[5];

static struct gkv__jnode *statements(struct parser *s, ends *until);

/* Finishes the present tag, then parses statements up to the end tag `end`, which is included. */
static struct gkv__jnode *body(struct parser *s, const char *end)
{
    ends               until = { end };
    struct gkv__jnode *list;

    end_tag(s);
    list = statements(s, &until);
    advance(s);
    return list;
}

static struct gkv__jnode *if_statement(struct parser *s)
{
    static ends        until = { "elif", "else", "endif" };
    struct gkv__jnode *node = new_node(s, GKV__J_IF);

    if (!node || !enter(s))
        return leave(s, NULL);
    node->a = expression(s);
    end_tag(s);
    node->body = statements(s, &until);
    if (word(s, "elif"))
        node->other = if_statement(s);
    else if (word(s, "else"))
        node->other = body(s, "endif");
    else
        advance(s);
    return leave(s, node);
}

/* The targets of set: one or more names, or a.b.  The targets of a loop are names only. */
static struct gkv__jnode *targets(struct parser *s)
{
    struct gkv__jnode *first = NULL, **last = &first;
    const bool         brackets = sign(s, "(");

    do {
        struct gkv__jnode *node = new_node(s, GKV__J_NAME);

        if (!node)
            return NULL;
        node->name = name(s);
        if (sign(s, ".")) {
            node->a = new_node(s, GKV__J_NAME);
            if (!node->a)
                return NULL;
            node->a->name = node->name;
            node->name = name(s);
            node->type = GKV__J_ATTR;
        }
        *last = node;
        last = &node->next;
    } while (s->r->status == GKV_OK && sign(s, ","));
    if (brackets)
        want(s, ")");
    return first;
}

static struct gkv__jnode *for_statement(struct parser *s)
{
    static ends        until = { "else", "endfor" };
    struct gkv__jnode *node = new_node(s, GKV__J_FOR);

    if (!node)
        return NULL;
    node->args = targets(s);
    if (!word(s, "in"))
        wrong(s, "in");
    node->a = either(s);                        /* an "if" after it belongs to the loop */
    if (word(s, "if"))
        node->b = expression(s);
    if (is(s, NAME, "recursive"))
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "loops that are recursive are not supported");
    end_tag(s);
    node->body = statements(s, &until);
    if (word(s, "else"))
        node->other = body(s, "endfor");
    else
        advance(s);
    return node;
}

static struct gkv__jnode *set_statement(struct parser *s)
{
    struct gkv__jnode *node = new_node(s, GKV__J_SET);

    if (!node)
        return NULL;
    node->args = targets(s);
    if (sign(s, "="))
        node->a = expressions(s);
    else
        node->body = body(s, "endset");
    return node;
}

static struct gkv__jnode *macro_statement(struct parser *s)
{
    struct gkv__jnode *node = new_node(s, GKV__J_DEFINE), **last;

    if (!node)
        return NULL;
    node->name = name(s);
    want(s, "(");
    for (last = &node->args; s->r->status == GKV_OK && !sign(s, ")"); last = &(*last)->next) {
        *last = new_node(s, GKV__J_NAME);
        if (!*last)
            return NULL;
        (*last)->name = name(s);
        if (sign(s, "="))
            (*last)->a = expression(s);
        if (!is(s, SIGN, ")"))
            want(s, ",");
    }
    node->body = body(s, "endmacro");
    return node;
}

static struct gkv__jnode *filter_statement(struct parser *s)
{
    struct gkv__jnode *node = new_node(s, GKV__J_FILTERED), *text = new_node(s, GKV__J_NAME);
    struct gkv__jnode *first = join(s, GKV__J_FILTER, 0, text, NULL);

    if (!node || !first)
        return NULL;
    text->name = (struct gkv__jstr){ "", NULL, 0 };     /* empty name: the text of the block */
    first->name = name(s);
    if (sign(s, "("))
        first->args = arguments(s, ")");
    node->a = filters(s, first);
    node->body = body(s, "endfilter");
    return node;
}

static struct gkv__jnode *raw_statement(struct parser *s)
{
    struct gkv__jnode *node = NULL;
    const char        *p, *begin;

    if (s->kind != CLOSE)
        wrong(s, "%}");
    begin = s->p + s->text.n;                   /* a newline here is text */
    if (s->text.n == 3 && *s->p == '-')
        begin += gkv__j_space((struct gkv__jstr){ begin, NULL, (size_t)(s->end - begin) }, false);
    for (p = begin; (p = find(p, s->end, "{%")) < s->end; p++) {
        struct parser ahead = *s;

        ahead.p = p + 2 + (s->end - p > 2 && (p[2] == '-' || p[2] == '+'));
        advance(&ahead);
        if (!word(&ahead, "endraw") || ahead.kind != CLOSE)
            continue;
        node = text_node(s, (struct gkv__jstr){ begin, NULL, (size_t)(p - begin) });
        for (; s->p < p; s->p++)
            s->line += *s->p == '\n';
        if (node && p[2] == '-')
            node->value.u.s.n -= gkv__j_space(node->value.u.s, true);
        s->p = ahead.p;
        s->kind = CLOSE;
        s->text = ahead.text;
        return node;
    }
    gkv__j_fail(s->r, GKV_UNSUPPORTED, "raw without endraw");
    return NULL;
}

static struct gkv__jnode *statement(struct parser *s)
{
    struct gkv__jnode *node = NULL;

    if (word(s, "if"))
        return if_statement(s);
    if (word(s, "for"))
        return for_statement(s);
    if (word(s, "set"))
        return set_statement(s);
    if (word(s, "macro"))
        return macro_statement(s);
    if (word(s, "filter"))
        return filter_statement(s);
    if (word(s, "raw"))
        return raw_statement(s);
    if (word(s, "break"))
        return new_node(s, GKV__J_BREAK);
    if (word(s, "continue"))
        return new_node(s, GKV__J_CONTINUE);
    if (word(s, "generation")) {
        node = new_node(s, GKV__J_BLOCK);
        if (node)
            node->body = body(s, "endgeneration");
        return node;
    }
    if (s->kind == NAME)
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "the tag \"%.*s\" is not supported",
                    (int)(s->text.n < 32 ? s->text.n : 32), s->text.p);
    else
        wrong(s, "a tag");
    return NULL;
}

/* One piece of text or one tag; some tags make no node. */
static struct gkv__jnode *piece(struct parser *s, ends *until, bool *done)
{
    struct gkv__jnode *node = NULL;

    if (s->p < s->end && next_tag(s->p, s->end) > s->p)
        return text(s);
    text(s);                                    /* no text, but this resets `strip` */
    if (s->p == s->end) {
        *done = true;
        for (size_t i = 0; (*until)[i]; i++)
            if (!(*until)[i + 1])
                gkv__j_fail(s->r, GKV_UNSUPPORTED, "%s is missing", (*until)[i]);
        return NULL;
    }
    if (s->p[1] == '#') {
        skip_comment(s);
        return NULL;
    }
    s->close = s->p[1] == '{' ? "}}" : "%}";
    s->brackets = 0;
    s->p += 2;
    s->p += s->p < s->end && (*s->p == '-' || *s->p == '+');
    advance(s);
    if (s->close[0] == '}') {
        node = new_node(s, GKV__J_PRINT);
        if (node)
            node->a = expressions(s);
        end_tag(s);
        return node;
    }
    for (size_t i = 0; (*until)[i]; i++)
        if (is(s, NAME, (*until)[i])) {
            *done = true;
            return NULL;
        }
    node = statement(s);
    end_tag(s);
    return node;
}

/* Statements up to a tag in `until`, whose name is then the next token; or up to the end. */
static struct gkv__jnode *statements(struct parser *s, ends *until)
{
    struct gkv__jnode *first = NULL, **last = &first;
    bool               done = false;

    if (!enter(s))
        return leave(s, NULL);
    while (!done && gkv__j_charge(s->r, 0)) {
        *last = piece(s, until, &done);
        if (*last)
            last = &(*last)->next;
    }
    return leave(s, first);
}

/* As Jinja does: every kind of line end becomes \n, and one at the end of the template is
 * removed. */
static struct gkv__jtext one_kind_of_newline(struct gkv__jrun *r, const char *p, size_t len)
{
    struct gkv__jtext t = { .p = gkv__j_alloc(r, len + 1, 1), .cap = len + 1 };

    if (!t.p)
        return t;
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '\r' && i + 1 < len && p[i + 1] == '\n')
            continue;
        t.p[t.n++] = p[i] == '\r' ? '\n' : p[i];
    }
    t.n -= t.n > 0 && t.p[t.n - 1] == '\n';
    return t;
}

struct gkv__jnode *gkv__j_parse(struct gkv__jrun *r, const char *text, size_t len)
{
    static ends        none = { NULL };
    struct gkv__jtext  clean = one_kind_of_newline(r, text, len);
    struct parser      s = { .r = r, .begin = clean.p, .p = clean.p, .line = 1 };
    struct gkv__jnode *list;

    if (!clean.p)
        return NULL;
    s.end = clean.p + clean.n;
    r->line = 1;
    list = statements(&s, &none);
    return r->status == GKV_OK ? list : NULL;
}
