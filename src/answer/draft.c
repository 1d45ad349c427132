/* SPDX-License-Identifier: BSD-2-Clause
 * draft.c - see draft.h */
#include "config.h"
#include <string.h>
#include "src/answer/draft.h"
#include "src/base/size.h"

/* ---- what follows ------------------------------------------------------------------------ */

/* How many tokens before i are those before n. */
static size_t agree(const uint32_t *id, size_t i, size_t n)
{
    size_t k = 0;

    while (k < i && k < GKV__DRAFT_LONGEST && id[i - 1 - k] == id[n - 1 - k])
        k++;
    return k;
}

size_t gkv__draft_find(const uint32_t *id, size_t n, uint32_t *out, size_t most)
{
    size_t best = 1, at = 0;

    for (size_t i = n; --i > 1 && best < GKV__DRAFT_LONGEST; )
        if (id[i - 1] == id[n - 1] && id[i - 2] == id[n - 2]) {
            const size_t k = agree(id, i, n);

            at = k > best ? i : at;
            best = k > best ? k : best;
        }
    if (best < 2)
        return 0;
    for (size_t j = 0; j < most; j++)
        out[j] = at + j < n ? id[at + j] : out[at + j - n];
    return best;
}

/* ---- how many ---------------------------------------------------------------------------- */

/* What is believed before anything was tried, as if it had happened so often. */
static const double belief[GKV__DRAFT_KINDS] = { 0.4, 0.6, 0.8 };
static const double weight = 4, forget = 32;
/* Guesses that do not pay cost a part of the answer's time, at most, and half a step. */
static const double risk = 0.02, loan = 0.5;
static const double usual = 0.5;                /* of a step, for a row more              */
static const double least = 1.05;               /* what they must promise                 */

static unsigned kind_of(size_t agreed)
{
    return agreed < 3 ? 0 : agreed < 6 ? 1 : 2;
}

static double chance(const struct gkv__draft *d, unsigned kind)
{
    return (d->right[kind] + weight * belief[kind]) / (d->tried[kind] + weight);
}

/* How many of the guesses promise the most tokens in a second.  Each is right if the one before is, with chance p. */
static size_t length(const struct gkv__draft *d, size_t room)
{
    const double p = chance(d, d->kind), more = d->more > 0 ? d->more : usual * d->one;
    double tokens = 1, next = 1, best = least / d->one;
    size_t n = 0;

    for (size_t k = 1; k <= room; k++) {
        const double risked = (double)k * more;

        next *= p;
        tokens += next;
        if (d->gained + risk * d->spent + loan * d->one < risked)
            break;
        if (tokens / (d->one + risked) > best) {
            best = tokens / (d->one + risked);
            n = k;
        }
    }
    return n;
}

void gkv__draft_begin(struct gkv__draft *d)
{
    d->n = d->used = 0;
    d->drafted = d->accepted = 0;
    d->spent = d->gained = 0;
}

void gkv__draft_guess(struct gkv__draft *d, const uint32_t *id, size_t n, size_t room)
{
    size_t agreed;

    d->n = d->used = 0;
    room = (size_t)gkv__min(room, gkv__min(d->most, GKV__DRAFT_MOST));
    if (!room || (!d->always && !(d->one > 0)))
        return;
    agreed = gkv__draft_find(id, n, d->id, room);
    if (!agreed)
        return;
    d->kind = kind_of(agreed);
    d->n = d->always ? room : length(d, room);
    d->drafted += d->n;
}

/* A mean of the last few. */
static void learn(double *mean, double x)
{
    *mean = *mean > 0 ? *mean + (x - *mean) / 4 : x;
}

void gkv__draft_took(struct gkv__draft *d, double seconds)
{
    d->spent += seconds;
    if (!d->n) {
        learn(&d->one, seconds);
        return;
    }
    learn(&d->more, (seconds > d->one ? seconds - d->one : 0.01 * d->one) / (double)d->n);
    d->gained -= seconds - d->one;
}

bool gkv__draft_is_next(struct gkv__draft *d, uint32_t id)
{
    const bool is = d->used < d->n && d->id[d->used] == id;

    if (d->used == d->n)
        return false;
    if (d->tried[d->kind] >= forget) {
        d->tried[d->kind] /= 2;
        d->right[d->kind] /= 2;
    }
    d->tried[d->kind]++;
    if (!is) {
        d->n = d->used;
        return false;
    }
    d->right[d->kind]++;
    d->used++;
    d->accepted++;
    d->gained += d->one;
    return true;
}
