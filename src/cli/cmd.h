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

/* An option that is not given is as if it had been given with this value. */
struct opt_default { const char *name, *value; };

struct cmd {
    const char        *name, *summary, *synopsis;
    unsigned           takes;                   /* which rows of options_table            */
    const struct opt  *own;                     /* rows in front of these, or NULL        */
    const struct opt_default *defaults;         /* that differ from the table's, or NULL  */
    int              (*run)(const struct cmd *self, int argc, char **argv);
    void             (*more_help)(void);        /* what follows the options, or NULL      */
    const struct cmd *const *tasks;             /* commands of this one, NULL last; or NULL */
};

extern const struct cmd cmd_ask, cmd_select, cmd_bench, cmd_calibrate, cmd_eval, cmd_info, cmd_tokenize;

#endif
