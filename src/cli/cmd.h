/* SPDX-License-Identifier: BSD-2-Clause
 * cmd.h - what a command is: one file cmd-NAME.c, one const struct, one line in main.c */
#ifndef GEMKV_CLI_CMD_H
#define GEMKV_CLI_CMD_H

/* Exit status, part of the contract with scripts. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED,                /* input, output, device, cancelled                       */
    EXIT_USAGE,
    EXIT_MODEL,                 /* the model file was refused                             */
    EXIT_TOO_BIG,               /* would exceed --memory or --context                     */
    EXIT_DOCUMENT               /* the document was refused                               */
};

struct opt;

struct cmd {
    const char        *name, *summary, *synopsis;
    const struct opt  *opts;                    /* ends with a row whose name is NULL     */
    int              (*run)(const struct cmd *self, int argc, char **argv);
    void             (*more_help)(void);        /* what follows the options, or NULL      */
    const struct cmd *const *tasks;             /* commands of this one, NULL last; or NULL */
};

extern const struct cmd cmd_ask, cmd_select, cmd_bench, cmd_calibrate, cmd_eval, cmd_info, cmd_tokenize;

#endif
