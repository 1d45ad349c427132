/* SPDX-License-Identifier: BSD-2-Clause
 * json-parse.c - see json-parse.h.  JSON as in RFC 8259.  Unescaping never lengthens a string, so strings stay in
 * place in the text.  An unpaired surrogate becomes U+FFFD. */
#include "config.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/json-parse.h"
#include "src/cli/json.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"

enum { DEEPEST = 64 };

struct reader {
    char       *p, *end;                /* *end is a NUL                                  */
    const char *why;
    int         depth;
};

static struct value *value(struct reader *r);

static void *refuse(struct reader *r, const char *why)
{
    r->why = why;
    return NULL;
}

static void space(struct reader *r)
{
    while (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r')
        r->p++;
}

static struct value *new(enum parse_type type)
{
    struct value *v = grow(NULL, 1, sizeof *v);

    *v = (struct value){ .type = type };
    return v;
}

void parse_free(struct value *v)
{
    while (v) {
        struct value *next = v->next;

        parse_free(v->first);
        free(v);
        v = next;
    }
}

/* ---- strings ------------------------------------------------------------------------- */
static int hex4(const char *s)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)s[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f'
                  ? (c | 32) - 'a' + 10 : -1;

        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* After "\u": reads 4 digits, and the second escape if they are the first half of a surrogate pair. */
static char *unicode(struct reader *r, char *out)
{
    int cp = hex4(r->p), low;

    if (cp < 0)
        return refuse(r, "\\u without four hexadecimal digits");
    r->p += 4;
    if (cp >= 0xd800 && cp < 0xdc00 && r->p[0] == '\\' && r->p[1] == 'u'
        && (low = hex4(r->p + 2)) >= 0xdc00 && low < 0xe000) {
        r->p += 6;
        return utf8_put(out, 0x10000 + ((uint32_t)(cp - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
    }
    return utf8_put(out, cp >= 0xd800 && cp < 0xe000 ? 0xfffd : (uint32_t)cp);
}

/* After the quote: unescapes the string in place; its length goes to *len. */
static char *string(struct reader *r, size_t *len)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *start = r->p, *out = start;

    while (*r->p != '"') {
        const char *escape;

        if (r->p == r->end)
            return refuse(r, "a string without an end");
        if ((unsigned char)*r->p < 0x20)
            return refuse(r, "a control character in a string");
        if (*r->p != '\\') {
            *out++ = *r->p++;
            continue;
        }
        r->p++;
        if (*r->p == 'u') {
            r->p++;
            out = unicode(r, out);
            if (!out)
                return NULL;
            continue;
        }
        escape = *r->p ? strchr(from, *r->p) : NULL;
        if (!escape)
            return refuse(r, "an unknown escape in a string");
        *out++ = to[escape - from];
        r->p++;
    }
    r->p++;
    *out = 0;                   /* over the closing quote or before it */
    *len = (size_t)(out - start);
    return start;
}

/* ---- values -------------------------------------------------------------------------- */
static struct value *word(struct reader *r, const char *name, enum parse_type type)
{
    size_t n = strlen(name);

    if (strncmp(r->p, name, n))
        return refuse(r, "not a value");
    r->p += n;
    return new(type);
}

static char *digits(struct reader *r, char *p)
{
    if (*p < '0' || *p > '9')
        return refuse(r, "not a value");
    return p + strspn(p, "0123456789");
}

static struct value *number(struct reader *r)
{
    struct value *v;
    char         *p = r->p + (*r->p == '-');

    p = *p == '0' ? p + 1 : digits(r, p);
    if (p && *p == '.')
        p = digits(r, p + 1);
    if (p && (*p == 'e' || *p == 'E')) {
        p++;
        p = digits(r, p + (*p == '-' || *p == '+'));
    }
    if (!p)
        return NULL;
    v = new(PARSE_NUMBER);
    v->number = strtod(r->p, NULL);
    r->p = p;
    return v;
}

static struct value *member(struct reader *r)
{
    struct value *v;
    char         *key;
    size_t        len;

    if (*r->p != '"')
        return refuse(r, "a member without a name");
    r->p++;
    key = string(r, &len);
    if (!key)
        return NULL;
    space(r);
    if (*r->p != ':')
        return refuse(r, "a member without a colon");
    r->p++;
    v = value(r);
    if (v)
        v->key = key;
    return v;
}

static struct value *group(struct reader *r, enum parse_type type, char end)
{
    struct value *v = new(type), **last = &v->first;

    r->p++;
    space(r);
    if (*r->p == end) {
        r->p++;
        return v;
    }
    for (;;) {
        space(r);
        *last = type == PARSE_OBJECT ? member(r) : value(r);
        if (!*last)
            break;
        last = &(*last)->next;
        space(r);
        if (*r->p == end) {
            r->p++;
            return v;
        }
        if (*r->p != ',') {
            refuse(r, r->p == r->end ? "it ends too early" : "a comma is missing");
            break;
        }
        r->p++;
    }
    parse_free(v);
    return NULL;
}

static struct value *value(struct reader *r)
{
    struct value *v = NULL;

    if (++r->depth > DEEPEST)
        return refuse(r, "too deep");
    space(r);
    switch (*r->p) {
    case '{': v = group(r, PARSE_OBJECT, '}'); break;
    case '[': v = group(r, PARSE_ARRAY, ']'); break;
    case 'n': v = word(r, "null", PARSE_NULL); break;
    case 't': v = word(r, "true", PARSE_TRUE); break;
    case 'f': v = word(r, "false", PARSE_FALSE); break;
    case '"':
        r->p++;
        v = new(PARSE_STRING);
        v->text = string(r, &v->len);
        if (!v->text) {
            parse_free(v);
            v = NULL;
        }
        break;
    case 0:
        refuse(r, "it ends too early");
        break;
    default:
        v = number(r);
    }
    r->depth--;
    return v;
}

struct value *parse_json(char *text, size_t len, const char **why, size_t *at)
{
    struct reader r = { text, text + len, NULL, 0 };
    struct value *v = value(&r);

    if (v) {
        space(&r);
        if (r.p != r.end) {
            refuse(&r, "something follows the value");
            parse_free(v);
            v = NULL;
        }
    }
    *why = r.why;
    *at = (size_t)(r.p - text);
    return v;
}

/* ---- look-ups ------------------------------------------------------------------------ */
const struct value *parse_member(const struct value *object, const char *key)
{
    if (!object || object->type != PARSE_OBJECT)
        return NULL;
    for (const struct value *v = object->first; v; v = v->next)
        if (!strcmp(v->key, key))
            return v;
    return NULL;
}

const char *parse_string(const struct value *object, const char *key)
{
    const struct value *v = parse_member(object, key);

    return v && v->type == PARSE_STRING ? v->text : NULL;
}

double parse_number(const struct value *object, const char *key, double otherwise)
{
    const struct value *v = parse_member(object, key);

    return v && v->type == PARSE_NUMBER ? v->number : otherwise;
}

static void print_string(const char *s, size_t n, struct text *out)
{
    struct json j = { .depth = 0 };

    json_text(&j, s, n);
    text_add(out, j.text.p, j.text.n);
    text_free(&j.text);
}

static void print_members(const struct value *v, const char *brackets, struct text *out)
{
    text_add(out, brackets, 1);
    for (const struct value *m = v->first; m; m = m->next) {
        if (m->key) {
            print_string(m->key, strlen(m->key), out);
            text_puts(out, ": ");
        }
        parse_print(m, out);
        text_puts(out, m->next ? ", " : "");
    }
    text_add(out, brackets + 1, 1);
}

void parse_print(const struct value *v, struct text *out)
{
    struct json j = { .depth = 0 };

    switch (v->type) {
    case PARSE_NULL: text_puts(out, "null"); break;
    case PARSE_FALSE: text_puts(out, "false"); break;
    case PARSE_TRUE: text_puts(out, "true"); break;
    case PARSE_STRING: print_string(v->text, v->len, out); break;
    case PARSE_ARRAY: print_members(v, "[]", out); break;
    case PARSE_OBJECT: print_members(v, "{}", out); break;
    case PARSE_NUMBER:
        json_real(&j, v->number);
        text_add(out, j.text.p, j.text.n);
        text_free(&j.text);
        break;
    }
}
