/* SPDX-License-Identifier: BSD-2-Clause
 * line.c - see line.h */
#include "config.h"
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if HAVE_READLINE
#include <readline/history.h>
#include <readline/readline.h>
#elif HAVE_LIBEDIT
#include <editline/readline.h>
#endif
#include "src/cli/line.h"
#include "src/cli/output.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

/* ---- as it comes --------------------------------------------------------------------- */
static enum line_got plain(struct line *l, const char *prompt, char **text)
{
    ssize_t n;

    if (l->typed) {
        fputs(prompt, l->io->err);
        fflush(l->io->err);
    }
    errno = 0;
    n = getline(&l->text, &l->room, stdin);
    *text = l->text;
    if (n >= 0) {
        l->text[n - (n > 0 && l->text[n - 1] == '\n')] = 0;
        return LINE_READ;
    }
    if (feof(stdin))
        return LINE_END;
    if (errno != EINTR)
        return LINE_FAILED;
    clearerr(stdin);
    return LINE_SIGNAL;
}

#if HAVE_LIBEDIT || HAVE_READLINE
/* ---- edited -------------------------------------------------------------------------- */
enum { REMEMBERED = 1000 };

char *line_past(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const bool  own = state && *state == '/';
    char       *path = own ? format("%s/gemkv/history", state)
                           : home && *home == '/' ? format("%s/.local/state/gemkv/history", home) : NULL;

    if (!path || !output_folders(path))
        return path;
    free(path);
    return NULL;
}

#if HAVE_READLINE
/* Readline goes on reading after a signal unless it is told not to. */
static int stop(void)
{
    rl_done = 1;
    return 0;
}
#endif

static void edit_open(struct line *l, bool history)
{
    setlocale(LC_CTYPE, "");                    /* how wide characters are                */
    rl_readline_name = "gemkv";
    rl_instream = stdin;
    rl_outstream = l->io->err;
    rl_catch_signals = 0;                       /* progress.c does                        */
#if HAVE_READLINE
    rl_signal_event_hook = stop;
#endif
    rl_initialize();
    rl_bind_key('\t', rl_insert);
    using_history();
    stifle_history(REMEMBERED);
    l->past = history ? line_past() : NULL;
    if (l->past)
        read_history(l->past);
}

/* Questions may be private. */
static void edit_close(struct line *l)
{
    const mode_t mask = umask(077);

    if (l->past && write_history(l->past))
        warn(l->io, "%s: %s; the questions are not remembered", l->past, strerror(errno));
    umask(mask);
    free(l->past);
    l->past = NULL;
}

static enum line_got edited(struct line *l, const char *prompt, char **text)
{
    free(l->text);
    *text = l->text = readline(prompt);
    if (progress_cancelled()) {
        fputc('\n', l->io->err);
        return LINE_SIGNAL;
    }
    if (!l->text)
        return LINE_END;
    if (l->text[strspn(l->text, " \t")] && l->past)
        add_history(l->text);
    return LINE_READ;
}
#else
char *line_past(void)
{
    return NULL;
}

static void edit_open(struct line *l, bool history)
{
    (void)l;
    (void)history;
}

static void edit_close(struct line *l)
{
    (void)l;
}

static enum line_got edited(struct line *l, const char *prompt, char **text)
{
    return plain(l, prompt, text);
}
#endif

/* ---- either -------------------------------------------------------------------------- */
void line_open(struct line *l, struct io *io, bool history)
{
    *l = (struct line){ .typed = isatty(STDIN_FILENO) && isatty(fileno(io->err)), .io = io };
    if (l->typed)
        edit_open(l, history);
}

void line_close(struct line *l)
{
    if (l->typed)
        edit_close(l);
    free(l->text);
    l->text = NULL;
}

enum line_got line_read(struct line *l, const char *prompt, char **text)
{
    enum line_got got;

    say_fleeting(l->io, "");
    got = l->typed ? edited(l, prompt, text) : plain(l, prompt, text);
    if (l->typed && got == LINE_END)
        fputc('\n', l->io->err);
    return got;
}
