/* SPDX-License-Identifier: BSD-2-Clause
 * param.h - parameters of methods and schedules: "name:key=value,...". */
#ifndef GKV__PARAM_H
#define GKV__PARAM_H

#include <stdbool.h>
#include "src/base/status.h"

struct gkv__param {
    const char *name, *value, *help;    /* value: the default, as the user would write it; if it
                                           has no decimal point, only whole numbers are valid */
    double      min, max;               /* range of a number                                 */
    bool        odd;                    /* only odd numbers are valid                        */
    const char *words;                  /* "avg max none": value is the index of a word      */
};

enum { GKV__MAX_PARAMS = 8 };

/* Whether spec is name, or begins with name and ":". */
bool gkv__param_is(const char *spec, const char *name);

/* param: the defaults of rows (a row without a name ends them), changed by what follows the name in
 * spec.  GKV_INVALID: err says what would be valid.  what: "method" or "schedule", for err. */
gkv_status gkv__param_parse(const char *what, const char *spec, const struct gkv__param *rows,
                            double param[GKV__MAX_PARAMS], gkv_error *err);

/* The row of that name, or -1. */
int gkv__param_row(const struct gkv__param *rows, const char *name);

/* Writes all of param as "key=value,...", cut to size. */
void gkv__param_text(const struct gkv__param *rows, const double param[GKV__MAX_PARAMS], char *buf,
                     size_t size);

#endif
