/* SPDX-License-Identifier: BSD-2-Clause
 * team-openmp.c - the threads of OpenMP as a team */
#include "config.h"
#include <omp.h>
#include "src/base/team.h"

void gkv__team(unsigned n_threads, void (*fn)(void *arg, unsigned thread), void *arg)
{
    if (n_threads < 2) {
        fn(arg, 0);
        return;
    }
#pragma omp parallel num_threads(n_threads)
    fn(arg, (unsigned)omp_get_thread_num());
}
