/* SPDX-License-Identifier: BSD-2-Clause
 * worse.h - the larger of two errors.  NaN is larger than any: fmax would leave it out, and a kernel that writes nothing,
 * or nonsense, would pass. */
#ifndef TESTS_WORSE_H
#define TESTS_WORSE_H

#include <math.h>

static inline double worse(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

#endif
