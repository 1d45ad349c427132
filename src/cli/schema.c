/* SPDX-License-Identifier: BSD-2-Clause
 * schema.c - see schema.h
 *
 * Each schema in the document becomes a rule, s0, s1, ..., when it is first needed; the queue of them grows while it is
 * worked off, so that schemas may refer to each other in circles. */
#include "config.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/json-parse.h"
#include "src/cli/schema.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

/* Rules, and members of one object or elements of one array that each get a rule. */
enum { MAX_RULES = 10000, MAX_REPEAT = 10000, MAX_BYTES = 1 << 20, MAX_GRAMMAR = 1 << 26 };
/* Names and their bytes that other names have to differ from. */
enum { MAX_NAMES = 1000, MAX_NAME = 200 };
#define MAX_INTEGER 999999999999999.0   /* 15 digits: exact as a double */

struct schema {
    const struct value  *root;
    const struct value **node;          /* of rule i                                      */
    size_t               n, room;
    size_t               now;           /* the rule being written                         */
    size_t               parts;         /* rules of its own that it has so far            */
    struct text          out;
    char                *why;           /* the first thing that is wrong, or NULL         */
};

static const char common[] =
    "ws ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}\n"
    "char ::= [^\"\\\\\\x00-\\x1F\\x7F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" [0-9a-fA-F]{4})\n"
    "plain ::= [^\"\\\\\\x00-\\x1F\\x7F]\n"
    "string ::= \"\\\"\" char* \"\\\"\"\n"
    "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,14})\n"
    "number ::= integer (\".\" [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?\n"
    "boolean ::= \"true\" | \"false\"\n"
    "null ::= \"null\"\n"
    "member ::= string \":\" ws value\n"
    "object ::= \"{\" ws (member (\",\" ws member)* ws)? \"}\"\n"
    "array ::= \"[\" ws (value (\",\" ws value)* ws)? \"]\"\n"
    "value ::= object | array | string | number | boolean | null\n"
    "date ::= [0-9]{4} \"-\" (\"0\" [1-9] | \"1\" [0-2]) \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01])\n"
    "time ::= ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{3})?"
    " (\"Z\" | [+-] ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9])\n"
    "date-time ::= date \"T\" time\n"
    "uuid ::= [0-9a-f]{8} (\"-\" [0-9a-f]{4}){3} \"-\" [0-9a-f]{12}\n";

static void refuse(struct schema *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void refuse(struct schema *s, const char *fmt, ...)
{
    va_list ap;

    if (s->why)
        return;
    va_start(ap, fmt);
    s->why = vformat(fmt, ap);
    va_end(ap);
    for (char *p = s->why; *p; p++)             /* names of the schema are in it */
        *p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
}

/* ---- texts --------------------------------------------------------------------------- */
/* A text in quotes, as GBNF writes it. */
static void quoted(struct text *t, const char *s, size_t n)
{
    text_puts(t, "\"");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];

        if (c < 0x20 || c == 0x7f)
            text_printf(t, "\\x%02X", c);
        else if (c == '"' || c == '\\')
            text_printf(t, "\\%c", c);
        else
            text_add(t, s + i, 1);
    }
    text_puts(t, "\"");
}

static void json_text(struct text *t, const char *s, size_t n)
{
    text_puts(t, "\"");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];

        if (c < 0x20 || c == 0x7f)
            text_printf(t, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            text_printf(t, "\\%c", c);
        else
            text_add(t, s + i, 1);
    }
    text_puts(t, "\"");
}

/* With as few digits as give the same number again. */
static void json_number(struct text *t, double v)
{
    char digits[40];

    for (int n = 15; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, v);
        if (n == 17 || !(strtod(digits, NULL) < v || strtod(digits, NULL) > v))
            break;
    }
    text_puts(t, digits);
}

/* A value as JSON, without spaces. */
static void json_value(struct text *t, const struct value *v)
{
    switch (v->type) {
    case PARSE_NULL: text_puts(t, "null"); break;
    case PARSE_FALSE: text_puts(t, "false"); break;
    case PARSE_TRUE: text_puts(t, "true"); break;
    case PARSE_STRING: json_text(t, v->text, v->len); break;
    case PARSE_NUMBER: json_number(t, v->number); break;
    case PARSE_ARRAY:
    case PARSE_OBJECT:
        text_puts(t, v->type == PARSE_ARRAY ? "[" : "{");
        for (const struct value *e = v->first; e; e = e->next) {
            if (e->key) {
                json_text(t, e->key, strlen(e->key));
                text_puts(t, ": ");
            }
            json_value(t, e);
            if (e->next)
                text_puts(t, ", ");
        }
        text_puts(t, v->type == PARSE_ARRAY ? "]" : "}");
        break;
    }
}

static void quoted_value(struct text *t, const struct value *v)
{
    struct text json = { NULL, 0, 0 };

    json_value(&json, v);
    quoted(t, json.p, json.n);
    text_free(&json);
}

static void quoted_key(struct text *t, const char *key)
{
    struct text json = { NULL, 0, 0 };

    json_text(&json, key, strlen(key));
    text_puts(&json, ":");
    quoted(t, json.p, json.n);
    text_free(&json);
    text_puts(t, " ws ");
}

/* ---- rules --------------------------------------------------------------------------- */
static size_t rule_of(struct schema *s, const struct value *node)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->node[i] == node)
            return i;
    if (s->n == MAX_RULES) {
        refuse(s, "more than %d parts", MAX_RULES);
        return 0;
    }
    if (s->n == s->room) {
        s->room = 2 * s->room + 16;
        s->node = grow(s->node, s->room, sizeof *s->node);
    }
    s->node[s->n] = node;
    return s->n++;
}

/* The rule of a schema; without one, of any value. */
static void use(struct schema *s, struct text *t, const struct value *node)
{
    if (node && node->type == PARSE_OBJECT)
        text_printf(t, "s%zu", rule_of(s, node));
    else
        text_puts(t, "value");
    if (node && node->type != PARSE_OBJECT && node->type != PARSE_TRUE)
        refuse(s, "a schema in it is neither an object nor true");
}

/* A rule of the present one: its number goes to its users, its text to the grammar. */
static size_t add_part(struct schema *s, struct text *body)
{
    if (s->out.n > MAX_GRAMMAR)
        refuse(s, "its grammar is larger than 64 MiB");
    if (s->why) {
        text_free(body);
        return 0;
    }
    text_printf(&s->out, "s%zu-%zu ::= ", s->now, s->parts);
    text_puts(&s->out, body->n ? body->p : "\"\"");        /* a rule without a text would go on in the next line */
    text_puts(&s->out, "\n");
    text_free(body);
    return s->parts++;
}

static void use_part(const struct schema *s, struct text *t, size_t part)
{
    text_printf(t, "s%zu-%zu", s->now, part);
}

/* ---- what a schema says -------------------------------------------------------------- */
static bool is_true(const struct value *v)
{
    return v && v->type == PARSE_TRUE;
}

static bool is_false(const struct value *v)
{
    return v && v->type == PARSE_FALSE;
}

/* A whole number from 0 on, or `otherwise`. */
static double count_of(struct schema *s, const struct value *node, const char *key, double otherwise)
{
    const struct value *v = parse_member(node, key);

    if (!v)
        return otherwise;
    if (v->type != PARSE_NUMBER || v->number < 0 || v->number != floor(v->number) || v->number > MAX_REPEAT) {
        refuse(s, "%s is not a whole number from 0 to %d", key, MAX_REPEAT);
        return otherwise;
    }
    return fabs(v->number);     /* of -0 the sign goes */
}

static const char *const notes[] = {        /* that mean nothing for the answer */
    "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$schema", "$id",
    "$comment", "$defs", "definitions", NULL
};

static bool among(const char *const *list, const char *key)
{
    while (*list && strcmp(*list, key))
        list++;
    return *list;
}

/* Refuses keywords that are neither notes nor in the list. */
static void only(struct schema *s, const struct value *node, const char *const *list)
{
    for (const struct value *v = node->first; v; v = v->next)
        if (!among(notes, v->key) && !among(list, v->key))
            refuse(s, among(list, "type") ? "the keyword %.80s is not supported here"
                                          : "the keyword %.80s is not supported beside %.80s", v->key, *list);
}

/* ---- numbers ------------------------------------------------------------------------- */
/* Digits from lo to hi, both of n digits. */
static void digits_between(struct text *t, const char *lo, const char *hi, size_t n)
{
    static const char least[] = "000000000000000", most[] = "999999999999999";

    if (!n)
        return;
    if (!strncmp(lo, least, n) && !strncmp(hi, most, n)) {
        text_printf(t, "[0-9]{%zu} ", n);
    } else if (*lo == *hi) {
        text_printf(t, "\"%c\" ", *lo);
        digits_between(t, lo + 1, hi + 1, n - 1);
    } else {
        text_printf(t, "(\"%c\" ", *lo);
        digits_between(t, lo + 1, most, n - 1);
        if (*lo + 1 < *hi)
            text_printf(t, "| [%c-%c] [0-9]{%zu} ", *lo + 1, *hi - 1, n - 1);
        text_printf(t, "| \"%c\" ", *hi);
        digits_between(t, least, hi + 1, n - 1);
        text_puts(t, ") ");
    }
}

/* Alternatives for the whole numbers from lo to hi, which are not negative; before each "-" if negative. */
static void whole_between(struct text *t, double lo, double hi, const char *before, const char *after)
{
    double least = 0;

    for (int n = 1; n <= 15; n++) {
        const double most = pow(10, n) - 1, from = fmax(lo, least), to = fmin(hi, most);
        char         a[32], b[32];

        if (from <= to) {
            snprintf(a, sizeof a, "%.0f", fabs(from));  /* else -0 has a sign */
            snprintf(b, sizeof b, "%.0f", fabs(to));
            text_printf(t, "%s%s", t->n ? "| " : "", before);
            digits_between(t, a, b, (size_t)n);
            text_puts(t, after);
        }
        least = most + 1;
    }
}

static bool bound(struct schema *s, const struct value *node, const char *key, double *out)
{
    const struct value *v = parse_member(node, key);

    if (!v)
        return false;
    if (v->type != PARSE_NUMBER || fabs(v->number) > MAX_INTEGER)
        refuse(s, "%s is not a number of at most 15 digits", key);
    *out = v->number;
    return true;
}

static void integer_type(struct schema *s, const struct value *node, struct text *t)
{
    double      lo = -MAX_INTEGER, hi = MAX_INTEGER, v = 0;
    struct text body = { NULL, 0, 0 };

    if (bound(s, node, "minimum", &v))
        lo = fmax(lo, ceil(v));
    if (bound(s, node, "exclusiveMinimum", &v))
        lo = fmax(lo, floor(v) + 1);
    if (bound(s, node, "maximum", &v))
        hi = fmin(hi, floor(v));
    if (bound(s, node, "exclusiveMaximum", &v))
        hi = fmin(hi, ceil(v) - 1);
    if (lo == -MAX_INTEGER && hi == MAX_INTEGER) {
        text_puts(t, "integer");
        return;
    }
    if (lo > hi)
        refuse(s, "no integer is from minimum to maximum");
    if (hi < 0 || lo < 0)
        whole_between(&body, hi < 0 ? -hi : 1, -lo, "\"-\" ", "");
    whole_between(&body, fmax(lo, 0), hi, "", "");
    use_part(s, t, add_part(s, &body));
}

/* Alternatives for the numbers from lo to hi, which are whole and not negative; open: without the limit itself. */
static void numbers_between(struct text *t, double lo, bool lo_open, double hi, bool hi_open,
                            const char *before)
{
    if (lo_open)
        whole_between(t, lo, lo, before, "\".\" \"0\"{0,7} [1-9] [0-9]{0,7} ");
    whole_between(t, lo + lo_open, hi - 1, before, "(\".\" [0-9]{1,15})? ");
    if (!hi_open)
        whole_between(t, hi, hi, before, "");
}

/* With limits that are whole: those with a fraction lie between two whole numbers. */
static void number_type(struct schema *s, const struct value *node, struct text *t)
{
    double      lo = -MAX_INTEGER, hi = MAX_INTEGER, v = 0;
    bool        low = bound(s, node, "minimum", &lo), high = bound(s, node, "maximum", &hi);
    bool        over = false, under = false;        /* the limit itself is none of them */
    struct text body = { NULL, 0, 0 };

    if (bound(s, node, "exclusiveMinimum", &v) && (over = !low || v >= lo))
        lo = v;
    if (bound(s, node, "exclusiveMaximum", &v) && (under = !high || v <= hi))
        hi = v;
    if (!low && !high && !over && !under) {
        text_puts(t, "number");
        return;
    }
    if (lo != floor(lo) || hi != floor(hi))
        refuse(s, "minimum and maximum of a number have to be whole");
    if (lo > hi || (lo == hi && (over || under)))
        refuse(s, "no number is from minimum to maximum");
    if (lo < 0)
        numbers_between(&body, hi < 0 ? -hi : 0, hi <= 0 && under, -lo, over, "\"-\" ");
    if (hi >= 0)
        numbers_between(&body, fmax(lo, 0), lo >= 0 && over, hi, under, "");
    use_part(s, t, add_part(s, &body));
}

/* ---- strings ------------------------------------------------------------------------- */
static void string_type(struct schema *s, const struct value *node, struct text *t)
{
    static const char *const formats[] = { "date", "time", "date-time", "uuid", NULL };
    const double least = count_of(s, node, "minLength", 0), most = count_of(s, node, "maxLength", -1);
    const char  *format = parse_string(node, "format");

    if (parse_member(node, "format")) {
        if (!format || !among(formats, format))
            refuse(s, "the format \"%.80s\" is not supported; there are: date time date-time uuid", format ? format : "");
        if (least > 0 || most >= 0)
            refuse(s, "format does not go together with minLength or maxLength");
        text_printf(t, "\"\\\"\" %s \"\\\"\"", format ? format : "");
    } else if (!(least > 0) && most < 0) {
        text_puts(t, "string");
    } else if (most < 0) {
        text_printf(t, "\"\\\"\" char{%.0f,} \"\\\"\"", least);
    } else {
        if (least > most)
            refuse(s, "minLength is above maxLength");
        text_printf(t, "\"\\\"\" char{%.0f,%.0f} \"\\\"\"", least, most);
    }
}

/* ---- arrays -------------------------------------------------------------------------- */

/* "ITEM (, ITEM){least-1,most-1}", or "(, ITEM){least,most}" after others; most < 0: no limit. */
static void row_of_items(struct schema *s, struct text *t, const struct value *item, double least, double most, bool after)
{
    const double one = after ? 0 : 1;

    if (most == 0)
        return;
    if (!after && least == 0)
        text_puts(t, "(");
    if (!after)
        use(s, t, item);
    text_puts(t, " (\",\" ws ");
    use(s, t, item);
    if (most < 0)
        text_printf(t, "){%.0f,}", fmax(least - one, 0));
    else
        text_printf(t, "){%.0f,%.0f}", fmax(least - one, 0), most - one);
    if (!after && least == 0)
        text_puts(t, ")?");
}

static void array_type(struct schema *s, const struct value *node, struct text *t)
{
    const struct value *item = parse_member(node, "items"), *prefix = parse_member(node, "prefixItems");
    const struct value *unique = parse_member(node, "uniqueItems");
    const double least = count_of(s, node, "minItems", 0), limit = count_of(s, node, "maxItems", -1);
    const struct value *first[MAX_RULES];
    size_t              n = 0, rest = 0;
    double              most = limit;
    struct text         body = { NULL, 0, 0 };

    if (is_true(unique))
        refuse(s, "the keyword uniqueItems is not supported");
    if (prefix && prefix->type != PARSE_ARRAY)
        refuse(s, "prefixItems is not an array");
    if (item && item->type == PARSE_ARRAY) {            /* as older schemas write it */
        prefix = item;
        item = parse_member(node, "additionalItems");
    }
    for (const struct value *v = prefix ? prefix->first : NULL; v && n < MAX_RULES; v = v->next)
        if (limit < 0 || n < limit)
            first[n++] = v;
    if (n == MAX_RULES)
        refuse(s, "prefixItems has %d elements or more", MAX_RULES);
    if (is_false(item))
        most = (double)n;
    if (most >= 0 && least > most)
        refuse(s, "minItems is above what maxItems and items allow");
    row_of_items(s, &body, item, fmax(least - (double)n, 0), most < 0 ? -1 : most - (double)n, n);
    rest = add_part(s, &body);
    for (size_t i = n; i-- > 0 && !s->why; ) {
        text_puts(&body, i ? "\",\" ws " : "");
        use(s, &body, first[i]);
        text_puts(&body, " ");
        use_part(s, &body, rest);
        if ((double)i >= least)
            text_puts(&body, " | \"\"");
        rest = add_part(s, &body);
    }
    text_puts(t, "\"[\" ws ");
    use_part(s, t, rest);
    text_puts(t, " ws \"]\"");
}

/* ---- objects ------------------------------------------------------------------------- */
struct members {
    const struct value **v;             /* their schemas, with their keys                 */
    bool                *needed;
    size_t               n, room, visits;
    const struct value  *others;        /* what additionalProperties says, or NULL        */
};

static const struct value *target(struct schema *s, const struct value *node);

static size_t member_at(const struct members *m, const char *key)
{
    size_t i = 0;

    while (i < m->n && strcmp(m->v[i]->key, key))
        i++;
    return i;
}

/* The members of an object's schema, of what it refers to, and of the parts of its allOf. */
static void gather(struct schema *s, const struct value *node, struct members *m, int depth)
{
    static const char *const keys[] = { "type", "properties", "required", "additionalProperties", "allOf", "$ref", NULL };
    const struct value *all = parse_member(node, "allOf"), *list = parse_member(node, "properties");
    const struct value *needed = parse_member(node, "required"), *others = parse_member(node, "additionalProperties");
    const char         *type = parse_string(node, "type");

    if (depth > 32 || ++m->visits > MAX_RULES)      /* without a circle, too, they may be very many */
        refuse(s, "allOf and $ref go round in a circle, or are too many");
    if (s->why)
        return;
    if (node->type != PARSE_OBJECT || (type && strcmp(type, "object"))) {
        refuse(s, "allOf is supported for objects only");
        return;
    }
    only(s, node, keys);
    if (parse_member(node, "$ref"))
        gather(s, target(s, node), m, depth + 1);
    for (const struct value *v = all ? all->first : NULL; v; v = v->next)
        gather(s, v, m, depth + 1);
    if ((list && list->type != PARSE_OBJECT) || (needed && needed->type != PARSE_ARRAY) ||
        (all && all->type != PARSE_ARRAY))
        refuse(s, "properties is not an object, or required or allOf not an array");
    for (const struct value *v = list ? list->first : NULL; v && !s->why; v = v->next) {
        if (m->n == MAX_RULES || member_at(m, v->key) < m->n) {
            refuse(s, m->n == MAX_RULES ? "more than 10000 properties" : "the property \"%.80s\" is described twice", v->key);
            return;
        }
        if (m->n == m->room) {
            m->room = 2 * m->room + 16;
            m->v = grow(m->v, m->room, sizeof *m->v);
            m->needed = grow(m->needed, m->room, sizeof *m->needed);
        }
        m->needed[m->n] = false;
        m->v[m->n++] = v;
    }
    for (const struct value *v = needed ? needed->first : NULL; v; v = v->next) {
        const size_t i = v->type == PARSE_STRING ? member_at(m, v->text) : m->n;

        if (i < m->n)
            m->needed[i] = true;
        else
            refuse(s, "\"%.80s\" is required, but not among the properties", v->type == PARSE_STRING ? v->text : "");
    }
    if (others && !is_false(others)) {
        if (depth)
            refuse(s, "the keyword additionalProperties is not supported in allOf");
        m->others = others;
    }
}

/* A part for names that begin as key[0..n) do and are none of m's, written without escapes. */
static size_t other_names(struct schema *s, const struct members *m, const char *key, size_t n)
{
    struct text body = { NULL, 0, 0 }, branches = { NULL, 0, 0 };
    bool        taken = false, branch = false, done[256] = { false };

    text_puts(&body, "[^\"\\\\\\x00-\\x1F\\x7F");
    for (size_t i = 0; i < m->n; i++) {
        const char         *k = m->v[i]->key;
        const unsigned char c = strncmp(k, key, n) ? 0 : (unsigned char)k[n];

        taken |= !strncmp(k, key, n) && !c;
        if (!c || done[c])
            continue;
        if (c >= 0x80 || c < 0x20 || c == '"' || c == '\\') {
            refuse(s, "additionalProperties is not supported beside names that are not plain ASCII");
            break;
        }
        done[c] = branch = true;
        text_printf(&body, strchr("[]\\^-", c) ? "\\x%02X" : "%c", c);
        text_printf(&branches, " | \"%c\" ", c);
        use_part(s, &branches, other_names(s, m, k, n + 1));
    }
    text_puts(&body, "] plain*");
    if (branch)
        text_add(&body, branches.p, branches.n);
    if (!taken)
        text_puts(&body, " | \"\"");
    text_free(&branches);
    return add_part(s, &body);
}

/* What may come after the members of the schema: others.  `after`: a comma is needed before them. */
static void other_members(struct schema *s, const struct members *m, struct text *t, size_t name, bool after)
{
    if (!m->others)
        return;
    for (int i = 0; i < 2; i++) {
        if (i == 1 || after)
            text_puts(t, "(\",\" ws ");
        else
            text_puts(t, "(");
        text_puts(t, "\"\\\"\" ");
        use_part(s, t, name);
        text_puts(t, " \"\\\":\" ws ");
        use(s, t, m->others);
        text_puts(t, i == 1 || after ? ")*" : " ");
        if (after)
            return;
    }
    text_puts(t, ")?");
}

static void object_type(struct schema *s, const struct value *node, struct text *t)
{
    struct members m = { .n = 0 };
    struct text    body = { NULL, 0, 0 };
    size_t         name = 0, fresh, begun;

    if (!parse_member(node, "properties") && !parse_member(node, "allOf") && !parse_member(node, "required") &&
        (!parse_member(node, "additionalProperties") || is_true(parse_member(node, "additionalProperties")))) {
        text_puts(t, "object");
        return;
    }
    gather(s, node, &m, 0);
    for (size_t i = 0; i < m.n && m.others; i++)
        if (m.n > MAX_NAMES || strlen(m.v[i]->key) > MAX_NAME)
            refuse(s, "additionalProperties is not supported beside more than %d properties, or names of more than %d bytes",
                   MAX_NAMES, MAX_NAME);
    if (m.others && !s->why)
        name = other_names(s, &m, "", 0);
    /* From the last member to the first, two parts each: when none is written yet, and when a comma is needed. */
    other_members(s, &m, &body, name, false);
    fresh = add_part(s, &body);
    other_members(s, &m, &body, name, true);
    begun = add_part(s, &body);
    for (size_t i = m.n; i-- > 0 && !s->why; ) {
        size_t next[2];

        for (int comma = 0; comma < 2; comma++) {
            text_puts(&body, comma ? "\",\" ws " : "");
            quoted_key(&body, m.v[i]->key);
            use(s, &body, m.v[i]);
            text_puts(&body, " ");
            use_part(s, &body, begun);
            if (!m.needed[i]) {
                text_puts(&body, " | ");
                use_part(s, &body, comma ? begun : fresh);
            }
            next[comma] = add_part(s, &body);
        }
        fresh = next[0];
        begun = next[1];
    }
    free(m.v);
    free(m.needed);
    text_puts(t, "\"{\" ws ");
    use_part(s, t, fresh);
    text_puts(t, " ws \"}\"");
}

/* ---- any schema ---------------------------------------------------------------------- */
/* Goes along "#/a/b" from the root; "~1" is "/" in a name, and "~0" is "~". */
static const struct value *follow(const struct schema *s, const char *path)
{
    const struct value *v = s->root;

    if (*path++ != '#')
        return NULL;
    while (v && *path == '/') {
        const size_t n = strcspn(++path, "/");
        char        *name = format("%.*s", (int)n, path), *out = name;
        const bool   number = n && strspn(path, "0123456789") == n;
        long         at = strtol(path, NULL, 10);

        for (const char *p = name; *p; p++) {
            const bool escape = *p == '~' && p[1];

            *out++ = !escape ? *p : p[1] == '1' ? '/' : '~';
            p += escape;
        }
        *out = 0;
        if (v->type == PARSE_ARRAY)
            for (v = number ? v->first : NULL; v && at > 0; at--)
                v = v->next;
        else
            v = parse_member(v, name);
        free(name);
        path += n;
    }
    return *path ? NULL : v;
}

static const struct value *target(struct schema *s, const struct value *node)
{
    const char         *ref = parse_string(node, "$ref");
    const struct value *v = ref ? follow(s, ref) : NULL;

    if (v)
        return v;
    refuse(s, "$ref \"%.80s\" leads nowhere; it has to be as \"#/$defs/NAME\"", ref ? ref : "");
    return s->root;
}

static const struct type {
    const char *name;
    void      (*write)(struct schema *s, const struct value *node, struct text *t);
    const char *keys[10];               /* that only this type has */
} types[] = {
    { "object", object_type, { "properties", "required", "additionalProperties", "allOf", NULL } },
    { "array", array_type, { "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "additionalItems", NULL } },
    { "string", string_type, { "minLength", "maxLength", "format", NULL } },
    { "integer", integer_type, { "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", NULL } },
    { "number", number_type, { "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", NULL } },
    { "boolean", NULL, { NULL } },
    { "null", NULL, { NULL } },
};

enum { N_TYPES = sizeof types / sizeof *types, NUMBER = 4 };

static void one_type(struct schema *s, const struct value *node, struct text *t, const struct type *type)
{
    if (type->write)
        type->write(s, node, t);
    else
        text_puts(t, type->name);
}

static void named_type(struct schema *s, const struct value *node, struct text *t, const struct value *name)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (name->type == PARSE_STRING && !strcmp(types[i].name, name->text)) {
            one_type(s, node, t, &types[i]);
            return;
        }
    refuse(s, "there is no type \"%.80s\"", name->type == PARSE_STRING ? name->text : "");
}

/* Refuses keywords that no type in the list has. */
static void check_keys(struct schema *s, const struct value *node, const struct value *type)
{
    for (const struct value *v = node->first; v; v = v->next) {
        bool known = among(notes, v->key) || !strcmp(v->key, "type"), of_type = false;

        for (size_t i = 0; i < N_TYPES; i++)
            if (among(types[i].keys, v->key)) {
                known = true;
                for (const struct value *n = type && type->type == PARSE_ARRAY ? type->first : type; n; n = n->next) {
                    of_type |= n->type == PARSE_STRING && !strcmp(n->text, types[i].name);
                    if (n == type)
                        break;
                }
            }
        if (!known)
            refuse(s, "the keyword %.80s is not supported", v->key);
        else if (type && !of_type && !among(notes, v->key) && strcmp(v->key, "type"))
            refuse(s, "the keyword %.80s does not go with this type", v->key);
    }
}

/* By its type, or what its keywords say that it is. */
static void by_type(struct schema *s, const struct value *node, struct text *t)
{
    const struct value *type = parse_member(node, "type");

    check_keys(s, node, type);
    if (type && type->type == PARSE_ARRAY && type->first) {
        for (const struct value *v = type->first; v && !s->why; v = v->next) {
            text_puts(t, v == type->first ? "" : " | ");
            named_type(s, node, t, v);
        }
        return;
    }
    if (type) {
        named_type(s, node, t, type);
        return;
    }
    for (size_t i = 0; i < N_TYPES; i++)
        for (const struct value *v = node->first; v; v = v->next)
            if (among(types[i].keys, v->key)) {
                one_type(s, node, t, &types[i + (types[i].write == integer_type)]);
                return;
            }
    text_puts(t, "value");
}

static void alternatives(struct schema *s, struct text *t, const struct value *list, const char *key, bool values)
{
    if (list->type != PARSE_ARRAY || !list->first)
        refuse(s, "%s is not an array with elements", key);
    for (const struct value *v = list->first; v; v = v->next) {
        text_puts(t, v == list->first ? "" : " | ");
        if (values)
            quoted_value(t, v);
        else
            use(s, t, v);
    }
}

static void schema(struct schema *s, const struct value *node, struct text *t)
{
    static const char *const any_of[] = { "anyOf", NULL }, *const one_of[] = { "oneOf", NULL }, *const ref[] = { "$ref", NULL };
    static const char *const values[] = { "enum", "const", "type", NULL };
    const struct value *v;

    if (node->type != PARSE_OBJECT) {
        if (!is_true(node))
            refuse(s, "a schema is an object, or true");
        text_puts(t, "value");
    } else if (parse_member(node, "$ref")) {
        only(s, node, ref);
        use(s, t, target(s, node));
    } else if ((v = parse_member(node, "const"))) {
        only(s, node, values);
        quoted_value(t, v);
    } else if ((v = parse_member(node, "enum"))) {
        only(s, node, values);
        alternatives(s, t, v, "enum", true);
    } else if ((v = parse_member(node, "anyOf"))) {
        only(s, node, any_of);
        alternatives(s, t, v, "anyOf", false);
    } else if ((v = parse_member(node, "oneOf"))) {
        only(s, node, one_of);
        alternatives(s, t, v, "oneOf", false);
    } else {
        by_type(s, node, t);
    }
}

/* Where the text is not UTF-8; len: nowhere. */
static size_t not_utf8(const char *text, size_t len)
{
    uint32_t cp;
    size_t   at = 0, n;

    for (; at < len; at += n) {
        n = utf8_next(text + at, len - at, &cp);
        if (cp == UTF8_BAD)
            break;
    }
    return at;
}

/* The schema itself; NULL after refusing it. */
static struct value *root_of(struct schema *s, char *text, size_t len)
{
    const char   *problem = "too large";
    size_t        at = 0;
    struct value *root = NULL;

    if (len <= MAX_BYTES) {
        at = not_utf8(text, len);
        problem = "not UTF-8";
        if (at == len)
            root = parse_json(text, len, &problem, &at);
    }
    if (!root)
        refuse(s, "not JSON, at byte %zu: %s", at, problem);
    return root;
}

char *schema_grammar(char *text, size_t len, char **why)
{
    struct schema s = { .root = NULL };
    struct value *root = root_of(&s, text, len);

    s.root = root;
    if (root)
        rule_of(&s, root);
    text_puts(&s.out, "root ::= s0\n");
    text_puts(&s.out, common);
    for (s.now = 0; s.now < s.n && !s.why; s.now++) {
        struct text body = { NULL, 0, 0 };

        s.parts = 0;
        schema(&s, s.node[s.now], &body);
        text_printf(&s.out, "s%zu ::= ", s.now);
        text_add(&s.out, body.p ? body.p : "", body.n);
        text_puts(&s.out, "\n");
        text_free(&body);
    }
    parse_free(root);
    free(s.node);
    *why = s.why;
    if (!s.why)
        return s.out.p;
    text_free(&s.out);
    return NULL;
}
