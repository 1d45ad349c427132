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
static const double belief[GKV__DRAFT_KINDS] = { 0.4, 0.6, 0.8, 0.8 };
static const double weight = 4, forget = 32;
/* Guesses that do not pay cost a part of the answer's time, at most, and half a step; of the other model a little more,
 * or it would never begin. */
static const double risk = 0.02, loan = 0.5, loan_model = 0.75;
static const double usual = 0.3;                /* of a step, for a row more; ...         */
static const double behind = 0.2;               /* ... for one of those that the other model has not seen yet */
static const double least = 1.05;               /* what they must promise                 */
static const double calm = 64;                  /* steps in which a row that was dear is nearly forgotten */

static unsigned kind_of(size_t agreed)
{
    return agreed < 3 ? 0 : agreed < 6 ? 1 : 2;
}

static double chance(const struct gkv__draft *d, unsigned kind)
{
    return (d->right[kind] + weight * belief[kind]) / (d->tried[kind] + weight);
}

/* How many guesses of this kind promise the most tokens in a second; *best is that number, and none are taken that promise
 * less.  Each is right if the one before is.  All of them take `once` seconds to make, and each `make` more. */
static size_t length(const struct gkv__draft *d, unsigned kind, double once, double make, size_t room, double *best)
{
    const double borrowed = kind == GKV__DRAFT_MODEL ? loan_model : loan;
    const double p = chance(d, kind), more = make + (d->more > 0 ? d->more : usual * d->one);
    double tokens = 1, next = 1;
    size_t n = 0;

    if (kind == GKV__DRAFT_MODEL && !(d->make > 0 && d->more > 0))      /* one tells what they cost */
        room = (size_t)gkv__min(room, 1);
    for (size_t k = 1; k <= room; k++) {
        const double risked = once + (double)k * more;

        next *= p;
        tokens += next;
        if (d->gained + risk * d->spent + borrowed * d->one < risked)
            break;
        if (tokens / (d->one + risked) > *best) {
            *best = tokens / (d->one + risked);
            n = k;
        }
    }
    return n;
}

/* Of text that agreed so far, or of the other model, whichever promises more. */
static void choose(struct gkv__draft *d, size_t agreed, size_t n, size_t room)
{
    const double make = d->make > 0 ? d->make : d->share * d->one;
    double best = least / d->one;
    size_t k;

    d->kind = kind_of(agreed);
    d->n = agreed ? length(d, d->kind, 0, 0, room, &best) : 0;
    k = d->share > 0 ? length(d, GKV__DRAFT_MODEL, behind * make * (double)(n - d->seen - 1), make, room, &best) : 0;
    if (k) {
        d->kind = GKV__DRAFT_MODEL;
        d->n = k;
    }
}

void gkv__draft_begin(struct gkv__draft *d, size_t n)
{
    d->n = d->used = 0;
    d->seen = n;
    d->drafted = d->accepted = d->by_model = d->right_by_model = 0;
    d->spent = d->gained = d->making = 0;
}

void gkv__draft_guess(struct gkv__draft *d, const uint32_t *id, size_t n, size_t room)
{
    size_t agreed;

    d->n = d->used = 0;
    d->making = 0;
    room = (size_t)gkv__min(room, gkv__min(d->most, GKV__DRAFT_MOST));
    if (!room || (!d->always && !(d->one > 0)))
        return;
    agreed = gkv__draft_find(id, n, d->id, room);
    if (d->always) {
        d->kind = d->share > 0 && agreed < GKV__DRAFT_LONGEST ? GKV__DRAFT_MODEL : kind_of(agreed);
        d->n = agreed || d->kind == GKV__DRAFT_MODEL ? room : 0;
    } else {
        choose(d, agreed, n, room);
    }
    if (d->kind != GKV__DRAFT_MODEL)
        d->drafted += d->n;
}

/* A mean of the last few. */
static void learn(double *mean, double x)
{
    *mean = *mean > 0 ? *mean + (x - *mean) / 4 : x;
}

double gkv__draft_least(const struct gkv__draft *d)
{
    return d->always ? 0 : d->more > 0 ? d->more / d->one : usual;
}

void gkv__draft_made(struct gkv__draft *d, size_t n, size_t made, double seconds)
{
    learn(&d->make, seconds / ((made ? (double)made : 1) + behind * (double)(n - d->seen - 1)));
    d->making = seconds;
    d->seen = n;
    d->n = made;
    d->drafted += made;
    d->by_model += made;
}

void gkv__draft_took(struct gkv__draft *d, double seconds)
{
    const double step = seconds - d->making;

    d->spent += seconds;
    d->gained -= d->making;
    if (!d->n) {
        learn(&d->one, step);
        if (d->more > usual * d->one)           /* one slow step is no reason never to try again */
            d->more += (usual * d->one - d->more) / calm;
        return;
    }
    learn(&d->more, (step > d->one ? step - d->one : 0.01 * d->one) / (double)d->n);
    d->gained -= step - d->one;
}

void gkv__draft_lost(struct gkv__draft *d, double seconds)
{
    d->spent += seconds;
    d->gained -= seconds;
}

void gkv__draft_elsewhere(struct gkv__draft *d)
{
    const size_t unknown = d->n - d->used;

    d->drafted -= unknown;
    d->by_model -= d->kind == GKV__DRAFT_MODEL ? unknown : 0;
    d->n = d->used = 0;
    d->one = d->more = 0;
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
    d->right_by_model += d->kind == GKV__DRAFT_MODEL;
    d->gained += d->one;
    return true;
}
