/* SPDX-License-Identifier: BSD-2-Clause
 * repacked.c - see repacked.h */
#include "config.h"
#include <stdlib.h>
#include "src/base/mem.h"
#include "src/model/repacked.h"

struct gkv__store *gkv__store_open(void)
{
    struct gkv__store *s = calloc(1, sizeof *s);

    if (s)
        pthread_mutex_init(&s->lock, NULL);
    return s;
}

void gkv__store_close(struct gkv__store *s, uint32_t n_layer)
{
    struct gkv__repacked *next;

    if (!s)
        return;
    for (struct gkv__repacked *r = s->first; r; r = next) {
        next = r->next;
        for (uint32_t il = 0; il < n_layer; il++)
            gkv__pages_free(r->layer[il].pages, r->layer[il].bytes, 1);
        free(r->layer);
        free(r->mat);
        free(r);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const uint8_t *gkv__repacked_find(const struct gkv__repacked *r, const struct gkv__mat *w)
{
    size_t from = 0, to = r->n;

    while (to - from > 1) {             /* the last one that does not begin after w */
        const size_t middle = from + (to - from) / 2;

        if (r->mat[middle].one.data <= w->data)
            from = middle;
        else
            to = middle;
    }
    if (from < to && r->mat[from].one.data <= w->data) {
        const struct gkv__repacked_mat *m = &r->mat[from];
        const uint64_t each = gkv__mat_bytes(&m->one), at = (uint64_t)(w->data - m->one.data);
        const uint8_t *packed = atomic_load_explicit(&m->packed, memory_order_acquire);

        if (packed && w->n_out == m->one.n_out && w->n_in == m->one.n_in && at % each == 0 && at / each < m->pieces)
            return packed + at / each * m->bytes;
    }
    return NULL;
}
