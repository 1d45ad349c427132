/* SPDX-License-Identifier: BSD-2-Clause
 * spill.h - many rows of floats, in memory or in a temporary file without a name, which
 * disappears however the process ends. */
#ifndef GKV__SPILL_H
#define GKV__SPILL_H

#include <stddef.h>
#include "src/base/status.h"

struct gkv__spill {
    float   *rows;              /* [n][width], or [block][width] of the file                 */
    uint64_t n, block;          /* block: 0 when all rows are in memory                      */
    size_t   width;
    int      fd;
};

/* n rows.  block = 0: in memory; else in a file in $TMPDIR, or /var/tmp, of which at most block rows
 * are in memory at a time.  GKV_IO when the file cannot be made that large. */
gkv_status gkv__spill_open(struct gkv__spill *x, uint64_t n, size_t width, uint64_t block,
                           gkv_error *err);
void       gkv__spill_close(struct gkv__spill *x);

/* *row: rows at .. at + n - 1, valid until the next call. */
gkv_status gkv__spill_get(struct gkv__spill *x, uint64_t at, size_t n, float **row,
                          gkv_error *err);
/* Write back the rows of the last gkv__spill_get, after the caller changed them. */
gkv_status gkv__spill_put(struct gkv__spill *x, uint64_t at, size_t n, gkv_error *err);

const char *gkv__spill_dir(void);

#endif
