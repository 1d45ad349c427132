/* SPDX-License-Identifier: BSD-2-Clause
 * near.c - which of some known words somebody meant
 *
 * The distance is that of Damerau and Levenshtein, with letters next to each other swapped once at most: the least number
 * of letters added, left out, changed or swapped.  Capital letters count as small ones. */
#include "config.h"
#include <string.h>
#include "src/base/size.h"
#include "src/base/status.h"

enum { LONGEST = 40 };          /* of a word that is compared */

static unsigned char small(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][LONGEST + 1], *before = row[0], *last = row[1], *now = row[2], *free_row;

    for (size_t j = 0; j <= nb; j++)
        last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            const bool same = small(a[i - 1]) == small(b[j - 1]);

            now[j] = gkv__min(last[j - 1] + !same, gkv__min(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) && small(a[i - 2]) == small(b[j - 1]))
                now[j] = gkv__min(now[j], before[j - 2] + 1);
        }
        free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[nb];
}

const char *gkv_nearest(const char *list, const char *word, size_t len, size_t *n)
{
    /* A third of the letters may be wrong: more, and every short word is like any other. */
    size_t      best = gkv__min(len < 3 ? 1 : (len + 1) / 3, 3) + 1;
    const char *found = NULL;

    if (!len || len > LONGEST)
        return NULL;
    for (list += strspn(list, " "); *list; list += strspn(list, " ")) {
        const size_t k = strcspn(list, " "), d = k <= LONGEST ? distance(word, len, list, k) : best;

        if (d < best && d < k) {
            best = d;
            found = list;
            *n = k;
        }
        list += k;
    }
    return found;
}

gkv_status gkv__fail_unknown(gkv_error *err, const char *what, const char *word, size_t len, const char *list)
{
    size_t      n = 0;
    const char *near = gkv_nearest(list, word, len, &n);

    return gkv__fail(err, GKV_INVALID, "no %s \"%.*s\"%s%.*s%s; there are:%s", what, (int)gkv__min(len, 64), word,
                     near ? " (did you mean " : "", (int)n, near ? near : "", near ? "?)" : "", list);
}
