/* SPDX-License-Identifier: BSD-2-Clause
 * plot.c - see plot.h */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/plot.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

/* ---- colours ------------------------------------------------------------------------- */
struct colour { int r, g, b; };

/* Red for 0, yellow, green for 1, with linear interpolation. */
static struct colour colour(double v)
{
    static const struct colour at[] = { { 220, 80, 85 }, { 240, 200, 85 }, { 60, 180, 115 } };
    int    i = v < 0.5 ? 0 : 1;
    double f = 2 * v - i;

    return (struct colour){ (int)lround(at[i].r + f * (at[i + 1].r - at[i].r)),
                            (int)lround(at[i].g + f * (at[i + 1].g - at[i].g)),
                            (int)lround(at[i].b + f * (at[i + 1].b - at[i].b)) };
}

/* ---- terminal ------------------------------------------------------------------------ */
static size_t widest(char *const *s, size_t n)
{
    size_t w = 0;

    for (size_t i = 0; i < n; i++)
        w = strlen(s[i]) > w ? strlen(s[i]) : w;
    return w;
}

void plot_grid(struct io *io, const struct grid *g)
{
    const char  *no = getenv("NO_COLOR");
    const bool   coloured = isatty(fileno(io->out)) && !(no && *no);
    const size_t left = widest(g->line, g->n_line), cell = widest(g->column, g->n_column) + 1;
    const int    width = (int)(cell < 6 ? 6 : cell);

    out_printf(io, "%s\n%*s", g->title, (int)left, "");
    for (size_t j = 0; j < g->n_column; j++)
        out_printf(io, "%*s", width, g->column[j]);
    out_char(io, '\n');
    for (size_t i = 0; i < g->n_line; i++) {
        out_printf(io, "%*s", (int)left, g->line[i]);
        for (size_t j = 0; j < g->n_column; j++) {
            double        v = g->value[i * g->n_column + j];
            struct colour c = colour(isnan(v) ? 0 : v);

            if (isnan(v))
                out_printf(io, "%*s", width, "-");
            else if (coloured)
                out_printf(io, "\033[30;48;2;%d;%d;%dm%*.0f\033[0m", c.r, c.g, c.b, width, 100 * v);
            else
                out_printf(io, "%*.0f", width, 100 * v);
        }
        out_char(io, '\n');
    }
}

void plot_curve(struct io *io, const struct curve *c, size_t n_curve, size_t n, size_t marked)
{
    enum { BAR = 40 };

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n_curve; j++) {
            double v = c[j].value[i];

            if (isnan(v))
                continue;
            if (j == 0)
                out_printf(io, "%c layer %3zu", i == marked ? '*' : ' ', i);
            else
                out_printf(io, "%11s", "");
            out_printf(io, "  %-8s %6.1f %%  ", c[j].name, 100 * v);
            for (int k = 0; k < (int)lround(v * BAR); k++)
                out_char(io, j == 0 ? '#' : '.');
            out_char(io, '\n');
        }
}

/* ---- SVG ----------------------------------------------------------------------------- */
enum { CELL_W = 56, CELL_H = 26, LEFT = 120, TOP = 46, GAP = 34, RIGHT = 30 };

static void escaped(struct text *t, const char *s)
{
    for (; *s; s++)
        if (*s == '&')
            text_puts(t, "&amp;");
        else if (*s == '<')
            text_puts(t, "&lt;");
        else if (*s == '>')
            text_puts(t, "&gt;");
        else
            text_add(t, (unsigned char)*s < 0x20 ? "?" : s, 1);
}

/* anchor: start, middle, end */
static void label(struct text *t, double x, double y, const char *anchor, const char *more,
                  const char *s)
{
    text_printf(t, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
    escaped(t, s);
    text_puts(t, "</text>\n");
}

static void begin(struct text *t, double width, double height)
{
    text_printf(t, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                width, height, width, height);
}

static int end(struct text *t, struct output *o)
{
    text_puts(t, "</svg>\n");
    fwrite(t->p, 1, t->n, o->f);                /* output_keep checks for errors */
    text_free(t);
    return output_keep(o);
}

static void panel(struct text *t, const struct grid *g, double top)
{
    const double bottom = top + (double)(g->n_line * CELL_H);

    label(t, LEFT, top - 12, "start", " font-size=\"14\" font-weight=\"bold\"", g->title);
    label(t, LEFT - 8, bottom + 16, "end", " fill=\"#555\"", g->x);
    label(t, 8, top + 17, "start", " fill=\"#555\"", g->y);
    for (size_t i = 0; i < g->n_line; i++) {
        const double y = top + (double)(i * CELL_H);

        label(t, LEFT - 8, y + 17, "end", "", g->line[i]);
        for (size_t j = 0; j < g->n_column; j++) {
            const double  v = g->value[i * g->n_column + j], x = LEFT + (double)(j * CELL_W);
            struct colour c = colour(isnan(v) ? 0 : v);
            char          number[16];

            if (isnan(v))
                continue;
            snprintf(number, sizeof number, "%.0f", 100 * v);
            text_printf(t, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" "
                        "fill=\"#%02x%02x%02x\" stroke=\"#fff\"/>\n", x, y, CELL_W, CELL_H,
                        (unsigned)c.r, (unsigned)c.g, (unsigned)c.b);
            label(t, x + CELL_W / 2.0, y + 17, "middle", "", number);
        }
    }
    for (size_t j = 0; j < g->n_column; j++)
        label(t, LEFT + ((double)j + 0.5) * CELL_W, bottom + 16, "middle", "", g->column[j]);
}

int plot_grids_svg(struct output *o, const struct grid *g, size_t n)
{
    struct text t = { NULL, 0, 0 };
    double      width = 480, height = TOP, top = TOP;

    for (size_t i = 0; i < n; i++) {
        double w = LEFT + RIGHT + (double)(g[i].n_column * CELL_W);

        width = w > width ? w : width;
        height += (double)(g[i].n_line * CELL_H) + GAP + TOP;
    }
    begin(&t, width, height - TOP + 10);
    for (size_t i = 0; i < n; i++) {
        panel(&t, &g[i], top);
        top += (double)(g[i].n_line * CELL_H) + GAP + TOP;
    }
    return end(&t, o);
}

int plot_curves_svg(struct output *o, const char *title, const char *x, const struct curve *c,
                    size_t n_curve, size_t n, size_t marked)
{
    static const char *const stroke[] = { "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728" };
    enum { W = 640, H = 300 };
    const double step = n > 1 ? (double)W / (double)(n - 1) : W;
    struct text  t = { NULL, 0, 0 };
    char         number[24];

    begin(&t, 60 + W + 160, TOP + H + 50);
    label(&t, 60, TOP - 16, "start", " font-size=\"14\" font-weight=\"bold\"", title);
    for (int i = 0; i <= 4; i++) {
        const double y = TOP + H - i * H / 4.0;

        snprintf(number, sizeof number, "%d %%", 25 * i);
        text_printf(&t, "<path d=\"M60 %.1fh%d\" stroke=\"#ddd\"/>\n", y, W);
        label(&t, 52, y + 4, "end", "", number);
    }
    for (size_t i = 0; i < n; i++) {
        if (n > 24 && i % 4)
            continue;
        snprintf(number, sizeof number, "%zu", i);
        label(&t, 60 + step * (double)i, TOP + H + 18, "middle", "", number);
    }
    label(&t, 60 + W / 2.0, TOP + H + 38, "middle", " fill=\"#555\"", x);
    if (marked < n)
        text_printf(&t, "<path d=\"M%.1f %dv%d\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\n",
                    60 + step * (double)marked, TOP, H);
    for (size_t j = 0; j < n_curve; j++) {
        bool drawing = false;

        text_printf(&t, "<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"",
                    stroke[j % 4]);
        for (size_t i = 0; i < n; i++) {
            const double v = c[j].value[i];

            if (!isnan(v))
                text_printf(&t, "%c%.1f %.1f", drawing ? 'L' : 'M', 60 + step * (double)i,
                            TOP + H - H * v);
            drawing = !isnan(v);
        }
        text_puts(&t, "\"/>\n");
        text_printf(&t, "<path d=\"M%d %.1fh20\" stroke-width=\"2\" stroke=\"%s\"/>\n", 60 + W + 12,
                    TOP + 10 + 20.0 * (double)j, stroke[j % 4]);
        label(&t, 60 + W + 38, TOP + 14 + 20.0 * (double)j, "start", "", c[j].name);
    }
    return end(&t, o);
}
