/* SPDX-License-Identifier: BSD-2-Clause
 * team-openmp.c - the threads of OpenMP as a team */
#include "config.h"
#include "src/base/team.h"
#ifdef _OPENMP
#include <omp.h>
#endif

void gkv__team(unsigned n_threads, void (*fn)(void *arg, unsigned thread), void *arg)
{
#ifdef _OPENMP
    if (n_threads > 1) {
#pragma omp parallel num_threads(n_threads)
        fn(arg, (unsigned)omp_get_thread_num());
        return;
    }
#endif
    (void)n_threads;
    fn(arg, 0);
}
