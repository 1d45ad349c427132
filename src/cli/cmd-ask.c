/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-ask.c - answer a question about documents */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

struct answer {
    char  *text;
    size_t len, room;
};

static void append(struct answer *a, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (a->room - a->len < len) {
        a->room = 2 * (a->len + len);
        a->text = grow(a->text, a->room, 1);
    }
    memcpy(a->text + a->len, text, len);
    a->len += len;
}

/* Decodes the whole answer: collects it, and prints it as it is made unless for JSON. */
static int take(const struct run *r, struct answer *a)
{
    gkv_error   err = { 0 };
    gkv_status  status = GKV_OK;
    const char *text;
    size_t      len;
    char        last = '\n';
    int         code = 0;

    while (!code && (status = gkv_next(r->session, &text, &len, &err)) == GKV_OK) {
        append(a, text, len);
        if (!r->o.json && len) {
            out_text(r->o.io, text, len);
            code = out_flush(r->o.io);
            last = text[len - 1];
        }
    }
    if (code)                                   /* nobody reads it: no need to decode the rest */
        return code;
    if (!r->o.json && last != '\n')
        out_char(r->o.io, '\n');
    if (status == GKV_CANCELLED) {
        gkv_stats s;

        gkv_session_stats(r->session, &s);
        return fail(r->o.io, EXIT_FAILED, "cancelled after %" PRIu64 " tokens of the answer",
                    s.tokens_answer);
    }
    return status == GKV_END ? 0 : run_failed(r->o.io, &r->progress, status, &err);
}

static int show(struct run *r)
{
    struct answer a = { NULL, 0, 0 };
    struct json   j = { .depth = 0 };
    bool          people = !r->o.json && !r->o.quiet;
    bool          together = people && say_together(r->o.io);
    int           code;

    if (people) {
        view_kept(r);
        if (together)
            say(r->o.io, "%s", "");
    }
    code = take(r, &a);
    if (!code)
        run_warn(r);
    if (!code)
        code = report_write(r, a.text ? a.text : "", a.len);
    if (!code && r->o.json) {
        run_json(&j, r, a.text ? a.text : "", a.len);
        json_print(r->o.io, &j);
        code = out_flush(r->o.io);
    }
    if (!code && people) {
        code = out_flush(r->o.io);
        if (together)
            say(r->o.io, "%s", "");
        view_cost(r);
    }
    free(a.text);
    return code;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    return run_questions(self, io, argc, argv, gkv_ask, show);
}

const struct cmd cmd_ask = {
    .name = "ask", .summary = "Answer a question about long documents",
    .synopsis = "[options] [-f FILE... | -L LIBRARY] QUESTION | --questions FILE", .takes = FOR_ASK, .run = run,
    .more_help = run_more_help
};
