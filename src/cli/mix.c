/* SPDX-License-Identifier: BSD-2-Clause
 * mix.c - see mix.h */
#include "config.h"
#include <string.h>
#include "src/cli/mix.h"

uint64_t mix(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3u;
    return h;
}

uint64_t mix_string(uint64_t h, const char *s)
{
    return s ? mix(h, s, strlen(s) + 1) : mix(h, "\xff", 1);
}

uint64_t mix_uint(uint64_t h, uint64_t u)
{
    for (int i = 0; i < 8; i++, u >>= 8)
        h = mix(h, &(unsigned char){ (unsigned char)u }, 1);
    return h;
}
