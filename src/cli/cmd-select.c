/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-select.c - print the text that an answer would be based on */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

/* Prints passages, the best first, under headers like those of head(1), unless -q is given. */
static void print(const struct run *r)
{
    size_t          n;
    struct passage *p = run_passages(r, &n);

    for (size_t i = 0; i < n; i++) {
        if (i)
            out_char(r->o.io, '\n');
        if (!r->o.quiet) {
            char *place = run_place(r, p[i].best->file, &p[i].place);
            char *head = format("==> %s, score %.3g <==\n", place, (double)p[i].best->score);

            out_text(r->o.io, head, strlen(head));
            free(head);
            free(place);
        }
        out_text(r->o.io, p[i].text, (size_t)(p[i].span.end - p[i].span.start));
        out_char(r->o.io, '\n');
    }
    free(p);
}

static int show(struct run *r)
{
    struct json j = { .depth = 0 };
    int         code = 0;

    report_add(r, NULL, 0);
    if (r->o.json) {
        run_json(&j, r, NULL, 0);
        json_print(r->o.io, &j);
        code = out_flush(r->o.io);
    }
    if (!code && !r->o.json) {
        print(r);
        code = out_flush(r->o.io);
        if (!r->o.quiet) {
            if (say_together(r->o.io))
                say(r->o.io, "%s", "");
            view_summary(r);
            view_cost(r);
        }
    }
    return code;
}

static int alone(const struct cmd *self, struct io *io, int argc, char **argv)
{
    return run_questions(self, io, argc, argv, gkv_select, show);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    return run_together(self, io, argc, argv, alone);
}

const struct cmd cmd_select = {
    .name = "select", .summary = "Print the text that an answer would be based on",
    .synopsis = "[options] [-f FILE... | -L LIBRARY] QUESTION | --questions FILE",
    .needs = NEEDS_PROGRAMS, .takes = FOR_ASK, .run = run,
    .more_help = run_more_help
};
