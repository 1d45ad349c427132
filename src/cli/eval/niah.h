/* SPDX-License-Identifier: BSD-2-Clause
 * niah.h - rows of needles in a haystack, by length and depth, for eval niah and pair */
#ifndef GEMKV_CLI_NIAH_H
#define GEMKV_CLI_NIAH_H

#include "src/cli/eval/eval.h"
#include "src/cli/material.h"

struct niah {
    struct eval      e;                 /* must be first; its options say what is made    */
    struct haystack  hay;
    struct needles   needles;
    /* of the row being built */
    double           percent;
    const char      *needle;
    size_t           units;             /* its sentences; more than hay.n: the text was repeated */
};

/* Reads the text and the needles.  0 or an exit status. */
int    niah_read(struct niah *n);
void   niah_free(struct niah *n);
/* For eval_run, with the struct as its argument. */
size_t niah_rows(const struct niah *n);
int    niah_make(struct eval *e, void *niah, size_t i, struct row *row);
double niah_weight(const void *niah, size_t i);

#endif
