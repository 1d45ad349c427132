/* SPDX-License-Identifier: BSD-2-Clause
 * parse.c - see parse.h */
#include "config.h"
#include <string.h>
#include "src/template/expression.h"

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

static struct gkv__jnode *text_node(struct gkv__jparser *s, struct gkv__jstr text)
{
    struct gkv__jnode *node = text.n ? gkv__j_node(s, GKV__J_TEXT) : NULL;

    if (node)
        node->value = gkv__j_str(text);
    return node;
}

/* Text up to the next tag, without the white space that the tags on both sides remove. */
static struct gkv__jnode *text(struct gkv__jparser *s)
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

static void end_tag(struct gkv__jparser *s)
{
    if (s->kind == GKV__JT_CLOSE)
        gkv__j_leave_tag(s, s->text.n, s->close[0] == '%');
    else
        gkv__j_wrong(s, s->close);
}

static void skip_comment(struct gkv__jparser *s)
{
    const char *end = find(s->p + 2, s->end, "#}");

    if (end == s->end) {
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "a comment without an end");
        return;
    }
    for (; s->p < end; s->p++)
        s->line += *s->p == '\n';
    s->p -= s->p[-1] == '-' || s->p[-1] == '+';
    gkv__j_leave_tag(s, s->p < end ? 3 : 2, true);
}

/* What ends a list of statements: "endif", "else", ...; NULL last. */
typedef const char *const ends[5];

static struct gkv__jnode *statements(struct gkv__jparser *s, ends *until);

/* Finishes the present tag, then parses statements up to the end tag `end`, which is included. */
static struct gkv__jnode *body(struct gkv__jparser *s, const char *end)
{
    ends               until = { end };
    struct gkv__jnode *list;

    end_tag(s);
    list = statements(s, &until);
    gkv__j_advance(s);
    return list;
}

static struct gkv__jnode *if_statement(struct gkv__jparser *s)
{
    static ends        until = { "elif", "else", "endif" };
    struct gkv__jnode *node = gkv__j_node(s, GKV__J_IF);

    if (!node || !gkv__j_enter(s))
        return gkv__j_leave(s, NULL);
    node->a = gkv__j_expression(s);
    end_tag(s);
    node->body = statements(s, &until);
    if (gkv__j_word(s, "elif"))
        node->other = if_statement(s);
    else if (gkv__j_word(s, "else"))
        node->other = body(s, "endif");
    else
        gkv__j_advance(s);
    return gkv__j_leave(s, node);
}

/* The targets of set: one or more names, or a.b.  The targets of a loop are names only. */
static struct gkv__jnode *targets(struct gkv__jparser *s)
{
    struct gkv__jnode *first = NULL, **last = &first;
    const bool         brackets = gkv__j_sign(s, "(");

    do {
        struct gkv__jnode *node = gkv__j_node(s, GKV__J_NAME);

        if (!node)
            return NULL;
        node->name = gkv__j_name(s);
        if (gkv__j_sign(s, ".")) {
            node->a = gkv__j_node(s, GKV__J_NAME);
            if (!node->a)
                return NULL;
            node->a->name = node->name;
            node->name = gkv__j_name(s);
            node->type = GKV__J_ATTR;
        }
        *last = node;
        last = &node->next;
    } while (s->r->status == GKV_OK && gkv__j_sign(s, ","));
    if (brackets)
        gkv__j_want(s, ")");
    return first;
}

static struct gkv__jnode *for_statement(struct gkv__jparser *s)
{
    static ends        until = { "else", "endfor" };
    struct gkv__jnode *node = gkv__j_node(s, GKV__J_FOR);

    if (!node)
        return NULL;
    node->args = targets(s);
    if (!gkv__j_word(s, "in"))
        gkv__j_wrong(s, "in");
    node->a = gkv__j_no_choice(s);                        /* an "if" after it belongs to the loop */
    if (gkv__j_word(s, "if"))
        node->b = gkv__j_expression(s);
    if (gkv__j_sees(s, GKV__JT_NAME, "recursive"))
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "loops that are recursive are not supported");
    end_tag(s);
    node->body = statements(s, &until);
    if (gkv__j_word(s, "else"))
        node->other = body(s, "endfor");
    else
        gkv__j_advance(s);
    return node;
}

static struct gkv__jnode *set_statement(struct gkv__jparser *s)
{
    struct gkv__jnode *node = gkv__j_node(s, GKV__J_SET);

    if (!node)
        return NULL;
    node->args = targets(s);
    if (gkv__j_sign(s, "="))
        node->a = gkv__j_expressions(s);
    else
        node->body = body(s, "endset");
    return node;
}

static struct gkv__jnode *macro_statement(struct gkv__jparser *s)
{
    struct gkv__jnode *node = gkv__j_node(s, GKV__J_DEFINE), **last;

    if (!node)
        return NULL;
    node->name = gkv__j_name(s);
    gkv__j_want(s, "(");
    for (last = &node->args; s->r->status == GKV_OK && !gkv__j_sign(s, ")"); last = &(*last)->next) {
        *last = gkv__j_node(s, GKV__J_NAME);
        if (!*last)
            return NULL;
        (*last)->name = gkv__j_name(s);
        if (gkv__j_sign(s, "="))
            (*last)->a = gkv__j_expression(s);
        if (!gkv__j_sees(s, GKV__JT_SIGN, ")"))
            gkv__j_want(s, ",");
    }
    node->body = body(s, "endmacro");
    return node;
}

static struct gkv__jnode *filter_statement(struct gkv__jparser *s)
{
    struct gkv__jnode *node = gkv__j_node(s, GKV__J_FILTERED), *text = gkv__j_node(s, GKV__J_NAME);
    struct gkv__jnode *first = gkv__j_join(s, GKV__J_FILTER, 0, text, NULL);

    if (!node || !first)
        return NULL;
    text->name = (struct gkv__jstr){ "", NULL, 0 };     /* empty name: the text of the block */
    first->name = gkv__j_name(s);
    if (gkv__j_sign(s, "("))
        first->args = gkv__j_arguments(s, ")");
    node->a = gkv__j_filters(s, first);
    node->body = body(s, "endfilter");
    return node;
}

static struct gkv__jnode *raw_statement(struct gkv__jparser *s)
{
    struct gkv__jnode *node = NULL;
    const char        *p, *begin;

    if (s->kind != GKV__JT_CLOSE)
        gkv__j_wrong(s, "%}");
    begin = s->p + s->text.n;                   /* a newline here is text */
    if (s->text.n == 3 && *s->p == '-')
        begin += gkv__j_space((struct gkv__jstr){ begin, NULL, (size_t)(s->end - begin) }, false);
    for (p = begin; (p = find(p, s->end, "{%")) < s->end; p++) {
        struct gkv__jparser ahead = *s;

        ahead.p = p + 2 + (s->end - p > 2 && (p[2] == '-' || p[2] == '+'));
        gkv__j_advance(&ahead);
        if (!gkv__j_word(&ahead, "endraw") || ahead.kind != GKV__JT_CLOSE)
            continue;
        node = text_node(s, (struct gkv__jstr){ begin, NULL, (size_t)(p - begin) });
        for (; s->p < p; s->p++)
            s->line += *s->p == '\n';
        if (node && p[2] == '-')
            node->value.u.s.n -= gkv__j_space(node->value.u.s, true);
        s->p = ahead.p;
        s->kind = GKV__JT_CLOSE;
        s->text = ahead.text;
        return node;
    }
    gkv__j_fail(s->r, GKV_UNSUPPORTED, "raw without endraw");
    return NULL;
}

static struct gkv__jnode *statement(struct gkv__jparser *s)
{
    struct gkv__jnode *node = NULL;

    if (gkv__j_word(s, "if"))
        return if_statement(s);
    if (gkv__j_word(s, "for"))
        return for_statement(s);
    if (gkv__j_word(s, "set"))
        return set_statement(s);
    if (gkv__j_word(s, "macro"))
        return macro_statement(s);
    if (gkv__j_word(s, "filter"))
        return filter_statement(s);
    if (gkv__j_word(s, "raw"))
        return raw_statement(s);
    if (gkv__j_word(s, "break"))
        return gkv__j_node(s, GKV__J_BREAK);
    if (gkv__j_word(s, "continue"))
        return gkv__j_node(s, GKV__J_CONTINUE);
    if (gkv__j_word(s, "generation")) {
        node = gkv__j_node(s, GKV__J_BLOCK);
        if (node)
            node->body = body(s, "endgeneration");
        return node;
    }
    if (s->kind == GKV__JT_NAME)
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "the tag \"%.*s\" is not supported",
                    (int)(s->text.n < 32 ? s->text.n : 32), s->text.p);
    else
        gkv__j_wrong(s, "a tag");
    return NULL;
}

/* One piece of text or one tag; some tags make no node. */
static struct gkv__jnode *piece(struct gkv__jparser *s, ends *until, bool *done)
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
    gkv__j_advance(s);
    if (s->close[0] == '}') {
        node = gkv__j_node(s, GKV__J_PRINT);
        if (node)
            node->a = gkv__j_expressions(s);
        end_tag(s);
        return node;
    }
    for (size_t i = 0; (*until)[i]; i++)
        if (gkv__j_sees(s, GKV__JT_NAME, (*until)[i])) {
            *done = true;
            return NULL;
        }
    node = statement(s);
    end_tag(s);
    return node;
}

/* Statements up to a tag in `until`, whose name is then the next token; or up to the end. */
static struct gkv__jnode *statements(struct gkv__jparser *s, ends *until)
{
    struct gkv__jnode *first = NULL, **last = &first;
    bool               done = false;

    if (!gkv__j_enter(s))
        return gkv__j_leave(s, NULL);
    while (!done && gkv__j_charge(s->r, 0)) {
        *last = piece(s, until, &done);
        if (*last)
            last = &(*last)->next;
    }
    return gkv__j_leave(s, first);
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
    struct gkv__jparser      s = { .r = r, .begin = clean.p, .p = clean.p, .line = 1 };
    struct gkv__jnode *list;

    if (!clean.p)
        return NULL;
    s.end = clean.p + clean.n;
    r->line = 1;
    list = statements(&s, &none);
    return r->status == GKV_OK ? list : NULL;
}
