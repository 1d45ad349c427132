/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <stddef.h>

/* Runs n rounds of ten independent multiply-adds in registers, at the widest level that the
 * kernel table uses; returns the number of floating-point operations. */
double bench_peak(long n);

/* Reads n bytes, p aligned to 32, and returns a value that depends on each of them. */
double bench_read(const void *p, size_t n);

#endif
