/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <stddef.h>

/* n rounds of ten independent multiply-adds in registers, at the widest level that the
 * kernel table uses; the number of floating-point operations done. */
double bench_peak(long n);

/* Reads n bytes, p aligned to 32, and returns something that depends on each. */
double bench_read(const void *p, size_t n);

#endif
