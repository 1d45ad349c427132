/* SPDX-License-Identifier: BSD-2-Clause
 * answers.c - see answers.h */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/batch/answers.h"
#include "src/cli/mix.h"
#include "src/cli/say.h"

void answers_begin(struct json *j, const struct entry *e, uint64_t run)
{
    char hex[20];

    json_open(j, '{');
    json_named_raw(j, "id", e->id);
    json_named_uint(j, "line", e->line);
    snprintf(hex, sizeof hex, "%016" PRIx64, run);
    json_named_string(j, "run", hex);
    snprintf(hex, sizeof hex, "%016" PRIx64, e->number);
    json_named_string(j, "row", hex);
}

struct entry *answers_row(const struct rows *r, const struct answer *a)
{
    size_t low = 0, high = r->n;

    if (!a->twin)
        return rows_find(r, a->id);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (r->entry[middle].line < a->line)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && r->entry[low].line == a->line ? &r->entry[low] : NULL;
}

/* Whether p[n], which has no NUL, may be the beginning of such a line: $ stands for a text or a number, as far as it goes. */
static bool begins_line(const char *p, size_t n)
{
    const char *end = p + n;

    for (const char *form = "{\"id\": $, \"line\": $, \"run\": $, \"row\": $"; *form && p < end; form++) {
        if (*form != '$') {
            if (*p++ != *form)
                return false;
        } else if (*p != '"') {
            while (p < end && strchr("-0123456789", *p))
                p++;
        } else {
            for (p++; p < end && *p != '"'; p++)
                p += *p == '\\' && end - p > 1;
            p += p < end;
        }
    }
    return true;
}

/* What two runs must agree on: not the costs. */
static uint64_t said(const struct value *v)
{
    const struct value *many = parse_member(v, "answers");
    uint64_t            h = mix_string(MIX_START, parse_string(v, "answer"));

    for (const struct value *i = many && many->type == PARSE_ARRAY ? many->first : NULL; i; i = i->next)
        h = mix_string(h, parse_string(i, "answer"));
    return h;
}

/* 0; 1: JSON, but not an answer; -1: not JSON. */
static int read_line(char *line, size_t n, struct answer *a, struct value **v)
{
    const char         *why;
    size_t              at;
    bool                bad;

    *v = parse_json(line, n, &why, &at);
    if (!*v)
        return -1;
    a->id = row_id(*v, &bad);
    a->line = (size_t)parse_number(*v, "line", 0);
    a->run = parse_string(*v, "run");
    a->row = parse_string(*v, "row");
    a->failed = parse_string(*v, "error");
    a->twin = parse_member(*v, "twin_of_line");
    a->said = said(*v);
    if (a->id && a->line && a->run && a->row
        && (a->failed || parse_string(*v, "answer") || parse_member(*v, "answers")))
        return 0;
    parse_free(*v);
    free(a->id);
    return 1;
}

static int not_ours(struct io *io, const char *path, size_t line)
{
    return fail(io, EXIT_FAILED, "%s:%zu: not an answer that gemkv batch wrote; give another file", path, line);
}

int answers_each(struct io *io, const char *path, FILE *f, answers_take *take, void *arg, struct tail *tail)
{
    char   *line = NULL;
    size_t  room = 0;
    ssize_t got;
    int     code = 0, c;

    *tail = (struct tail){ .line = 0 };
    c = getc(f);                                /* something else may be large, and have no newline */
    if (c != EOF && c != '{')
        return not_ours(io, path, 1);
    ungetc(c, f);
    while (!code && !tail->open && (got = getline(&line, &room, f)) > 0) {
        size_t        n = (size_t)got - (line[got - 1] == '\n');
        const bool    whole = n < (size_t)got, begins = begins_line(line, strnlen(line, n));
        struct answer a = { .start = tail->whole, .n = n };
        struct value *v;
        int           r;

        tail->line++;
        line[n] = 0;
        r = begins ? read_line(line, n, &a, &v) : 1;
        if (!whole && begins && r < 0) {        /* a machine that broke down may leave NUL bytes */
            tail->cut = true;
            break;
        }
        if (r) {
            code = not_ours(io, path, tail->line);
            break;
        }
        code = take(arg, &a);
        parse_free(v);
        free(a.id);
        tail->whole += got;
        tail->open = !whole;
    }
    if (!code && ferror(f))
        code = fail(io, EXIT_FAILED, "%s: cannot read: %s", path, strerror(errno));
    free(line);
    return code;
}
