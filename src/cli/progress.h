/* SPDX-License-Identifier: BSD-2-Clause
 * progress.h - how far the work is, and how to stop it
 *
 * SIGINT and SIGTERM cancel the work, the second one kills; SIGUSR1 asks for one line. */
#ifndef GEMKV_CLI_PROGRESS_H
#define GEMKV_CLI_PROGRESS_H

#include <stdbool.h>
#include <gemkv.h>
#include "src/cli/say.h"

struct progress {                               /* zeroed: of a run that nobody watches   */
    gkv_session *volatile session;              /* what a signal cancels, or NULL         */
    gkv_eval    *volatile eval;
    bool         draw;                          /* keep a line on the terminal            */
    char         stage[32], note[32];           /* the current one; end of the line       */
    double       began, fraction;               /* of the stage                           */
    double       drawn;                         /* when, last                             */
};

/* From now on signals act on p, the one run of this process, until progress_end. */
void progress_start(struct progress *p, bool draw);
void progress_end(struct progress *p);
void progress_watch(struct progress *p, gkv_session *s);
void progress_watch_eval(struct progress *p, gkv_eval *e);
void progress_note(struct progress *p, const char *fmt, ...) SAY_FORMAT(2, 3);
void progress_show(struct progress *p, const char *stage, double fraction, uint64_t tokens);
/* gkv_options.progress, whose argument is the struct. */
void progress_update(void *p, const gkv_progress *g);
/* How much of the work before an answer is done, of all that an answer takes. */
double progress_share(const gkv_progress *g);
void progress_erase(void);
bool progress_cancelled(void);                  /* by a signal: all that this process does */
char *progress_where(const struct progress *p); /* "first pass at 42 %", for free(); or NULL */
double progress_clock(void);                    /* seconds of a clock that only goes on   */

#endif
