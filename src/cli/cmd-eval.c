/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-eval.c - measures how good a model, or a method on it, is */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/eval.h"
#include "src/cli/say.h"

/* A task is a command whose name begins with this one's. */
static const struct cmd *const tasks[] = {
    &eval_niah, &eval_ruler, &eval_kv, &eval_qa, &eval_perplexity, NULL
};

static const char *word(const struct cmd *task)
{
    return strchr(task->name, ' ') + 1;
}

static void more_help(void)
{
    out_printf("\nTasks:\n");
    for (const struct cmd *const *t = tasks; *t; t++)
        out_printf("  %-12s  %s\n", word(*t), (*t)->summary);
    out_printf("\n'gemkv eval TASK --help' lists its options.\n");
}

static int run(const struct cmd *self, int argc, char **argv)
{
    char       *all = format("%s", word(tasks[0])), *more;

    for (const struct cmd *const *t = tasks + 1; *t; t++) {
        more = format("%s, %s", all, word(*t));
        free(all);
        all = more;
    }
    if (argc > 1 && *argv[1] != '-') {
        for (const struct cmd *const *t = tasks; *t; t++)
            if (!strcmp(word(*t), argv[1])) {
                free(all);
                return (*t)->run(*t, argc - 1, argv + 1);
            }
        usage(self, "unknown task '%s'; the tasks are %s", argv[1], all);
    }
    options_parse(&(struct options){ .n_operand = 0 }, self, argc, argv);   /* --help, or an invalid option */
    usage(self, "no task given; the tasks are %s", all);
}

const struct cmd cmd_eval = {
    .name = "eval", .summary = "Measure how good a model is", .synopsis = "TASK [options]",
    .takes = FOR_EVAL, .run = run, .more_help = more_help, .tasks = tasks
};
