/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-ask.c - answer a question about documents */
#include "config.h"
#include <unistd.h>
#include "src/cli/answerer.h"
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

static int show(struct run *r)
{
    struct text a = { NULL, 0, 0 };
    struct json   j = { .depth = 0 };
    bool          people = !r->o.json && !r->o.quiet;
    bool          together = people && say_together(r->o.io);
    int           code, unfit = 0;

    if (people) {
        view_kept(r);
        if (together)
            say(r->o.io, "%s", "");
    }
    code = run_take(r, &a);
    if (!code && !r->o.json)
        code = out_flush(r->o.io);              /* before what is said about it */
    if (!code) {
        unfit = run_cut(r);
        run_warn(r);
    }
    if (!code)
        report_add(r, a.p ? a.p : "", a.n);
    if (r->o.json && (!code || answerer_is_cut(r->answerer))) {
        run_json(&j, r, a.p ? a.p : "", a.n);
        json_print(r->o.io, &j);
        code = code ? code : out_flush(r->o.io);
    }
    if (!code && people) {
        code = out_flush(r->o.io);
        if (together)
            say(r->o.io, "%s", "");
        view_cost(r);
    }
    text_free(&a);
    return code ? code : unfit;
}

static int alone(const struct cmd *self, struct io *io, int argc, char **argv)
{
    return run_questions(self, io, argc, argv, gkv_ask, show);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    return run_together(self, io, argc, argv, alone);
}

const struct cmd cmd_ask = {
    .name = "ask", .summary = "Answer a question about long documents",
    .synopsis = "[options] [-f FILE... | -L LIBRARY] QUESTION | --questions FILE",
    .needs = NEEDS_PROGRAMS, .takes = FOR_ASK | FOR_ELSEWHERE, .run = run,
    .more_help = run_more_help
};
