/* SPDX-License-Identifier: BSD-2-Clause
 * progress.h - how far the work is, and how to stop it
 *
 * SIGINT and SIGTERM cancel the work, the second one kills; SIGUSR1 asks for one line. */
#ifndef GEMKV_CLI_PROGRESS_H
#define GEMKV_CLI_PROGRESS_H

#include <stdbool.h>
#include <gemkv.h>
#include "src/cli/say.h"

void progress_start(bool draw);                 /* draw: keep a line on the terminal      */
void progress_watch(gkv_session *s);            /* what a signal cancels, or NULL         */
void progress_watch_eval(gkv_eval *e);
void progress_note(const char *fmt, ...) SAY_FORMAT(1, 2);      /* end of the line from now on */
void progress_update(void *arg, const gkv_progress *p);         /* gkv_options.progress   */
void progress_show(const char *stage, double fraction, uint64_t tokens);
void progress_erase(void);
bool progress_cancelled(void);
const char *progress_where(void);               /* "first pass at 42 %", or ""            */
double progress_clock(void);                    /* seconds of a clock that only goes on   */

#endif
