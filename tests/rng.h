/* SPDX-License-Identifier: BSD-2-Clause
 * rng.h - the same random numbers in each run. */
#ifndef TESTS_RNG_H
#define TESTS_RNG_H

#include <stdint.h>

static uint64_t rng_state = 1;

static uint32_t rng(void)       /* splitmix64 */
{
    uint64_t x = rng_state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(x >> 32);
}

#endif
