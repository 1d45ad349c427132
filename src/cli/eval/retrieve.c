/* SPDX-License-Identifier: BSD-2-Clause
 * retrieve.c - see retrieve.h
 *
 * The command gets JSON lines on standard input, {"question": ..., "passages": N} and then N of {"passage": 0,
 * "text": ...}, and prints N lines on standard output, a number each.  It is the user's own and runs as the user; what
 * it prints is not trusted: anything but N finite numbers within SECONDS is an error of the row. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/eval/retrieve.h"
#include "src/cli/json.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum { WORDS = 100, MOST_WORDS = 100000, SECONDS = 600, LINE = 64, POLL_MS = 200 };

static const char name[] = "retrieve";

/* ---- parameters ---------------------------------------------------------------------- */
bool retrieve_is(const char *spec)
{
    const size_t n = sizeof name - 1;

    return !strncmp(spec, name, n) && (!spec[n] || spec[n] == ':');
}

/* The command is the rest of the line, with any commas.  NULL: all is well. */
static const char *parse(const char *spec, size_t *words, const char **command)
{
    const char *s = spec + strcspn(spec, ":");
    char       *end;

    *words = WORDS;
    *command = NULL;
    if (*s && !strncmp(s + 1, "passage=", 8)) {
        const unsigned long n = strtoul(s + 9, &end, 10);

        if (end == s + 9 || (*end && *end != ',') || n < 1 || n > MOST_WORDS)
            return "passage= needs a number of words, from 1 to 100000";
        *words = n;
        s = end;
    }
    if (*s && !strncmp(s + 1, "cmd=", 4) && s[5])
        *command = s + 5;
    return *command ? NULL : "it needs a command: retrieve:cmd=COMMAND or retrieve:passage=N,cmd=COMMAND";
}

const char *retrieve_check(const char *spec)
{
    const char *command;
    size_t      words;

    return parse(spec, &words, &command);
}

/* ---- passages ------------------------------------------------------------------------ */
struct piece {
    const char *text;
    size_t      len, place;
    double      score;
};

struct pieces {
    struct piece *piece;
    size_t        n;
};

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cuts after every `words` words; the white space behind belongs to the passage. */
static struct pieces cut(const char *s, size_t words)
{
    struct pieces p = { NULL, 0 };

    while (*s) {
        const char *end = s;

        for (size_t i = 0; i < words && *end; i++) {
            while (blank(*end))
                end++;
            while (*end && !blank(*end))
                end++;
            while (blank(*end))
                end++;
        }
        if (!(p.n & (p.n - 1)))
            p.piece = grow(p.piece, 2 * p.n + 1, sizeof *p.piece);
        p.piece[p.n] = (struct piece){ s, (size_t)(end - s), p.n, 0 };
        p.n++;
        s = end;
    }
    return p;
}

static int by_score(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return x->score > y->score ? -1 : x->score < y->score ? 1 : x->place < y->place ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return x->place < y->place ? -1 : 1;
}

/* The n best, in the order of the text. */
static char *join(const struct pieces *p, size_t n)
{
    struct piece *best = grow(NULL, n + 1, sizeof *best);
    struct text   t = { NULL, 0, 0 };

    memcpy(best, p->piece, n * sizeof *best);
    qsort(best, n, sizeof *best, by_place);
    text_add(&t, "", 0);
    for (size_t i = 0; i < n; i++) {
        if (i && best[i].place != best[i - 1].place + 1)
            text_add(&t, "\n", 1);
        text_add(&t, best[i].text, best[i].len);
    }
    free(best);
    return t.p;
}

/* ---- the command --------------------------------------------------------------------- */
static int write_input(FILE *f, const char *question, const struct pieces *p)
{
    struct json j = { .depth = 0 };
    bool        written;

    json_open(&j, '{');
    json_named_string(&j, "question", question);
    json_named_uint(&j, "passages", p->n);
    json_close(&j);
    for (size_t i = 0; i < p->n; i++) {
        json_open(&j, '{');
        json_named_uint(&j, "passage", i);
        json_key(&j, "text");
        json_text(&j, p->piece[i].text, p->piece[i].len);
        json_close(&j);
    }
    written = fwrite(j.text.p, 1, j.text.n, f) == j.text.n && !fflush(f) && !fseek(f, 0, SEEK_SET);
    text_free(&j.text);
    return written ? 0 : -1;
}

static gkv_status failed(gkv_error *err, const char *why)
{
    snprintf(err->text, sizeof err->text, "the command of retrieve %s", why);
    return GKV_IO;
}

/* A process of its own group, so that whatever it starts ends with it. */
static pid_t start(const char *command, int in, int out)
{
    const pid_t pid = fork();

    if (pid)
        return pid;
    setpgid(0, 0);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Reads all that it prints.  NULL, or what is wrong. */
static const char *read_all(int fd, struct text *t, size_t most)
{
    const time_t  end = time(NULL) + SECONDS;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char          buf[4096];

    while (!progress_cancelled()) {
        const int ready = poll(&p, 1, POLL_MS);
        ssize_t   n;

        if (time(NULL) > end)
            return "does not end";
        if (ready < 1)
            continue;
        n = read(fd, buf, sizeof buf);
        if (!n)
            return NULL;
        if (n < 0 && errno != EINTR)
            return "cannot be read";
        if (n > 0)
            text_add(t, buf, (size_t)n);
        if (t->n > most)
            return "prints more than a number for each passage";
    }
    return "was cancelled";
}

/* A number in each line, as many as there are passages. */
static const char *read_scores(const struct text *t, struct pieces *p)
{
    const char *s = t->n ? t->p : "";
    size_t      n = 0;

    if (t->n && strlen(s) != t->n)
        return "prints something else than numbers";
    for (char *end; *s; n++) {
        const double v = strtod(s, &end);

        if (end == s || memchr(s, '\n', (size_t)(end - s)) || !isfinite(v))
            return "prints something else than finite numbers";
        end += strspn(end, " \t\r");
        if (*end && *end != '\n')
            return "prints more than a number in a line";
        if (n < p->n)
            p->piece[n].score = v;
        s = end + (*end == '\n');
    }
    return n == p->n ? NULL : "does not print a line for each passage";
}

static gkv_status score(const char *command, const char *question, struct pieces *p, gkv_error *err)
{
    FILE       *in = tmpfile();
    struct text t = { NULL, 0, 0 };
    const char *why = NULL;
    int         out[2] = { -1, -1 }, status = 0;
    pid_t       pid;

    if (!in || write_input(in, question, p) || pipe(out)) {
        if (in)
            fclose(in);
        return failed(err, "cannot be given the passages");
    }
    fcntl(out[0], F_SETFD, FD_CLOEXEC);
    fcntl(out[1], F_SETFD, FD_CLOEXEC);
    pid = start(command, fileno(in), out[1]);
    close(out[1]);
    fclose(in);
    if (pid < 0)
        why = "cannot be started";
    else
        why = read_all(out[0], &t, p->n * LINE + LINE);
    close(out[0]);
    if (pid > 0) {
        if (why)
            kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        kill(-pid, SIGKILL);                    /* what it left behind */
    }
    if (!why && (!WIFEXITED(status) || WEXITSTATUS(status)))
        why = "failed";
    if (!why)
        why = read_scores(&t, p);
    text_free(&t);
    if (progress_cancelled())
        return GKV_CANCELLED;
    return why ? failed(err, why) : GKV_OK;
}

/* ---- the budget ---------------------------------------------------------------------- */
static gkv_status count(struct eval *e, const struct row *row, char *context, uint64_t *n, gkv_error *err)
{
    struct row r = *row;

    r.context = context;
    if (!eval_count(e, &r, n))
        return GKV_OK;
    snprintf(err->text, sizeof err->text, "its tokens cannot be counted");
    return GKV_INVALID;
}

/* As many of the best as fit; the passages are in the order of their scores. */
static gkv_status fit(struct eval *e, const struct row *row, const struct pieces *p, uint64_t keep, char **text,
                      gkv_error *err)
{
    size_t     low = 0, high = p->n + 1;
    gkv_status status = GKV_OK;

    while (high - low > 1 && !status) {
        const size_t mid = low + (high - low) / 2;
        uint64_t     n = 0;
        char        *some = join(p, mid);

        status = count(e, row, some, &n, err);
        *(n <= keep ? &low : &high) = mid;
        free(some);
    }
    if (!status && !low) {
        snprintf(err->text, sizeof err->text, "a budget of %" PRIu64 " tokens has no room for a passage beside the "
                 "question; raise --keep, or make passages shorter", keep);
        return GKV_INVALID;
    }
    *text = status ? NULL : join(p, low);
    return status;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

gkv_status retrieve_text(struct eval *e, const char *spec, const struct row *row, char **text, uint64_t *n,
                         double *seconds, gkv_error *err)
{
    const double  began = now();
    struct pieces p;
    const char   *command;
    size_t        words;
    gkv_status    status;

    *text = NULL;
    if (parse(spec, &words, &command) || !row->context || e->o.grade) {
        snprintf(err->text, sizeof err->text,
                 "method retrieve reads the text of rows; leave --library and --grade out");
        return GKV_INVALID;
    }
    status = count(e, row, row->context, n, err);
    p = cut(row->context, words);
    if (!status)
        status = score(command, row->question, &p, err);
    if (!status) {
        const double share = (double)e->o.gkv.keep_percent / 100 * (double)*n;

        if (p.n)
            qsort(p.piece, p.n, sizeof *p.piece, by_score);
        status = fit(e, row, &p, e->o.gkv.keep_percent > 0 ? (uint64_t)share : e->o.gkv.keep, text, err);
    }
    free(p.piece);
    *seconds = now() - began;
    return status;
}
