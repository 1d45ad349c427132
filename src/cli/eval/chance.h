/* SPDX-License-Identifier: BSD-2-Clause
 * chance.h - how much of a difference between counts of right answers chance explains */
#ifndef GEMKV_CLI_CHANCE_H
#define GEMKV_CLI_CHANCE_H

#include <stdbool.h>
#include <stddef.h>

/* The interval that has the true share in 95 of 100 cases, for `right` of n (Wilson 1927). */
void   chance_interval(size_t right, size_t n, double *low, double *high);

/* Two ways are asked the same questions; one alone is right in `more`, the other alone in `fewer`.  How likely
 * it is that the first is so far ahead, or farther, although neither is better: the exact sign test. */
double chance_ahead(size_t more, size_t fewer);

/* right[n_way][n]: 1; 0; or -1 for a question that was not asked that way, which is not right either. */
struct tally { size_t right, asked; };
struct tally chance_tally(const signed char *right, size_t n);
double       chance_between(const signed char *better, const signed char *right, size_t n);
/* Whether the second has fewer right answers than chance explains. */
bool         chance_behind(const signed char *better, const signed char *right, size_t n);

/* The first of the ways, which are in the order of what they cost, that has four fifths of the right answers of
 * the best and is not behind it by more than chance explains.  *best has the most, and is the first of those.
 * n_way: none has any. */
size_t chance_choose(const signed char *right, size_t n_way, size_t n, size_t *best);

#endif
