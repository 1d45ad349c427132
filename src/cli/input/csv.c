/* SPDX-License-Identifier: BSD-2-Clause
 * csv.c - tables whose fields are between commas, semicolons, tabs or bars */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/input/grid.h"
#include "src/cli/input/readers.h"

enum { SNIFF_PART = 64 << 10 };

/* A record from p on: how many fields it has, and where it ends; `put` gets each field, unless it is NULL. */
static size_t record(const char **at, const char *end, char between, struct grid *g)
{
    const char *p = *at;
    size_t      n = 0;
    struct text field = { NULL, 0, 0 };

    for (;; n++) {
        bool quoted = p < end && *p == '"';

        field.n = 0;
        p += quoted;
        while (p < end && (quoted || (*p != between && *p != '\n'))) {
            if (quoted && *p == '"') {
                if (p + 1 < end && p[1] == '"')
                    p++;
                else {
                    quoted = false;
                    p++;
                    continue;
                }
            }
            if (g)
                text_add(&field, p, 1);
            p++;
        }
        if (g && field.n)
            grid_put(g, n, field.p, field.n);
        if (p >= end || *p == '\n')
            break;
        p++;
    }
    *at = p < end ? p + 1 : end;
    text_free(&field);
    return n + 1;
}

/* How many records have as many fields as the first; 0: one has not, or a field is as long as no field is. */
static size_t agree(const char *p, const char *end, char between, bool whole, size_t *fields)
{
    size_t n = 0;

    while (p < end) {
        const char *line = p;
        size_t      k = record(&p, end, between, NULL);

        if (p == end && !whole && n)            /* cut */
            break;
        if (p - line <= 1 || (p - line == 2 && *line == '\r'))
            continue;
        if (n && k != *fields)
            return 0;
        *fields = k;
        n++;
    }
    return n;
}

char csv_looks(const char *p, size_t n, bool named)
{
    static const char between[] = "\t,;|";
    size_t best = 1;
    char   c = 0;

    if (!n || memchr(p, 0, n) || (!named && strchr("{[|#<", *p)))       /* JSON, tables of Markdown, code, markup */
        return 0;
    for (size_t i = 0; between[i]; i++) {
        size_t fields = 0, rows = agree(p, p + n, between[i], n < SNIFF_PART, &fields);

        if (rows >= (named ? 1 : 4) && fields >= (named ? 2 : 3) && fields > best) {
            best = fields;
            c = between[i];
        }
    }
    /* Rows of different lengths: what the first line with any of them, below a title, has most of. */
    for (const char *line = p, *end; !c && named && line < p + n; line = end + 1) {
        size_t most = 0;

        end = memchr(line, '\n', (size_t)(p + n - line));
        end = end ? end : p + n;
        for (size_t i = 0; between[i]; i++) {
            size_t k = 0;

            for (const char *s = line; s < end; s++)
                k += *s == between[i];
            if (k > most) {
                most = k;
                c = between[i];
            }
        }
    }
    return c;
}

int read_csv(int fd, FILE *out, FILE *err)
{
    struct text t = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    struct grid g = { .out = &line };
    const char *p;
    char        between;
    const int   code = child_text(fd, &t, err);

    if (code)
        t.n = 0;
    p = t.p;
    if (t.n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
        p += 3;
    between = csv_looks(p, t.n - (size_t)(p - t.p) < SNIFF_PART ? t.n - (size_t)(p - t.p) : SNIFF_PART, true);
    while (p < t.p + t.n) {
        record(&p, t.p + t.n, between ? between : ',', &g);
        grid_row(&g);
        fwrite(line.p, 1, line.n, out);
        line.n = 0;
    }
    grid_free(&g);
    text_free(&t);
    text_free(&line);
    return code;
}
