/* SPDX-License-Identifier: BSD-2-Clause
 * run.h - from token ids and a task to the tokens kept, and a cache if the method leaves one.
 *
 *     c.t, c.e, c.id given -> gkv__run -> kept, score; and cache, x, next unless `restart`
 *                          -> gkv__decode_begin (src/answer/decode.h) -> the answer */
#ifndef GKV__RUN_H
#define GKV__RUN_H

#include "src/select/select.h"

/* Runs a method of any kind.  Allocates c->kept, c->x and, unless all tokens are kept or the method needs no
 * scores, c->score; gkv__run_close frees them, also after a failure. */
gkv_status gkv__run(struct gkv__context *c, gkv_error *err);
void       gkv__run_close(struct gkv__context *c);

#endif
