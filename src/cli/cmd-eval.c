/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-eval.c - measures how good a model, or a method on it, is */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/eval.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

/* A task is a command whose name begins with this one's. */
static const struct cmd *const tasks[] = {
    &eval_niah, &eval_ruler, &eval_kv, &eval_qa, &eval_perplexity, NULL
};

static const char *word(const struct cmd *task)
{
    return strchr(task->name, ' ') + 1;
}

static void more_help(struct io *io)
{
    out_printf(io, "\nTasks:\n");
    for (const struct cmd *const *t = tasks; *t; t++)
        out_printf(io, "  %-12s  %s\n", word(*t), (*t)->summary);
    out_printf(io, "\n'gemkv eval TASK --help' lists its options.\n");
}

/* The tasks' names, for free(). */
static char *names(void)
{
    char *all = format("%s", word(tasks[0])), *more;

    for (const struct cmd *const *t = tasks + 1; *t; t++) {
        more = format("%s %s", all, word(*t));
        free(all);
        all = more;
    }
    return all;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    const char *name = argc > 1 && *argv[1] != '-' ? argv[1] : NULL;
    const char *near;
    char       *all;
    size_t      n;
    int         code = 0;

    for (const struct cmd *const *t = tasks; name && *t; t++)
        if (!strcmp(word(*t), name))
            return run_together(*t, io, argc - 1, argv + 1, (*t)->run);
    if (!name)                                  /* --help, or an invalid option */
        code = options_parse(&(struct options){ .n_operand = 0 }, self, io, argc, argv);
    if (code)
        return code;
    all = names();
    near = name ? gkv_nearest(all, name, strlen(name), &n) : NULL;
    if (near)
        code = usage(io, self, "unknown task '%s' (did you mean %.*s?)", name, (int)n, near);
    else
        code = name ? usage(io, self, "unknown task '%s'; the tasks are: %s", name, all)
                    : usage(io, self, "no task given; the tasks are: %s", all);
    free(all);
    return code;
}

const struct cmd cmd_eval = {
    .name = "eval", .summary = "Measure how good a model is", .synopsis = "TASK [options]",
    .takes = FOR_EVAL, .run = run, .more_help = more_help, .tasks = tasks
};
