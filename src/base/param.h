/* SPDX-License-Identifier: BSD-2-Clause
 * param.h - what methods and schedules can be told: "name:key=value,...". */
#ifndef GKV__PARAM_H
#define GKV__PARAM_H

#include <stdbool.h>
#include "src/base/status.h"

struct gkv__param {
    const char *name, *value, *help;    /* value: the default, as the user would write it; a
                                           number without a point takes whole numbers only   */
    double      min, max;               /* of a number; odd: no even ones                    */
    bool        odd;
    const char *words;                  /* "avg max none": value is the index of a word      */
};

enum { GKV__MAX_PARAMS = 8 };

/* Whether spec begins with name, which ends or ":" follows. */
bool gkv__param_is(const char *spec, const char *name);

/* The defaults of rows, which one without a name ends, and what spec says after its name, into
 * param.  GKV_INVALID names what would be right; what: "method", "schedule". */
gkv_status gkv__param_parse(const char *what, const char *spec, const struct gkv__param *rows,
                            double param[GKV__MAX_PARAMS], gkv_error *err);

/* All of param as "key=value,...", cut to fit. */
void gkv__param_text(const struct gkv__param *rows, const double param[GKV__MAX_PARAMS], char *buf,
                     size_t size);

#endif
