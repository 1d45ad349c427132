/* SPDX-License-Identifier: BSD-2-Clause
 * progress.h - shows how far the work is, and stops it
 *
 * The first SIGINT, SIGTERM or SIGHUP cancels the work; when the command has cleaned up, the process dies of that
 * signal.  The second one kills it at once.  SIGUSR1 prints one line.  In a conversation on a terminal SIGINT cancels
 * what runs, each time. */
#ifndef GEMKV_CLI_PROGRESS_H
#define GEMKV_CLI_PROGRESS_H

#include <stdbool.h>
#include <gemkv.h>
#include "src/cli/say.h"

struct progress {                               /* zeroed: not shown                      */
    gkv_session *volatile session;              /* what a signal cancels, or NULL         */
    gkv_eval    *volatile eval;
    struct io   *io;                            /* where it is drawn; NULL: not started   */
    bool         draw;                          /* keep a line on the terminal            */
    bool         stays;                         /* SIGINT never kills the process         */
    bool         two;                           /* one model reads, another answers       */
    char         stage[32], note[32];           /* the current one; end of the line       */
    double       began, fraction;               /* start and done part of the stage       */
    double       drawn;                         /* time of the last drawing               */
    struct progress *volatile next;             /* list of those that are running         */
};

/* From now on until progress_end, signals are for p too. */
void progress_start(struct progress *p, struct io *io, bool draw);
void progress_end(struct progress *p);
void progress_watch(struct progress *p, gkv_session *s);
void progress_watch_eval(struct progress *p, gkv_eval *e);
void progress_note(struct progress *p, const char *fmt, ...) SAY_FORMAT(2, 3);
void progress_show(struct progress *p, const char *stage, double fraction, uint64_t tokens);     /* tokens 0: not known */
/* For gkv_options.progress, with the struct as its argument. */
void progress_update(void *p, const gkv_progress *g);
/* The done share of all the work before the answer. */
double progress_share(const gkv_progress *g);
void progress_erase(struct progress *p);
bool progress_cancelled(void);                  /* by a signal */
/* Where a SIGINT has cancelled something, and the process stays: go on.  False: it shall end. */
bool progress_again(void);
/* When everything is cleaned up: if a signal has cancelled something, dies of it.  A program that only returned a
 * status would leave a shell's loop going on. */
void progress_die(void);
char *progress_where(const struct progress *p); /* "first pass at 42 %", for free(); or NULL */
double progress_clock(void);                    /* seconds of a monotonic clock */

#endif
