/* SPDX-License-Identifier: BSD-2-Clause
 * view.h - prints what was kept and its cost to standard error, for people */
#ifndef GEMKV_CLI_VIEW_H
#define GEMKV_CLI_VIEW_H

#include <stdint.h>
#include "src/cli/run.h"

void  view_summary(const struct run *r);        /* how much was kept                      */
void  view_kept(const struct run *r);           /* ... and the best passages              */
void  view_places(const struct run *r);         /* one line: where the best passages are */
void  view_cost(const struct run *r);           /* times and memory                       */
char *view_bytes(uint64_t n);                   /* "1.2 GiB"; the caller frees it         */

#endif
