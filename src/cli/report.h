/* SPDX-License-Identifier: BSD-2-Clause
 * report.h - the documents as a web page with the kept passages marked: --report */
#ifndef GEMKV_CLI_REPORT_H
#define GEMKV_CLI_REPORT_H

#include <stddef.h>

struct run;
struct report;

/* Remembers the question that r has asked, what was kept for it, and its answer (NULL: none); does nothing unless
 * r->output was opened. */
void report_add(struct run *r, const char *answer, size_t len);
/* Writes the page of all that was remembered, if anything was.  0 or an exit status. */
int  report_write(struct run *r);
void report_free(struct report *p);

#endif
