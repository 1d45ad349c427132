/* SPDX-License-Identifier: BSD-2-Clause
 * progress.c - see progress.h */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/output.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

/* Signals are the process's, so this is too: which signals came, and the list of runs that they are for. */
static struct progress *volatile running;
static volatile sig_atomic_t cancelled, asked;

/* Ends the process as if the signal had never been caught, so that a shell sees that and stops its loop. */
static void die_of(int sig)
{
    struct sigaction act;
    sigset_t         set;

    memset(&act, 0, sizeof act);
    act.sa_handler = SIG_DFL;
    sigemptyset(&act.sa_mask);
    sigaction(sig, &act, NULL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);       /* in its own handler it is blocked */
}

/* Only SIGINT leaves a conversation as it is, and only one with a person. */
static bool goes_on(int sig)
{
    return sig == SIGINT && running && running->stays;
}

static void on_cancel(int sig)
{
    if (cancelled && !goes_on(cancelled)) {
        output_remove_all();
        if (running && running->io && running->io->fleeting
            && write(STDERR_FILENO, "\r\033[K", 4) < 0)
            errno = 0;                          /* the process ends anyway */
        die_of(sig);
    }
    if (!cancelled || sig != SIGINT)
        cancelled = sig;
    for (struct progress *p = running; p; p = p->next) {
        if (p->session)
            gkv_cancel(p->session);
        if (p->eval)
            gkv_eval_cancel(p->eval);
    }
}

static void on_ask(int sig)
{
    (void)sig;
    asked = 1;
}

static void on(int sig, void (*handler)(int), int flags)
{
    struct sigaction act, old;

    /* A signal that was ignored at the start (nohup) stays ignored.    */
    if (sigaction(sig, NULL, &old) || old.sa_handler == SIG_IGN)
        return;
    memset(&act, 0, sizeof act);
    act.sa_handler = handler;
    act.sa_flags = flags;                       /* no SA_RESTART: a blocked read must end */
    sigemptyset(&act.sa_mask);
    sigaction(sig, &act, NULL);
}

void progress_start(struct progress *p, struct io *io, bool draw)
{
    p->io = io;
    p->draw = draw;
    p->next = running;
    running = p;
    on(SIGINT, on_cancel, 0);
    on(SIGTERM, on_cancel, 0);
    on(SIGHUP, on_cancel, 0);
    on(SIGUSR1, on_ask, SA_RESTART);
}

void progress_end(struct progress *p)
{
    struct progress *volatile *q = &running;

    progress_erase(p);
    p->session = NULL;
    p->eval = NULL;
    while (*q && *q != p)
        q = &(*q)->next;
    if (*q)
        *q = p->next;
}

void progress_watch(struct progress *p, gkv_session *s)
{
    p->session = s;
    if (s && cancelled)         /* it came before `session` was set */
        gkv_cancel(s);
}

void progress_watch_eval(struct progress *p, gkv_eval *e)
{
    p->eval = e;
    if (e && cancelled)
        gkv_eval_cancel(e);
}

void progress_note(struct progress *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->note, sizeof p->note, fmt, ap);
    va_end(ap);
}

bool progress_cancelled(void)
{
    return cancelled;
}

bool progress_again(void)
{
    if (cancelled && !goes_on(cancelled))
        return false;
    cancelled = 0;
    return true;
}

void progress_die(void)
{
    if (cancelled)
        die_of(cancelled);
}

double progress_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void describe(char *text, size_t size, const struct progress *p, uint64_t tokens,
                     double elapsed)
{
    double   rate;
    uint64_t left;
    int      n;

    n = snprintf(text, size, "%-11s %3d %%%s%s", p->stage, (int)(100 * p->fraction),
                 *p->note ? "  " : "", p->note);
    if (n < 0 || (size_t)n >= size || elapsed < 0.5 || p->fraction <= 0)
        return;
    rate = (double)tokens * p->fraction / elapsed;
    left = (uint64_t)(elapsed * (1 - p->fraction) / p->fraction + 0.5);
    text += n;
    size -= (size_t)n;
    n = tokens ? snprintf(text, size, "  %.0f tokens/s", rate) : 0;
    if (n < 0 || (size_t)n >= size)
        return;
    text += n;
    size -= (size_t)n;
    if (left < 3600)
        snprintf(text, size, "  %" PRIu64 ":%02" PRIu64 " left", left / 60, left % 60);
    else
        snprintf(text, size, "  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left", left / 3600, left / 60 % 60, left % 60);
}

void progress_show(struct progress *p, const char *stage, double fraction, uint64_t tokens)
{
    char   text[160];
    double t = progress_clock();
    size_t columns;

    if (strcmp(p->stage, stage)) {
        snprintf(p->stage, sizeof p->stage, "%s", stage);
        p->began = t;
        p->drawn = 0;
    }
    p->fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    if (!asked && (!p->draw || t - p->drawn < 0.2))
        return;
    describe(text, sizeof text, p, tokens, t - p->began);
    if (asked) {
        asked = 0;
        say(p->io, "%s", text);
    }
    if (p->draw) {
        columns = say_columns(p->io);
        if (columns <= sizeof text)
            text[columns - 1] = 0;              /* ASCII; a full line would wrap          */
        say_fleeting(p->io, text);
        p->drawn = t;
    }
}

void progress_update(void *p, const gkv_progress *g)
{
    const bool       reads = g->stage == GKV_STAGE_FIRST_PASS || g->stage == GKV_STAGE_PASSAGES;
    struct progress *shown = p;
    char             stage[sizeof shown->stage];

    snprintf(stage, sizeof stage, "%s%s", !shown->two ? "" : reads ? "reader, " : "answerer, ", gkv_stage_name(g->stage));
    progress_show(shown, stage, g->fraction, g->tokens);
}

/* Most of the time before an answer is the first pass or the prefill. */
double progress_share(const gkv_progress *g)
{
    static const struct { double before, share; } part[] = {
        [GKV_STAGE_FIRST_PASS] = { 0, 0.9 }, [GKV_STAGE_PREFILL] = { 0, 0.9 },
        [GKV_STAGE_PASSAGES] = { 0.9, 0 }, [GKV_STAGE_SECOND_PASS] = { 0.9, 0.05 }
    };
    const size_t i = (size_t)g->stage;

    return i < sizeof part / sizeof *part ? part[i].before + part[i].share * g->fraction : 0;
}

void progress_erase(struct progress *p)
{
    if (p->io)
        say_fleeting(p->io, "");
}

char *progress_where(const struct progress *p)
{
    return *p->stage ? format("%s at %d %%", p->stage, (int)(100 * p->fraction)) : NULL;
}
