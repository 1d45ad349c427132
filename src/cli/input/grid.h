/* SPDX-License-Identifier: BSD-2-Clause
 * grid.h - rows of a table as text that can be read one row at a time: "Name: Ann; Age: 31" */
#ifndef GEMKV_CLI_INPUT_GRID_H
#define GEMKV_CLI_INPUT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include "src/cli/text.h"

enum { GRID_COLUMNS = 16384 };

struct grid {                   /* zeroed but for out: before the first row               */
    struct text *out;
    struct text *head, *cell;   /* of each column                                         */
    size_t       n_head, n_cell, used;
    bool         numbers;       /* rows since the header had some                         */
    bool         gap;           /* the last row was empty                                 */
};

/* The text of column i of this row. */
void grid_put(struct grid *g, size_t i, const char *s, size_t n);
/* Ends the row: one line of out. */
void grid_row(struct grid *g);
void grid_free(struct grid *g);

#endif
