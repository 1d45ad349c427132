/* SPDX-License-Identifier: BSD-2-Clause
 * spill.h - many rows of floats, in memory or in a temporary file without a name: whatever
 * ends the process, nothing is left behind. */
#ifndef GKV__SPILL_H
#define GKV__SPILL_H

#include <stddef.h>
#include "src/base/status.h"

struct gkv__spill {
    float   *rows;              /* [n][width], or [block][width] of a file                   */
    uint64_t n, block;          /* block: 0 in memory                                        */
    size_t   width;
    int      fd;
};

/* n rows; block > 0: in a file in $TMPDIR, else /var/tmp, at most block rows at a time.  *x is
 * zero.  GKV_IO when the file cannot be made that large. */
gkv_status gkv__spill_open(struct gkv__spill *x, uint64_t n, size_t width, uint64_t block,
                           gkv_error *err);
void       gkv__spill_close(struct gkv__spill *x);

/* *row: where rows at .. are, until the next call; the first n of them filled. */
gkv_status gkv__spill_get(struct gkv__spill *x, uint64_t at, size_t n, float **row,
                          gkv_error *err);
/* They have changed. */
gkv_status gkv__spill_put(struct gkv__spill *x, uint64_t at, size_t n, gkv_error *err);

const char *gkv__spill_dir(void);

#endif
