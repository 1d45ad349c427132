/* SPDX-License-Identifier: BSD-2-Clause
 * apart.h - for tests that compare a computation with vectors: how far two of them are apart, and an end to the test
 * where something that it needs fails. */
#ifndef TESTS_APART_H
#define TESTS_APART_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "gemkv.h"
#include "tests/worse.h"

static inline void must(gkv_status status, const gkv_error *err)
{
    if (status == GKV_OK)
        return;
    printf("Bail out! %s\n", err->text);
    exit(1);
}

static inline double apart(const float *a, const float *b, size_t n)
{
    double most = 0, largest = 0;

    for (size_t i = 0; i < n; i++) {
        most = worse(most, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return most / largest;
}

#endif
