/* SPDX-License-Identifier: BSD-2-Clause
 * report.h - the documents as a web page with the kept passages marked */
#ifndef GEMKV_CLI_REPORT_H
#define GEMKV_CLI_REPORT_H

#include <stddef.h>
#include "src/cli/run.h"

/* Writes r->report, if it was opened.  answer NULL: none.  0 or an exit status. */
int report_write(struct run *r, const char *answer, size_t len);

#endif
