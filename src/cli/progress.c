/* SPDX-License-Identifier: BSD-2-Clause
 * progress.c - see progress.h */
#include "config.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "src/cli/progress.h"
#include "src/cli/say.h"

static gkv_session *volatile watched;
static gkv_eval    *volatile watched_eval;
static volatile sig_atomic_t cancelled, asked;

static bool   drawing;
static char   stage[32];                        /* the current one, ...                   */
static char   note[32];
static double stage_began, stage_fraction;
static double last_drawn;

static void on_cancel(int sig)
{
    gkv_session *s = watched;
    gkv_eval    *e = watched_eval;

    (void)sig;
    cancelled = 1;
    if (s)
        gkv_cancel(s);
    if (e)
        gkv_eval_cancel(e);
}

static void on_ask(int sig)
{
    (void)sig;
    asked = 1;
}

static void on(int sig, void (*handler)(int), int flags)
{
    struct sigaction act, old;

    /* Who started us with the signal ignored (nohup) wants it ignored. */
    if (sigaction(sig, NULL, &old) || old.sa_handler == SIG_IGN)
        return;
    memset(&act, 0, sizeof act);
    act.sa_handler = handler;
    act.sa_flags = flags;                       /* no SA_RESTART: a blocked read must end */
    sigemptyset(&act.sa_mask);
    sigaction(sig, &act, NULL);
}

void progress_start(bool draw)
{
    drawing = draw;
    on(SIGINT, on_cancel, (int)SA_RESETHAND);
    on(SIGTERM, on_cancel, (int)SA_RESETHAND);
    on(SIGUSR1, on_ask, SA_RESTART);
}

void progress_watch(gkv_session *s)
{
    watched = s;
    if (s && cancelled)         /* it came between the two */
        gkv_cancel(s);
}

void progress_watch_eval(gkv_eval *e)
{
    watched_eval = e;
    if (e && cancelled)
        gkv_eval_cancel(e);
}

void progress_note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(note, sizeof note, fmt, ap);
    va_end(ap);
}

bool progress_cancelled(void)
{
    return cancelled;
}

double progress_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void describe(char *text, size_t size, uint64_t tokens, double elapsed)
{
    double   rate;
    uint64_t left;
    int      n;

    n = snprintf(text, size, "%-11s %3d %%%s%s", stage, (int)(100 * stage_fraction),
                 *note ? "  " : "", note);
    if (n < 0 || (size_t)n >= size || elapsed < 0.5 || stage_fraction <= 0)
        return;
    rate = (double)tokens * stage_fraction / elapsed;
    left = (uint64_t)(elapsed * (1 - stage_fraction) / stage_fraction + 0.5);
    text += n;
    size -= (size_t)n;
    if (left < 3600)
        snprintf(text, size, "  %.0f tokens/s  %" PRIu64 ":%02" PRIu64 " left", rate,
                 left / 60, left % 60);
    else
        snprintf(text, size,
                 "  %.0f tokens/s  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left", rate,
                 left / 3600, left / 60 % 60, left % 60);
}

void progress_show(const char *name, double fraction, uint64_t tokens)
{
    char   text[160];
    double t = progress_clock();
    size_t columns;

    if (strcmp(stage, name)) {
        snprintf(stage, sizeof stage, "%s", name);
        stage_began = t;
        last_drawn = 0;
    }
    stage_fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    if (!asked && (!drawing || t - last_drawn < 0.2))
        return;
    describe(text, sizeof text, tokens, t - stage_began);
    if (asked) {
        asked = 0;
        say("%s", text);
    }
    if (drawing) {
        columns = say_columns();
        if (columns <= sizeof text)
            text[columns - 1] = 0;              /* ASCII; a full line would wrap          */
        say_fleeting(text);
        last_drawn = t;
    }
}

void progress_update(void *arg, const gkv_progress *p)
{
    (void)arg;
    progress_show(gkv_stage_name(p->stage), p->fraction, p->tokens);
}

void progress_erase(void)
{
    say_fleeting("");
}

const char *progress_where(void)
{
    static char text[80];

    if (stage[0])
        snprintf(text, sizeof text, "%s at %d %%", stage, (int)(100 * stage_fraction));
    return text;
}
