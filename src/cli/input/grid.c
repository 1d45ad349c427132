/* SPDX-License-Identifier: BSD-2-Clause
 * grid.c - see grid.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/input/grid.h"

void grid_put(struct grid *g, size_t i, const char *s, size_t n)
{
    if (i >= GRID_COLUMNS)
        return;
    if (i >= g->n_cell) {
        g->cell = grow(g->cell, i + 1, sizeof *g->cell);
        while (g->n_cell <= i)
            g->cell[g->n_cell++] = (struct text){ NULL, 0, 0 };
    }
    g->used = i >= g->used ? i + 1 : g->used;
    while (n && strchr(" \t\r\n", s[n - 1]))
        n--;
    while (n && strchr(" \t\r\n", *s)) {
        s++;
        n--;
    }
    for (size_t k = 0; k < n; k++)              /* a row is a line */
        text_add(&g->cell[i], strchr("\r\n\f\t", s[k]) && s[k] ? " " : s + k, 1);
}

static bool is_number(const char *s)
{
    const char *p = s + strspn(s, "+-($ ");

    return *p >= '0' && *p <= '9' && !p[strspn(p, "0123456789.,%:/- )eE+")];
}

/* A header is words, two of them at least; below another one, only after a gap and rows that had numbers, and without
 * an empty cell. */
static bool is_header(const struct grid *g, size_t full)
{
    if (full < 2 || (g->n_head && !(g->gap && g->numbers && full == g->used)))
        return false;
    for (size_t i = 0; i < g->used; i++)
        if (g->cell[i].n && is_number(g->cell[i].p))
            return false;
    return true;
}

static void take_header(struct grid *g)
{
    for (size_t i = 0; i < g->n_head; i++)
        text_free(&g->head[i]);
    g->head = grow(g->head, g->used, sizeof *g->head);
    g->n_head = g->used;
    for (size_t i = 0; i < g->used; i++) {
        g->head[i] = (struct text){ NULL, 0, 0 };
        if (g->cell[i].n)
            text_add(&g->head[i], g->cell[i].p, g->cell[i].n);
    }
    g->numbers = false;
}

void grid_row(struct grid *g)
{
    size_t full = 0, n = 0;
    bool   header;

    for (size_t i = 0; i < g->used; i++)
        full += g->cell[i].n > 0;
    header = is_header(g, full);
    if (header)
        take_header(g);
    for (size_t i = 0; i < g->used; i++) {
        if (!g->cell[i].n)
            continue;
        text_puts(g->out, !n++ ? "" : header ? " | " : "; ");
        if (!header && i < g->n_head && g->head[i].n)
            text_printf(g->out, "%s: ", g->head[i].p);
        text_add(g->out, g->cell[i].p, g->cell[i].n);
        g->numbers = g->numbers || (!header && is_number(g->cell[i].p));
        g->cell[i].n = 0;
        g->cell[i].p[0] = 0;
    }
    text_puts(g->out, "\n");
    g->gap = !full;
    g->used = 0;
}

void grid_free(struct grid *g)
{
    for (size_t i = 0; i < g->n_head; i++)
        text_free(&g->head[i]);
    for (size_t i = 0; i < g->n_cell; i++)
        text_free(&g->cell[i]);
    free(g->head);
    free(g->cell);
    *g = (struct grid){ .out = g->out };
}
