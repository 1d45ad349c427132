/* SPDX-License-Identifier: BSD-2-Clause
 * unit-io.c - commands as a server would call them: several at once in one process, each with its own files and its
 * own --quiet; none ends the process, and none sees another's messages */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/cmd.h"
#include "src/cli/say.h"
#include "tests/tap.h"

enum { MAX_WORDS = 16, ROUNDS = 8 };

static char model[4096], document[] = "/tmp/gemkv-io-XXXXXX";

struct call {
    const struct cmd *cmd;
    int         expect;                 /* exit status                                    */
    const char *out, *err;              /* text that is in them; NULL: they are empty     */
    const char *argv[MAX_WORDS];
};

static const struct call calls[] = {
    { &cmd_select, 0, "==> ", "kept ",
      { "select", "-m", model, "-f", document, "-k", "60", "-t", "1", "Where is it?" } },
    { &cmd_select, 0, "The", NULL, { "select", "-qm", model, "-f", document, "-k60", "-t1", "--", "Where is it?" } },
    { &cmd_select, 0, "{\"method\": \"truncate\"", NULL,
      { "select", "--json", "--model", model, "Where is it?", "-qf", document, "--method=truncate", "--thread", "1" } },
    { &cmd_tokenize, 0, "[", NULL, { "tokenize", "-m", model, "a b" } },
    { &cmd_ask, EXIT_SHOWN, "Usage: gemkv ask", NULL, { "ask", "-k", "5", "--help" } },
    { &cmd_ask, EXIT_USAGE, NULL, "unknown option '-Z'", { "ask", "-vZ" } },
    { &cmd_ask, EXIT_USAGE, NULL, "option '--keep' needs an argument", { "ask", "--keep" } },
    { &cmd_ask, EXIT_USAGE, NULL, "option '--raw' takes no argument", { "ask", "--raw=1" } },
    { &cmd_ask, EXIT_USAGE, NULL, "option '--te' may be any of --temperature --template", { "ask", "--te", "x" } },
    { &cmd_ask, EXIT_USAGE, NULL, "option '--keep': '0' is not ", { "ask", "-k0" } },
    { &cmd_ask, EXIT_USAGE, NULL, "one question only", { "ask", "a", "-q", "b" } },
    { &cmd_ask, EXIT_USAGE, NULL, "one question only", { "ask", "--", "a", "-q" } },
    { &cmd_eval, EXIT_USAGE, NULL, "unknown task 'nosuch'", { "eval", "nosuch" } },
    { &cmd_info, EXIT_FAILED, NULL, "/nosuch.gguf", { "info", "/nosuch.gguf" } },
    { &cmd_tokenize, EXIT_USAGE, NULL, "byte 0 is not part of a JSON array",
      { "tokenize", "-m", model, "--decode", "x" } },
    { &cmd_ask, EXIT_DOCUMENT, NULL, "there is no text in it", { "ask", "-m", model, "-f", "/dev/null", "Q" } }
};

enum { N_CALLS = sizeof calls / sizeof *calls };

struct result {
    int   code;
    char *out, *err;
};

static struct result run(const struct call *c)
{
    struct result r = { 0, NULL, NULL };
    size_t        n_out, n_err;
    struct io     io = { .out = open_memstream(&r.out, &n_out), .err = open_memstream(&r.err, &n_err) };
    char         *argv[MAX_WORDS + 1] = { NULL };
    int           argc = 0, lost;

    for (; argc < MAX_WORDS && c->argv[argc]; argc++)
        argv[argc] = (char *)c->argv[argc];
    r.code = c->cmd->run(c->cmd, &io, argc, argv);
    lost = out_flush(&io);
    r.code = lost ? lost : r.code;
    fclose(io.out);
    fclose(io.err);
    return r;
}

/* What is wrong, or NULL. */
static const char *wrong(const struct call *c, const struct result *r)
{
    if (r->code != c->expect)
        return "the exit status";
    if (c->out ? !strstr(r->out, c->out) : *r->out)
        return "the result";
    return (c->err ? !strstr(r->err, c->err) : *r->err) ? "the messages" : NULL;
}

static const char *try(const struct call *c)
{
    struct result r = run(c);
    const char   *what = wrong(c, &r);

    if (what)
        printf("# %s %s: %d\n# %s\n# %s\n", c->argv[0], c->argv[1], r.code, r.out, r.err);
    free(r.out);
    free(r.err);
    return what;
}

static void *often(void *arg)
{
    const char *what = NULL;

    for (int i = 0; i < ROUNDS && !what; i++)
        what = try(arg);
    return (void *)what;
}

/* A file that cannot be written to: said once, however much is written. */
static void full(void)
{
    char     *err = NULL;
    size_t    n;
    struct io io = { .out = fopen("/dev/full", "w"), .err = open_memstream(&err, &n) };
    int       code = 0;

    if (!io.out) {
        skip("no /dev/full", "a result that cannot be written");
        fclose(io.err);
        free(err);
        return;
    }
    for (int i = 0; i < 3; i++) {
        out_printf(&io, "%d\n", i);
        code = out_flush(&io);
    }
    fclose(io.err);
    ok(code == EXIT_FAILED && strstr(err, "part of the result is lost") && !strchr(strchr(err, '\n') + 1, '\n'),
       "a result that cannot be written");
    fclose(io.out);
    free(err);
}

static int write_document(void)
{
    int   fd = mkstemp(document);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    for (int i = 0; f && i < 20; i++)
        fputs(i == 11 ? "Ada hid the key under the red stone. "
                      : "The day was long and nothing of note took place. ", f);
    return f ? fclose(f) : -1;
}

int main(void)
{
    pthread_t thread[N_CALLS];

    if (BIG_ENDIAN_HOST)
        return skip_all("models are little-endian");
    snprintf(model, sizeof model, "%s/tests/files/golden/llama3.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (write_document())
        return 99;
    for (size_t i = 0; i < N_CALLS; i++) {
        const char *what = try(&calls[i]);

        ok(!what, "%s: %s", calls[i].argv[0], what ? what : calls[i].out ? calls[i].out : calls[i].err);
    }
    for (size_t i = 0; i < N_CALLS; i++)
        if (pthread_create(&thread[i], NULL, often, (void *)&calls[i]))
            return 99;
    for (size_t i = 0; i < N_CALLS; i++) {
        void *what;

        pthread_join(thread[i], &what);
        ok(!what, "%s at once: %s", calls[i].argv[0], what ? (char *)what : calls[i].out ? calls[i].out : calls[i].err);
    }
    full();
    unlink(document);
    return done();
}
