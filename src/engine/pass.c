/* SPDX-License-Identifier: BSD-2-Clause
 * pass.c - see pass.h */
#include "config.h"
#include <inttypes.h>
#include "src/base/mem.h"
#include "src/engine/pass.h"

gkv_status gkv__hook_open(struct gkv__hook *h, uint64_t bytes, gkv_error *err)
{
    h->state = gkv__pages(bytes, 1);
    h->bytes = bytes;
    return h->state ? GKV_OK : gkv__fail(err, GKV_NOMEM, "the system refused %s", gkv__needed(bytes).text);
}

void gkv__hook_close(struct gkv__hook *h)
{
    gkv__pages_free(h->state, h->bytes, 1);
    *h = (struct gkv__hook){ 0 };
}
