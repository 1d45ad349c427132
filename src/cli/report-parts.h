/* SPDX-License-Identifier: BSD-2-Clause
 * report-parts.h - what report.c has remembered and report-write.c writes */
#ifndef GEMKV_CLI_REPORT_PARTS_H
#define GEMKV_CLI_REPORT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/cli/place.h"
#include "src/cli/report-document.h"
#include "src/cli/text.h"

enum { REPORT_LEVELS = 5 };

/* A run of tokens that was kept, in whole words. */
struct kept {
    size_t      doc;
    struct span span;
};

/* The sentences around such runs, for the asked-th question. */
struct mark {
    size_t      asked, doc, rank;       /* rank: 0 is the best                            */
    size_t      kept;                   /* the first of asked.kept in it                  */
    uint64_t    start, end, best;
    struct place place;
    float       score;
    int         level;                  /* 1 .. REPORT_LEVELS                             */
};

struct figure { const char *name; char *value; };

struct asked {
    char           *question;
    struct text     answer;
    bool            answered, cut;
    struct figure   figure[8];
    size_t          n_figure, n, n_doc;
    size_t         *doc;
    struct mark    *k;                  /* [n], the best first                            */
    struct kept    *kept;               /* [n_kept] in the order of the text              */
    size_t          n_kept;
};

struct report {
    struct asked    *asked;
    struct document *doc;
    size_t           n_asked, n_doc;
};

/* 12,345; for free(). */
char *report_grouped(uint64_t n);

#endif
