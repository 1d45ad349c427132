/* SPDX-License-Identifier: BSD-2-Clause
 * grid.c - see grid.h */
#include "config.h"
#include "src/quant/grid.h"

/* u of the weight with code c: iq2 has weights of 8, 25 and 43, iq3_xxs of 2 to 26 in steps of 4, and 31, iq3_s of odd
 * numbers up to 15, iq1 of -8, 0 and 8, and 1 more. */
#define U_IQ2(c)     (GKV__IQ2_OFF + ((c) == 0 ? 8 : (c) == 1 ? 25 : 43))
#define U_IQ3_XXS(c) (GKV__IQ3_XXS_OFF + ((c) == 7 ? 31 : 4 * (c) + 2))
#define U_IQ3_S(c)   (GKV__IQ3_S_OFF + 2 * (c) + 1)
#define U_IQ1(c)     (GKV__IQ1_OFF + 8 * ((c) - 1) + 1)

/* Codes of two bits, or of three, become bytes. */
#define TWO(u, p, j)   ((uint64_t)u((p) >> 2 * (j) & 3) << 8 * (j))
#define THREE(u, p, j) ((uint32_t)u((p) >> 3 * (j) & 7) << 8 * (j))
#define EIGHT(u, p) (TWO(u, p, 0) | TWO(u, p, 1) | TWO(u, p, 2) | TWO(u, p, 3) | TWO(u, p, 4) | TWO(u, p, 5) | \
                     TWO(u, p, 6) | TWO(u, p, 7))
#define FOUR(u, p)  (THREE(u, p, 0) | THREE(u, p, 1) | THREE(u, p, 2) | THREE(u, p, 3))
#define IQ2(p)     EIGHT(U_IQ2, p)
#define IQ1(p)     EIGHT(U_IQ1, p)
#define IQ3_XXS(p) FOUR(U_IQ3_XXS, p)
#define IQ3_S(p)   FOUR(U_IQ3_S, p)
#include "src/quant/grid-data.h"
