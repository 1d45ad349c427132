/* SPDX-License-Identifier: BSD-2-Clause
 * unit-progress.c - signals cancel what runs, also when they came before it was known. */
#include "config.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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
    struct progress p = { .session = NULL }, second = { .session = NULL };
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
    progress_again();
    progress_end(&second);
    gkv_session_close(s);
    gkv_session_close(other);
}

static void test_eval(void)
{
    static const uint32_t id[] = { 1, 2, 3 };
    const gkv_options o = options();
    struct progress p = { .session = NULL };
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
    test_session();
    test_eval();
    gkv_model_close(model);
    return done();
}
