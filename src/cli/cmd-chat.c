/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-chat.c - a conversation about documents: model and documents stay in memory, and a question comes after
 * the earlier ones and their answers */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/confine.h"
#include "src/cli/line.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

struct chat {
    struct run r;                               /* must be first                          */
    struct line line;
    bool       no_history;
    gkv_turn  *turn;                            /* r.n_turns of them, their strings ours  */
    size_t    *tokens;                          /* about, of each                         */
    bool       dropped;                         /* ... and said                           */
    bool       answered;                        /* there are passages to show             */
    int        code;                            /* of the first question that failed      */
};

static const struct opt own[] = {
    { 0, 0, "no-history", NULL, NULL, "do not remember questions for the next time",
      opt_flag, offsetof(struct chat, no_history), 0, 0 },
    { .name = NULL }
};

/* ---- the conversation ---------------------------------------------------------------- */
/* Of a turn in the template: more than any has. */
enum { AROUND = 16 };

static size_t count(const struct chat *c, const char *text)
{
    uint32_t *id = NULL;
    size_t    n = 0;

    if (gkv_tokenize(c->r.model, text, strlen(text), 0, &id, &n, NULL))
        return strlen(text);
    free(id);
    return n;
}

/* Half of what is kept is for earlier turns, the rest for the question and passages. */
static size_t turns_limit(const struct chat *c)
{
    return (c->r.o.gkv.keep_percent > 0 ? 1024 : c->r.o.gkv.keep) / 2;
}

static void forget(struct chat *c, size_t n)
{
    if (!n)                                     /* perhaps there are no arrays yet        */
        return;
    for (size_t i = 0; i < n; i++) {
        free((char *)c->turn[i].question);
        free((char *)c->turn[i].answer);
    }
    c->r.n_turns -= n;
    memmove(c->turn, c->turn + n, c->r.n_turns * sizeof *c->turn);
    memmove(c->tokens, c->tokens + n, c->r.n_turns * sizeof *c->tokens);
}

static void drop_oldest(struct chat *c)
{
    const size_t limit = turns_limit(c);
    size_t       sum = 0, i = c->r.n_turns;

    while (i && sum + c->tokens[i - 1] <= limit)
        sum += c->tokens[--i];
    if (!i)
        return;
    forget(c, i);
    if (!c->dropped)
        say(c->r.o.io, "the conversation has more than %zu tokens, half of --keep: from now on its oldest turns are left out",
            limit);
    c->dropped = true;
}

static void remember(struct chat *c, struct text *answer)
{
    const size_t n = c->r.n_turns;
    const char  *begin;

    text_clean(answer);
    while (answer->n && strchr(" \t\n", answer->p[answer->n - 1]))
        answer->p[--answer->n] = 0;
    begin = answer->p + strspn(answer->p, " \t\n");
    if (!*begin)
        return;
    c->turn = grow(c->turn, n + 1, sizeof *c->turn);
    c->tokens = grow(c->tokens, n + 1, sizeof *c->tokens);
    c->turn[n] = (gkv_turn){ .question = format("%s", c->r.question), .answer = format("%s", begin) };
    c->tokens[n] = count(c, c->r.question) + count(c, begin) + AROUND;
    c->r.n_turns++;
    drop_oldest(c);
}

/* ---- a question ---------------------------------------------------------------------- */
/* Words that choose documents of a library: "and when?" has few, the question before it has more. */
static char *words_of(const struct chat *c)
{
    return format("%s%s%s", c->r.n_turns ? c->turn[c->r.n_turns - 1].question : "", c->r.n_turns ? " " : "",
                  c->r.question);
}

static void show(struct chat *c, const struct text *answer)
{
    struct json j = { .depth = 0 };

    if (c->r.o.json) {
        run_json(&j, &c->r, answer->p ? answer->p : "", answer->n);
        json_print(c->r.o.io, &j);
        out_flush(c->r.o.io);
        return;
    }
    out_flush(c->r.o.io);
    if (c->r.o.verbose)
        view_kept(&c->r);
    else
        view_places(&c->r);
    if (c->r.o.verbose)
        view_cost(&c->r);
}

static int answer(struct chat *c)
{
    struct text text = { NULL, 0, 0 };
    gkv_error   err = { 0 };
    gkv_status  status;
    int         code = run_answer(&c->r, &text, &status, &err);

    progress_watch(&c->r.progress, NULL);       /* a signal from now on is for no answer  */
    c->answered = true;
    if (code) {                                 /* nobody reads it                        */
        text_free(&text);
        return code;
    }
    if (status == GKV_END) {
        code = out_flush(c->r.o.io);
        if (!code)
            code = run_cut(&c->r);
        run_warn(&c->r);
        show(c, &text);
    } else if (status != GKV_CANCELLED || !c->line.typed) {
        code = run_failed(c->r.o.io, &c->r.progress, status, &err);
    } else if (!c->r.o.json) {
        say(c->r.o.io, "(ended)");
    }
    if (!code)
        remember(c, &text);
    text_free(&text);
    return code;
}

/* Non-zero if it has failed.  The next one may be asked if there is a session. */
static int ask(struct chat *c, const char *question)
{
    char *words;
    int   code;

    c->r.question = question;
    c->r.words = words = words_of(c);
    c->r.turn = c->turn;
    c->answered = false;
    code = run_read(&c->r);
    if (!code)
        code = run_one(&c->r, gkv_ask);
    if (!code)
        code = answer(c);
    progress_watch(&c->r.progress, NULL);
    c->r.words = NULL;
    free(words);
    return code;
}

/* ---- commands ------------------------------------------------------------------------ */
static void passages(struct chat *c)
{
    if (c->answered)
        view_kept(&c->r);
    else
        say(c->r.o.io, "no question has been answered yet");
}

static void reset(struct chat *c)
{
    forget(c, c->r.n_turns);
    c->dropped = false;
    say(c->r.o.io, "the next question is the first one again");
}

static void help(struct chat *c);

static const struct command { const char *name, *help; void (*run)(struct chat *c); } commands[] = {
    { "/passages", "show the passages that the last answer was written from", passages },
    { "/reset", "forget the questions and answers so far", reset },
    { "/help", "show this", help },
    { "/quit", "end, as Ctrl-D does", NULL },
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void help(struct chat *c)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        say(c->r.o.io, "%-10s %s", commands[i].name, commands[i].help);
    say(c->r.o.io, "Ctrl-C ends an answer.");
}

/* False: the conversation ends. */
static bool command(struct chat *c, const char *name)
{
    size_t i = 0;

    while (i < N_COMMANDS && strcmp(commands[i].name, name))
        i++;
    if (i == N_COMMANDS)
        say(c->r.o.io, "no command '%s'; /help shows those there are", name);
    else if (!commands[i].run)
        return false;
    else
        commands[i].run(c);
    return true;
}

/* ---- the whole ----------------------------------------------------------------------- */
static int check(struct run *r)
{
    const struct cmd *cmd = r->o.cmd;

    r->often = true;
    if (r->o.n_operand)
        return usage(r->o.io, cmd, "no question on the command line; it is asked for, or read from standard input");
    for (size_t i = 0; i < r->o.file.n; i++)
        if (!strcmp(r->o.file.v[i], "-"))
            return usage(r->o.io, cmd, "the questions are on standard input; give the document as a file");
    if (!r->o.library && !r->o.file.n)
        return usage(r->o.io, cmd, "no document; give one with -f FILE, or a library with -L FOLDER");
    return run_check_documents(r);
}

static int talk(struct chat *c)
{
    char *text;

    while (progress_again()) {
        const enum line_got got = line_read(&c->line, "> ", &text);
        int             code;

        if (got == LINE_END)
            return c->code;
        if (got == LINE_FAILED)
            return fail(c->r.o.io, EXIT_FAILED, "standard input: cannot read: %s", strerror(errno));
        if (got == LINE_SIGNAL) {
            if (!c->line.typed)
                return fail(c->r.o.io, EXIT_FAILED, "cancelled");
            continue;
        }
        for (size_t n = strlen(text); n && strchr(" \t\r", text[n - 1]); )
            text[--n] = 0;
        text += strspn(text, " \t");
        if (!*text)
            continue;
        if (*text == '/') {
            if (!command(c, text))
                return c->code;
            continue;
        }
        code = ask(c, text);
        if (code && !c->r.session)
            return code;
        if (!c->code && !c->line.typed)       /* a person has seen it                   */
            c->code = code;
    }
    return EXIT_FAILED;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct chat c = { .turn = grow(NULL, 0, sizeof *c.turn) };
    int         code = run_open(&c.r, self, io, argc, argv, check);

    if (!code)
        code = c.r.o.library ? library_open(&c.r) : run_read(&c.r);
    if (!code) {
        confine_read(&c.r.o);
        line_open(&c.line, io, !c.no_history);
        c.r.progress.stays = c.line.typed;
        code = talk(&c);
        line_close(&c.line);
    }
    forget(&c, c.r.n_turns);
    free(c.turn);
    free(c.tokens);
    run_close(&c.r);
    return code;
}

const struct cmd cmd_chat = {
    .name = "chat", .summary = "Ask about long documents in a conversation",
    .synopsis = "[options] -f FILE... | -L LIBRARY",
    .needs = NEEDS_PROGRAMS | NEEDS_HISTORY, .takes = FOR_CHAT | FOR_ELSEWHERE, .own = own, .run = run,
    .more_help = run_more_help
};
