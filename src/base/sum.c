/* SPDX-License-Identifier: BSD-2-Clause
 * sum.c - see sum.h */
#include "config.h"
#include <string.h>
#include "src/base/sum.h"

/* FNV-1a over words instead of bytes, in four lanes, whose multiplications overlap.  A product only moves
 * bits up, so what is above comes down again after each. */
enum { LANES = 4, WORD = 8 };

static uint64_t step(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t word_at(const uint8_t *p, size_t n)
{
    uint64_t w = 0;

    memcpy(&w, p, n);
    return w;
}

uint64_t gkv__sum(uint64_t sum, const void *p, size_t n)
{
    const uint8_t *b = p;
    uint64_t lane[LANES];
    const uint64_t len = n;

    for (size_t i = 0; i < LANES; i++)
        lane[i] = step(sum, i + 1);
    for (; n >= LANES * WORD; n -= LANES * WORD, b += LANES * WORD)
        for (size_t i = 0; i < LANES; i++)
            lane[i] = step(lane[i], word_at(b + i * WORD, WORD));
    for (size_t i = 0; i < LANES; i++)
        sum = step(sum, lane[i]);
    for (size_t part; n; n -= part, b += part) {
        part = n < WORD ? n : WORD;
        sum = step(sum, word_at(b, part));
    }
    return step(sum, len);
}
