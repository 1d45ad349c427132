/* SPDX-License-Identifier: BSD-2-Clause
 * plot.h - plots of scores, for terminals and as SVG */
#ifndef GEMKV_CLI_PLOT_H
#define GEMKV_CLI_PLOT_H

#include <stddef.h>
#include "src/cli/output.h"

struct grid {
    char   *title;
    const char *x, *y;          /* what columns and lines stand for                       */
    char  **column, **line;     /* their names                                            */
    size_t  n_column, n_line;
    double *value;              /* [n_line][n_column] from 0, red, to 1, green; NaN: none */
};

struct curve {
    const char   *name;
    const double *value;        /* [n] from 0 to 1; NaN: none                             */
};

void plot_grid(struct io *io, const struct grid *g);    /* as text                        */
void plot_curve(struct io *io, const struct curve *c, size_t n_curve, size_t n, size_t marked);
/* Writes to the open output and keeps it.  0, or an exit status after saying why. */
int  plot_grids_svg(struct output *o, const struct grid *g, size_t n);
/* The same for curves over x = 0 .. n - 1; `marked`: an x that is highlighted. */
int  plot_curves_svg(struct output *o, const char *title, const char *x, const struct curve *c,
                     size_t n_curve, size_t n, size_t marked);

#endif
