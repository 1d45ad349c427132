/* SPDX-License-Identifier: BSD-2-Clause
 * unit-progress.c - signals cancel what runs, also when they came before it was known. */
#include "config.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "src/cli/progress.h"
#include "tests/tap.h"

static gkv_error err;
static gkv_model *model;
static struct io io;

static gkv_options options(void)
{
    gkv_options o;

    gkv_options_init(&o);
    o.method = "full";
    o.device = "cpu";
    o.max_tokens = 2;
    o.threads = 1;
    return o;
}

/* What is drawn of a stage that began so many seconds ago; the figures change only when many more pass. */
static void draws(double ago, double fraction, uint64_t tokens, const char *note, const char *want)
{
    char           *err_text = NULL, *line;
    size_t          n;
    struct io       shown = { .out = stdout, .err = open_memstream(&err_text, &n) };
    struct progress p = { .io = &shown, .draw = true, .stage = "stage", .began = progress_clock() - ago };

    progress_note(&p, "%s", note);
    progress_show(&p, "stage", fraction, tokens);
    progress_show(&p, "stage", fraction, tokens);       /* too soon after it: nothing */
    fclose(shown.err);
    line = malloc(strlen(want) + 16);
    sprintf(line, "\r%s\033[K", want);
    ok(!strcmp(err_text, line), "%s", want);
    if (strcmp(err_text, line))
        printf("# %s\n", err_text + 1);
    free(line);
    free(err_text);
}

static void test_show(void)
{
    static const struct { gkv_stage stage; double fraction, share; } shares[] = {
        { GKV_STAGE_FIRST_PASS, 0.5, 0.45 }, { GKV_STAGE_PREFILL, 0.5, 0.45 }, { GKV_STAGE_PASSAGES, 0.5, 0.9 },
        { GKV_STAGE_SECOND_PASS, 0, 0.9 }, { GKV_STAGE_SECOND_PASS, 1, 0.95 }
    };
    char           *text = NULL, *where;
    size_t          n, bad = 0;
    struct io       shown = { .out = stdout, .err = open_memstream(&text, &n) };
    struct progress p = { .io = &shown, .draw = true, .two = true };
    gkv_progress    g = { .stage = GKV_STAGE_FIRST_PASS, .fraction = 0.25, .tokens = 100 };

    draws(0, 0.25, 1000, "", "stage        25 %");
    draws(0, -0.25, 1000, "1 of 2", "stage         0 %  1 of 2");
    draws(1e5, 0, 1000, "", "stage         0 %");
    draws(1e5, 1.5, 0, "", "stage       100 %  0:00 left");
    draws(1e5, 0.99, UINT64_C(1000000000), "a note", "stage        99 %  a note  9900 tokens/s  16:50 left");
    draws(3.6e5, 0.99, 0, "", "stage        99 %  1:00:36 left");
    draws(1e6, 0.9, 0, "", "stage        90 %  30:51:51 left");
    ok(!progress_where(&p), "nothing was begun");
    progress_update(&p, &g);
    where = progress_where(&p);
    ok(where && !strcmp(where, "reader, first pass at 25 %"), "where it is");
    free(where);
    g.stage = GKV_STAGE_SECOND_PASS;
    progress_update(&p, &g);            /* another stage is drawn at once */
    p.two = false;
    progress_update(&p, &g);
    progress_erase(&p);
    fclose(shown.err);
    ok(!strcmp(text, "\rreader, first pass  25 %\033[K\ranswerer, second pass  25 %\033[K\rsecond pass  25 %\033[K\r\033[K\r"), "stages of two models, and of one");
    free(text);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        g.stage = shares[i].stage;
        g.fraction = shares[i].fraction;
        bad += progress_share(&g) < shares[i].share - 1e-9 || progress_share(&g) > shares[i].share + 1e-9;
    }
    ok(!bad, "the share of the work");
    text = NULL;
    shown = (struct io){ .out = stdout, .err = open_memstream(&text, &n) };
    p = (struct progress){ .io = &shown };
    progress_show(&p, "stage", 0.5, 0);
    signal(SIGUSR1, SIG_DFL);
    progress_start(&p, &shown, false);
    progress_show(&p, "stage", 0.5, 0);
    raise(SIGUSR1);
    progress_show(&p, "other", 0.25, 0);
    progress_show(&p, "other", 0.5, 0);
    progress_end(&p);
    fclose(shown.err);
    ok(!strcmp(text, "other        25 %\n"), "without a terminal it is said when a signal asks, once");
    free(text);
}

/* What a question to the session ends with. */
static gkv_status asked(gkv_session *s)
{
    gkv_status status = gkv_ask(s, "Who?", 4, &err);
    const char *piece;
    size_t n;

    while (status == GKV_OK)
        status = gkv_next(s, &piece, &n, &err);
    return status;
}

static gkv_session *session(void)
{
    const gkv_options o = options();
    gkv_session *s = NULL;

    if (gkv_session_open(&s, model, &o, &err) || gkv_feed(s, "The cat.", 8, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return s;
}

static void test_session(void)
{
    struct progress p = { .stays = true }, second = { .stays = true };
    gkv_session *s = session(), *other = session();

    progress_start(&p, &io, false);
    progress_start(&second, &io, false);
    progress_watch(&p, s);
    progress_watch(&second, other);
    ok(!progress_cancelled() && asked(s) == GKV_END, "no signal, no end of it");
    raise(SIGINT);
    ok(progress_cancelled() && asked(s) == GKV_CANCELLED, "a signal cancels a session that is watched");
    ok(asked(other) == GKV_CANCELLED, "... and every other");
    ok(progress_again() && !progress_cancelled(), "SIGINT is forgotten where the process stays");
    ok(asked(s) == GKV_END && asked(other) == GKV_END, "... and what was cancelled goes on");
    progress_watch(&p, NULL);
    progress_watch(&second, NULL);
    raise(SIGINT);
    ok(asked(s) == GKV_END, "a session that is not watched goes on");
    progress_watch(&p, s);
    ok(asked(s) == GKV_CANCELLED, "a signal between start and watch cancels what is watched then");
    progress_watch(&p, NULL);
    progress_again();
    progress_watch(&p, s);
    ok(asked(s) == GKV_END, "... once");
    progress_end(&p);
    raise(SIGINT);
    ok(asked(s) == GKV_END, "after the end no signal is for it");
    ok(progress_again(), "... and another may stay");
    second.stays = false;
    raise(SIGINT);
    ok(!progress_again() && progress_cancelled(), "SIGINT is not forgotten where the process does not stay");
    second.stays = true;
    progress_again();
    progress_end(&second);
    gkv_session_close(s);
    gkv_session_close(other);
}

/* How a process ends that gets the first signal, and then the second, while something runs: the signal, or 0 when it goes on, or -1
 * when it was cancelled and shall end. */
static int ends(bool stays, int first, int second)
{
    int   status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (!pid) {
        struct progress p = { .stays = stays };

        progress_start(&p, &io, false);
        raise(first);
        raise(second);
        _exit(progress_again() ? 0 : 99);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -1 : 0;
}

static void test_second(void)
{
    ok(ends(false, SIGINT, SIGINT) == SIGINT && ends(false, SIGINT, SIGTERM) == SIGTERM, "a second signal ends the process");
    ok(ends(true, SIGINT, SIGINT) == 0, "not SIGINT, where the process stays");
    ok(ends(true, SIGINT, SIGTERM) == -1, "SIGTERM after it shall end it");
    ok(ends(true, SIGTERM, SIGINT) == SIGINT && ends(true, SIGTERM, SIGTERM) == SIGTERM, "and anything after SIGTERM does");
}

static void test_eval(void)
{
    static const uint32_t id[] = { 1, 2, 3 };
    const gkv_options o = options();
    struct progress p = { .stays = true };
    gkv_eval *e = NULL;

    if (gkv_eval_open(&e, model, &o, 32, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    progress_start(&p, &io, false);
    progress_watch_eval(&p, e);
    ok(gkv_eval_tokens(e, id, 3, NULL, &err) == GKV_OK, "the same of a model over tokens: no signal");
    raise(SIGINT);
    ok(gkv_eval_tokens(e, id, 3, NULL, &err) == GKV_CANCELLED, "... a signal");
    progress_watch_eval(&p, NULL);
    progress_again();
    gkv_eval_close(e);
    e = NULL;
    raise(SIGINT);
    if (gkv_eval_open(&e, model, &o, 32, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    progress_watch_eval(&p, e);
    ok(gkv_eval_tokens(e, id, 3, NULL, &err) == GKV_CANCELLED, "... between start and watch");
    ok(progress_again(), "... and the process stays");
    raise(SIGTERM);
    ok(!progress_again() && progress_cancelled(), "not after SIGTERM");
    progress_end(&p);
    gkv_eval_close(e);
}

int main(void)
{
    char path[512];

    if (BIG_ENDIAN_HOST)
        return skip_all("models are refused here");
    signal(SIGINT, SIG_DFL);            /* a shell's background jobs ignore it */
    signal(SIGTERM, SIG_DFL);
    io.out = io.err = stderr;
    snprintf(path, sizeof path, "%s/tests/files/golden/llama3.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (gkv_model_open(&model, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    test_show();
    test_second();
    test_session();
    test_eval();
    gkv_model_close(model);
    return done();
}
